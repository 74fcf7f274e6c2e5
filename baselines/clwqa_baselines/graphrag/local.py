"""Local search: the tables around the entities that a question is closest to, under one budget of tokens.

Reports come first, then entities with their relationships, then source texts, as in the public code; a share that is
not used up goes to no other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clwqa_baselines.graphrag.budget import within
from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.index import Holders, Index
from clwqa_baselines.graphrag.tables import Ints


@dataclass(frozen=True, slots=True)
class Selection:
    """What is shown, by number and each in its order; `reports` are rows of `Index.reports`.

    `candidates` are the relationships there were, in the order in which they are taken.
    """

    reports: tuple[int, ...] = ()
    entities: tuple[int, ...] = ()
    edges: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    candidates: tuple[int, ...] = ()


class Local:
    """Selects what is shown."""

    def __init__(self, index: Index, config: GraphRagConfig) -> None:
        self._tables, self._reports, self._config = index.tables, index.reports, config
        rows = index.read(config.community_level, every=config.levels == "all")
        self._holders = Holders(index.communities, index.reports.community[rows], len(index.tables.ids))

    def select(self, selected: Sequence[int]) -> Selection:
        """What is shown for some entities, the closest to the question first."""
        config = self._config
        total = config.context_tokens
        if not selected:
            return Selection()
        candidates = self.ranked(selected)
        entities, edges = self._rows(selected, int(total * (1 - config.community_share - config.text_share)))
        return Selection(
            reports=tuple(self._ranked_reports(selected, int(total * config.community_share))),
            entities=entities,
            edges=edges,
            sources=tuple(self._sources(selected, int(total * config.text_share))),
            candidates=tuple(candidates.tolist()),
        )

    # ------------------------------------------------------------------ relationships

    def _rows(self, selected: Sequence[int], room: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """As many of the entities as fit together with their relationships.

        The code adds one entity after another until something does not fit; both get the same, for rows only grow.
        """
        for size in range(len(selected), 0, -1):
            some = selected[:size]
            edges = self.ranked(some, self._config.top_k_relationships * size)
            tokens = self._tables.node_tokens[list(some)].sum() + self._tables.edge_tokens[edges].sum()
            if tokens <= room:
                return tuple(some), tuple(edges.tolist())
        return (), ()

    def ranked(self, selected: Sequence[int], outside: int | None = None) -> Ints:
        """Relationships of entities: among them by combined degree, then `outside` of those to others.

        Of the latter those come first whose other end has most of the selected entities as neighbours, then those of
        the greatest combined degree.
        """
        tables, nodes = self._tables, np.array(selected)
        edges = np.unique(np.concatenate([tables.edges_at(node) for node in selected]))
        from_here, to_here = np.isin(tables.heads[edges], nodes), np.isin(tables.tails[edges], nodes)
        among = from_here & to_here
        rank = tables.combined_degree[edges]
        inside = edges[among][np.lexsort((edges[among], -rank[among]))]
        edges, rank, from_here = edges[~among], rank[~among], from_here[~among]
        other = np.where(from_here, tables.tails[edges], tables.heads[edges])
        here = np.where(from_here, tables.heads[edges], tables.tails[edges])
        linked = np.unique(np.stack([other, here]), axis=1)[0]
        ends, counts = np.unique(linked, return_counts=True)
        links = counts[np.searchsorted(ends, other)] if len(ends) else counts
        order = np.lexsort((edges, -rank, -links))
        return np.concatenate([inside, edges[order][:outside]])

    # ------------------------------------------------------------------ reports and source texts

    def _ranked_reports(self, selected: Sequence[int], room: int) -> Iterator[int]:
        """Reports on communities that hold most of the entities, then the best rated ones, until one does not fit."""
        held = Counter(community for node in selected for community in self._holders.of(node).tolist())
        rows = {self._reports.of[community]: matches for community, matches in held.items()}
        ranked = sorted(rows, key=lambda row: (-rows[row], -self._reports.rating[row], row))
        return within(ranked, lambda row: int(self._reports.tokens[row]), room)

    def _sources(self, selected: Sequence[int], room: int) -> Iterator[int]:
        """Passages of the entities in their order: its own, then those next to it, until one does not fit."""
        if self._config.text_units == "none":
            return iter(())
        return within(self._passages(selected), lambda node: int(self._tables.node_tokens[node]), room)

    def _passages(self, selected: Sequence[int]) -> Iterator[int]:
        tables, seen = self._tables, set[int]()
        for node in selected:
            edges = tables.edges_at(node)
            around = tables.heads[edges] + tables.tails[edges] - node  # the other end
            near = np.concatenate([[node], around])
            for passage in near[tables.is_passage[near]].tolist():
                if passage not in seen:
                    seen.add(passage)
                    yield passage
