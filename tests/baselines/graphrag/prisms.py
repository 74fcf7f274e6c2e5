"""Two prisms joined by one edge, a pair, and a node alone: communities that can be worked out by hand.

A prism is two triangles whose corners are joined one to one: a1 a2 a3 and a4 a5 a6 with a1-a4, a2-a5, a3-a6.  The
prisms a and b are joined by a1-b1; x-y is a component of its own; z has no edge.  There are 20 edges.

Of the larger component's 19 edges each prism holds 9, and the degrees in each add up to 19, so the partition into
prisms has modularity 18/19 - 2 (19/38)^2 = 0.447; into the four triangles it is 12/19 - 0.25 = 0.382.  Within a prism,
which is too large if a community may have four entities, the triangles have 6/9 - 2 (9/18)^2 = 0.167; the three pairs
of corners would have 3/9 - 3 (6/18)^2 = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.index import Index
from clwqa_baselines.graphrag.tasks import Report, WriteReport
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.tasks import Task
from clwqa_bench.systems import Resources
from tests.baselines.culture import Double
from tests.baselines.worlds import world

TRIANGLES = [("1", "2"), ("2", "3"), ("1", "3"), ("4", "5"), ("5", "6"), ("4", "6")]
CORNERS = [("1", "4"), ("2", "5"), ("3", "6")]
PRISMS = [(f"{p}{one}", "r1", f"{p}{other}") for p in "ab" for one, other in TRIANGLES + CORNERS]
TRIPLES = [*PRISMS, ("a1", "r2", "b1"), ("x", "r1", "y")]
SMALL = GraphRagConfig(max_cluster_size=4, reports="model")


def prisms(folder: Path, labels: Mapping[str, str] | None = None) -> MemoryGraph:
    """The graph; every node is called as its id unless `labels` says otherwise."""
    return world(folder / "kg", TRIPLES, labels=labels, alone=["z"])


def resources(kg: MemoryGraph, folder: Path, reply: Callable[[Task[Any]], Any] | None = None) -> Resources:
    """What a system is prepared with; the model replies what `reply` says."""
    llm = Double(reply) if reply else None
    return Resources(kg, kg.ontology, train=lambda: iter(()), llm=llm, cache=folder / "cache")


def index(folder: Path, config: GraphRagConfig = SMALL) -> Index:
    """The index of the prisms, with reports by rule."""
    return Index.open(resources(prisms(folder), folder), config)


def about(task: WriteReport) -> str:
    """The names of the entities a report is asked on, in order."""
    return " ".join(sorted(row.name for row in task.entities))


def written(task: Task[Any]) -> Report:
    """A report that says which entities it was asked on."""
    assert isinstance(task, WriteReport)
    return Report(title=about(task), summary="…", rating=5.0)
