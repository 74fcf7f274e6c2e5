"""HubLink: retrieved units against gold units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.legacy import LegacyCrash, LegacyRow, hublink
from clwqa_bench.legacy.hublink import RankedScore, UnitScore


def units(contexts: str, golds: str, documents: bool = False) -> UnitScore:
    return hublink.evaluate([LegacyRow(tuple(contexts), tuple(golds))], documents)[0]


def ranked(contexts: tuple[str, ...], golds: tuple[str, ...], k: int) -> RankedScore:
    return hublink.ranked([LegacyRow(contexts, golds)], k)[0]


def test_values_are_rounded_to_two_decimals() -> None:
    assert units("abc", "axyzuv") == UnitScore(0.33, 0.17, 0.22, 0.19, false_negatives=5)


def test_units_are_sets_of_equal_strings() -> None:
    assert units("aab", "aB") == UnitScore(0.5, 0.5, 0.5, 0.5, false_negatives=1)


@pytest.mark.parametrize(
    ("contexts", "golds", "value"),
    [("", "", 1.0), ("a", "", 0.0), ("", "a", 0.0)],
    ids=["both", "gold", "context"],
)
def test_nothing_to_find_or_nothing_found(contexts: str, golds: str, value: float) -> None:
    got = units(contexts, golds)
    assert (got.precision, got.recall, got.f1, got.f2) == (value,) * 4
    assert ranked(tuple(contexts), tuple(golds), 10) == RankedScore(value, value, value, value)


def test_document_mode_counts_contexts_and_false_negatives_fall_below_0() -> None:
    got = units("ddde", "d", documents=True)
    assert (got.recall, got.false_negatives) == (3.0, -2)


def test_hit_is_the_share_of_golds_found() -> None:
    contexts = ("(李白, 字, 太白)", "(杜甫, 字, 子美)", "(王维, 字, 摩诘)")
    golds = ("(李白, 字, 太白)", "(王维, 字, 摩诘)")
    assert ranked(contexts, golds, 1).hit == ranked(contexts, golds, 2).hit == 0.5
    assert ranked(contexts, golds, 3).hit == 1.0


def test_a_gold_may_be_inside_a_context_and_case_does_not_count() -> None:
    got = ranked(("see Tang poetry", "song", "Yuan"), ("tang", "song", "yuan"), 10)
    assert got.hit == 1.0
    assert got.exact == pytest.approx(1 / 3)  # equality does count case


def test_mrr_is_of_the_first_context_with_a_gold() -> None:
    assert ranked(("x", "y", "a", "b"), ("a", "b"), 10).mrr == pytest.approx(1 / 3)
    assert ranked(("x", "y", "a"), ("a",), 2).mrr == 0.0


def test_map_is_over_the_smaller_of_golds_and_k() -> None:
    golds = ("a", "b", "c")
    assert ranked(("a", "x", "b"), golds, 10).map == pytest.approx((1 + 2 / 3) / 3)
    assert ranked(("a", "x", "b"), golds, 2).map == pytest.approx(1 / 2)


def test_map_takes_one_gold_per_context() -> None:
    assert ranked(("ab", "x"), ("a", "b"), 10).map == pytest.approx(1 / 2)
    assert ranked(("ab", "ab"), ("a", "b"), 10).map == pytest.approx((1 + 2 / 2) / 2)


def test_the_summary_takes_f_from_mean_precision_and_recall() -> None:
    rows = [LegacyRow(("a",), ("a",)), LegacyRow(("x",), ("b",)), LegacyRow(tuple("cdxy"), tuple("cd"))]
    total = hublink.total(rows, k=10)
    assert total.values["precision"] == 0.5
    assert total.values["recall"] == pytest.approx(2 / 3)
    assert total.values["f1"] == pytest.approx(4 / 7)
    assert sum(score.f1 for score in hublink.evaluate(rows)) / 3 == pytest.approx((1 + 0 + 0.67) / 3)
    assert total.values["hit@10"] == pytest.approx(2 / 3)
    assert (total.n, total.denominator) == (3, "questions in the result file")


def test_a_text_where_it_expects_a_list() -> None:
    with pytest.raises(LegacyCrash, match="HubLink crashes on row 1: the prediction is a text"):
        hublink.evaluate([LegacyRow("abc", ("a",))])


some = st.lists(st.text("abc", min_size=1, max_size=2), max_size=5).map(tuple)


@given(some, some, st.integers(1, 6))
def test_everything_is_in_the_unit_interval(
    contexts: tuple[str, ...], golds: tuple[str, ...], k: int
) -> None:
    row = LegacyRow(contexts, golds)
    values = [*hublink.ranked([row], k), *hublink.evaluate([row])]
    for score in values:
        for name in ("hit", "exact", "mrr", "map", "precision", "recall", "f1", "f2"):
            assert 0 <= getattr(score, name, 0) <= 1
