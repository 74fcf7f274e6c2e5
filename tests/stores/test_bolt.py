"""The Bolt store passes the conformance suite on a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.bolt.load import Source, load
from clwqa_bench.kg.bolt.store import BoltGraph
from clwqa_bench.kg.build import write_index
from tests.bolt_server import BoltServer
from tests.conformance.graph import tables
from tests.conformance.suite import StoreConformance
from tests.stores.conftest import connect

pytestmark = pytest.mark.slow  # a server is started


@pytest.fixture(scope="module")
def store(server: BoltServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoltGraph]:
    directory = tmp_path_factory.mktemp("kg")
    write_index(*tables(), directory)
    name = server.create("conformance")
    connection = connect(server, name)
    load(Source(directory), connection, batch=7)
    graph = BoltGraph.open(connection)
    yield graph
    graph.close()
    server.drop(name)


class TestBoltGraph(StoreConformance):
    def test_queries(self, store: BoltGraph) -> None:
        text = "MATCH (w:Idiom)-[:hasSource]->(:Book {id: $book}) RETURN w.id AS id ORDER BY id LIMIT 2"
        assert store.query(text, book="hub") == [{"id": "i1"}, {"id": "w1"}]

    def test_a_query_that_changes_something_is_undone(self, store: BoltGraph) -> None:
        with pytest.raises(GraphError, match="the query changes the graph"):
            store.query("MATCH (n:Entity) DETACH DELETE n")
        assert store.entity("i1").label == "ant"

    def test_a_query_that_is_none(self, store: BoltGraph) -> None:
        with pytest.raises(GraphError, match="not valid Cypher"):
            store.query("SELECT ?a WHERE { ?a ?b ?c }")
