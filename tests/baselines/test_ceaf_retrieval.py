"""Stage 2 of CEAF: type paths, their instances and relaxation, each worked out by hand (see `culture`)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from clwqa_baselines.ceaf.relaxation import Step, relax
from clwqa_baselines.ceaf.retrieval import (
    AnchorNodes,
    Query,
    Retrieved,
    TypeGraph,
    instantiate,
    reached_by_all,
    retrieve,
)
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Path
from clwqa_bench.ontology import Ontology, Term
from tests.baselines import culture
from tests.baselines.culture import ONTOLOGY

HARE, OTHER = (
    AnchorNodes(("守株待兔",), ("Idiom",), "守株待兔"),
    AnchorNodes(("刻舟求剑",), ("Idiom",), "刻舟求剑"),
)


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


def type_paths(elements: str, target: str | None, **options: int) -> set[str]:
    found = TypeGraph(ONTOLOGY, **options).type_paths(elements.split(), target)  # type: ignore[arg-type]
    assert len(set(found)) == len(found)
    return {" ".join(path) for path in found}


def walked(paths: tuple[Path, ...] | Retrieved) -> list[str]:
    return [" ".join(path.nodes) for path in (paths.paths if isinstance(paths, Retrieved) else paths)]


# ---------------------------------------------------------------------- step A

FIRST = {"Idiom Work Person"}
SECOND = FIRST | {"Idiom Unit Work Person", "Idiom Word Work Person"}
DETOURS = {"Unit Word", "Word Unit", "Quotation Word"}  # of four edges, between an idiom and a work
COMING_BACK = {"Word Word", "Work Word", "Work Unit"}  # with one element twice


@pytest.mark.parametrize(
    ("d_max", "allow_repeat", "expected"),
    [
        (1, 1, set()),
        (2, 1, FIRST),
        (3, 1, SECOND),
        (4, 0, SECOND | {f"Idiom {way} Work Person" for way in DETOURS}),
        (4, 1, SECOND | {f"Idiom {way} Work Person" for way in DETOURS | COMING_BACK}),
    ],
)
def test_type_paths_grow_to_the_greatest_depth_and_may_come_back_so_often(
    d_max: int, allow_repeat: int, expected: set[str]
) -> None:
    assert type_paths("Idiom", "Person", d_max=d_max, allow_repeat=allow_repeat) == expected


@pytest.mark.parametrize(
    ("elements", "target", "expected"),
    [
        (
            "Idiom",
            "Proverb",
            {"Idiom Proverb"},
        ),  # `like` leads to Word, which is narrowed to what is asked for
        ("Proverb", "Word", {"Proverb Word"}),
        ("Idiom Unit", "Work", {"Idiom Work", "Unit Work"}),  # several sources
        ("Person", "Word", set()),  # two edges away
        ("Unit", None, {"Unit Word", "Unit Work"}),  # anything
    ],
)
def test_type_paths_start_at_an_anchor_element_and_end_at_the_target(
    elements: str, target: str | None, expected: set[str]
) -> None:
    assert type_paths(elements, target, d_max=1) == expected


def test_shorter_type_paths_come_first_and_are_worked_out_once() -> None:
    types = TypeGraph(ONTOLOGY, d_max=3)
    found = types.type_paths(["Idiom"], "Work")
    assert [len(path) for path in found] == sorted(len(path) for path in found)
    assert types.type_paths(("Idiom",), "Work") is found


@pytest.mark.parametrize("through", [False, True])
def test_categories_are_passed_through_only_if_set(through: bool) -> None:
    found = TypeGraph(Ontology.load(), 2, through_categories=through).type_paths(["Idiom"], "Book")
    assert (("Idiom", "SubCategory", "Book") in found) is through
    assert ("Idiom", "SubCategory") in TypeGraph(Ontology.load(), 1).type_paths(["Idiom"], "SubCategory")


# ---------------------------------------------------------------------- step B


def test_nodes_of_an_element_or_below_are_filled_in_over_any_relation_either_way(kg: MemoryGraph) -> None:
    assert walked(tuple(instantiate(["韩非子"], ["Word"], kg, 9))) == ["韩非子 守株缘木"]
    by_editor = instantiate(["韩非"], ["Work", "Person"], kg, 9)
    assert walked(tuple(by_editor)) == ["韩非 韩非子 王先慎"]  # and not back to 韩非


def test_all_instances_of_all_type_paths_are_found(kg: MemoryGraph) -> None:
    found = retrieve(Query((HARE,), "Person"), kg, TypeGraph(ONTOLOGY), cap=9)
    assert walked(found) == [
        "守株待兔 五蠹 韩非子 王先慎",
        "守株待兔 五蠹 韩非子 韩非",
        "守株待兔 守株缘木 韩非子 王先慎",
        "守株待兔 守株缘木 韩非子 韩非",
    ]
    assert found.capped == 0


def test_shorter_paths_stand_before_longer_ones_and_none_twice(kg: MemoryGraph) -> None:
    twice = replace(HARE, elements=("Idiom", "Word"))
    found = retrieve(Query((twice,), "Work"), kg, TypeGraph(ONTOLOGY, d_max=2), cap=9)
    assert walked(found) == ["守株待兔 五蠹 韩非子", "守株待兔 守株缘木 韩非子"]


def test_the_cap_counts_what_it_cuts_off_per_type_path(kg: MemoryGraph) -> None:
    found = retrieve(Query((HARE,), "Person"), kg, TypeGraph(ONTOLOGY), cap=1)
    assert (len(found.paths), found.capped) == (2, 2)


def test_paths_of_several_anchors_are_merged(kg: MemoryGraph) -> None:
    found = retrieve(Query((HARE, OTHER), "Word"), kg, TypeGraph(ONTOLOGY, d_max=1), cap=9)
    assert walked(found) == [
        "刻舟求剑 守株待兔",  # the one triple between the anchors, walked from either
        "守株待兔 刻舟求剑",
        "守株待兔 守株缘木",
    ]


def test_an_intersection_keeps_what_every_anchor_reaches(kg: MemoryGraph) -> None:
    anchors = (AnchorNodes(("五蠹",), ("Unit",)), AnchorNodes(("庄子集解",), ("Work",)))
    found = retrieve(Query(anchors, "Person"), kg, TypeGraph(ONTOLOGY, d_max=2), cap=9)
    assert walked(found) == ["庄子集解 王先慎", "五蠹 韩非子 王先慎", "五蠹 韩非子 韩非"]
    assert walked(reached_by_all(found.paths, anchors)) == ["庄子集解 王先慎", "五蠹 韩非子 王先慎"]
    apart = (*anchors, AnchorNodes(("吕氏春秋",), ("Work",)))
    assert reached_by_all(found.paths, apart) == found.paths  # nothing is shared: all stay


# ---------------------------------------------------------------------- relaxation


def paths(count: int) -> Retrieved:
    return Retrieved(tuple(Path((f"n{number}",)) for number in range(count)))


def constraints(*elements: str, target: str = "Proverb") -> Query:
    anchors = (AnchorNodes(("a",), tuple(of.split()), f"m{n}") for n, of in enumerate(elements))
    return Query(tuple(anchors), target)


@pytest.mark.parametrize(
    ("rule", "start", "counts", "steps"),
    [
        # enough from the start: nothing is relaxed
        ("any", 3, [], []),
        # stop rule 1: the target's step fills the budget
        ("any", 1, [3], [("target", "Proverb", "Word", 2)]),
        # ... else anchors follow, one element at a time, the first of equally specific ones first
        ("any", 1, [2, 3], [("target", "Proverb", "Word", 1), ("m0", "Idiom", "Word", 1)]),
        # stop rule 2: no parent is left
        (
            "any",
            0,
            [1, 2, 2],
            [("target", "Proverb", "Word", 1), ("m0", "Idiom", "Word", 1), ("m1", "Proverb", "Word", 0)],
        ),
        # stop rule 3, read literally: a fruitless step of the target is the last
        ("any", 2, [2, 3], [("target", "Proverb", "Word", 0)]),
        # stop rule 3 for anchors only
        ("anchor_only", 2, [2, 3], [("target", "Proverb", "Word", 0), ("m0", "Idiom", "Word", 1)]),
        (
            "anchor_only",
            2,
            [2, 2, 3],
            [("target", "Proverb", "Word", 0), ("m0", "Idiom", "Word", 0)],
        ),
    ],
)
def test_relaxation_backs_off_step_by_step_and_stops_by_three_rules(
    rule: str, start: int, counts: list[int], steps: list[tuple[str, str, str, int]]
) -> None:
    waiting = iter(counts)
    relaxed = relax(
        constraints("Idiom", "Proverb"),
        paths(start),
        lambda query: paths(next(waiting)),
        ONTOLOGY,
        budget=3,
        stop_on_no_new=rule,  # type: ignore[arg-type]
    )
    assert relaxed.steps == tuple(Step(*step) for step in steps)
    assert len(relaxed.found.paths) == max([start, *counts[: len(steps)]])


def test_the_most_specific_element_is_relaxed_first_and_the_target_once() -> None:
    asked: list[Query] = []

    def empty(query: Query) -> Retrieved:
        asked.append(query)
        return Retrieved((Path((f"n{len(asked)}",)),))

    relax(constraints("Work", "Word Idiom", target="Idiom"), Retrieved(), empty, ONTOLOGY, budget=9)
    assert asked == [
        constraints("Work", "Word Idiom", target="Word"),
        constraints("Work", "Word", target="Word"),  # Idiom is a Word already there
    ]


def test_of_elements_at_different_depths_the_deepest_is_relaxed_first() -> None:
    parents = {**culture.TYPES, "Fable": "Idiom"}
    deeper = Ontology({name: Term(name, (), (), parent) for name, parent in parents.items()}, {})
    query, always_one_more = constraints("Proverb", "Fable", target="Work"), itertools.count(1)
    relaxed = relax(query, paths(0), lambda _: paths(next(always_one_more)), deeper, budget=9)
    assert [(step.of, step.narrow, step.broad) for step in relaxed.steps] == [
        ("m1", "Fable", "Idiom"),
        ("m0", "Proverb", "Word"),  # of two equally deep ones the first
        ("m1", "Idiom", "Word"),
    ]


def test_relaxed_paths_are_merged_with_strict_ones(kg: MemoryGraph) -> None:
    types = TypeGraph(ONTOLOGY, d_max=1)
    query = Query((HARE,), "Proverb")
    strict = retrieve(query, kg, types, cap=9)
    relaxed = relax(query, strict, lambda q: retrieve(q, kg, types, cap=9), ONTOLOGY, budget=3)
    assert walked(strict) == ["守株待兔 守株缘木"]
    assert walked(relaxed.found) == ["守株待兔 刻舟求剑", "守株待兔 守株缘木"]
    assert relaxed.steps == (Step("target", "Proverb", "Word", 1), Step("守株待兔", "Idiom", "Word", 0))
