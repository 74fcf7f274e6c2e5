"""The Cypher linker of BYOKG-RAG on a real Bolt server: whatever a model writes, the run goes on and says what became
of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clwqa_baselines.byokg_rag.tasks import Artifacts, Generate, Generated, Queries, WriteQueries
from clwqa_bench import runner
from clwqa_bench.kg import protocol
from clwqa_bench.kg.bolt.load import Source, load
from clwqa_bench.kg.bolt.store import BoltGraph
from clwqa_bench.kg.remote import QueryError
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import Task
from clwqa_bench.predictions import Prediction
from clwqa_bench.runs import read_run
from tests import tiny_dataset as tiny
from tests.baselines.culture import Double
from tests.bolt_server import PASSWORD, QUICK, USER, BoltServer
from tests.conftest import Result
from tests.stores.conftest import connect

pytestmark = pytest.mark.slow  # a server is started

LIMIT = "arcadedb.command.timeout"
ENDLESS = (
    "MATCH (a:Entity), (b:Entity), (c:Entity), (d:Entity), (e:Entity), (f:Entity), (g:Entity) "
    "WHERE a.id + b.id + c.id + d.id + e.id + f.id + g.id = '' RETURN a"
)
WAY = "MATCH p = (:Entity {id: 'word:四面楚歌'})-[:hasSource]->()-[:partOf]->(b) RETURN p, b.label AS book"

Run = Callable[..., Prediction]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoltServer]:
    """One of its own: it goes on for a while with what it was not waited for, and one test kills it."""
    options = (*QUICK, f"-D{LIMIT}=2000")
    with BoltServer.start(tmp_path_factory.mktemp("bolt"), options) as started:
        yield started


@pytest.fixture(scope="module")
def dataset(server: BoltServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny dataset with one test question; the server holds its graph as well."""
    folder = tmp_path_factory.mktemp("tiny")
    tiny.write(folder, questions=[question for question in tiny.QUESTIONS if question.id != "q6"])
    with connect(server, server.create("tiny")) as connection:
        load(Source(folder / "kg"), connection)
    return folder


@pytest.fixture
def store(server: BoltServer, dataset: Path) -> Iterator[BoltGraph]:
    opened = BoltGraph.open(connect(server, "tiny"))
    yield opened
    opened.close()


@pytest.fixture
def command(
    cli: Callable[..., Result],
    server: BoltServer,
    dataset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Result]:
    """``command("query_seconds=1")``: the test question of the tiny dataset, with the Cypher linker."""
    monkeypatch.setenv("CLWQA_STORE_PASSWORD", PASSWORD)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*settings: str, options: tuple[str, ...] = ()) -> Result:
        given = [part for setting in ("cypher_linker=true", *settings) for part in ("--set", setting)]
        where = ("--dataset", str(dataset), "--kg", f"bolt://{USER}@127.0.0.1:{server.port}/tiny")
        return cli("run", "byokg-rag", *where, *given, "--out", str(tmp_path / "run"), *options)

    return run


@pytest.fixture
def ask(command: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``ask(llm, "query_seconds=1")``: the prediction of a run with that model."""

    def run(llm: Double | None, *settings: str) -> Prediction:
        if llm:
            monkeypatch.setattr(runner, "open_llm", lambda *_: llm)
        done = command(*settings)
        assert done.code == 0, done.err
        (prediction,) = read_run(tmp_path / "run").predictions
        return prediction

    return run


def writes(*queries: str) -> Double:
    """A model that writes these queries, a round each, and answers 史记 whatever it is shown."""
    left = list(queries)

    def reply(task: Task[Any]) -> Any:
        if isinstance(task, WriteQueries):
            return Queries(linking="", main=left.pop(0), finished=not left)
        return Generated(answers=("史记",))

    return Double(reply)


def context(llm: Double) -> list[str]:
    """What the model was shown to answer from."""
    (task,) = [task for task in llm.asked if isinstance(task, Generate)]
    return [line.text for line in task.context]


def queries_of(found: Prediction) -> list[dict[str, Any]]:
    return [query for event in found.trace if event.op == "cypher" for query in event.detail["queries"]]


# ---------------------------------------------------------------------- whatever a model writes


def test_a_query_that_finds_something(ask: Run) -> None:
    llm = writes(WAY)
    found = ask(llm, "kg_linker=false")
    shown = '[{"p":"四面楚歌 -> 出自 > 史记·项羽本纪 > 属于作品 -> 史记","book":"史记"}]'
    assert context(llm) == [f"{WAY}\n{shown}"]
    assert queries_of(found) == [{"query": WAY, "outcome": "rows", "rows": 1}]
    assert [len(path.triples) for path in found.evidence.paths] == [2]
    assert (found.evidence.texts[0].kind, found.flags, found.usage["plan"].calls) == ("subgraph", (), 1)


@pytest.mark.parametrize(
    ("query", "line", "outcome"),
    [
        ("MATCH (n:Entity RETURN n", "(error: not valid Cypher (", "error"),
        ("RETURN $missing", "(error: the query cannot be run (", "error"),
        ("MATCH (n:Entity {label: '没有'}) RETURN n", "(no rows)", "no rows"),
        ("CREATE (n:Entity {id: 'new'})", "(not run: CREATE ", "not run"),
        ("MATCH (n) DETACH DELETE n", "(not run: DETACH ", "not run"),
        ("MATCH (n:Entity) SET n.label = ''", "(not run: SET ", "not run"),
        ("INSERT (n:Entity {id: 'new'})", "(not run: INSERT ", "not run"),
        ("LOAD CSV FROM 'file:///etc/hostname' AS l RETURN l", "(not run: LOAD ", "not run"),
        ("SELECT 1", "(not run: SELECT ", "not run"),
    ],
)
def test_a_query_that_finds_nothing_is_no_evidence(ask: Run, query: str, line: str, outcome: str) -> None:
    llm = writes(query)
    found = ask(llm, "kg_linker=false")
    (shown,) = context(llm)
    assert shown.startswith(f"{query}\n{line}")
    assert "127.0.0.1" not in found.model_dump_json()
    assert queries_of(found) == [{"query": query, "outcome": outcome, "rows": 0}]
    assert (found.evidence.ids(), found.status) == (frozenset(), "ok")
    assert found.flags == ("no_evidence", "parametric")


def test_ten_thousand_rows_are_cut(ask: Run) -> None:
    llm = writes("UNWIND range(1, 10000) AS n RETURN n")
    found = ask(llm, "kg_linker=false", "rows=3")
    assert found.evidence.texts[0].text.endswith('\n[{"n":1},{"n":2},{"n":3}]\n(more rows)')
    assert (queries_of(found)[0]["rows"], found.flags) == (3, ("truncated", "parametric"))


def test_a_single_row_is_cut_as_well(ask: Run) -> None:
    found = ask(writes("MATCH (g:ClwqaGraph) UNWIND range(1, 99) AS n RETURN collect(g)"), "kg_linker=false")
    assert (found.evidence.texts[0].text[-1], found.flags) == ("…", ("truncated", "parametric"))


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("query_seconds=0.5", "(error: no result within 0.5 seconds)"),
        (
            "query_seconds=60",
            f"(error: the query cannot be run (the command exceeded the {LIMIT} of 2000ms))",
        ),
    ],
)
def test_a_query_without_an_end_is_given_up(ask: Run, setting: str, line: str) -> None:
    llm = writes(ENDLESS, WAY)
    found = ask(llm, "kg_linker=false", setting)
    second = llm.asked[1]
    assert isinstance(second, WriteQueries)
    assert second.feedback == (f"{ENDLESS}\n{line}",)
    assert [query["outcome"] for query in queries_of(found)] == ["error", "rows"]
    assert found.flags == ()


def test_a_query_among_the_artifacts_is_run_alike(ask: Run) -> None:
    def reply(task: Task[Any]) -> Any:
        if isinstance(task, WriteQueries):
            return Reply("unparsed")
        linked = Artifacts(entities=(), paths=(), answers=(), opencypher=WAY)
        return linked if task.id == "byokg-link" else Generated(answers=("史记",))

    found = ask(Double(reply))
    event = next(event for event in found.trace if event.op == "opencypher")
    assert (event.stage, event.detail["queries"][0]["outcome"], len(event.paths)) == ("retrieve", "rows", 1)
    assert (found.answers[0].entity_id, found.answers[0].support) == ("book:史记", ("p1",))


def test_a_server_that_goes_away_ends_the_run_and_the_same_call_goes_on(
    ask: Run, command: Callable[..., Result], server: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(task: Task[Any]) -> Any:
        server.kill()
        return Queries(linking="", main=WAY)

    monkeypatch.setattr(runner, "open_llm", lambda *_: Double(reply))
    gone = command("kg_linker=false")
    assert (gone.code, "no server answers" in gone.err) == (2, True)
    server.restart()
    assert ask(writes(WAY), "kg_linker=false").status == "ok"


# ---------------------------------------------------------------------- without a model


def test_without_a_model_queries_follow_the_best_ways(ask: Run) -> None:
    found = ask(None)
    (query,) = queries_of(found)
    assert query["query"].startswith(
        "UNWIND ['word:四面楚歌'] AS id MATCH p = (:Entity {id: id})-[:`hasSource`]->"
    )
    assert (query["outcome"], found.usage["plan"].calls) == ("rows", 2)
    assert found.answers[0].support[0] == "p1"
    assert found.answers[0].entity_id == found.evidence.paths[0].triples[-1].tail


def test_a_forecast_counts_the_calls_for_queries(command: Callable[..., Result]) -> None:
    done = command(options=("--dry-run", "--json"))
    assert (done.code, json.loads(done.out)["tasks"]["byokg-cypher"]["calls"]) == (0, 2)


# ---------------------------------------------------------------------- the store itself


def peek(store: BoltGraph, text: str, seconds: float = 60) -> list[dict[str, Any]]:
    return asyncio.run(store.peek(text, rows=5, seconds=seconds))


def test_values_of_the_graph_are_ids_and_words(store: BoltGraph) -> None:
    (row,) = peek(
        store,
        "MATCH p = (b:Book {id: 'book:史记'})<-[r:partOf]-(c) RETURN p, r, {all: [r, 1]} AS m, c",
    )
    path = protocol.Path(("book:史记", "chapter:史记/项羽本纪"), ("partOf",), ("in",))
    assert (row["p"], row["r"], row["m"]) == (path, "partOf", {"all": ["partOf", 1]})
    assert row["c"]["label"] == "史记·项羽本纪"


def test_a_path_without_a_step_is_one(store: BoltGraph) -> None:
    assert peek(store, "MATCH p = (:Entity {id: 'book:史记'}) RETURN p") == [
        {"p": protocol.Path(("book:史记",))}
    ]


def test_a_path_over_what_is_no_entity_is_its_parts(store: BoltGraph) -> None:
    (row,) = peek(store, "MATCH p = (:ClwqaGraph) RETURN p")
    assert row["p"][0]["entities"] == store.counts()[0]


def test_whatever_changes_the_graph_is_undone(store: BoltGraph) -> None:
    before = store.query("MATCH (n) RETURN count(n) AS n")
    with pytest.raises(QueryError, match="changes the graph"):
        peek(store, "MATCH (n) DETACH DELETE n")
    assert store.query("MATCH (n) RETURN count(n) AS n") == before


def test_a_slow_query_does_not_hold_up_others(store: BoltGraph) -> None:
    async def both() -> tuple[Any, Any]:
        slow = asyncio.create_task(store.peek(ENDLESS, rows=1, seconds=1))
        quick = await store.peek("RETURN 1 AS one", rows=1, seconds=60)
        assert not slow.done()
        return quick, (await asyncio.gather(slow, return_exceptions=True))[0]

    quick, slow = asyncio.run(both())
    assert (quick, type(slow)) == ([{"one": 1}], QueryError)
