"""The embedded store passes the conformance suite."""

from __future__ import annotations

import pytest

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from tests.conformance.graph import tables
from tests.conformance.suite import StoreConformance


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    directory = tmp_path_factory.mktemp("kg")
    write_index(*tables(), directory)
    return MemoryGraph.open(directory)


class TestMemoryGraph(StoreConformance):
    def test_no_text_queries(self, store: MemoryGraph) -> None:
        with pytest.raises(GraphError, match=r"no query language. Fix: .*bolt://HOST:PORT.*SPARQL http://"):
            store.query("MATCH (n) RETURN n")
