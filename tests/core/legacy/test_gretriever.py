"""G-Retriever: three data sets, three evaluators."""

from __future__ import annotations

import pytest

from clwqa_bench.legacy import LegacyCrash, LegacyRow, LegacyScore, gretriever


def test_a_bar_is_a_line_end() -> None:
    (score,) = gretriever.webqsp([LegacyRow("李白|杜甫\n王维", ("李白", "杜甫"))])
    assert score.precision == pytest.approx(2 / 3)
    assert score.recall == 1.0


def test_precision_above_1_as_in_rog() -> None:
    (score,) = gretriever.webqsp([LegacyRow("李白和杜甫", ("李白", "杜甫"))])
    assert score.precision == 2.0
    assert score.f1 == pytest.approx(4 / 3)


def test_duplicates_and_blank_items_are_kept() -> None:
    (score,) = gretriever.webqsp([LegacyRow("李白|李白||", ("李白",))])
    assert score.precision == 0.25


def test_a_gold_that_holds_a_bar_falls_apart() -> None:
    (score,) = gretriever.webqsp([LegacyRow("甲", ("甲|乙",))])
    assert (score.hit, score.recall) == (1.0, 0.5)


def test_no_gold_is_one_empty_gold_that_matches_everything() -> None:
    (score,) = gretriever.webqsp([LegacyRow("李白", ())])
    assert (score.hit, score.f1, score.note) == (1.0, 1.0, "gold that normalises to nothing")


def test_what_it_prints() -> None:
    total = gretriever.total([LegacyRow("李白", ("李白", "杜甫")), LegacyRow("王维", ("杜甫",))])
    assert (total.values["hit"], total.values["accuracy"], total.n) == (50, 25, 2)


@pytest.mark.parametrize(("prediction", "hit"), [("The Lion roars", 0.0), ("a lion", 1.0), ("", 0.0)])
def test_scene_graph_counts_case(prediction: str, hit: float) -> None:
    assert gretriever.scene_graph([LegacyRow(prediction, ("lion",))]) == [LegacyScore(hit)]


@pytest.mark.parametrize(
    ("prediction", "hit"),
    [("Support", 1.0), ("support, not counter", 1.0), ("Counter; support", 0.0), ("SUPPORT", 0.0), ("", 0.0)],
)
def test_expla_graph_takes_the_first_stance(prediction: str, hit: float) -> None:
    assert gretriever.expla_graph([LegacyRow(prediction, ("support",))]) == [LegacyScore(hit)]


def test_a_list_where_it_expects_a_text() -> None:
    with pytest.raises(LegacyCrash, match="G-Retriever crashes on row 1"):
        gretriever.webqsp([LegacyRow(("李白",), ("李白",))])
