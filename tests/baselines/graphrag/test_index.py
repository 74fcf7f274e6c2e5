"""The index of a small graph, worked out by hand: tables, communities, what reports are made from, and reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clwqa_baselines.graphrag.communities import detect
from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.index import Index
from clwqa_baselines.graphrag.reports import Level, Written, references
from clwqa_baselines.graphrag.tables import Tables
from clwqa_baselines.graphrag.tasks import EntityRow, Fact, Finding, Report, ReportRow, WriteReport
from clwqa_baselines.graphrag.writing import LOG, UnfinishedIndex
from clwqa_bench.llm.protocol import Reply
from tests.baselines.culture import Double
from tests.baselines.graphrag.prisms import SMALL, about, index, prisms, resources, written
from tests.baselines.worlds import world


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    kg = prisms(tmp_path)
    Tables.build(kg, kg.ontology, tmp_path / "tables")
    return Tables(tmp_path / "tables", kg.ontology)


def found(tables: Tables, config: GraphRagConfig) -> list[tuple[int, int, str]]:
    """Level, parent and members of every community."""
    communities = detect(tables, config)
    return [
        (int(communities.level[c]), int(communities.parent[c]), names(tables, communities.members(c)))
        for c in range(len(communities))
    ]


def names(tables: Tables, nodes: Any) -> str:
    return " ".join(tables.name(int(node)) for node in nodes)


# ---------------------------------------------------------------------- tables


def test_degrees_count_distinct_neighbours(tables: Tables) -> None:
    degree = {tables.name(n): int(tables.degree[n]) for n in range(len(tables.ids))}
    assert degree == {
        **{f"{p}{n}": 3 for p in "ab" for n in range(1, 7)},
        "a1": 4,
        "b1": 4,
        "x": 1,
        "y": 1,
        "z": 0,
    }


def test_two_relationships_of_a_pair_are_one_neighbour_and_one_edge_of_weight_two(tmp_path: Path) -> None:
    kg = world(tmp_path / "kg", [("p", "r1", "q"), ("q", "r2", "p"), ("p", "r1", "p")])
    Tables.build(kg, kg.ontology, tmp_path / "tables")
    tables = Tables(tmp_path / "tables", kg.ontology)
    assert tables.degree.tolist() == [1, 1]
    assert [str(tables.triple(e).id) for e in tables.edges_at(0).tolist()] == [
        "p -r1-> p",
        "p -r1-> q",
        "q -r2-> p",
    ]
    assert found(tables, SMALL) == [(0, -1, "p q")]


# ---------------------------------------------------------------------- communities


def test_large_communities_are_split_and_the_rest_stay_as_they_are(tables: Tables) -> None:
    assert sorted(found(tables, SMALL)) == [
        (0, -1, "a1 a2 a3 a4 a5 a6"),
        (0, -1, "b1 b2 b3 b4 b5 b6"),
        (0, -1, "x y"),
        (1, 0, "a1 a2 a3"),
        (1, 0, "a4 a5 a6"),
        (1, 1, "b1 b2 b3"),
        (1, 1, "b4 b5 b6"),
    ]


def test_the_largest_component_alone_leaves_the_pair_out(tables: Tables) -> None:
    members = {community for _, _, community in found(tables, SMALL.model_copy(update={"use_lcc": True}))}
    assert "x y" not in members
    assert len(members) == 6


def test_names_in_small_letters_lose_their_communities_as_in_the_code(tmp_path: Path) -> None:
    kg = prisms(tmp_path, labels={f"a{n}": f"A{n}" for n in range(1, 7)})
    Tables.build(kg, kg.ontology, tmp_path / "tables")
    config = SMALL.model_copy(update={"use_lcc": True, "match_names": "component"})
    members = [community for _, _, community in found(Tables(tmp_path / "tables", kg.ontology), config)]
    assert sorted(members) == ["A1 A2 A3", "A1 A2 A3 A4 A5 A6", "A4 A5 A6"]


def test_levels_are_read_down_to_one_or_the_finest_of_each_entity(tables: Tables) -> None:
    communities = detect(tables, SMALL)
    assert communities.level[communities.read(1, every=True)].tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert [communities.size[c] for c in communities.read(1, every=False)] == [2, 3, 3, 3, 3]
    assert [communities.size[c] for c in communities.read(0, every=False)] == [6, 6, 2]


def test_the_weight_of_a_community_is_its_share_of_relationships(tmp_path: Path) -> None:
    made = index(tmp_path)
    weight = {names(made.tables, made.communities.members(c)): w for c, w in enumerate(made.weight)}
    # a prism has 9 edges and the one to the other prism; a triangle 3, 3 to its like, and the bridge or not
    assert weight["a1 a2 a3 a4 a5 a6"] == 1
    assert weight["a1 a2 a3"] == 0.7
    assert weight["b4 b5 b6"] == 0.6
    assert weight["x y"] == 0.1


@pytest.mark.parametrize("triples", [[], [("p", "r1", "p")]], ids=["no edge", "a loop alone"])
def test_a_graph_without_edges_between_nodes_has_no_communities(
    tmp_path: Path, triples: list[tuple[str, str, str]]
) -> None:
    kg = world(tmp_path / "kg", triples, alone=["q"])
    made = Index.open(resources(kg, tmp_path), SMALL)
    assert (len(made.communities), len(made.reports), made.read(2, every=True)) == (0, 0, [])


def test_the_same_graph_gives_the_same_index(tmp_path: Path) -> None:
    one, other = index(tmp_path / "one"), index(tmp_path / "other")
    assert np.array_equal(one.communities.entities, other.communities.entities)
    assert one.digest == other.digest


# ---------------------------------------------------------------------- what reports are made from


def edges(made: Index, numbers: tuple[int, ...]) -> list[str]:
    return [f"{made.tables.triple(e).head}{made.tables.triple(e).tail}" for e in numbers]


def test_of_each_member_its_first_outgoing_else_first_incoming_edge_by_combined_degree(
    tmp_path: Path,
) -> None:
    made = index(tmp_path)
    material = Level(0, made.tables, made.communities, SMALL).material(0, {})
    # first of a1: a1a2 (4 + 3), of a2: a2a3, of a3: a3a6, of a4: a4a5, of a5: a5a6, of a6 (none outgoing): a3a6
    assert edges(made, material.edges) == ["a1a2", "a2a3", "a3a6", "a4a5", "a5a6"]
    assert names(made.tables, material.entities) == "a1 a2 a3 a6 a4 a5"


def test_all_edges_inside_if_so_set(tmp_path: Path) -> None:
    made = index(tmp_path)
    config = SMALL.model_copy(update={"report_edges": "all"})
    material = Level(0, made.tables, made.communities, config).material(0, {})
    assert edges(made, material.edges)[:4] == ["a1a2", "a1a3", "a1a4", "a2a3"]  # those of a1 have 4 + 3
    assert len(material.edges) == 9


def test_rows_that_do_not_fit_are_cut(tmp_path: Path) -> None:
    made = index(tmp_path)
    two = int(made.tables.edge_tokens[0] * 2 + made.tables.node_tokens[0] * 3)
    config = SMALL.model_copy(update={"report_input": two, "substitute": False})
    material = Level(0, made.tables, made.communities, config).material(0, {})
    assert edges(made, material.edges) == ["a1a2", "a2a3"]


def test_reports_take_the_place_of_members_that_do_not_fit(tmp_path: Path) -> None:
    """The rows of a prism take 6 nodes and 5 edges; a1a2 a2a3 a3a6 belong to the triangle of a1, which is longer."""
    made = index(tmp_path)
    node, edge = int(made.tables.node_tokens[0]), int(made.tables.edge_tokens[0])
    whole = 6 * node + 5 * edge
    first, second = made.communities.children[0]
    config = SMALL.model_copy(update={"report_input": whole - 1})
    level = Level(0, made.tables, made.communities, config)
    replaced = level.material(0, {first: 2, second: 2})
    assert replaced.reports == (first,)
    assert edges(made, replaced.edges) == ["a4a5", "a5a6"]
    assert level.material(0, {second: 2}).reports == (second,)  # there is none on the other
    tight = Level(0, made.tables, made.communities, config.model_copy(update={"report_input": 5}))
    assert tight.material(0, {first: 3, second: 3}).reports == (first,)  # the second no longer fits


# ---------------------------------------------------------------------- reports


def test_references_are_read_whatever_the_brackets() -> None:
    text = "甲 [Data: Reports (2, 7, +more); Entities (5)]，乙【Data：Relationships（3、8）】[1]"
    assert references(text) == [
        ("reports", 2), ("reports", 7), ("entities", 5), ("relationships", 3), ("relationships", 8),
    ]  # fmt: skip


def test_a_report_is_kept_as_markdown_with_the_relationships_it_was_shown() -> None:
    finding = Finding(summary="乙", explanation="丙 [Data: Relationships (3, 99)]")
    report = Report(title="甲", summary="丁。", rating=7, findings=(finding,))
    kept = Written.of(4, report, known={3})
    assert kept.content == "# 甲\n\n丁。\n\n## 乙\n\n丙 [Data: Relationships (3, 99)]"
    assert (kept.community, kept.facts) == (4, (3,))


def test_the_report_by_rule_puts_relationships_under_their_hubs() -> None:
    def row(number: int, name: str, degree: int) -> EntityRow:
        return EntityRow(number=number, name=name, description=f"典籍：{name}", degree=degree, entity_id=name)

    def fact(number: int, head: str, tail: str) -> Fact:
        return Fact(
            number=number, source=head, target=tail, description=f"{head} —r→ {tail}", rank=0,
            head=head, relation="r", tail=tail, head_type="", tail_type="",
        )  # fmt: skip

    made = WriteReport(
        entities=(row(0, "甲", 1), row(1, "乙", 3), row(2, "丙", 2)),
        relations=(fact(5, "甲", "乙"), fact(6, "乙", "丙"), fact(7, "丙", "丁")),
        reports=(ReportRow(number=9, title="下", content="# 下\n\n内容", rating=1),),
    ).extract()
    assert made.title == "乙、丙"  # the largest degrees
    assert made.summary == "典籍：乙；典籍：丙；典籍：甲；下"
    assert made.rating == 2.3  # log2 of 1 + 3 relationships + 1 report
    assert [(f.summary, f.explanation) for f in made.findings] == [
        ("丙", "乙 —r→ 丙；丙 —r→ 丁 [Data: Relationships (6, 7)]"),
        ("乙", "甲 —r→ 乙 [Data: Relationships (5)]"),
        ("下", "# 下 内容"),
    ]


# ---------------------------------------------------------------------- writing


def test_the_model_writes_from_the_finest_communities_up(tmp_path: Path) -> None:
    llm = Double(written)
    given = resources(prisms(tmp_path), tmp_path, written)
    made = Index.open(given, SMALL)
    assert isinstance(given.llm, Double)
    asked = [about(task) for task in given.llm.asked]
    assert sorted(asked[:4]) == ["a1 a2 a3", "a4 a5 a6", "b1 b2 b3", "b4 b5 b6"]
    assert sorted(asked[4:]) == ["a1 a2 a3 a4 a5 a6", "b1 b2 b3 b4 b5 b6", "x y"]
    assert made.reports.row(made.reports.of[2]).title == "x y"
    assert Index.open(resources(prisms(tmp_path), tmp_path, llm.asked.append), SMALL).digest == made.digest
    assert llm.asked == []  # nothing is asked twice


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def three(task: Any) -> Any:
        if len(asked) == 3:
            raise Killed
        asked.append(about(task))
        return written(task)

    asked: list[str] = []
    with pytest.raises(Killed):
        Index.open(resources(prisms(tmp_path), tmp_path, three), SMALL)
    (log,) = (tmp_path / "cache").rglob(LOG)
    lines = log.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    log.write_bytes(b"".join(lines[:2]) + lines[2][:10])  # the third line was not finished
    given = resources(prisms(tmp_path), tmp_path, written)
    made = Index.open(given, SMALL)
    assert isinstance(given.llm, Double)
    assert len(given.llm.asked) == 7 - 2
    assert len(made.reports) == 7
    assert made.digest == Index.open(resources(prisms(tmp_path / "x"), tmp_path / "x", written), SMALL).digest


@pytest.mark.parametrize(
    ("status", "asked_again"), [("refused", 0), ("unparsed", 0), ("error", 1), ("timeout", 1)]
)
def test_a_report_that_failed_is_left_out(tmp_path: Path, status: Any, asked_again: int) -> None:
    def reply(task: Any) -> Any:
        return Reply(status) if about(task) == "x y" else written(task)

    made = Index.open(resources(prisms(tmp_path), tmp_path, reply), SMALL)
    assert len(made.reports) == 6
    assert 2 not in made.reports.of
    again = resources(prisms(tmp_path), tmp_path, written)
    assert len(Index.open(again, SMALL).reports) == 6 + asked_again
    assert isinstance(again.llm, Double)
    assert len(again.llm.asked) == asked_again


def test_where_the_budget_ends_so_does_the_run_and_what_is_written_is_kept(tmp_path: Path) -> None:
    def reply(task: Any) -> Any:
        return (
            Reply("skipped", error="the budget of 6 calls does not allow another call")
            if (about(task) == "x y")
            else written(task)
        )

    with pytest.raises(
        UnfinishedIndex, match=r"6 of 7 community reports are written, then the budget of 6 calls"
    ):
        Index.open(resources(prisms(tmp_path), tmp_path, reply), SMALL)
    given = resources(prisms(tmp_path), tmp_path, written)
    Index.open(given, SMALL)
    assert isinstance(given.llm, Double)
    assert [about(task) for task in given.llm.asked] == ["x y"]


def test_a_rule_writes_if_so_set_and_nothing_is_asked(tmp_path: Path) -> None:
    given = resources(prisms(tmp_path), tmp_path, written)
    made = Index.open(given, SMALL.model_copy(update={"reports": "extractive"}))
    assert isinstance(given.llm, Double)
    assert (len(made.reports), given.llm.asked) == (7, [])


def test_a_dry_run_asks_for_every_report_and_keeps_none(tmp_path: Path) -> None:
    given = resources(prisms(tmp_path), tmp_path, written)
    made = Index.open(replace(given, dry=True), SMALL)
    assert isinstance(given.llm, Double)
    assert len(given.llm.asked) == 7
    assert made.reports.row(0).title == "a1、a2"  # by rule
    assert len(Index.open(given, SMALL).reports) == 7
    assert len(given.llm.asked) == 2 * 7
