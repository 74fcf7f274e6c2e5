"""Map and reduce over reports on the prisms, with replies from a script: order, scores, what ends a question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.index import Index
from clwqa_baselines.graphrag.reading import batches
from clwqa_baselines.graphrag.system import GraphRag
from clwqa_baselines.graphrag.tasks import (
    FoundPoint,
    MapReports,
    Points,
    RateReport,
    Rating,
    ReducePoints,
    Response,
    WriteReport,
)
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import Task
from clwqa_bench.predictions import Prediction
from tests.baselines.culture import Double, answer_of
from tests.baselines.graphrag.prisms import SMALL, index, prisms, resources, written

TRIANGLES = ["a1 a2 a3", "a4 a5 a6", "b1 b2 b3", "b4 b5 b6"]
A, B = "a1 a2 a3 a4 a5 a6", "b1 b2 b3 b4 b5 b6"
ASKED = "谁与 a1 相连？"


def play(folder: Path, reply: Callable[[Task[Any]], Any], **settings: Any) -> tuple[Prediction, list[Any]]:
    """A question put to the system; reports are titled by their members.  What was asked besides those."""
    kg = prisms(folder)
    llm = Double(lambda task: written(task) if isinstance(task, WriteReport) else reply(task))
    system = GraphRag(SMALL.model_copy(update=settings))
    given = resources(kg, folder, written)
    system.prepare(given)
    found = answer_of(system, ASKED, kg, llm)
    assert given.llm is not llm
    return found, llm.asked


def point(score: int, text: str) -> FoundPoint:
    return FoundPoint(description=text, score=score)


# ---------------------------------------------------------------------- batches


def test_batches_are_filled_and_the_weightiest_reports_stand_first_in_each(tmp_path: Path) -> None:
    made = index(tmp_path)
    rows = made.read(2, every=True)
    (one,) = batches(made, rows, SMALL)
    # prisms touch 10 relationships, triangles with a bridge 7, the others 6, the pair 1; equal ones by number
    assert [row.weight for row in one] == [1, 1, 0.7, 0.7, 0.6, 0.6, 0.1]
    room = int(made.reports.tokens.max())
    dealt = batches(made, rows, GraphRagConfig(batch_tokens=max(room, 200)))
    assert sorted(row.number for batch in dealt for row in batch) == list(range(7))
    for batch in dealt:
        assert sum(int(made.reports.tokens[made.reports.of[row.number]]) for row in batch) <= max(room, 200)
    assert dealt == batches(made, rows, GraphRagConfig(batch_tokens=max(room, 200)))  # the same shuffle
    assert dealt != batches(made, rows, GraphRagConfig(batch_tokens=max(room, 200), shuffle_seed=1))


# ---------------------------------------------------------------------- map and reduce


def test_points_are_reduced_by_score_without_those_of_zero(tmp_path: Path) -> None:
    def reply(task: Any) -> Any:
        if isinstance(task, MapReports):
            numbers = {row.title: row.number for row in task.reports}
            return Points(points=(
                point(20, f"a4 [Data: Reports ({numbers[A]})]"),
                point(0, "无关 [Data: Reports (6)]"),
                point(90, f"a2 [Data: Reports ({numbers[TRIANGLES[0]]})]"),
            ))  # fmt: skip
        assert isinstance(task, ReducePoints)
        return Response(response=task.points[0].description)

    found, asked = play(tmp_path, reply, mode="global")
    assert [type(task) for task in asked] == [MapReports, ReducePoints]  # one batch and one
    assert [(p.score, p.description[:2]) for p in asked[1].points] == [(90, "a2"), (20, "a4")]
    assert [(a.text, a.entity_id) for a in found.answers] == [("a2", "a2")]
    assert {text.text.splitlines()[0] for text in found.evidence.texts} == {f"# {A}", f"# {TRIANGLES[0]}"}
    assert [citation.ok for citation in found.citations] == [True]
    assert [event.stage for event in found.trace] == ["retrieve", "answer", "adapt"]
    assert found.usage["rank"].calls + found.usage["answer"].calls == 2


def test_points_that_do_not_fit_are_cut_from_the_end(tmp_path: Path) -> None:
    def reply(task: Any) -> Any:
        if isinstance(task, MapReports):
            return Points(points=(point(30, "丙" * 100), point(90, "甲" * 100), point(60, "乙" * 100)))
        return Response(response="无法确定")

    found, asked = play(tmp_path, reply, mode="global", reduce_tokens=200)
    assert [p.description[0] for p in asked[-1].points] == ["甲", "乙"]  # 94 tokens each
    assert found.status == "empty"


def test_without_a_point_nothing_more_is_asked(tmp_path: Path) -> None:
    found, asked = play(tmp_path, lambda _: Points(points=(point(0, "无关"),)), mode="global")
    assert [type(task) for task in asked] == [MapReports]
    assert (found.status, found.flags, found.raw_answer) == ("empty", ("no_evidence",), "无法确定")


def test_a_batch_that_fails_has_no_points_and_only_if_all_fail_does_the_question(tmp_path: Path) -> None:
    def failing(titles: set[str]) -> Callable[[Any], Any]:
        def reply(task: Any) -> Any:
            if isinstance(task, ReducePoints):
                return Response(response="a2")
            fails = titles & {row.title for row in task.reports}
            return Reply("timeout") if fails else Points(points=(point(50, "a2"),))

        return reply

    one, asked = play(tmp_path / "1", failing({A}), mode="global", batch_tokens=20)
    dealt = [len(task.reports) for task in asked if isinstance(task, MapReports)]
    assert (one.status, sum(dealt), len(asked)) == ("ok", 7, len(dealt) + 1)
    assert len(dealt) > 1
    every, _ = play(tmp_path / "2", failing({A, B, "x y", *TRIANGLES}), mode="global")
    assert (every.status, every.flags) == ("timeout", ("llm_error",))


@pytest.mark.parametrize("kind", [MapReports, ReducePoints])
def test_where_the_budget_is_used_up_the_question_ends(tmp_path: Path, kind: type[Task[Any]]) -> None:
    def reply(task: Any) -> Any:
        if isinstance(task, kind):
            return Reply("skipped")
        return Points(points=(point(50, "a2"),))

    found, asked = play(tmp_path, reply, mode="global")
    assert found.status == "skipped"
    assert isinstance(asked[-1], kind)


# ---------------------------------------------------------------------- dynamic selection


def rated(
    ratings: dict[str, Any], **settings: Any
) -> Callable[[Path], tuple[list[str], list[str], Prediction]]:
    """The reports rated, in order, those that were mapped, and what came of it."""

    def run(folder: Path) -> tuple[list[str], list[str], Prediction]:
        def reply(task: Any) -> Any:
            if isinstance(task, RateReport):
                value = ratings.get(task.title, 0)
                return value if isinstance(value, Reply) else Rating(rating=value)
            return (
                Points(points=(point(50, "a2"),)) if isinstance(task, MapReports) else Response(response="a2")
            )

        found, asked = play(folder, reply, mode="dynamic", **settings)
        titles = [task.title for task in asked if isinstance(task, RateReport)]
        mapped = [row.title for task in asked if isinstance(task, MapReports) for row in task.reports]
        return titles, sorted(mapped), found

    return run


def test_what_is_relevant_is_looked_into_and_gives_way_to_its_relevant_parts(tmp_path: Path) -> None:
    titles, mapped, found = rated({A: 3, "a1 a2 a3": 1})(tmp_path)
    assert titles == [A, B, "x y", "a1 a2 a3", "a4 a5 a6"]
    assert mapped == ["a1 a2 a3"]
    assert [a.text for a in found.answers] == ["a2"]
    assert next(e.detail for e in found.trace if e.stage == "decide") == {
        "rated": 5,
        "unrated": 0,
        "relevant": 1,
    }


def test_it_stays_if_no_part_is_relevant_or_if_so_set(tmp_path: Path) -> None:
    assert rated({A: 3})(tmp_path / "1")[1] == [A]
    assert rated({A: 3, "a1 a2 a3": 1}, keep_parent=True)(tmp_path / "2")[1] == ["a1 a2 a3", A]


def test_where_nothing_is_relevant_the_whole_next_level_is_rated(tmp_path: Path) -> None:
    titles, mapped, _ = rated({"b4 b5 b6": 5})(tmp_path / "1")
    assert titles == [A, B, "x y", *TRIANGLES]
    assert mapped == ["b4 b5 b6"]
    titles, mapped, found = rated({"b4 b5 b6": 5}, max_level=0)(tmp_path / "2")
    assert (titles, mapped, found.status) == ([A, B, "x y"], [], "empty")


def test_a_rating_that_fails_counts_as_one(tmp_path: Path) -> None:
    failing = {"x y": Reply("unparsed")}
    assert rated(failing)(tmp_path / "1")[1] == ["x y"]
    assert rated(failing, threshold=2)(tmp_path / "2")[1] == []


def test_no_more_are_rated_than_allowed(tmp_path: Path) -> None:
    titles, mapped, found = rated({A: 3, "a1 a2 a3": 5}, max_rated=3, repeats=2)(tmp_path)
    assert titles == [A, A, B, B, "x y", "x y"]
    assert mapped == [A]
    assert found.flags == ("truncated", "parametric")  # the point refers to no report


def test_a_rating_that_is_not_paid_for_ends_the_question(tmp_path: Path) -> None:
    titles, mapped, found = rated({A: Reply("skipped")})(tmp_path)
    assert (titles, mapped, found.status) == ([A, B, "x y"], [], "skipped")


def test_index_of_the_double(tmp_path: Path) -> None:
    """The reports above are those of the model: their titles name the members."""
    made = Index.open(resources(prisms(tmp_path), tmp_path, written), SMALL)
    assert sorted(made.reports.row(row).title for row in range(7)) == sorted([A, B, "x y", *TRIANGLES])
