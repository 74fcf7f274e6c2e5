"""The SPARQL store passes the conformance suite on each of its engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.export import export
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.kg.sparql.load import fill
from clwqa_bench.kg.sparql.store import SparqlGraph
from clwqa_bench.kg.stores import open_store
from tests.conformance.graph import tables
from tests.conformance.suite import StoreConformance
from tests.sparql_server import endpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph as tables, as kg.nt and as graph.ttl.gz."""
    directory = tmp_path_factory.mktemp("kg")
    write_index(*tables(), directory)
    export(directory, "nt", directory / "kg.nt")
    export(directory, "ttl", directory / "graph.ttl.gz")
    return directory


@pytest.fixture(scope="module", params=["rdflib", "oxigraph in memory", "oxigraph on disk", "endpoint"])
def store(request: pytest.FixtureRequest, folder: Path) -> Iterator[GraphStore]:
    """The graph in each engine."""
    if request.param == "rdflib":
        yield open_store(f"rdflib:{folder}/graph.ttl.gz")
    elif request.param == "oxigraph in memory":
        yield open_store(f"oxigraph:{folder}/kg.nt")
    elif request.param == "oxigraph on disk":
        fill(folder, folder / "oxigraph")
        yield open_store(f"oxigraph:{folder}/oxigraph")
    else:
        with endpoint(folder / "kg.nt") as address:
            yield open_store(f"{address}/sparql")


class TestSparqlGraph(StoreConformance):
    def test_queries(self, store: SparqlGraph) -> None:
        text = """
        PREFIX c: <urn:clwqa:ontology#>
        SELECT (?w AS ?id) (1 + 1 AS ?two) WHERE { ?w a c:Idiom ; c:hasSource <urn:clwqa:hub> } ORDER BY ?w LIMIT 2
        """
        assert store.query(text) == [{"id": "urn:clwqa:i1", "two": 2}, {"id": "urn:clwqa:w1", "two": 2}]

    @pytest.mark.parametrize("text", ["MATCH (n) RETURN n", "SELECT ?a WHERE {", "DELETE WHERE { ?a ?b ?c }"])
    def test_a_query_that_is_none(self, store: SparqlGraph, text: str) -> None:
        with pytest.raises(GraphError, match="not valid SPARQL"):
            store.query(text)

    def test_a_query_that_lists_nothing(self, store: SparqlGraph) -> None:
        with pytest.raises(GraphError, match="only SELECT"):
            store.query("ASK { ?a ?b ?c }")
