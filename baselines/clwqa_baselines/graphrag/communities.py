"""Communities of the graph by hierarchical Leiden, as the public code finds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.tables import Ints, Tables

FILE = "communities.npz"
TOP = -1  # the parent of a community of level 0


@dataclass(frozen=True)
class Communities:
    """Communities by number, ascending by level (0 is the coarsest), each a part of its parent.

    `level` and `parent` have shape (communities,); community c has the entities
    `entities[starts[c] : starts[c + 1]]`, ascending.  Entities that no community holds are in none.
    """

    level: Ints
    parent: Ints
    starts: Ints
    entities: Ints

    def __len__(self) -> int:
        return len(self.level)

    def members(self, community: int) -> Ints:
        """The entities of a community."""
        return self.entities[self.starts[community] : self.starts[community + 1]]

    @cached_property
    def size(self) -> Ints:
        """How many entities each community has."""
        return np.diff(self.starts)

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """The communities that each one was split into; under TOP those of level 0."""
        found: dict[int, list[int]] = {}
        for community, parent in enumerate(self.parent.tolist()):
            found.setdefault(parent, []).append(community)
        return found

    def of_level(self, level: int, nodes: int) -> Ints:
        """The community of each of so many entities at a level, -1 for none."""
        found = np.full(nodes, -1, np.int64)
        for community in np.flatnonzero(self.level == level).tolist():
            found[self.members(community)] = community
        return found

    def read(self, finest: int, *, every: bool) -> Ints:
        """The communities that are read: of `every` level down to the finest, or of each entity its finest one."""
        read = self.level <= finest
        if not every:
            split = np.array([bool(self.children.get(c)) for c in range(len(self))], bool)
            read &= (self.level == finest) | ~split
        return np.flatnonzero(read)

    def save(self, folder: Path) -> None:
        """Write them into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(
            folder / FILE,
            level=self.level,
            parent=self.parent,
            starts=self.starts,
            entities=self.entities,
        )

    @staticmethod
    def load(folder: Path) -> Communities:
        """Read what `save` wrote."""
        with np.load(folder / FILE) as arrays:
            return Communities(**{name: arrays[name] for name in arrays.files})


def detect(tables: Tables, config: GraphRagConfig) -> Communities:
    """Hierarchical Leiden over the undirected graph; the same graph and settings give the same communities.

    Several relationships of one pair are one edge of so much weight.  An entity without any is in no community,
    nor is a community without a relationship inside.
    """
    pairs, weights = np.unique(
        np.sort(np.stack([tables.heads, tables.tails]), axis=0), axis=1, return_counts=True
    )
    kept = pairs[0] != pairs[1]
    pairs, weights = pairs[:, kept], weights[kept]
    if config.use_lcc and len(weights):
        largest = _largest_component(pairs, len(tables.ids))
        kept = largest[pairs[0]]
        pairs, weights = pairs[:, kept], weights[kept]
    if not len(weights):
        none = np.zeros(0, np.int64)
        return Communities(none, none, np.zeros(1, np.int64), none)
    found = _leiden(pairs, weights, config)
    if config.use_lcc and config.match_names == "component":
        found = found[:, [_in_capitals(tables.name(node)) for node in found[0].tolist()]]
    return _collected(found, pairs)


def _leiden(pairs: Ints, weights: Ints, config: GraphRagConfig) -> Ints:
    """Rows (entity, cluster, level, parent), one column for each entity and level."""
    import graspologic_native as native

    edges = [(str(a), str(b), float(w)) for a, b, w in zip(*pairs.tolist(), weights.tolist(), strict=True)]
    clusters: list[Any] = native.hierarchical_leiden(
        edges,
        resolution=config.resolution,
        randomness=config.randomness,
        iterations=config.iterations,
        use_modularity=True,
        max_cluster_size=config.max_cluster_size,
        seed=config.community_seed,
    )
    rows = [
        (int(c.node), c.cluster, c.level, TOP if c.parent_cluster is None else c.parent_cluster)
        for c in clusters
    ]
    return np.array(rows, np.int64).T


def _collected(found: Ints, pairs: Ints) -> Communities:
    """Clusters with an edge inside, numbered by level, then as found."""
    nodes, clusters, levels, parents = found
    count = int(clusters.max()) + 1 if len(clusters) else 0
    level, parent = np.full(count, -1, np.int64), np.full(count, TOP, np.int64)
    level[clusters], parent[clusters] = levels, parents
    inside = np.zeros(count, bool)
    for each in range(int(levels.max()) + 1 if len(levels) else 0):
        cluster = np.full(int(pairs.max()) + 1, -1, np.int64)
        here = levels == each
        cluster[nodes[here]] = clusters[here]
        one, other = cluster[pairs[0]], cluster[pairs[1]]
        inside[one[(one == other) & (one >= 0)]] = True
    order = np.lexsort((np.arange(count), level))
    order = order[inside[order]]
    number = np.full(count + 1, TOP, np.int64)  # the last place is that of TOP
    number[order] = np.arange(len(order))
    mine = inside[clusters]
    nodes, owner = nodes[mine], number[clusters[mine]]
    starts = np.zeros(len(order) + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=len(order)), out=starts[1:])
    return Communities(level[order], number[parent[order]], starts, nodes[np.lexsort((nodes, owner))])


def _largest_component(pairs: Ints, nodes: int) -> Any:
    """Which entities are in the component of most entities; of equal ones, in that of the first entity."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    matrix = coo_matrix((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(nodes, nodes))
    _, label = connected_components(matrix, directed=False)
    return label == np.bincount(label).argmax()


def _in_capitals(name: str) -> bool:
    """Whether a name is still the same after what is done to names of the largest component."""
    from html import unescape

    return unescape(name).upper().strip() == name
