"""The gold queries of real questions, executed in a real Bolt server and in SPARQL, give the gold answers."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.bolt.load import Source, load
from tests import tiny_dataset as tiny
from tests.bolt_server import PASSWORD, USER, BoltServer
from tests.conftest import Result
from tests.sparql_server import endpoint
from tests.stores.conftest import connect

pytestmark = pytest.mark.slow  # a server is started

QUESTIONS = 2_050
RULE = "gold-equals-store"


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLWQA_STORE_PASSWORD", PASSWORD)


@pytest.fixture(scope="module")
def excerpt(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return excerpt_of(built, tmp_path_factory.mktemp("excerpt"), test=QUESTIONS)


def excerpt_of(built: Path, folder: Path, **size: int) -> Path:
    """A dataset of so many first questions of each split, with the graph their evidence makes up together.

    Questions share books, chapters and people, so a query that finds too much would find it here too.
    """
    whole = Dataset.open(built, verify=False)
    questions = [q for split, number in size.items() for q in islice(whole.questions(split), number)]
    anchors = {anchor.entity_id for q in questions for anchor in q.anchors}
    shown = {end for q in questions for triple in q.evidence for end in (triple.head, triple.tail)}
    kept = pa.array(sorted(anchors | shown))
    entities, triples = (pq.read_table(built / "kg" / f"{name}.parquet") for name in ("entities", "triples"))
    inside = pc.and_(*(pc.is_in(triples[end], value_set=kept) for end in ("head", "tail")))
    rows = triples.filter(inside).select(["head", "relation", "tail"]).to_pylist()
    tiny.write(
        folder,
        questions=questions,
        entities=entities.filter(pc.is_in(entities["id"], value_set=kept)).to_pylist(),
        triples=[tuple(row.values()) for row in rows],
        pairs=(),
    )
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The seven questions of the tiny dataset."""
    tiny.write(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def loaded(server: BoltServer, database: str) -> Iterator[Callable[[Path], str]]:
    """``loaded(dataset)``: the address of a Bolt server with its graph."""
    connection = connect(server, database)

    def make(dataset: Path) -> str:
        load(Source(dataset / "kg"), connection)
        return f"bolt://{USER}@127.0.0.1:{server.port}/{database}"

    yield make
    connection.close()


def outcome(result: Result) -> dict[str, object]:
    (rule,) = json.loads(result.out)["rules"]
    assert rule["rule"] == RULE
    return dict(rule)


def test_cypher_gives_the_gold(
    cli: Callable[..., Result], excerpt: Path, loaded: Callable[[Path], str]
) -> None:
    result = cli(
        "validate", str(excerpt), "--rules", RULE, "--uri", loaded(excerpt), "--sample", "0", "--json"
    )
    assert (result.code, outcome(result)["findings"]) == (0, [])
    assert json.loads(result.out)["questions"] == QUESTIONS


def test_sparql_gives_the_gold(cli: Callable[..., Result], excerpt: Path) -> None:
    address = f"oxigraph:{excerpt}/kg.nt.gz"
    result = cli("validate", str(excerpt), "--rules", RULE, "--uri", address, "--sample", "0", "--json")
    assert (result.code, outcome(result)["findings"]) == (0, [])


def test_a_wrong_answer_is_found(
    cli: Callable[..., Result], small: Path, loaded: Callable[[Path], str], tmp_path: Path
) -> None:
    address = loaded(small)
    assert cli("validate", str(small), "--rules", RULE, "--uri", address).code == 0
    wrong = tiny.QUESTIONS[0].model_copy(update={"answers": tiny.QUESTIONS[4].answers})
    broken = tiny.QUESTIONS[1].model_copy(update={"cypher": "MATCH (n"})
    tiny.write(tmp_path / "wrong", questions=[wrong, broken, *tiny.QUESTIONS[2:]])
    result = cli("validate", str(tmp_path / "wrong"), "--rules", RULE, "--uri", address)
    assert result.code == 1
    assert f"{RULE}: q1 answers: Cypher also returns chapter:韩非子/五蠹" in result.out
    assert f"{RULE}: q2 cypher: not valid Cypher" in result.out


@pytest.mark.parametrize("kind", ["rdflib", "oxigraph", "endpoint"])
def test_the_same_in_sparql(cli: Callable[..., Result], small: Path, kind: str) -> None:
    if kind == "endpoint":
        (small / "kg.nt").write_bytes(pa.input_stream(str(small / "kg.nt.gz"), compression="gzip").read())
        with endpoint(small / "kg.nt") as host:
            result = cli("validate", str(small), "--rules", RULE, "--uri", f"{host}/sparql")
    else:
        result = cli("validate", str(small), "--rules", RULE, "--uri", f"{kind}:{small}/kg.nt.gz")
    assert result.code == 0, result.out
    assert "7 questions: no errors" in result.out


def test_another_graph_is_not_asked(
    cli: Callable[..., Result], small: Path, loaded: Callable[[Path], str], tmp_path: Path
) -> None:
    tiny.write(tmp_path / "less", triples=tiny.TRIPLE_ROWS[:-1])
    result = cli("validate", str(small), "--rules", RULE, "--uri", loaded(tmp_path / "less"))
    assert result.code == 1
    assert "not run: another graph is at" in result.out
    assert "22 entities and 20 triples" in result.out


def test_a_server_that_is_away(cli: Callable[..., Result], small: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        uri = f"bolt://127.0.0.1:{held.getsockname()[1]}"
    result = cli("validate", str(small), "--rules", RULE, "--uri", uri)
    assert result.code == 1
    assert "not run: no server answers at bolt://" in result.out


def test_a_store_without_queries(cli: Callable[..., Result], small: Path) -> None:
    result = cli("validate", str(small), "--rules", RULE, "--uri", str(small))
    assert result.code == 1
    assert "is no address of a graph store" in result.out
