"""A run that asks the graph elsewhere: the same predictions, from the same graph only, and it says who answered."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.bolt.load import Source, load
from clwqa_bench.kg.build import index_tables
from clwqa_bench.kg.remote import RemoteGraph, ServerGoneError
from clwqa_bench.kg.sparql.load import fill
from clwqa_bench.kg.stores import open_store, require_same
from clwqa_bench.predictions import Prediction
from clwqa_bench.records import QuestionView
from clwqa_bench.runner import Pace, run
from clwqa_bench.systems import Context, System, load_system
from tests import tiny_dataset as tiny
from tests.bolt_server import PASSWORD, USER, BoltServer
from tests.conftest import Result
from tests.core.scripted import QUESTIONS, content, small_dataset
from tests.sparql_server import endpoint
from tests.stores.conftest import connect
from tests.stores.test_gold_queries import excerpt_of

SYSTEMS = ("kg-lookup", "ceaf")  # the latter with the lexical back-end
ROWS, WITHOUT_THE_LAST = tiny.TRIPLE_ROWS, tiny.TRIPLE_ROWS[:-1]


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLWQA_STORE_PASSWORD", PASSWORD)


def unpacked(dataset: Path) -> Path:
    """The statements of a dataset, not packed."""
    path = dataset / "kg.nt"
    path.write_bytes(pa.input_stream(str(dataset / "kg.nt.gz"), compression="gzip").read())
    return path


# ---------------------------------------------------------------------- the same answers

Predictions = list[dict[str, Any]]


@pytest.fixture(scope="module")
def excerpt(
    built: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, dict[str, Predictions]]]:
    """A small part of the real dataset, and what the systems answer on its own files."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        dataset = excerpt_of(built, folder / "excerpt", train=40, test=6)
        yield dataset, {system: asked(system, dataset, folder / system) for system in SYSTEMS}


def asked(system: str, dataset: Path, out: Path, kg: str | None = None) -> Predictions:
    """The predictions of a system, without times."""
    run(load_system(system), Dataset.open(dataset), "test", out, kg=kg)
    return content(out)


@contextmanager
def stored(kind: str, dataset: Path, server: BoltServer) -> Iterator[str]:
    """The address of a store with the graph of a dataset."""
    if kind == "oxigraph":
        yield f"oxigraph:{dataset}/kg.nt.gz"
    elif kind == "endpoint":
        with endpoint(unpacked(dataset)) as host:
            yield f"{host}/sparql"
    else:
        name = server.create("run")
        with connect(server, name) as connection:
            load(Source(dataset / "kg"), connection)
        yield f"bolt://{USER}@127.0.0.1:{server.port}/{name}"
        server.drop(name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bolt", "oxigraph", "endpoint"])
def test_predictions_are_those_on_the_own_files(
    excerpt: tuple[Path, dict[str, Predictions]], server: BoltServer, tmp_path: Path, kind: str
) -> None:
    dataset, expected = excerpt
    with stored(kind, dataset, server) as address:
        for system in SYSTEMS:
            assert asked(system, dataset, tmp_path / system, address) == expected[system]
            assert sum(line["status"] == "ok" for line in expected[system]) > 3


# ---------------------------------------------------------------------- the command


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The seven questions of the tiny dataset."""
    tiny.write(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def ask(cli: Callable[..., Result], small: Path, tmp_path: Path) -> Callable[..., Result]:
    """``ask(address)``: the test question of the tiny dataset, with the graph at the address."""

    def run(address: str, *options: str) -> Result:
        where = ("--dataset", str(small), "--out", str(tmp_path / "run"))
        return cli("run", "kg-lookup", *where, "--kg", address, *options)

    return run


def test_a_run_says_what_answered_and_not_where(
    ask: Callable[..., Result], small: Path, tmp_path: Path
) -> None:
    with endpoint(unpacked(small), "ann", PASSWORD) as host:
        assert ask(f"{host.replace('://', '://ann@')}/sparql").code == 0
    text = (tmp_path / "run" / "run.json").read_text(encoding="utf-8")
    assert json.loads(text)["config"]["kg"] == "SPARQL endpoint"
    assert not any(secret in text for secret in ("127.0.0.1", "ann", PASSWORD))


def test_a_run_does_not_change_the_store(ask: Callable[..., Result], small: Path) -> None:
    assert ask(f"oxigraph:{small}/kg.nt.gz").code == 0
    with endpoint(unpacked(small)) as host:
        result = ask(f"{host}/sparql")
    assert result.code == 2
    assert "config.kg is 'oxigraph" in result.err


@pytest.mark.parametrize("filled", [False, True], ids=["by what it says", "by its digest"])
def test_another_graph_is_not_asked(ask: Callable[..., Result], tmp_path: Path, filled: bool) -> None:
    (head, relation, _), last = ROWS[-1], ROWS[0][2]
    moved = [*WITHOUT_THE_LAST, (head, relation, last)]
    tiny.write(tmp_path / "other", triples=moved)
    address = f"oxigraph:{tmp_path}/other/kg.nt.gz"
    if filled:
        index_tables(tmp_path / "other" / "kg", tiny.ONTOLOGY)
        fill(tmp_path / "other" / "kg", tmp_path / "store")
        address = f"oxigraph:{tmp_path}/store"
    result = ask(address)
    assert result.code == 2
    assert "another graph is at" in result.err
    assert ("it was loaded from other tables" if filled else "it says something else of") in result.err
    assert not (tmp_path / "run").exists()


def test_a_graph_of_another_size_is_not_asked(ask: Callable[..., Result], tmp_path: Path) -> None:
    tiny.write(tmp_path / "less", triples=WITHOUT_THE_LAST)
    result = ask(f"oxigraph:{tmp_path}/less/kg.nt.gz", "--dry-run")
    assert (result.code, "22 entities and 20 triples" in result.err) == (2, True)


@pytest.mark.parametrize("scheme", ["bolt://{}", "http://{}/sparql"])
def test_a_server_that_is_away_is_said_before_anything_is_made(
    ask: Callable[..., Result], tmp_path: Path, scheme: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        host = f"127.0.0.1:{held.getsockname()[1]}"
    result = ask(scheme.format(host))
    assert (result.code, "answers at" in result.err) == (2, True)
    assert not (tmp_path / "run").exists()


def test_an_endpoint_that_goes_away_is_not_said_to_hold_another_graph(small: Path) -> None:
    away: list[int] = []
    with endpoint(unpacked(small), away=away) as host, pytest.MonkeyPatch.context() as patch:
        patch.setattr("clwqa_bench.kg.sparql.engines.PAUSES", ())
        store = open_store(f"{host}/sparql")
        assert isinstance(store, RemoteGraph)
        told = store.made_from

        def and_then_away() -> str:
            away.append(503)
            return ""

        patch.setattr(store, "made_from", lambda: told() or and_then_away())
        with pytest.raises(ServerGoneError, match="answered 503"):
            require_same(store, Dataset.open(small), host)


def test_a_wrong_password_is_said_and_not_shown(
    ask: Callable[..., Result], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLWQA_STORE_PASSWORD", "not-the-password")
    with endpoint(unpacked(small), "ann", PASSWORD) as host:
        result = ask(f"{host.replace('://', '://ann@')}/sparql")
    assert (result.code, "refused the user" in result.err) == (2, True)
    assert "not-the-password" not in result.err


def test_an_address_that_is_none(ask: Callable[..., Result], small: Path) -> None:
    result = ask(str(small))
    assert (result.code, "is no address of a graph store" in result.err) == (2, True)


# ---------------------------------------------------------------------- a server that goes away


class Unlucky(System):
    """Meets a server that has gone away at one question, once."""

    name = "unlucky"
    gone = False

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        if question.id == "t05" and not self.gone:
            self.gone = True
            raise ServerGoneError("no server answers", fix="start it")
        return Prediction(id=question.id, status="empty")


def test_a_server_that_goes_away_ends_the_run_and_the_same_call_goes_on(tmp_path: Path) -> None:
    dataset, system = small_dataset(tmp_path / "small"), Unlucky()
    with pytest.raises(ServerGoneError):
        run(system, dataset, "test", tmp_path / "run", pace=Pace(concurrency=1))
    assert [line["id"] for line in content(tmp_path / "run")] == [f"t{n:02}" for n in range(5)]
    assert run(system, dataset, "test", tmp_path / "run").statuses == {"empty": QUESTIONS}
