"""The embedded store against networkx on random graphs, and its bulk columns."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clwqa_bench.kg import walks
from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Path

TYPES = ("Idiom", "Word", "Book", "Chapter")
RELATIONS = ("hasSource", "seeAlso", "partOf")
BOTH_WAYS = (0, walks.MANY)  # walks are extended many at once, or one by one
NODES = [f"n{i}" for i in range(7)]

edge = st.tuples(st.sampled_from(NODES), st.sampled_from(RELATIONS), st.sampled_from(NODES))
edges = st.one_of(st.sets(edge, min_size=9, max_size=18), st.sets(edge, max_size=5))
types = st.lists(st.sampled_from(TYPES), min_size=len(NODES), max_size=len(NODES))


class Pair:
    """The same graph twice: as a MemoryGraph and as a MultiDiGraph."""

    def __init__(self, types: list[str], edges: set[tuple[str, str, str]]) -> None:
        # labels run against ids, so that neither order can be mistaken for the other
        labels = [f"label {len(NODES) - i}" for i in range(len(NODES))]
        heads, relations, tails = ([edge[i] for edge in edges] for i in range(3))
        with tempfile.TemporaryDirectory() as scratch:
            directory = FilePath(scratch)
            write_index(
                pa.table({"id": NODES, "label": labels, "type": types}),
                pa.table({n: pa.array(v, pa.string()) for n, v in zip(
                    ("head", "relation", "tail"), (heads, relations, tails), strict=True)}),
                directory,
            )  # fmt: skip
            self.store = MemoryGraph.open(directory)
            self.order = {node: i for i, node in enumerate(self.store.entities())}
        self.types = dict(zip(NODES, types, strict=True))
        self.graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        self.graph.add_nodes_from(NODES)
        self.graph.add_edges_from((h, t, r) for h, r, t in edges)

    def sorted(self, nodes: Any) -> tuple[str, ...]:
        return tuple(sorted(nodes, key=self.order.__getitem__))

    def steps(self, node: str, directed: bool) -> list[tuple[str, str, str]]:
        """(node reached, relation, sense) over every edge at a node, in order; a loop forwards only."""
        out = [(t, r, "out") for _, t, r in self.graph.out_edges(node, keys=True)]
        back = [(h, r, "in") for h, _, r in self.graph.in_edges(node, keys=True) if h != node]
        found = out + ([] if directed else back)
        return sorted(found, key=lambda s: (self.order[s[0]], s[1], s[2] == "in"))

    def walks(self, path: Path, length: int, simple: bool, directed: bool = False) -> list[Path]:
        """All walks that extend ``path`` to ``length`` edges."""
        if len(path) == length:
            return [path]
        return [
            walk
            for node, relation, sense in self.steps(path.nodes[-1], directed)
            if not (simple and node in path.nodes)
            for walk in self.walks(
                Path((*path.nodes, node), (*path.relations, relation), (*path.senses, sense)),  # type: ignore[arg-type]
                length,
                simple,
                directed,
            )
        ]


pair = st.builds(Pair, types, edges)
node = st.sampled_from(NODES)
some = settings(max_examples=30, deadline=None)


@some
@given(pair, node)
def test_neighbours(pair: Pair, node: str) -> None:
    out, into = set(pair.graph.successors(node)), set(pair.graph.predecessors(node))
    for direction, expected in {"out": out, "in": into, "both": out | into}.items():
        assert pair.store.neighbours(node, None, direction).items == pair.sorted(expected)  # type: ignore[arg-type]


@some
@given(pair)
def test_triples(pair: Pair) -> None:
    found = [(t.head, t.relation, t.tail) for t in pair.store.triples()]
    expected = [(h, r, t) for h, t, r in pair.graph.edges(keys=True)]
    assert found == sorted(expected, key=lambda e: (pair.order[e[0]], e[1], pair.order[e[2]]))


@some
@given(pair, node, node, st.booleans())
def test_shortest(pair: Pair, source: str, target: str, directed: bool) -> None:
    graph = nx.DiGraph(pair.graph) if directed else nx.Graph(pair.graph)
    found = pair.store.shortest([source], target, every=True, directed=directed, max_length=10)
    if not nx.has_path(graph, source, target):
        assert found.total == 0
        return
    node_paths = {tuple(path) for path in nx.all_shortest_paths(graph, source, target)}
    assert {path.nodes for path in found} == node_paths
    length = nx.shortest_path_length(graph, source, target)
    assert list(found) == [
        walk for walk in pair.walks(Path((source,)), length, True, directed) if walk.nodes[-1] == target
    ]
    assert pair.store.shortest([source], target, directed=directed, max_length=10).items == found.items[:1]
    assert pair.store.shortest([source], target, directed=directed, max_length=length - 1).total == 0


@some
@given(pair, node, st.integers(0, 3), st.booleans())
def test_khop(pair: Pair, centre: str, k: int, directed: bool) -> None:
    ego = nx.ego_graph(pair.graph, centre, radius=k, undirected=not directed)
    near = pair.store.khop([centre], k, directed=directed)
    assert set(near.nodes) == set(ego)
    assert {(t.head, t.tail, t.relation) for t in near.triples} == set(ego.edges(keys=True))
    graph = pair.graph if directed else pair.graph.to_undirected()
    distance = nx.single_source_shortest_path_length(graph, centre)
    assert list(near.nodes) == sorted(ego, key=lambda n: (distance[n], pair.order[n]))


@some
@given(pair, node, st.integers(0, 3), st.booleans())
def test_follow(pair: Pair, start: str, length: int, simple: bool) -> None:
    expected = pair.walks(Path((start,)), length, simple)
    for many in BOTH_WAYS:
        with patch.object(walks, "MANY", many):
            found = pair.store.follow([start], [(None, "both", None)] * length, simple=simple)
        assert list(found) == expected


@some
@given(
    pair,
    st.lists(node, min_size=1),
    st.lists(
        st.tuples(
            st.sampled_from([None, *RELATIONS, RELATIONS[:2]]),
            st.sampled_from(["out", "in", "both"]),
            st.sampled_from([None, *TYPES, "CultureLoadedWord", ("Book", "Chapter")]),
        ),
        max_size=3,
    ),
    st.integers(0, 5),
)
def test_follow_constrained(pair: Pair, starts: list[str], steps: Any, limit: int) -> None:
    def fits(path: Path) -> bool:
        for (relations, direction, wanted), (relation, sense), reached in zip(
            steps, zip(path.relations, path.senses, strict=True), path.nodes[1:], strict=True
        ):
            allowed = (wanted,) if isinstance(wanted, str) else wanted
            if relations is not None and relation not in (
                [relations] if isinstance(relations, str) else relations
            ):
                return False
            if direction not in (sense, "both"):
                return False
            if allowed and not any(pair.store.ontology.is_a(pair.types[reached], t) for t in allowed):
                return False
        return True

    expected = [
        walk
        for start in pair.sorted(set(starts))
        for walk in pair.walks(Path((start,)), len(steps), True)
        if fits(walk)
    ]
    for many in BOTH_WAYS:
        with patch.object(walks, "MANY", many):
            found = pair.store.follow(starts, steps, limit=limit)
        assert list(found) == expected[:limit]
        assert found.total == len(expected)


@some
@given(pair, node, st.integers(0, 4), st.booleans(), st.one_of(st.none(), st.integers(0, 30)))
def test_paths(pair: Pair, start: str, longest: int, directed: bool, limit: int | None) -> None:
    expected = [
        walk
        for length in range(1, longest + 1)
        for walk in pair.walks(Path((start,)), length, True, directed)
    ]
    everything = pair.store.paths([start], longest, directed=directed)
    assert sorted(everything, key=repr) == sorted(expected, key=repr)
    for before, after in pairwise(
        everything
    ):  # depth first: an extension follows, or an earlier step moves on
        assert len(after) <= len(before) + 1
    cut = pair.store.paths([start], longest, directed=directed, limit=limit)
    assert cut.items == everything.items[:limit]
    assert cut.total == len(expected)


@some
@given(pair)
def test_schema(pair: Pair) -> None:
    counted: dict[tuple[str, str, str], int] = {}
    for head, tail, relation in pair.graph.edges(keys=True):
        key = pair.types[head], relation, pair.types[tail]
        counted[key] = counted.get(key, 0) + 1
    found = {(s.head_type, s.relation, s.tail_type): s.count for s in pair.store.schema().signatures}
    assert found == counted


# ---------------------------------------------------------------------- columns for bulk joins


@some
@given(pair)
def test_edge_columns(pair: Pair) -> None:
    store = pair.store
    for relation in RELATIONS:
        heads, tails = store.edges(relation)
        found = [
            (store.id_of(h), store.id_of(t)) for h, t in zip(heads.tolist(), tails.tolist(), strict=True)
        ]
        expected = [(h, t) for h, t, r in pair.graph.edges(keys=True) if r == relation]
        assert found == sorted(expected, key=lambda e: (pair.order[e[0]], pair.order[e[1]]))


@some
@given(pair)
def test_node_columns(pair: Pair) -> None:
    store = pair.store
    assert [store.index_of(node) for node in store.ids] == list(range(len(store)))
    assert [store.ontology.types[code] for code in store.type_code] == [
        pair.types[node] for node in store.ids
    ]
    assert store.labels == [store.entity(node).label for node in store.ids]
    words = [store.index_of(node) for node in store.by_type("Word")]
    assert np.array_equal(store.nodes_of("Word"), words)
    assert np.array_equal(store.nodes_of(None), np.arange(len(store)))


def test_edges_of_a_super_relation(tmp_path: FilePath) -> None:
    write_index(
        pa.table({"id": ["b", "p", "q"], "label": ["b", "p", "q"], "type": ["Book", "Person", "Person"]}),
        pa.table({"head": ["b", "b"], "relation": ["compiledBy", "authoredBy"], "tail": ["p", "q"]}),
        tmp_path,
    )
    heads, tails = MemoryGraph.open(tmp_path).edges("hasCreator")
    assert (heads.tolist(), tails.tolist()) == ([0, 0], [2, 1])


def test_one_string_is_not_several_ids(tmp_path: FilePath) -> None:
    entities = pa.table({"id": ["a"], "label": ["a"], "type": ["Book"]})
    empty = pa.table({name: pa.array([], pa.string()) for name in ("head", "relation", "tail")})
    write_index(entities, empty, tmp_path)
    with pytest.raises(TypeError, match="several ids"):
        MemoryGraph.open(tmp_path).follow("a", [])


def test_opening_a_graph_parses_no_turtle(tmp_path: FilePath) -> None:
    """rdflib alone takes longer to import than a graph may take to open."""
    entities = pa.table({"id": ["a"], "label": ["a"], "type": ["Book"]})
    empty = pa.table({name: pa.array([], pa.string()) for name in ("head", "relation", "tail")})
    write_index(entities, empty, tmp_path)
    program = (
        "import sys; from clwqa_bench.kg.memory import MemoryGraph; "
        f"graph = MemoryGraph.open({str(tmp_path)!r}); print(graph.types('a'), 'rdflib' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "('Book', 'CulturalSource') False\n"
