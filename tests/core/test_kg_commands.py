"""``clwqa-bench kg`` as a person and as a program would call it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clwqa_bench.kg.build import write_index
from tests.conformance.graph import tables


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("kg")
    write_index(*tables(), directory)
    return str(directory)


def test_stats(cli: Callable[..., Any], graph: str) -> None:
    result = cli("kg", "stats", graph, "--json")
    counts = json.loads(result.out)
    assert result.code == 0
    assert (counts["entities"], counts["triples"]) == (22, 24)
    assert counts["entities_by_type"]["Idiom"] == 10
    assert counts["triples_by_relation"]["hasSource"] == 10
    assert counts["without_citation_records"] == {"entities": 22, "triples": 24}
    assert cli("kg", "stats", "--graph", graph, "--json").out == result.out


def test_stats_without_citation_records(cli: Callable[..., Any], tmp_path: Path) -> None:
    entities, triples = tables()
    record = {"id": "s1", "label": "record", "type": "Source"}
    rows = [
        {"head": "i1", "relation": "hasCitation", "tail": "s1"},
        {"head": "s1", "relation": "citesWork", "tail": "c1"},
        {"head": "s1", "relation": "mentionsPerson", "tail": "per1"},
    ]
    write_index(
        entities.from_pylist([*entities.to_pylist(), record | {"aliases": [], "text": "", "attributes": [],
                                                               "provenance": ""}]),
        triples.from_pylist([*triples.to_pylist(), *rows]),
        tmp_path,
    )  # fmt: skip
    counts = json.loads(cli("kg", "stats", str(tmp_path), "--json").out)
    assert (counts["entities"], counts["triples"]) == (23, 27)
    assert counts["without_citation_records"] == {"entities": 22, "triples": 24}


def test_stats_for_people(cli: Callable[..., Any], graph: str) -> None:
    out = cli("kg", "stats", graph).out
    assert "成语" in out
    assert "without citation records" in out


@pytest.mark.parametrize("name", ["i6", "守株待兔", "《守株伺兔》"])
def test_show_by_id_label_or_alias(cli: Callable[..., Any], graph: str, name: str) -> None:
    found = json.loads(cli("kg", "show", name, "-g", graph, "--json").out)
    assert found["id"] == "i6"
    assert found["types"] == ["Idiom", "Word", "CultureLoadedWord"]
    assert found["attributes"] == [{"key": "pinyin", "value": "shǒu zhū dài tù"}]
    assert found["relations"] == [
        {
            "relation": "hasExplanation",
            "direction": "out",
            "total": 1,
            "neighbours": [{"id": "e1", "label": "vain wait"}],
        }
    ]


def test_show_for_people(cli: Callable[..., Any], graph: str) -> None:
    out = cli("kg", "show", "hub", "-g", graph, "--limit", "2").out
    assert "<-hasSource-" in out
    assert "ant、w01 and 5 more" in out


def test_an_ambiguous_name_lists_what_it_may_mean(cli: Callable[..., Any], graph: str) -> None:
    result = cli("kg", "show", "bee", "-g", graph)
    assert result.code == 2
    assert "'bee' names 2 entities" in result.err
    assert "i2 (bee, 成语), i5 (bee, 词)" in result.err


def test_a_mistyped_name_gets_a_suggestion(cli: Callable[..., Any], graph: str) -> None:
    result = cli("kg", "show", "守株待免", "-g", graph, "--json")
    assert result.code == 2
    assert json.loads(result.out)["fix"] == "did you mean i6 (守株待兔, 成语)"


def test_path(cli: Callable[..., Any], graph: str) -> None:
    result = json.loads(cli("kg", "path", "ant", "Ann", "-g", graph, "--json").out)
    assert result["total"] == 2
    assert not result["truncated"]
    assert result["paths"][1] == {
        "nodes": ["i1", "hub", "p1", "per1"],
        "relations": ["hasSource", "partOf", "authoredBy"],
        "senses": ["out", "in", "out"],
        "text": "ant -hasSource-> hub <-partOf- ode -authoredBy-> Ann",
    }


def test_path_for_people(cli: Callable[..., Any], graph: str) -> None:
    out = cli("kg", "path", "ant", "Ann", "-g", graph, "--limit", "1").out
    assert out.splitlines() == [
        "ant -hasSource-> ch. 1 -partOf-> Fox; hen, and | owl/“pig” -authoredBy-> Ann",
        "(1 more of the same length)",
    ]
    assert cli("kg", "path", "ant", "elk", "-g", graph).out == "no path of this length\n"


def test_export(cli: Callable[..., Any], graph: str, tmp_path: Path) -> None:
    out = tmp_path / "new" / "graph.nt"
    result = cli("kg", "export", "--format", "nt", "--out", str(out), "-g", graph, "--json")
    assert json.loads(result.out) == [str(out)]
    assert out.read_text(encoding="utf-8").count("\n") > 24


def test_index(cli: Callable[..., Any], graph: str, tmp_path: Path) -> None:
    cli("kg", "export", "--format", "parquet", "--out", str(tmp_path), "-g", graph)
    assert cli("kg", "show", "ant", "-g", str(tmp_path)).code == 2
    assert json.loads(cli("kg", "index", str(tmp_path), "--json").out) == {"entities": 22, "triples": 24}
    assert cli("kg", "show", "ant", "-g", str(tmp_path)).code == 0


def test_a_graph_of_your_own_with_an_unknown_type_is_not_indexed(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    pq.write_table(
        pa.table({"id": ["f1"], "label": ["Metropolis"], "type": ["Film"]}), tmp_path / "entities.parquet"
    )
    pq.write_table(
        pa.table({name: pa.array([], pa.string()) for name in ("head", "relation", "tail")}),
        tmp_path / "triples.parquet",
    )
    result = cli("kg", "index", str(tmp_path))
    assert result.code == 2
    assert "entities row 1: type 'Film' is not known. Fix: use one of " in result.err
    assert {path.name for path in tmp_path.iterdir()} == {"entities.parquet", "triples.parquet"}


def test_a_citation_record_gives_way_to_the_work_of_the_same_name(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    entities, triples = tables()
    record = {"id": "s1", "label": "ant", "type": "Source", "aliases": [], "text": "", "attributes": []}
    rows = [*entities.to_pylist(), record | {"provenance": ""}]
    write_index(entities.from_pylist(rows), triples, tmp_path)
    assert json.loads(cli("kg", "show", "ant", "-g", str(tmp_path), "--json").out)["id"] == "i1"
    assert json.loads(cli("kg", "show", "s1", "-g", str(tmp_path), "--json").out)["id"] == "s1"


def test_a_dataset_folder_stands_for_its_graph(cli: Callable[..., Any], tmp_path: Path) -> None:
    write_index(*tables(), tmp_path / "kg")
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    assert json.loads(cli("kg", "stats", str(tmp_path), "--json").out)["entities"] == 22


def test_before_the_first_build(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = cli("kg", "show", "守株待兔")
    assert result.code == 2
    assert "make build" in result.err


def test_no_graph(cli: Callable[..., Any], tmp_path: Path) -> None:
    result = cli("kg", "stats", str(tmp_path))
    assert result.code == 2
    assert "no graph index here" in result.err


@pytest.mark.parametrize("command", ["stats", "show", "path", "export", "index"])
def test_help_has_an_example(cli: Callable[..., Any], command: str) -> None:
    assert f"Example: clwqa-bench kg {command}" in cli("kg", command, "--help").out
