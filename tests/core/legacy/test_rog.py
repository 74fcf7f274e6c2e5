"""RoG and GCR: golds looked for in the joined items; and where the two differ."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clwqa_bench.legacy import Evaluate, LegacyCrash, LegacyRow, LegacyScore, gcr, rog

Prediction = str | tuple[str, ...]


def by_rog(prediction: Prediction, *golds: str) -> LegacyScore:
    return rog.evaluate([LegacyRow(prediction, golds)])[0]


def by_gcr(prediction: Prediction, *golds: str) -> LegacyScore:
    return gcr.evaluate([LegacyRow(prediction, golds)])[0]


def test_one_direction_only() -> None:
    assert by_rog("红楼梦", "梦").hit == 1.0
    assert by_rog("梦", "红楼梦").hit == 0.0


def test_a_hit_anywhere_is_called_hit() -> None:
    score = by_rog(("杜甫", "白居易", "李白"), "李白")
    assert (score.hit, score.note) == (1.0, "")


def test_blank_lines_lower_the_precision_in_rog_only() -> None:
    assert by_rog("李白\n\n\n杜甫", "李白", "杜甫").precision == 0.5
    assert by_gcr("李白\n\n \n杜甫", "李白", "杜甫").precision == 1.0


def test_precision_and_f1_exceed_1_in_rog_only() -> None:
    assert by_rog("李白、杜甫和王维", "李白", "杜甫", "王维") == LegacyScore(
        1.0, 1.0, 3.0, 1.0, 1.5, note="gold inside an item; precision above 1"
    )
    assert by_gcr("李白、杜甫和王维", "李白", "杜甫", "王维").f1 == 1.0


def test_a_gold_across_the_seam_of_two_items() -> None:
    score = by_rog(("new york", "city hall"), "york city")
    assert (score.hit, score.note) == (1.0, "gold across two items")
    assert by_gcr(("new york", "city hall"), "york city").precision == 0.0


@pytest.mark.parametrize("gold", ["...", "A", "the", "-"])
@pytest.mark.parametrize("score", [by_rog, by_gcr])
def test_a_gold_that_normalises_to_nothing_matches_everything(
    score: Callable[..., LegacyScore], gold: str
) -> None:
    got = score(("李白",), gold)
    assert (got.hit, got.f1, got.note) == (1.0, 1.0, "gold that normalises to nothing")


def test_full_width_punctuation_is_part_of_the_name() -> None:
    assert by_rog("史记", "《史记》").hit == 0.0


def test_a_list_is_unique_by_falling_frequency_and_cut() -> None:
    assert rog.items_of(("杜甫", "李白", "李白", "王维")) == ["李白", "杜甫", "王维"]
    assert rog.items_of(("杜甫", "李白", "李白"), top_k=1) == ["李白"]
    assert rog.items_of(("杜甫",), top_k=5) == ["杜甫"]
    assert rog.items_of(("杜甫",), top_k=0) == []
    assert rog.items_of("杜甫\n李白\n李白", top_k=1) == ["杜甫", "李白", "李白"]


def test_repeated_golds_are_kept_by_rog_and_not_by_gcr() -> None:
    assert by_rog(("李白",), "李白", "李白").precision == 2.0
    assert by_rog(("李白",), "李白", "李白", "杜甫").recall == pytest.approx(2 / 3)
    assert by_gcr(("李白",), "李白", "李白", "杜甫").recall == 0.5


def test_no_items() -> None:
    nothing = LegacyScore(0.0, 0.0, 0.0, 0.0, 0.0)
    assert by_rog((), "李白") == by_gcr((), "李白") == by_gcr("\n \n", "李白") == nothing
    assert by_rog("", "李白") == nothing
    for score in (by_rog((), "..."), by_gcr((), "...")):
        assert (score.hit, score.accuracy, score.precision, score.recall, score.f1) == (1, 1, 0, 0, 0)


@pytest.mark.parametrize(("evaluate", "source"), [(rog.evaluate, "RoG"), (gcr.evaluate, "GCR")])
@pytest.mark.parametrize("prediction", ["李白", (), ("李白",)])
def test_without_gold_it_divides_by_zero(evaluate: Evaluate, source: str, prediction: Prediction) -> None:
    rows = [LegacyRow("李白", ("李白",)), LegacyRow(prediction, ())]
    with pytest.raises(LegacyCrash, match=f"{source} crashes on row 2: division by zero"):
        evaluate(rows)


def test_without_f1_the_raw_text_is_matched() -> None:
    row = LegacyRow("李白\n杜甫", ("李白", "王维"))
    assert rog.evaluate([row], f1=False) == [LegacyScore(1.0, 0.5)]
    assert set(rog.total([row], f1=False).values) == {"accuracy", "hit"}
    with pytest.raises(LegacyCrash, match="row 1: the prediction is a list"):
        rog.evaluate([LegacyRow(("李白",), ("李白",))], f1=False)


def test_totals_are_means_times_100() -> None:
    rows = [LegacyRow("李白和杜甫", ("李白", "杜甫")), LegacyRow("王维", ("孟浩然",))]
    total = rog.total(rows)
    assert total.values == pytest.approx(
        {"accuracy": 50, "hit": 50, "f1": 200 / 3, "precision": 100, "recall": 50}
    )
    assert (total.n, total.denominator) == (2, "lines of the prediction file that parse as JSON")
    assert gcr.total(rows).values["precision"] == 50
    with pytest.raises(LegacyCrash, match="RoG divides by zero"):
        rog.total([])


def test_gcr_at_ranks() -> None:
    row = LegacyRow(("杜甫", "李白", "李白", "王维"), ("李白", "王维"))
    at = gcr.at_ranks([row])
    assert [(k, scores[0].hit, scores[0].precision, scores[0].recall) for k, scores in at.items()] == [
        (1, 0.0, 0.0, 0.0),
        (3, 1.0, pytest.approx(2 / 3), 0.5),
        (5, 1.0, 0.75, 1.0),
        (10, 1.0, 0.75, 1.0),
    ]
    with pytest.raises(LegacyCrash, match="row 1: the prediction is a text"):
        gcr.at_ranks([LegacyRow("李白", ("李白",))])


texts = st.text("李白杜甫 aA.,\n", max_size=6)
rows = st.builds(
    LegacyRow,
    texts | st.lists(texts, max_size=4).map(tuple),
    st.lists(texts, min_size=1, max_size=4).map(tuple),
)


@given(rows)
def test_only_the_precision_of_rog_leaves_the_unit_interval(row: LegacyRow) -> None:
    (ours,), (theirs,) = rog.evaluate([row]), gcr.evaluate([row])
    assert ours.precision is not None
    for value in (ours.hit, ours.accuracy, ours.recall, *(getattr(theirs, n) for n in theirs.__slots__[:5])):
        assert 0 <= value <= 1
    assert (ours.precision > 1) == ("precision above 1" in ours.note)


@given(texts.filter(str.strip), texts)
def test_accuracy_of_one_gold_is_hit(prediction: str, gold: str) -> None:
    score = by_rog(prediction, gold)
    assert score.accuracy == score.hit == by_gcr(prediction, gold).hit


@given(st.lists(texts, min_size=1, max_size=4, unique=True), st.data())
def test_naming_a_gold_is_a_hit(items: list[str], data: st.DataObject) -> None:
    gold = data.draw(st.sampled_from(items))
    assume(gold.strip())
    assert by_rog(tuple(items), gold).hit == by_gcr(tuple(items), gold).hit == 1.0
