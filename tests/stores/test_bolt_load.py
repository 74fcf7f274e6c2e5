"""Loading into a real Bolt server: twice, cut off, with somebody else there, without a right to, with hostile names."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.bolt.connection import Address, Connection, dialect_of
from clwqa_bench.kg.bolt.load import STATE, Loaded, Source, _Batch, load
from clwqa_bench.kg.bolt.store import BoltGraph, quoted, read_attribute, write_attribute
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.remote import ServerGoneError
from clwqa_bench.kg.stores import open_store
from tests import process
from tests.bolt_server import PASSWORD, USER, BoltServer
from tests.conftest import Result
from tests.stores.agreement import check_walks, check_whole
from tests.stores.conftest import connect
from tests.stores.graphs import HOSTILE, drawn, folder, hostile

pytestmark = pytest.mark.slow  # a server is started


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return drawn(tmp_path_factory.mktemp("small"), 40)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    """Large enough to be cut off in the middle."""
    return drawn(tmp_path_factory.mktemp("large"), 1_500)


def source(graph: MemoryGraph) -> Source:
    return Source(folder(graph))


def check_content(graph: MemoryGraph, connection: Connection) -> None:
    """The server holds every entity, other name and triple once."""
    store = BoltGraph.open(connection)
    assert list(store.entities()) == graph.ids
    assert list(store.triples()) == list(graph.triples())
    others = [node for node in graph.ids if graph.entity(node).aliases]
    assert connection.read("MATCH (n:ClwqaName) RETURN count(n)") == [[len(others)]]


def test_a_random_graph_answers_as_the_embedded_store(small: MemoryGraph, connection: Connection) -> None:
    assert load(source(small), connection, batch=25).continued == 0
    store = BoltGraph.open(connection)
    check_whole(small, store)
    check_walks(small, store, rounds=15)


def test_names_made_to_break_queries_are_data(tmp_path: Path, connection: Connection) -> None:
    graph = hostile(tmp_path)
    load(source(graph), connection)
    store = BoltGraph.open(connection)
    check_whole(graph, store)
    for text in HOSTILE:
        with pytest.raises(GraphError, match="no entity"):
            store.entity(f"not {text}")
        assert store.lookup(f"not {text}") == ()
        assert store.query("MATCH (n:Entity {label: $label}) RETURN n.id AS id", label=text) == [{"id": text}]
    assert len(list(store.entities())) == len(HOSTILE)


@pytest.mark.parametrize("name", ["a`b", "a``b", "`", "a b}) DETACH DELETE (n", "成语"])
def test_names_of_types_and_relations_are_quoted(connection: Connection, name: str) -> None:
    relation = f"{name}>"
    connection.write(lambda tx: tx.run(f"CREATE (:{quoted(name)})-[:{quoted(relation)}]->(:X)").consume())
    assert connection.read("MATCH (n)-[r]->(:X) RETURN labels(n), type(r)") == [[[name], relation]]


@pytest.mark.parametrize(
    ("key", "value"), [("a", "b"), ("a=b", "c=d"), ("%", "%3D"), ("a%3Db", ""), ("", "=")]
)
def test_attributes_come_back(key: str, value: str) -> None:
    assert read_attribute(write_attribute(key, value)) == (key, value)


# ---------------------------------------------------------------------- again, cut off, something else there


def test_loading_twice_changes_nothing(small: MemoryGraph, connection: Connection) -> None:
    first = load(source(small), connection)
    triples = sum(1 for _ in small.triples())
    assert first == Loaded(40, triples, already=False, continued=0)
    assert load(source(small), connection) == Loaded(40, triples, already=True, continued=0)
    assert connection.read("MATCH (n:Entity) RETURN count(n)") == [[40]]


def advised(connection: Connection) -> str:
    """The options that name this database and no other."""
    where = connection.address
    return f"--uri {where.uri} --user {USER} --database {where.database}"


class Cut(Exception):
    """Stands for the end of the process."""


def cut_off(connection: Connection, after: int, monkeypatch: pytest.MonkeyPatch, *, done: bool) -> None:
    """End at the given transaction: before it, or after it but before anybody hears of it."""
    write, count = connection.write, iter(range(10_000))

    def failing(work: Any) -> None:
        last = next(count) == after
        if done or not last:
            write(work)
        if last:
            raise Cut

    monkeypatch.setattr(connection, "write", failing)


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("after", [0, 1, 2, 4, 7, 11])
def test_a_load_cut_off_goes_on(
    small: MemoryGraph, connection: Connection, monkeypatch: pytest.MonkeyPatch, after: int, done: bool
) -> None:
    with monkeypatch.context() as patched:
        cut_off(connection, after, patched, done=done)
        with pytest.raises(Cut):
            load(source(small), connection, batch=10)
    if connection.read(STATE):
        with pytest.raises(GraphError, match=rf"half loaded.*kg load {advised(connection)} --graph .* again"):
            BoltGraph.open(connection)
    load(source(small), connection, batch=17)  # another size of batch is no matter
    check_content(small, connection)


def test_going_on_can_be_refused(
    small: MemoryGraph, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        cut_off(connection, 4, patched, done=False)
        with pytest.raises(Cut):
            load(source(small), connection, batch=10)
    with pytest.raises(GraphError, match=r"half loaded \(30 entities, 0 triples\).*--no-resume"):
        load(source(small), connection, resume=False)


def test_a_batch_that_was_written_but_not_confirmed_is_not_written_again(
    small: MemoryGraph, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = connection.write
    monkeypatch.setattr(connection, "write", lambda work: (write(work), write(work)))
    load(source(small), connection, batch=9)
    check_content(small, connection)


def test_two_loads_at_once_write_every_row_once(
    large: MemoryGraph, server: BoltServer, connection: Connection
) -> None:
    ended: list[str] = []

    def one() -> None:
        with connect(server, connection.address.database) as own:
            try:
                load(source(large), own, batch=300)
                ended.append("loaded")
            except GraphError as error:
                ended.append(error.what)

    first, second = threading.Thread(target=one), threading.Thread(target=one)
    first.start()
    while not connection.read(STATE):
        time.sleep(0.01)
    second.start()
    first.join()
    second.join()
    assert "loaded" in ended
    assert all(end == "loaded" or "loading there at the same time" in end for end in ended)
    check_content(large, connection)


def test_another_graph_is_refused(small: MemoryGraph, connection: Connection, tmp_path: Path) -> None:
    load(source(small), connection)
    with pytest.raises(GraphError, match=r"another graph is there.*--database"):
        load(source(drawn(tmp_path, 41)), connection)
    check_content(small, connection)


def test_nodes_of_something_else_are_left_alone(small: MemoryGraph, connection: Connection) -> None:
    connection.write(lambda tx: tx.run("UNWIND range(1, 3) AS i CREATE (:Cat {lives: 9})").consume())
    with pytest.raises(GraphError, match="3 nodes of something else are there"):
        load(source(small), connection)
    with pytest.raises(GraphError, match=rf"no graph was loaded.*clwqa-bench kg load {advised(connection)}"):
        BoltGraph.open(connection)
    assert connection.read("MATCH (n) RETURN count(n), min(n.lives)") == [[3, 9]]


@pytest.mark.parametrize(
    ("lost", "what"),
    [
        ("(n:Entity {id: 'n7'})", "holds 39 entities"),
        ("(n:ClwqaName {key: '又名5'})", "7 other names, not .* and 8"),
    ],
)
def test_a_graph_that_was_changed_is_noticed(
    small: MemoryGraph, connection: Connection, lost: str, what: str
) -> None:
    load(source(small), connection)
    connection.write(lambda tx: tx.run(f"MATCH {lost} DETACH DELETE n").consume())
    with pytest.raises(GraphError, match=what):
        load(source(small), connection)


class Locking:
    """A transaction that says in which order the node of the graph is written and its counter is read."""

    order: tuple[str, ...] = ()

    def run(self, text: str, **_: object) -> Locking:
        self.order = tuple(word for word in re.findall(r"SET|WHERE", text))
        return self

    def single(self) -> None:
        """Another loader has these rows."""


def test_a_loader_locks_the_count_before_it_reads_it(small: MemoryGraph) -> None:
    """Neo4j locks what is written: of two loaders that read first and write then, both would go on."""
    transaction = Locking()
    _Batch(source(small).parts()[0], 0, pa.table({"id": ["n1"]}))(transaction)  # type: ignore[arg-type]
    assert transaction.order == ("SET", "WHERE", "SET")


def indexed(server: BoltServer, database: str) -> set[str]:
    """What an ArcadeDB has indexes of; it lists them in its own language only, over HTTP."""
    rows = server.rows(database, "SELECT FROM schema:indexes")
    return {f"{row['typeName']}.{name}" for row in rows for names in row["properties"] for name in names}


def test_a_database_loaded_before_there_was_an_index_gets_it(
    small: MemoryGraph, server: BoltServer, connection: Connection
) -> None:
    name = connection.address.database
    now = connection.dialect
    before = tuple(statement for statement in now.schema if "clwqa_Entity_label" not in statement)
    connection.dialect = replace(now, schema=before)
    load(source(small), connection)
    assert "Entity.label" not in indexed(server, name)
    connection.dialect = now
    for _ in range(2):
        assert load(source(small), connection).already
        assert "Entity.label" in indexed(server, name)
    check_content(small, connection)


# ---------------------------------------------------------------------- the command, killed; the server, killed


def environment() -> dict[str, str]:
    return {"CLWQA_STORE_PASSWORD": PASSWORD}


def test_kill_9_and_the_same_command_again(
    large: MemoryGraph, server: BoltServer, connection: Connection
) -> None:
    address = f"bolt://{USER}@127.0.0.1:{server.port}/{connection.address.database}"
    command = ("kg", "load", "--uri", address, "--graph", str(folder(large)), "--json")
    running = process.start(*command, "--batch", "100", env=environment())
    while not (state := connection.read(STATE)) or state[0][4] == 0:  # until some triples are there
        assert running.poll() is None
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGKILL)
    process.finish(running)
    ended = process.run(*command, env=environment())
    assert ended.code == 0, ended.err
    assert "going on with a load that was cut off: 1,500 of 1,500 entities" in ended.err
    assert json.loads(ended.out)["continued"] > 1_500
    check_content(large, connection)


def test_a_server_that_comes_back_is_waited_for_while_loading_and_said_to_be_gone_otherwise(
    small: MemoryGraph,
    large: MemoryGraph,
    server: BoltServer,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is killed and started in the middle of a load, which goes on; a store asked meanwhile says who is missing."""
    other = server.create("meanwhile")
    monkeypatch.setattr("clwqa_bench.kg.bolt.connection.PATIENCE", 0.1)
    with connect(server, other) as impatient:
        load(source(small), impatient)
        store = BoltGraph.open(impatient)

        class Saboteur:
            batches = 0

            def expect(self, total: int) -> None: ...
            def note(self, text: str) -> None: ...
            def advance(self, steps: int = 1) -> None:
                self.batches += 1
                if self.batches == 5:
                    server.kill()
                    with pytest.raises(ServerGoneError, match="no server answers"):
                        store.neighbours("n1")
                    server.spawn()

        load(source(large), connection, batch=300, progress=Saboteur())
        check_content(large, connection)
        assert store.neighbours("n1") == small.neighbours("n1")
    server.drop(other)


# ---------------------------------------------------------------------- nobody there, refused, another protocol


def test_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with pytest.raises(GraphError, match=rf"no server answers at bolt://127.0.0.1:{port}"):
        Connection(Address.parse(f"bolt://127.0.0.1:{port}"), "x")


def test_a_wrong_password(server: BoltServer) -> None:
    with pytest.raises(GraphError, match="refused the user 'root' with this password"):
        connect(server, "neo4j", password="wrong")


def test_no_such_database(server: BoltServer) -> None:
    with pytest.raises(GraphError, match=r"no such database.*--database"):
        connect(server, "nowhere")


def test_a_user_that_may_only_read(small: MemoryGraph, server: BoltServer, connection: Connection) -> None:
    name = connection.address.database
    server.reader("reader", "only-reading", name)
    with (
        connect(server, name, "reader", "only-reading") as reading,
        pytest.raises(GraphError, match=r"'reader' may not do this.*may read and write"),
    ):
        load(source(small), reading)
    load(source(small), connection)
    with connect(server, name, "reader", "only-reading") as reading:
        assert BoltGraph.open(reading).neighbours("n1") == small.neighbours("n1")


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """A server that says the same to everybody: ``answering(b"...")`` is its address."""
    servers: list[socket.socket] = []

    def make(answer: bytes) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        servers.append(listening)

        def serve() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                with client:
                    client.recv(1024)
                    client.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        return f"bolt://127.0.0.1:{listening.getsockname()[1]}"

    yield make
    for one in servers:
        one.close()


@pytest.mark.parametrize(
    "answer", [b"\x00\x00\x00\x00", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\x00\x00\x01"]
)
def test_a_server_of_another_kind_or_version(answering: Callable[[bytes], str], answer: bytes) -> None:
    with pytest.raises(GraphError, match=r"does not speak a version of Bolt.*Neo4j 5"):
        Connection(Address.parse(answering(answer)), "x")


def old_neo4j(listening: socket.socket) -> None:
    """Neo4j 5.4 as far as one connection goes: it speaks Bolt 5.0 and says yes to everything."""
    hello, yes = b"\xb1\x70\xa2\x86server\x8bNeo4j/5.4.0\x8dconnection_id\x811", b"\xb1\x70\xa1\x86fields\x90"
    client, _ = listening.accept()
    with client:
        client.recv(20)
        client.sendall(b"\x00\x00\x00\x05")
        while head := client.recv(2):  # a message: its length, itself, no length
            if length := int.from_bytes(head, "big"):
                asked = client.recv(length, socket.MSG_WAITALL)
                answer = hello if asked[1] == 1 else yes
                client.sendall(len(answer).to_bytes(2, "big") + answer + b"\x00\x00")


def test_a_server_that_cannot_be_told_to_send_no_notifications() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for _ in ("refused by the driver", "without that wish"):
                old_neo4j(listening)

        threading.Thread(target=serve, daemon=True).start()
        with Connection(Address.parse(f"bolt://127.0.0.1:{listening.getsockname()[1]}"), "x") as connection:
            assert (connection.agent, connection.dialect.product) == ("Neo4j/5.4.0", "Neo4j")
            assert connection.read("MATCH (n:Entity) RETURN n.id") == []


@pytest.mark.parametrize(
    ("agent", "product"),
    [
        ("Neo4j/5.26.0", "Neo4j"),
        ("Neo4j/2025.01.0", "Neo4j"),
        ("Neo4j/v5.11.0 compatible graph database server - Memgraph", "Memgraph"),
        ("Neo4j/5.26.0 compatible (ArcadeDB 26.10.2)", "ArcadeDB"),
    ],
)
def test_products_by_the_name_they_give(agent: str, product: str) -> None:
    assert dialect_of(agent).product == product


@pytest.mark.parametrize(
    ("agent", "what"), [("Neo4j/4.4.12", "too old.*Neo4j 5 or newer"), ("TuGraph/4.0", "not known")]
)
def test_products_that_will_not_do(agent: str, what: str) -> None:
    with pytest.raises(GraphError, match=what):
        dialect_of(agent)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("bolt://localhost", Address("bolt://localhost:7687")),
        ("neo4j+s://ann@db.example:7777/clwqa", Address("neo4j+s://db.example:7777", "ann", "clwqa")),
        ("bolt://a%40b@[::1]:1/", Address("bolt://[::1]:1", "a@b")),
    ],
)
def test_addresses(uri: str, expected: Address) -> None:
    assert Address.parse(uri) == expected


@pytest.mark.parametrize("uri", ["bolt://", "bolt://host:port", "bolt://host:99999", "http://localhost:7687"])
def test_addresses_that_are_none(uri: str) -> None:
    with pytest.raises(GraphError, match="no address of a Bolt server"):
        Address.parse(uri)


def test_a_password_in_an_address_is_refused() -> None:
    with pytest.raises(GraphError, match="CLWQA_STORE_PASSWORD") as raised:
        Address.parse("bolt://ann:secret@localhost")
    assert "secret" not in str(raised.value)


def test_the_command(
    cli: Callable[..., Result],
    small: MemoryGraph,
    server: BoltServer,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_PASSWORD", PASSWORD)
    command = ("kg", "load", "--uri", server.uri, "--graph", str(folder(small)))
    access = ("--user", USER, "--password-env", "MY_PASSWORD", "--database", database)
    first = cli(*command, *access)
    assert (first.code, first.out.strip()) == (
        0,
        f"40 entities, {sum(1 for _ in small.triples())} triples: loaded",
    )
    assert "was there already" in cli(*command, *access).out
    assert cli(*command, "--user", USER, "--database", database).code == 2
    monkeypatch.setenv("CLWQA_STORE_PASSWORD", PASSWORD)
    store = open_store(f"bolt://{USER}@127.0.0.1:{server.port}/{database}")
    assert list(store.entities()) == small.ids


def test_what_cannot_be_loaded_into(cli: Callable[..., Result], small: MemoryGraph) -> None:
    result = cli("kg", "load", "--uri", "http://localhost/sparql", "--graph", str(folder(small)))
    assert result.code == 2
    assert "kg.nt.gz" in result.err
