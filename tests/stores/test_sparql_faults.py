"""SPARQL stores: the same answers as the embedded store, names made to break queries, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.export import export
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.sparql.load import Filled, fill
from clwqa_bench.kg.stores import open_store
from tests.conftest import Result
from tests.sparql_server import endpoint
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
