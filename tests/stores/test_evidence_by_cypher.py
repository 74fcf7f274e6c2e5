"""Evidence for generated questions, taken out of a real Bolt server by Cypher."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clwqa_bench.kg.bolt.load import Source, load
from clwqa_bench.kg.bolt.store import BoltGraph
from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_builders.generate.evidence import Plan, cypher, edges_of, retrieve
from tests.bolt_server import BoltServer
from tests.builders.generate.writer import ENTITIES, TRIPLES
from tests.stores.conftest import connect
from tests.tiny_dataset import ENTITY_ROWS, TRIPLE_ROWS, entity, entity_table, triple_table

MORE = [entity("word:刻船求剑", "Idiom")]
TIE = ("word:刻船求剑", "variantOf", "word:刻舟求剑")


@pytest.fixture(scope="module")
def stores(
    server: BoltServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[MemoryGraph, BoltGraph]]:
    """The same graph, embedded and on the server."""
    folder: Path = tmp_path_factory.mktemp("evidence")
    rows = sorted([*ENTITY_ROWS, *ENTITIES, *MORE], key=lambda row: row["id"])
    write_index(entity_table(rows), triple_table(sorted({*TRIPLE_ROWS, *TRIPLES, TIE})), folder)
    name = server.create("evidence")
    connection = connect(server, name)
    load(Source(folder), connection)
    graph = BoltGraph.open(connection)
    yield MemoryGraph.open(folder), graph
    graph.close()
    server.drop(name)


def test_cypher_retrieves_what_walking_does(stores: tuple[MemoryGraph, BoltGraph]) -> None:
    embedded, bolt = stores
    plan = Plan(embedded.ontology)
    for word in embedded.by_type("Idiom"):
        walked = retrieve(word, plan, edges_of(embedded), embedded.types)
        assert retrieve(word, plan, edges_of(bolt), bolt.types) == walked
        assert walked.word == word


def test_a_word_that_points_here_is_shown_and_not_expanded(stores: tuple[MemoryGraph, BoltGraph]) -> None:
    embedded, bolt = stores
    found = retrieve("word:刻船求剑", Plan(embedded.ontology), edges_of(bolt), bolt.types)
    assert found.nodes == ("word:刻船求剑", "word:刻舟求剑")
    assert (
        "word:刻船求剑"
        in retrieve("word:刻舟求剑", Plan(embedded.ontology), edges_of(bolt), bolt.types).nodes
    )


def test_the_query_holds_names_of_the_ontology_and_no_data() -> None:
    assert cypher(("hasSource", "partOf"), False) == (
        "UNWIND $ids AS id MATCH (a:Entity {id: id})-[r:`hasSource`|`partOf`]->(b:Entity)\n"
        "RETURN DISTINCT startNode(r).id AS head, type(r) AS relation, endNode(r).id AS tail"
    )
