"""What a report on a community is made from, and the reports as they are kept."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from clwqa_baselines.graphrag.communities import Communities
from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.tables import REMEMBERED, Ints, Tables
from clwqa_baselines.graphrag.tasks import Report, ReportRow
from clwqa_bench.digests import file_sha256
from clwqa_bench.kg.layout import read_batch, write_batch
from clwqa_bench.llm.limits import count_tokens

FILE = "reports.arrow"

REFERENCE = re.compile(r"[\[【［]\s*Data\s*[:：]([^\]】］]*)[\]】］]", re.IGNORECASE)
_TABLE = re.compile(r"(\w+)\s*[(（]([^)）]*)[)）]")


def references(text: str) -> list[tuple[str, int]]:
    """Rows that a text refers to, as (table, number): [Data: Reports (2, 7, +more); Entities (5)]."""
    return [
        (table.casefold(), int(number))
        for inside in REFERENCE.findall(text)
        for table, numbers in _TABLE.findall(inside)
        for number in re.findall(r"\d+", numbers)
    ]


# ---------------------------------------------------------------------- contexts


@dataclass(frozen=True, slots=True)
class Material:
    """What a report is made from: rows by number, and communities whose reports stand for their members."""

    entities: tuple[int, ...]
    edges: tuple[int, ...]
    reports: tuple[int, ...] = ()


class Level:
    """The material of all communities of a level."""

    def __init__(self, number: int, tables: Tables, communities: Communities, config: GraphRagConfig) -> None:
        self._tables, self._communities, self._config = tables, communities, config
        self._owner = communities.of_level(number, len(tables.ids))
        self._below = communities.of_level(number + 1, len(tables.ids))

    def material(self, community: int, sizes: dict[int, int]) -> Material:
        """The rows of a community, those of the greatest combined degree first, as many as fit.

        `sizes` are the tokens of the reports that there are; if not all rows fit, and so set, reports of
        sub-communities take the place of their members, those with the longest rows first.
        """
        edges = self._edges(community)
        reports: list[int] = []
        if self._config.substitute and self._tokens(community, edges) > self._config.report_input:
            reports = self._substituted(community, edges, sizes)
            edges = edges[~np.isin(self._part(community, edges), reports)]
        room = self._config.report_input - sum(sizes[report] for report in reports)
        return self._cut(community, edges, room, reports)

    @cached_property
    def _first(self) -> Ints:
        """Of each entity its first outgoing relationship within the level, else its first incoming one, or -1."""
        heads, tails = self._tables.heads, self._tables.tails
        inside = np.flatnonzero((self._owner[heads] >= 0) & (self._owner[tails] >= 0))[::-1]
        first = np.full(len(self._owner), -1, np.int64)
        first[tails[inside]] = inside  # of several that are assigned the last stays, which is the first
        first[heads[inside]] = inside
        return first

    def _edges(self, community: int) -> Ints:
        members = self._communities.members(community)
        if self._config.report_edges == "first":
            edges = np.unique(self._first[members])
            edges = edges[edges >= 0]
        else:
            edges = np.unique(np.concatenate([self._tables.edges_at(int(node)) for node in members]))
            ends = self._tables.heads[edges], self._tables.tails[edges]
            edges = edges[(self._owner[ends[0]] == community) & (self._owner[ends[1]] == community)]
        return edges[np.lexsort((edges, -self._tables.combined_degree[edges]))]

    def _tokens(self, community: int, edges: Ints) -> int:
        members = self._communities.members(community)
        return int(self._tables.node_tokens[members].sum() + self._tables.edge_tokens[edges].sum())

    def _part(self, community: int, edges: Ints) -> Ints:
        """The sub-community that a relationship belongs to: that of its head, if the head is a member."""
        heads, tails = self._tables.heads[edges], self._tables.tails[edges]
        return self._below[np.where(self._owner[heads] == community, heads, tails)]

    def _substituted(self, community: int, edges: Ints, sizes: dict[int, int]) -> list[int]:
        """As few sub-communities as must be replaced; if all rows replaced still do not fit, those that do."""
        part, total = self._part(community, edges), self._tokens(community, edges)
        rows = {
            child: self._tokens(child, edges[part == child])
            for child in self._communities.children.get(community, ())
            if child in sizes
        }
        replaced: list[int] = []
        for child in sorted(rows, key=lambda child: (-rows[child], child)):
            replaced.append(child)
            total += sizes[child] - rows[child]
            if total <= self._config.report_input:
                return replaced
        fits = np.cumsum([sizes[child] for child in replaced]) <= self._config.report_input
        return replaced[: int(fits.sum())]

    def _cut(self, community: int, edges: Ints, room: int, reports: list[int]) -> Material:
        heads, tails = self._tables.heads, self._tables.tails
        nodes: dict[int, None] = {}
        kept: list[int] = []
        for edge in edges.tolist():
            ends = [int(end) for end in (heads[edge], tails[edge]) if self._owner[end] == community]
            new = [end for end in dict.fromkeys(ends) if end not in nodes]
            room -= int(self._tables.edge_tokens[edge] + self._tables.node_tokens[new].sum())
            if room < 0:
                break
            kept.append(edge)
            nodes.update(dict.fromkeys(new))
        return Material(tuple(nodes), tuple(kept), tuple(reports))


# ---------------------------------------------------------------------- reports


@dataclass(frozen=True, slots=True)
class Written:
    """A report as it is kept: its text, how much it matters, and the relationships it refers to."""

    community: int
    title: str
    content: str
    rating: float
    facts: tuple[int, ...]

    @staticmethod
    def of(community: int, report: Report, known: Collection[int]) -> Written:
        """A report in Markdown; a reference to a relationship that was not shown is no fact."""
        sections = [f"## {finding.summary}\n\n{finding.explanation}" for finding in report.findings]
        content = "\n\n".join([f"# {report.title}", report.summary, *sections])
        facts = dict.fromkeys(n for table, n in references(content) if table.startswith("relation"))
        return Written(community, report.title, content, report.rating, tuple(n for n in facts if n in known))


class Reports:
    """The reports of an index, memory-mapped, by row; rows ascend with the number of the community."""

    def __init__(self, folder: Path, tables: Tables) -> None:
        table = read_batch(folder / FILE)
        self._title, self._content, self._facts = (table.column(key) for key in ("title", "content", "facts"))
        self._tables = tables
        self.community, self.tokens = (
            np.asarray(table.column(key).to_numpy(), np.int64) for key in ("community", "tokens")
        )
        self.rating = np.asarray(table.column("rating").to_numpy(), np.float64)
        self.row = lru_cache(REMEMBERED)(self._row)

    def __len__(self) -> int:
        return len(self.community)

    @cached_property
    def of(self) -> dict[int, int]:
        """Rows by community; a community without a report has none."""
        return {community: row for row, community in enumerate(self.community.tolist())}

    def content(self, row: int) -> str:
        """The text of a report."""
        return str(self._content[row].as_py())

    def _row(self, row: int) -> ReportRow:
        return ReportRow(
            number=int(self.community[row]),
            title=self._title[row].as_py(),
            content=self.content(row),
            rating=float(self.rating[row]),
            facts=tuple(map(self._tables.fact, self._facts[row].as_py())),
        )

    @staticmethod
    def digest(folder: Path) -> str:
        """What changes with any report."""
        return file_sha256(folder / FILE)

    @staticmethod
    def save(reports: Iterable[Written], folder: Path) -> None:
        """Write reports into a folder; the file appears whole."""
        rows = sorted(reports, key=lambda report: report.community)
        columns = {
            "community": pa.array([r.community for r in rows], pa.int32()),
            "title": pa.array([r.title for r in rows], pa.string()),
            "content": pa.array([r.content for r in rows], pa.large_string()),
            "rating": pa.array([r.rating for r in rows], pa.float32()),
            "tokens": pa.array([count_tokens([r.content]) for r in rows], pa.int32()),
            "facts": pa.array([r.facts for r in rows], pa.list_(pa.int32())),
        }
        partial = folder / f"{FILE}.partial"
        write_batch(pa.table(columns), partial)
        partial.rename(folder / FILE)
