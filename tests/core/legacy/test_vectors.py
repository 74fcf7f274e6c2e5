"""Published outputs scored by the original scripts: prediction, gold and what came out."""

from __future__ import annotations

import pytest

from clwqa_bench.legacy import Evaluate, LegacyRow, gcr, pog, rog, tog, twoway

Prediction = str | tuple[str, ...]


@pytest.mark.parametrize("evaluate", [pog.evaluate, tog.evaluate])
@pytest.mark.parametrize(
    ("prediction", "gold", "how"),
    [
        ("", "Paris", twoway.EMPTY),
        ("a", "Paris", twoway.FRAGMENT),
        ("['London', 'Paris']", "Paris", twoway.INSIDE),
        ("I cannot say, maybe Paris or London", "Paris", twoway.INSIDE),
        ("Null", "Nullarbor", twoway.FRAGMENT),
    ],
)
def test_pog_and_tog_match_either_way(evaluate: Evaluate, prediction: str, gold: str, how: str) -> None:
    (score,) = evaluate([LegacyRow(prediction, (gold,))])
    assert (score.hit, score.note) == (1.0, f"whole text: {how}")


@pytest.mark.parametrize(
    ("prediction", "compared", "gold", "hit"),
    [
        ("{Yes}. The river runs through {Paris}.", "Yes", "Paris", 0.0),
        ("x } y {London}", "", "Paris", 1.0),
        ("{London", "Londo", "London", 1.0),
    ],
)
def test_tog_extraction(prediction: str, compared: str, gold: str, hit: float) -> None:
    assert tog.extract(prediction) == compared
    assert tog.evaluate([LegacyRow(prediction, (gold,))])[0].hit == hit


@pytest.mark.parametrize(
    ("prediction", "golds", "by_rog", "by_gcr"),
    [
        (("a1, b2 and c3",), ("a1", "b2", "c3"), (3.0, 1.0, 1.5), (1.0, 1.0, 1.0)),
        (("new york", "city hall"), ("york city",), (0.5, 1.0, 2 / 3), (0.0, 1.0, 0.0)),
        ("Paris\n\nLondon", ("Paris",), (1 / 3, 1.0, 0.5), (0.5, 1.0, 2 / 3)),
        (("x",), ("...",), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
        (("李白", "杜甫"), ("李",), (0.5, 1.0, 2 / 3), (0.5, 1.0, 2 / 3)),
    ],
)
def test_rog_and_gcr(
    prediction: Prediction, golds: tuple[str, ...], by_rog: tuple[float, ...], by_gcr: tuple[float, ...]
) -> None:
    row = LegacyRow(prediction, golds)
    for evaluate, values in ((rog.evaluate, by_rog), (gcr.evaluate, by_gcr)):
        (score,) = evaluate([row])
        assert (score.precision, score.recall, score.f1) == pytest.approx(values)
        assert (score.hit, score.accuracy) == (1.0, 1.0)


def test_rog_normaliser() -> None:
    assert rog.normalize("<pad> The A-Team, 《史记》。") == "pad ateam 《史记》。"
