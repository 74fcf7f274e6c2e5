"""SPARQL stores: the same answers as the embedded store, names made to break queries, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.export import export
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.kg.remote import RemoteGraph, ServerGoneError
from clwqa_bench.kg.sparql.load import Filled, fill
from clwqa_bench.kg.stores import open_store
from tests.conftest import Result
from tests.sparql_server import HANGS, endpoint
from tests.stores.agreement import check_walks, check_whole
from tests.stores.graphs import HOSTILE, drawn, folder, hostile

ENGINES = ("rdflib", "oxigraph")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return drawn(tmp_path_factory.mktemp("small"), 40)


@pytest.fixture(scope="module")
def service(small: MemoryGraph) -> Iterator[str]:
    with endpoint(exported(small)) as address:
        yield address


def exported(graph: MemoryGraph) -> Path:
    (file,) = export(folder(graph), "nt", folder(graph) / "kg.nt")
    return file


def test_a_random_graph_answers_as_the_embedded_store(small: MemoryGraph) -> None:
    store = open_store(f"oxigraph:{exported(small)}")
    check_whole(small, store)
    check_walks(small, store, rounds=25)


def test_rdflib_answers_as_the_embedded_store(tmp_path: Path) -> None:
    graph = drawn(tmp_path, 8)  # it takes some milliseconds to read a query
    store = open_store(f"rdflib:{exported(graph)}")
    check_whole(graph, store)
    check_walks(graph, store, rounds=1)


def test_an_endpoint_answers_as_the_embedded_store(small: MemoryGraph, service: str) -> None:
    check_walks(small, open_store(f"{service}/sparql"), rounds=10)


@pytest.mark.parametrize("engine", ENGINES)
def test_names_made_to_break_queries_are_data(tmp_path: Path, engine: str) -> None:
    graph = hostile(tmp_path)
    store = open_store(f"{engine}:{exported(graph)}")
    check_whole(graph, store, attributes_ordered=False)
    for text in HOSTILE:
        with pytest.raises(GraphError, match="no entity"):
            store.entity(f"not {text}")
    assert len(list(store.entities())) == len(HOSTILE)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_edge_out_of_the_graph_is_none_of_its_triples(tmp_path: Path, engine: str) -> None:
    graph = drawn(tmp_path, 8)
    file = exported(graph)
    edge = next(line for line in file.read_text("utf-8").splitlines() if "#seeAlso>" in line)
    head, relation, tail, end = edge.split(" ")
    nowhere = [f"{head} {relation} <urn:clwqa:nowhere> {end}", f"<urn:clwqa:nowhere> {relation} {tail} {end}"]
    file.write_text("\n".join([file.read_text("utf-8"), *nowhere, ""]), "utf-8")
    store = open_store(f"{engine}:{file}")
    assert isinstance(store, RemoteGraph)
    assert list(store.triples()) == list(graph.triples())
    assert store.counts() == (8, len(list(graph.triples())))
    assert store.schema() == graph.schema()


# ---------------------------------------------------------------------- a folder of Oxigraph's


def test_filling_twice_changes_nothing(
    cli: Callable[..., Result], small: MemoryGraph, tmp_path: Path
) -> None:
    command = ("kg", "load", "--uri", f"oxigraph:{tmp_path}/store", "--graph", str(folder(small)), "--json")
    first, second = (json.loads(cli(*command).out) for _ in range(2))
    assert (first["already"], second["already"]) == (False, True)
    assert first["statements"] == second["statements"] == len(exported(small).read_text("utf-8").splitlines())


def test_another_graph_is_refused(small: MemoryGraph, tmp_path: Path) -> None:
    fill(folder(small), tmp_path / "store")
    other = drawn(tmp_path / "other", 41)
    with pytest.raises(GraphError, match="another graph"):
        fill(folder(other), tmp_path / "store")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(GraphError, match="something else is there"):
        fill(folder(small), tmp_path / "mine")
    assert (tmp_path / "mine" / "letter.txt").read_text(encoding="utf-8") == "dear"


def test_a_file_is_no_folder_to_load_into(small: MemoryGraph, tmp_path: Path) -> None:
    (tmp_path / "kg.nt.gz").write_bytes(b"")
    with pytest.raises(GraphError, match=r"this is a file\. Fix: name a new folder"):
        fill(folder(small), tmp_path / "kg.nt.gz")


def test_a_load_cut_off_leaves_nothing(
    small: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("clwqa_bench.kg.sparql.load.export", cut_off)
        with pytest.raises(KeyboardInterrupt):
            fill(folder(small), tmp_path / "store")
    assert not (tmp_path / "store").exists()
    assert isinstance(fill(folder(small), tmp_path / "store"), Filled)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"]
    assert list(open_store(f"oxigraph:{tmp_path}/store").entities()) == small.ids


# ---------------------------------------------------------------------- files and endpoints that will not do


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("kg.nt", b"this is no RDF", "cannot be read as RDF"),
        ("kg.ttl", "成语 @prefix".encode("gbk"), "cannot be read as RDF"),
        ("kg.nt.gz", b"not packed", "cannot be read as RDF"),
        ("kg.nt", b"", "no entity of a known type"),
        ("kg.csv", b"a,b", r"ends in \.nt or \.ttl"),
        ("gone.nt", None, "the file is missing"),
    ],
)
def test_files_that_will_not_do(
    tmp_path: Path, engine: str, name: str, content: bytes | None, what: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(GraphError, match=what):
        open_store(f"{engine}:{tmp_path}/{name}")


@pytest.mark.parametrize(
    ("path", "what"),
    [("/page", "does not answer in SPARQL's JSON format"), ("/nowhere", "answered 404: nothing here")],
)
def test_addresses_that_will_not_do(service: str, path: str, what: str) -> None:
    with pytest.raises(GraphError, match=what):
        open_store(service + path)


def test_nobody_answers(small: MemoryGraph) -> None:
    with endpoint(exported(small)) as address:
        open_store(f"{address}/sparql").close()
    with pytest.raises(GraphError, match="no endpoint answers at"):
        open_store(f"{address}/sparql")


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for long."""
    for name, seconds in (("PAUSES", (0.0, 0.0)), ("TIMEOUT", 0.3), ("SOON", 0.3)):
        monkeypatch.setattr(f"clwqa_bench.kg.sparql.engines.{name}", seconds)


@pytest.fixture
def away() -> list[int]:
    """What the endpoint answers next, before it answers as it should."""
    return []


@pytest.fixture
def waiting(small: MemoryGraph, hasty: None, away: list[int]) -> Iterator[GraphStore]:
    with endpoint(exported(small), away=away) as address:
        yield open_store(f"{address}/sparql")


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_an_endpoint_that_cannot_answer_now_is_asked_again(
    small: MemoryGraph, waiting: GraphStore, away: list[int], status: int
) -> None:
    away += [status] * 2
    assert waiting.neighbours("n1") == small.neighbours("n1")
    away += [status] * 3
    with pytest.raises(ServerGoneError, match=f"answered {status}: not now"):
        waiting.neighbours("n1")


def test_a_hard_query_is_told_from_an_endpoint_that_hangs(waiting: GraphStore, away: list[int]) -> None:
    away += [HANGS]
    with pytest.raises(GraphError, match="took too long for a query") as raised:
        waiting.neighbours("n1")
    assert not isinstance(raised.value, ServerGoneError)  # another question can be answered
    away += [HANGS] * 2
    with pytest.raises(ServerGoneError, match="does not answer any more"):
        waiting.neighbours("n1")


def test_a_user_and_password(small: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint(exported(small), "ann", "secret") as address:
        named = f"{address.replace('://', '://ann@')}/sparql"
        for password, refused in (("wrong", True), ("secret", False)):
            monkeypatch.setenv("CLWQA_STORE_PASSWORD", password)
            if refused:
                with pytest.raises(GraphError, match=r"refused the user.*CLWQA_STORE_PASSWORD"):
                    open_store(named)
            else:
                assert list(open_store(named).entities()) == small.ids
        with pytest.raises(GraphError, match="holds a password"):
            open_store(f"{address.replace('://', '://ann:secret@')}/sparql")


def test_there_are_no_parameters(small: MemoryGraph) -> None:
    store = open_store(f"oxigraph:{exported(small)}")
    with pytest.raises(GraphError, match="no parameters"):
        store.query("SELECT ?a WHERE { ?a ?b ?c }", a=1)


def test_a_folder_is_the_embedded_store(small: MemoryGraph) -> None:
    assert isinstance(open_store(folder(small)), MemoryGraph)
    with pytest.raises(GraphError, match="no kind of graph store"):
        open_store("mysql://localhost/kg")
