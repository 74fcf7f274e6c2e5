"""The index of a graph: its tables, communities, and reports, each made once and kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from clwqa_baselines.graphrag.communities import Communities, detect
from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.reports import Reports
from clwqa_baselines.graphrag.tables import Ints, Tables
from clwqa_baselines.graphrag.writing import identity, write_reports, writer
from clwqa_baselines.shared.made_once import made_once
from clwqa_bench.systems import Resources

VERSION = 1
"""Raised by any change to what is written or how communities are found."""

LEIDEN = "graspologic-native"
OF_COMMUNITIES = (
    "max_cluster_size", "resolution", "randomness", "iterations", "community_seed", "use_lcc", "match_names"
)  # fmt: skip
OF_REPORTS = ("report_input", "report_words", "report_edges", "substitute")


@dataclass(frozen=True)
class Index:
    """What questions are answered from; `digest` changes with any report."""

    tables: Tables
    communities: Communities
    reports: Reports
    digest: str

    @staticmethod
    def open(resources: Resources, config: GraphRagConfig) -> Index:
        """The index of a graph under some settings; what is missing of it is made."""
        settings = config.model_dump()
        clustering = {name: settings[name] for name in OF_COMMUNITIES} | {"leiden": version(LEIDEN)}
        reporting = {name: settings[name] for name in OF_REPORTS}

        folder = resources.derived("graphrag-tables", VERSION)
        made_once(folder, lambda made: Tables.build(resources.kg, resources.ontology, made))
        tables = Tables(folder, resources.ontology)

        folder = resources.derived("graphrag-communities", VERSION, clustering)
        made_once(folder, lambda made: detect(tables, config).save(made))
        communities = Communities.load(folder)

        llm = writer(resources, config)
        for by in (llm, None) if resources.dry else (llm,):  # a dry run reads reports by rule
            folder = resources.derived("graphrag-reports", VERSION, clustering, reporting, identity(by))
            write_reports(folder, tables, communities, config, resources, by)
        return Index(tables, communities, Reports(folder, tables), Reports.digest(folder))

    def read(self, finest: int, *, every: bool) -> list[int]:
        """Rows of the reports that are read, see `Communities.read`."""
        communities = self.communities.read(finest, every=every).tolist()
        return [self.reports.of[c] for c in communities if c in self.reports.of]

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """By community: relationships at its members, as a share of the most that any community has."""
        tables, communities = self.tables, self.communities
        touched = np.zeros(len(communities))
        for level in set(communities.level.tolist()):
            owner = communities.of_level(level, len(tables.ids))
            head, tail = owner[tables.heads], owner[tables.tails]
            touched += np.bincount(head[head >= 0], minlength=len(communities))
            touched += np.bincount(tail[(tail >= 0) & (tail != head)], minlength=len(communities))
        return np.asarray(touched / max(touched.max(initial=0), 1))


class Holders:
    """Which of some communities hold an entity."""

    def __init__(self, communities: Communities, read: Ints, nodes: int) -> None:
        members = [communities.members(int(community)) for community in read]
        entities = np.concatenate([np.zeros(0, np.int64), *members])
        owners = np.repeat(read, [len(of_one) for of_one in members])
        order = np.lexsort((owners, entities))
        self._owners = owners[order]
        self._starts = np.searchsorted(entities[order], np.arange(nodes + 1))

    def of(self, node: int) -> Ints:
        """The communities that hold an entity, ascending."""
        return self._owners[self._starts[node] : self._starts[node + 1]]
