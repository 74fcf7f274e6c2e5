"""Scores as models give them: cut to their bounds, not refused."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import ValidationError

from clwqa_baselines.graphrag.tasks import Points, Rating, Report
from clwqa_baselines.shared.scores import Scale
from clwqa_baselines.tog.tasks import EntityScores
from clwqa_bench.llm.tasks import Output


class Stars(Output):
    stars: Annotated[int, Scale(0, 5)]


class Share(Output):
    share: Annotated[float, Scale(0, 1)]


@pytest.mark.parametrize(
    ("given", "read"), [(4, 4), (4.4, 4), (4.6, 5), ("4", 4), (0, 0), (-0.4, 0), (-3, 0), (5, 5), (11, 5)]
)
def test_a_whole_number_is_rounded_and_cut(given: Any, read: int) -> None:
    found = Stars.model_validate({"stars": given}).stars
    assert (found, type(found)) == (read, int)


@pytest.mark.parametrize(("given", "read"), [(0.25, 0.25), (-0.1, 0), (1.7, 1), (1, 1), ("0.5", 0.5)])
def test_any_other_number_is_cut_and_stays_as_it_is(given: Any, read: float) -> None:
    found = Share.model_validate({"share": given}).share
    assert (found, type(found)) == (read, float)


@pytest.mark.parametrize("given", ["many", None, [], "nan", float("inf"), 10**400])
def test_what_is_no_number_is_refused(given: Any) -> None:
    for kind, field in ((Stars, "stars"), (Share, "share")):
        with pytest.raises(ValidationError):
            kind.model_validate({field: given})


def test_the_bounds_are_what_is_asked_for() -> None:
    for mode in ("validation", "serialization"):
        stars = Stars.model_json_schema(mode=mode)["properties"]["stars"]
        share = Share.model_json_schema(mode=mode)["properties"]["share"]
        assert (stars["type"], stars["minimum"], stars["maximum"]) == ("integer", 0, 5)
        assert (share["type"], share["minimum"], share["maximum"]) == ("number", 0, 1)


def test_one_number_beyond_its_bounds_costs_no_reply() -> None:
    points = [{"description": "甲", "score": 105}, {"description": "乙", "score": 80.6}]
    assert [point.score for point in Points.model_validate({"points": points}).points] == [100, 81]
    assert Rating.model_validate({"rating": 3.6}).rating == 4
    assert Report.model_validate({"title": "甲", "summary": "乙", "rating": 11}).rating == 10
    assert EntityScores.model_validate({"scores": [1.2, -0.2, 0.5]}).scores == (1, 0, 0.5)
