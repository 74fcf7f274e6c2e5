"""Adjacency of the embedded store: memory-mapped CSR arrays, one set per direction.

Nodes are integers in the order (label, id), so sorting integers is sorting answers.  The edges at a node are
grouped by *kind*, the pair (relation, type of the other end): a constrained step reads the groups that fit
and nothing else.  A kind is coded as relation code * number of types + type code.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.kg.layout import Ints, load_array

Hop = tuple[int, int]  # node reached, edge code = 2 * relation code + (0 forwards | 1 backwards)
Direction = Literal["out", "in", "both"]
_SENSES: dict[Direction, tuple[int, ...]] = {"out": (0,), "in": (1,), "both": (0, 1)}
ARRAYS = ("node_groups", "group_kind", "group_start", "targets")


@dataclass(frozen=True, slots=True)
class Plan:
    """One step in codes: ``allowed[kind]`` says whether edges of a kind may be walked."""

    senses: tuple[int, ...]  # 0 forwards, 1 backwards
    allowed: NDArray[np.bool_]
    edge_of: list[int]  # the same for looking up one at a time: 2 * relation code by kind, -1 if not allowed

    @staticmethod
    def of(direction: Direction, allowed: NDArray[np.bool_]) -> Plan:
        """A plan to walk in a direction; ``allowed`` has shape (relations, types)."""
        edge = np.arange(len(allowed))[:, None] * 2
        return Plan(_SENSES[direction], allowed.ravel(), np.where(allowed, edge, -1).ravel().tolist())


class Adjacency:
    """One direction.  Groups of node i are node_groups[i]:node_groups[i+1]; edges of group g are
    targets[group_start[g]:group_start[g+1]], ascending."""

    def __init__(self, arrays: dict[str, Ints]) -> None:
        self.node_groups, self.group_kind, self.group_start, self.targets = (arrays[n] for n in ARRAYS)
        # A memoryview hands out plain ints several times faster than a numpy array hands out scalars.
        self.views = tuple(arrays[name].data for name in ARRAYS)

    @staticmethod
    def build(nodes: Ints, relations: Ints, targets: Ints, type_code: Ints, type_count: int) -> Adjacency:
        """Group edges given as three parallel arrays; ``type_code`` holds the type of every node."""
        kinds = relations * type_count + type_code[targets]
        order = np.lexsort((targets, kinds, nodes))
        node, kind = nodes[order], kinds[order]
        changed = (node[1:] != node[:-1]) | (kind[1:] != kind[:-1])
        first = np.flatnonzero(np.concatenate([np.ones(min(1, len(nodes)), bool), changed]))
        columns = (
            np.searchsorted(node[first], np.arange(len(type_code) + 1)),
            kind[first],
            np.append(first, len(nodes)),
            targets[order],
        )
        return Adjacency(dict(zip(ARRAYS, (column.astype(np.int32) for column in columns), strict=True)))

    @staticmethod
    def load(directory: Path, prefix: str) -> Adjacency:
        """Memory-map what :meth:`save` wrote."""
        return Adjacency({n: load_array(directory / f"{prefix}_{n}.npy") for n in ARRAYS})

    def save(self, directory: Path, prefix: str) -> None:
        """Write the arrays as ``PREFIX_NAME.npy``."""
        for name in ARRAYS:
            np.save(directory / f"{prefix}_{name}.npy", getattr(self, name))

    def reach(self, nodes: Ints) -> Ints:
        """All nodes one step from any of ``nodes``, with repetitions."""
        first, last = self.node_groups[nodes], self.node_groups[nodes + 1]
        _, edge = _ragged(self.group_start[first], self.group_start[last])
        return np.asarray(self.targets[edge], dtype=np.int32)

    def expand(self, nodes: Ints, plan: Plan) -> tuple[Ints, Ints, Ints]:
        """(position in ``nodes``, node reached, kind) of every fitting edge at any of ``nodes``."""
        row, group = _ragged(self.node_groups[nodes], self.node_groups[nodes + 1])
        fits = plan.allowed[self.group_kind[group]]
        row, group = row[fits], group[fits]
        place, edge = _ragged(self.group_start[group], self.group_start[group + 1])
        return row[place], self.targets[edge], self.group_kind[group][place]


@dataclass(frozen=True, slots=True)
class Topology:
    """Both directions together."""

    adjacencies: tuple[Adjacency, Adjacency]  # forwards, backwards
    type_code: Ints
    type_count: int

    def groups(self, node: int, plan: Plan) -> list[tuple[int, list[int]]]:
        """(edge code, nodes reached) of every group of edges at ``node`` that fits the plan."""
        found = []
        edge_of = plan.edge_of
        for sense in plan.senses:
            node_groups, group_kind, group_start, targets = self.adjacencies[sense].views
            for group in range(node_groups[node], node_groups[node + 1]):
                edge = edge_of[group_kind[group]]
                if edge >= 0:
                    reached = targets[group_start[group] : group_start[group + 1]].tolist()
                    found.append((edge + sense, reached))
        return found

    def hops(self, node: int, plan: Plan) -> list[Hop]:
        """Every edge that fits the plan, sorted.  A self loop counts once, as an edge walked forwards."""
        groups = self.groups(node, plan)
        hops = [(target, edge) for edge, reached in groups for target in reached]
        if len(groups) > 1:
            hops.sort()
            if len(plan.senses) > 1:
                return [hop for hop in hops if hop[0] != node or hop[1] % 2 == 0]
        return hops

    def neighbours(self, node: int, plan: Plan) -> list[int]:
        """Distinct nodes one step away, sorted."""
        groups = self.groups(node, plan)
        return groups[0][1] if len(groups) == 1 else sorted({n for _, reached in groups for n in reached})

    def relations(self, node: int, plan: Plan) -> set[int]:
        """Codes of the relations at ``node`` in the plan's direction."""
        found = set()
        for sense in plan.senses:
            node_groups, group_kind, *_ = self.adjacencies[sense].views
            found |= set(group_kind[node_groups[node] : node_groups[node + 1]].tolist())
        return {kind // self.type_count for kind in found}

    def expand(self, nodes: Ints, plan: Plan) -> tuple[Ints, Ints, Ints]:
        """:meth:`hops` of many nodes: (position in ``nodes``, node reached, edge code), sorted."""
        parts = []
        for sense in plan.senses:
            row, target, kind = self.adjacencies[sense].expand(nodes, plan)
            parts.append(np.stack([row, target, kind // self.type_count * 2 + sense]))
        columns = np.concatenate(parts, axis=1)
        if len(plan.senses) > 1:
            row, target, edge = columns
            columns = columns[:, (nodes[row] != target) | (edge % 2 == 0)]
        row, target, edge = columns[:, np.lexsort(columns[::-1])]
        return row, target, edge

    def frontier(self, nodes: Ints, senses: tuple[int, ...], seen: NDArray[np.bool_]) -> Ints:
        """Nodes one step from any of ``nodes`` that were not seen before, sorted; they are marked as seen."""
        fresh = np.zeros_like(seen)
        for sense in senses:
            fresh[self.adjacencies[sense].reach(nodes)] = True
        fresh &= ~seen
        seen |= fresh
        return np.flatnonzero(fresh).astype(np.int32)

    def between(self, nodes: Ints, plan: Plan) -> tuple[Ints, Ints, Ints]:
        """(heads, relations, tails) of every edge that fits the plan and has both ends among ``nodes``."""
        member = np.zeros(len(self.type_code), dtype=bool)
        member[nodes] = True
        row, tails, kinds = self.adjacencies[0].expand(nodes, plan)
        inside = member[tails]
        return nodes[row[inside]], kinds[inside] // self.type_count, tails[inside]


def _ragged(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """For ranges begin[i]:end[i] laid end to end: (i, member) of every member."""
    count = end - begin
    row = np.repeat(np.arange(len(count), dtype=np.int32), count)
    shift = begin - (np.cumsum(count) - count)
    return row, (np.arange(len(row)) + shift[row]).astype(np.int32)
