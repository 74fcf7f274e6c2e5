"""The Cypher of every kind of operation, executed in a real Bolt server, gives the gold worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clwqa_bench.kg.bolt.load import Source, load
from clwqa_bench.kg.bolt.store import BoltGraph
from clwqa_builders.validate.rdf import cypher_answer
from tests import tiny_dataset as tiny
from tests.bolt_server import BoltServer
from tests.builders.test_operations import EXECUTED, TEMPLATES, entities, triples
from tests.stores.conftest import connect

pytestmark = pytest.mark.slow  # a server is started


@pytest.fixture(scope="module")
def graph(server: BoltServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoltGraph]:
    """The hand-made graph on the server."""
    folder = tmp_path_factory.mktemp("operations")
    tiny.write(folder, entities=entities(), triples=triples(), pairs=())
    name = server.create("operations")
    connection = connect(server, name)
    load(Source(folder / "kg"), connection)
    yield BoltGraph.open(connection)
    connection.close()
    server.drop(name)


@pytest.mark.parametrize("id", EXECUTED)
def test_cypher_gives_the_gold(id: str, graph: BoltGraph) -> None:
    anchors, gold = EXECUTED[id]
    bound = TEMPLATES[id].bind(anchors)
    assert bound is not None
    assert tuple(map(cypher_answer, graph.query(TEMPLATES[id].cypher(bound)))) == gold
