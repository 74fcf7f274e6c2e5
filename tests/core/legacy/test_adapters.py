"""Our own predictions, as the legacy evaluators would have seen them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.errors import ClwqaError
from clwqa_bench.legacy import LEGACY, MEASURES, LegacyRow, row_for

GOLDS = [["李白", "太白"], ["杜甫"]]


@pytest.mark.parametrize(
    ("name", "raw", "row"),
    [
        ("legacy-pog", "答：李白", LegacyRow("答：李白", ("李白", "太白", "杜甫"))),
        ("legacy-pog", "", LegacyRow("", ("李白", "太白", "杜甫"))),
        ("legacy-pog", None, LegacyRow('{"A": {"Answer": ["太白", "王维"]}}', ("李白", "太白", "杜甫"))),
        ("legacy-tog", "{李白}", LegacyRow("{李白}", ("李白", "太白", "杜甫"))),
        ("legacy-tog", None, LegacyRow("['太白', '王维']", ("李白", "太白", "杜甫"))),
        ("legacy-rog", "答：李白", LegacyRow(("太白", "王维"), ("李白", "杜甫"))),
        ("legacy-gcr", None, LegacyRow(("太白", "王维"), ("李白", "杜甫"))),
        ("legacy-gretriever", None, LegacyRow("太白|王维", ("李白", "杜甫"))),
    ],
)
def test_rows(name: str, raw: str | None, row: LegacyRow) -> None:
    assert row_for(name, ["太白", "王维"], raw, GOLDS) == row


@pytest.mark.parametrize("name", LEGACY)
def test_each_name_gives_one_score_per_row_with_the_measures_it_promises(name: str) -> None:
    rows = [row_for(name, texts, None, GOLDS) for texts in (["李白"], ["王维"], [])]
    scores = LEGACY[name](rows)
    assert [score.hit for score in scores] == [1.0, 0.0, 0.0]
    for score in scores:
        filled = {
            m for m in ("hit", "accuracy", "precision", "recall", "f1") if getattr(score, m) is not None
        }
        assert filled == set(MEASURES[name])


def test_names() -> None:
    assert set(LEGACY) == set(MEASURES)
    with pytest.raises(ClwqaError, match=r"no legacy evaluator 'legacy-sog'\. Fix: use one of legacy-pog"):
        row_for("legacy-sog", [], None, GOLDS)


plain = st.text(st.characters(categories=["Lo", "Ll"]), min_size=1)


@pytest.mark.parametrize("name", LEGACY)
@given(answers=st.lists(plain, min_size=1, max_size=4), data=st.data())
def test_naming_a_gold_is_a_hit_everywhere(name: str, answers: list[str], data: st.DataObject) -> None:
    gold = data.draw(st.sampled_from(answers))
    (score,) = LEGACY[name]([row_for(name, answers, None, [[gold]])])
    assert score.hit == 1.0


def test_quotes_of_both_kinds_are_lost_in_print() -> None:
    """The printed list escapes one of them, so that even the right answer is a miss; kept, as it is theirs."""
    both = "'甲'\"乙\""
    for name in ("legacy-pog", "legacy-tog"):
        (score,) = LEGACY[name]([row_for(name, [both], None, [[both]])])
        assert score.hit == 0.0
