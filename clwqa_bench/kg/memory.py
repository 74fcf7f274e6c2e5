"""The embedded graph store: a graph directory, memory-mapped.  No server, opens in milliseconds."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from clwqa_bench.errors import GraphError
from clwqa_bench.kg import walks
from clwqa_bench.kg.layout import (
    INDEX_FORMAT,
    META,
    Ints,
    index_digests,
    load_array,
    read_batch,
    relation_names,
    table_sizes,
)
from clwqa_bench.kg.protocol import (
    Direction,
    Entity,
    Found,
    Names,
    Path,
    Paths,
    Schema,
    Sense,
    Signature,
    Step,
    StepFilter,
    Subgraph,
    Triple,
    cut,
)
from clwqa_bench.kg.search import NameIndex
from clwqa_bench.kg.topology import Adjacency, Hop, Plan, Topology
from clwqa_bench.ontology import Ontology, TypeNeighbour


class MemoryGraph:
    """A GraphStore over a graph directory.  Make one with :meth:`open`; reads are thread-safe.

    Besides the store operations it offers whole columns as integer arrays for bulk joins (``id_of``,
    ``index_of``, ``type_code``, ``edges``).  Only this store has them; systems under test use the protocol.
    """

    def __init__(self, directory: FilePath, ontology: Ontology) -> None:
        index = self._index_folder = directory / "index"
        self.ontology = ontology
        #: type of every node, a position in ``ontology.types``; int array of shape (nodes,)
        self.type_code: Ints = load_array(index / "type_code.npy")
        self._entities: pa.RecordBatch = read_batch(index / "entities.arrow")
        both = Adjacency.load(index, "out"), Adjacency.load(index, "in")
        self._topology = Topology(both, self.type_code, len(ontology.types))
        self._edge_head, self._edge_tail, self._edge_start = (
            load_array(index / f"edge_{name}.npy") for name in ("head", "tail", "start")
        )
        self._names = NameIndex(index, self.type_code)
        self._relation_names = relation_names(ontology)
        # by edge code, see topology.Hop
        self._edge_names = [name for name in self._relation_names for _ in range(2)]
        self._edge_senses: list[Sense] = ["out", "in"] * len(self._relation_names)
        self._plans: dict[Step, Plan] = {}
        self._codes: dict[Names, list[int]] = {}
        self._forwards, self._any = self._plan((None, "out", None)), self._plan((None, "both", None))

    @staticmethod
    def open(directory: str | FilePath) -> MemoryGraph:
        """Open a graph directory.  Raises GraphError if its index is missing, old or of other tables."""
        directory = FilePath(directory)
        index = directory / "index"
        fix = f"run `clwqa-bench kg index {directory}`"
        try:
            meta = json.loads((index / META).read_text(encoding="utf-8"))
            if meta["format"] != INDEX_FORMAT:
                raise GraphError("the graph index has another format", fix=fix, file=index)
            if not table_sizes(directory).items() <= meta["tables"].items():
                raise GraphError("the graph index was made for other tables", fix=fix, file=index)
            ontology = json.loads((index / "ontology.json").read_text(encoding="utf-8"))
            return MemoryGraph(directory, Ontology.from_json(ontology))
        except FileNotFoundError as error:
            if not (directory / "entities.parquet").is_file():
                fix = "name a directory that holds entities.parquet and triples.parquet"
            what = "the graph index is incomplete" if index.is_dir() else "no graph index here"
            raise GraphError(what, fix=fix, file=directory) from error

    def verify(self) -> None:
        """Raise GraphError unless every file of the index is as it was written."""
        written = json.loads((self._index_folder / META).read_text(encoding="utf-8"))["files"]
        found = index_digests(self._index_folder)
        if changed := sorted(name for name in written | found if written.get(name) != found.get(name)):
            raise GraphError(
                "the graph index is damaged",
                fix=f"run `clwqa-bench kg index {self._index_folder.parent}`",
                file=self._index_folder / changed[0],
            )

    # ------------------------------------------------------------------ whole columns (embedded only)

    def __len__(self) -> int:
        """The number of entities."""
        return len(self.type_code)

    def __contains__(self, node: object) -> bool:
        """True if ``node`` is the id of an entity."""
        return node in self._index

    @cached_property
    def ids(self) -> list[str]:
        """Ids by node number, that is in the order (label, id)."""
        ids: list[str] = self._entities.column("id").to_pylist()
        return ids

    @cached_property
    def labels(self) -> list[str]:
        """Labels by node number."""
        labels: list[str] = self._entities.column("label").to_pylist()
        return labels

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.ids)}

    def index_of(self, node: str, /) -> int:
        """The number of a node."""
        number = self._index.get(node)
        return number if number is not None else self._missing(node)

    def id_of(self, number: int, /) -> str:
        """The id of a node by number."""
        return self.ids[number]

    def edges(self, relation: str) -> tuple[Ints, Ints]:
        """(heads, tails) of a relation and its sub-relations, node numbers; of one relation sorted."""
        codes = self._relation_codes(relation)
        spans = [slice(self._edge_start[code], self._edge_start[code + 1]) for code in codes]
        if len(spans) == 1:
            return self._edge_head[spans[0]], self._edge_tail[spans[0]]
        heads, tails = ([column[s] for s in spans] for column in (self._edge_head, self._edge_tail))
        return np.concatenate(heads), np.concatenate(tails)

    def nodes_of(self, types: Names) -> Ints:
        """Numbers of all nodes of the given types or below, ascending."""
        return np.flatnonzero(np.isin(self.type_code, self._type_codes(types))).astype(np.int32)

    # ------------------------------------------------------------------ entities (G1-G4)

    def entity(self, node: str, /) -> Entity:
        """G1; each operation is described in GraphStore."""
        row = self.index_of(node)
        values = {name: self._entities.column(name)[row].as_py() for name in self._entities.schema.names}
        return Entity(
            id=values["id"],
            label=values["label"],
            types=self._types(row),
            aliases=tuple(values["aliases"]),
            text=values["text"],
            attributes=tuple((pair["key"], pair["value"]) for pair in values["attributes"]),
            provenance=values["provenance"],
        )

    def label(self, node: str, /) -> str:
        """The label alone, without reading the rest of the entity."""
        return self.labels[self.index_of(node)]

    def lookup(self, name: str, types: Names = None) -> tuple[str, ...]:
        codes = self._type_codes(types)
        return tuple(self.ids[n] for n in self._names.exact(name) if self.type_code[n] in codes)

    def fuzzy(self, name: str, k: int = 10, types: Names = None) -> tuple[tuple[str, float], ...]:
        found = self._names.similar(name, k, None if types is None else self._type_codes(types))
        return tuple((self.ids[number], score) for number, score in found)

    def by_type(self, name: str, *, descendants: bool = True) -> Iterator[str]:
        numbers = self.nodes_of(name)
        if not descendants:
            numbers = numbers[self.type_code[numbers] == self.ontology.types.index(name)]
        return (self.ids[number] for number in numbers.tolist())

    def types(self, node: str, /) -> tuple[str, ...]:
        return self._types(self.index_of(node))

    def entities(self) -> Iterator[str]:
        return iter(self.ids)

    # ------------------------------------------------------------------ edges (G5-G7)

    def relations(self, node: str, /, direction: Direction = "both") -> tuple[str, ...]:
        codes = self._topology.relations(self.index_of(node), self._plan((None, direction, None)))
        return tuple(self._relation_names[code] for code in sorted(codes))

    def neighbours(
        self,
        node: str,
        /,
        relation: Names = None,
        direction: Direction = "both",
        types: Names = None,
        *,
        limit: int | None = None,
        seed: int | None = None,
    ) -> Found[str]:
        plan = self._plan((relation, direction, types))
        found = cut(self._topology.neighbours(self.index_of(node), plan), limit, seed)
        return Found(tuple(map(self.ids.__getitem__, found.items)), found.total)

    def triples(self, node: str | None = None, /, direction: Direction = "both") -> Iterator[Triple]:
        plan = self._plan((None, direction, None))
        if node is None:
            return (self._triple(n, hop) for n in range(len(self)) for hop in self._out_by_relation(n))
        number = self.index_of(node)
        hops = self._topology.hops(number, plan)
        ends = sorted((number, e, t) if e % 2 == 0 else (t, e - 1, number) for t, e in hops)
        return (self._triple(head, (tail, edge)) for head, edge, tail in ends)

    # ------------------------------------------------------------------ paths (G8-G11)

    def follow(
        self, ids: Iterable[str], steps: Sequence[Step], *, simple: bool = True, limit: int | None = None
    ) -> Paths:
        plans = [self._plan(step) for step in steps]
        return self._paths(
            walks.follow(self._topology, self._numbers(ids), plans, simple=simple, limit=limit)
        )

    def shortest(
        self,
        sources: Iterable[str],
        target: str,
        *,
        max_length: int = 6,
        directed: bool = False,
        every: bool = False,
        limit: int | None = None,
    ) -> Paths:
        plan = self._forwards if directed else self._any
        ends = self._numbers(sources), self.index_of(target)
        return self._paths(walks.shortest(self._topology, *ends, max_length, plan, every=every, limit=limit))

    def paths(
        self,
        ids: Iterable[str],
        max_length: int,
        *,
        directed: bool = False,
        step_filter: StepFilter | None = None,
        limit: int | None = None,
    ) -> Paths:
        def accept(path: walks.RawPath, hop: Hop) -> bool:
            assert step_filter is not None
            return step_filter(self._path(path), self._triple(path[0][-1], hop))

        return self._paths(
            walks.enumerate_paths(
                self._topology,
                self._numbers(ids),
                max_length,
                self._forwards if directed else self._any,
                accept=accept if step_filter is not None else None,
                limit=limit,
            )
        )

    def khop(
        self, ids: Iterable[str], k: int, *, directed: bool = False, limit: int | None = None
    ) -> Subgraph:
        senses = (self._forwards if directed else self._any).senses
        nodes = walks.khop(self._topology, self._numbers(ids), k, senses)
        kept = nodes if limit is None else nodes[:limit]
        heads, relations, tails = self._topology.between(kept, self._any)
        total = len(heads if len(kept) == len(nodes) else self._topology.between(nodes, self._any)[0])
        triples = sorted(zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True))
        return Subgraph(
            nodes=Found(tuple(self.ids[n] for n in kept.tolist()), len(nodes)),
            triples=Found(tuple(self._triple(h, (t, 2 * r)) for h, r, t in triples), total),
        )

    # ------------------------------------------------------------------ schema and queries (G12-G14)

    def schema(self) -> Schema:
        return self._schema

    def type_neighbours(self, name: str) -> tuple[TypeNeighbour, ...]:
        return self.ontology.type_neighbours(name)

    def query(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        raise GraphError(
            "the embedded store has no query language",
            fix="open the graph with clwqa_bench.kg.stores.open_store from a store that has one: Cypher "
            "bolt://HOST:PORT (after `clwqa-bench kg load`), SPARQL http://HOST/sparql, oxigraph:FILE or rdflib:FILE "
            "(kg.nt.gz of a dataset)",
        )

    # ------------------------------------------------------------------ inside

    @cached_property
    def _schema(self) -> Schema:
        relations, types = self._relation_names, self.ontology.types
        sizes = np.diff(self._edge_start)
        relation = np.repeat(np.arange(len(sizes)), sizes)
        head, tail = (self.type_code[column] for column in (self._edge_head, self._edge_tail))
        joined = (head * len(relations) + relation) * len(types) + tail
        codes, counts = np.unique(joined, return_counts=True)
        kinds, tails = np.divmod(codes, len(types))
        rows = zip(*(c.tolist() for c in (*np.divmod(kinds, len(relations)), tails, counts)), strict=True)
        return Schema(
            relations=tuple(relations[r] for r in np.flatnonzero(sizes)),
            types=tuple(sorted(types[t] for t in np.flatnonzero(np.bincount(self.type_code)))),
            signatures=tuple(sorted(Signature(types[h], relations[r], types[t], n) for h, r, t, n in rows)),
        )

    def _types(self, number: int) -> tuple[str, ...]:
        return self._lineages[self.type_code[number]]

    @cached_property
    def _lineages(self) -> tuple[tuple[str, ...], ...]:
        """Of each type code: the type, then the types above it."""
        return tuple((own, *self.ontology.ancestors(own)) for own in self.ontology.types)

    def _out_by_relation(self, number: int) -> list[Hop]:
        return sorted(self._topology.hops(number, self._forwards), key=lambda hop: (hop[1], hop[0]))

    def _missing(self, node: str) -> NoReturn:
        near = self.lookup(str(node))
        fix = f"use its id, {near[0]!r}" if near else "look it up by its label first"
        raise GraphError(f"no entity {node!r} in this graph", fix=fix)

    def _numbers(self, ids: Iterable[str]) -> list[int]:
        if isinstance(ids, str):
            raise TypeError("expected several ids, got one string")
        return sorted({self.index_of(node) for node in ids})

    def _triple(self, node: int, hop: Hop) -> Triple:
        target, edge = hop
        head, tail = (node, target) if edge % 2 == 0 else (target, node)
        return Triple(self.ids[head], self._edge_names[edge], self.ids[tail])

    def _path(self, raw: walks.RawPath) -> Path:
        nodes, edges = raw
        return Path(tuple(map(self.ids.__getitem__, nodes)), *self._walked(edges))

    def _walked(self, edges: tuple[int, ...]) -> tuple[tuple[str, ...], tuple[Sense, ...]]:
        names, senses = self._edge_names.__getitem__, self._edge_senses.__getitem__
        return tuple(map(names, edges)), tuple(map(senses, edges))

    def _paths(self, found: walks.RawPaths) -> Paths:
        raw, total = found
        ids = self.ids.__getitem__
        walked = {edges: self._walked(edges) for edges in {edges for _, edges in raw}}
        return Found(tuple([Path(tuple(map(ids, nodes)), *walked[edges]) for nodes, edges in raw]), total)

    def _plan(self, step: Step) -> Plan:
        """A step in codes; each distinct step is worked out once."""
        plan = self._plans.get(step)
        if plan is None:
            relations, direction, types = step
            if direction not in ("out", "in", "both"):
                raise GraphError(f"no direction {direction!r}", fix="use out, in or both")
            allowed = np.zeros((len(self._relation_names), len(self.ontology.types)), dtype=bool)
            allowed[np.ix_(self._relation_codes(relations), self._type_codes(types))] = True
            plan = self._plans[step] = Plan.of(direction, allowed)
        return plan

    def _type_codes(self, types: Names) -> list[int]:
        if types not in self._codes:
            names = self.ontology.types if types is None else self.ontology.with_descendants(_several(types))
            self._codes[types] = sorted(map(self.ontology.types.index, names))
        return self._codes[types]

    def _relation_codes(self, relations: Names) -> list[int]:
        if relations is None:
            return list(range(len(self._relation_names)))
        wanted = {s for r in _several(relations) for s in (r, *self.ontology.sub_relations(r))}
        return sorted(map(self._relation_names.index, wanted))


def _several(names: str | Collection[str]) -> Collection[str]:
    return (names,) if isinstance(names, str) else names
