"""The graph in other tools' formats: nothing is lost on the way."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rdflib import RDF, RDFS, SKOS, Graph, Literal, URIRef

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.build import read_tables, write_index
from clwqa_bench.kg.export import FORMATS, export
from clwqa_bench.kg.iri import ATTRIBUTE, ONTOLOGY, entity_id, iri
from clwqa_bench.ontology import DEFAULT_PATH
from tests.conformance.graph import FOX, tables

EDGES = {(row["head"], row["relation"], row["tail"]) for row in tables()[1].to_pylist()}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("kg")
    write_index(*tables(), directory)
    return directory


@pytest.mark.parametrize("format", ["nt", "ttl"])
def test_rdf(graph: Path, tmp_path: Path, format: str) -> None:
    export(graph, format, tmp_path / "graph")
    rdf = Graph().parse(tmp_path / "graph", format=format)
    hare = URIRef(iri("i6"))
    types = {URIRef(ONTOLOGY + name) for name in ("Idiom", "Word", "CultureLoadedWord")}
    assert set(rdf.objects(hare, RDF.type)) == types
    assert set(rdf.objects(hare, RDFS.label)) == {Literal("守株待兔")}
    assert set(rdf.objects(hare, SKOS.altLabel)) == {Literal("守株伺兔")}
    assert set(rdf.objects(hare, URIRef(ATTRIBUTE + "pinyin"))) == {Literal("shǒu zhū dài tù")}
    assert set(rdf.objects(hare, URIRef(ONTOLOGY + "provenance"))) == {Literal("hand@1#1")}
    assert (
        str(rdf.value(URIRef(iri("e1")), URIRef(ONTOLOGY + "text"))) == 'to wait for luck\nto strike "twice"'
    )
    assert str(rdf.value(URIRef(iri("b 1")), RDFS.label)) == FOX
    edges = {
        (entity_id(str(s)), str(p).removeprefix(ONTOLOGY), entity_id(str(o)))
        for s, p, o in rdf
        if isinstance(o, URIRef) and p != RDF.type
    }
    assert edges == EDGES


def test_turtle_and_ntriples_say_the_same(graph: Path, tmp_path: Path) -> None:
    for name in ("ttl", "nt"):
        export(graph, name, tmp_path / f"g.{name}")
    turtle, ntriples = (Graph().parse(tmp_path / f"g.{name}") for name in ("ttl", "nt"))
    assert set(turtle) == set(ntriples)
    assert "a :Idiom" in (tmp_path / "g.ttl").read_text(encoding="utf-8")


def test_compressed_by_name(graph: Path, tmp_path: Path) -> None:
    export(graph, "nt", tmp_path / "g.nt")
    export(graph, "nt", tmp_path / "g.nt.gz")
    packed = (tmp_path / "g.nt.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "g.nt").read_bytes()
    assert packed[4:8] == b"\0\0\0\0"  # no time stamp: the same graph gives the same bytes


def test_jsonl(graph: Path, tmp_path: Path) -> None:
    entities, triples = export(graph, "jsonl", tmp_path)
    rows = [json.loads(line) for line in entities.read_text(encoding="utf-8").splitlines()]
    assert rows == read_tables(graph)[0].to_pylist()
    rows = [json.loads(line) for line in triples.read_text(encoding="utf-8").splitlines()]
    assert rows == read_tables(graph)[1].to_pylist()


def test_parquet(graph: Path, tmp_path: Path) -> None:
    entities, triples = export(graph, "parquet", tmp_path / "copy")
    assert (pq.read_table(entities), pq.read_table(triples)) == read_tables(graph)


def test_csv_for_neo4j_admin(graph: Path, tmp_path: Path) -> None:
    nodes, edges = export(graph, "csv", tmp_path)
    with nodes.open(encoding="utf-8", newline="") as file:
        rows = {row["id:ID"]: row for row in csv.DictReader(file)}
    assert len(rows) == 22
    assert rows["i6"][":LABEL"].split("\x1f") == ["Entity", "Idiom", "Word", "CultureLoadedWord"]
    assert rows["i1"]["aliases:string[]"].split("\x1f") == ["emmet", "pismire"]
    assert rows["i6"]["attributes:string[]"] == "pinyin=shǒu zhū dài tù"
    assert rows["e1"]["text"] == 'to wait for luck\nto strike "twice"'
    assert rows["b 1"]["label"] == FOX
    with edges.open(encoding="utf-8", newline="") as file:
        found = {(row[":START_ID"], row[":TYPE"], row[":END_ID"]) for row in csv.DictReader(file)}
    assert found == EDGES


def test_cypher(graph: Path, tmp_path: Path) -> None:
    [script] = export(graph, "cypher", tmp_path / "g.cypher")
    statements = script.read_text(encoding="utf-8").splitlines()
    assert statements[0].startswith("CREATE CONSTRAINT")
    assert all(statement.endswith(";") for statement in statements)  # line breaks in texts are escaped
    whole = "\n".join(statements)
    assert "CREATE (n:Entity:Idiom:Word:CultureLoadedWord) SET n = row;" in whole
    assert '{id: "i6", label: "守株待兔", type: "Idiom", aliases: ["守株伺兔"], text: "", ' in whole
    assert r'"to wait for luck\nto strike \"twice\""' in whole
    edges = set()
    for statement in statements[1:]:
        relation = re.search(r"\[:(\w+) ", statement)
        if relation:
            ends = re.findall(r'\{head: "(.*?)", tail: "(.*?)",', statement)
            edges |= {(head, relation[1], tail) for head, tail in ends}
    assert edges == EDGES


def test_unknown_format(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="use one of ttl, nt, parquet, jsonl, cypher, csv"):
        export(graph, "xml", tmp_path)


@pytest.mark.parametrize("format", FORMATS)
def test_twice_the_same_bytes(graph: Path, tmp_path: Path, format: str) -> None:
    one, two = (export(graph, format, tmp_path / name) for name in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


# ---------------------------------------------------------------------- SHACL


def conforms(rdf: Graph) -> tuple[bool, str]:
    from pyshacl import validate

    shapes = Graph().parse(DEFAULT_PATH.with_name("shapes.ttl"))
    ontology = Graph().parse(DEFAULT_PATH)
    result, _, text = validate(rdf, shacl_graph=shapes, ont_graph=ontology)
    return result, text


def test_the_export_fits_the_shapes(graph: Path, tmp_path: Path) -> None:
    export(graph, "nt", tmp_path / "g.nt")
    result, text = conforms(Graph().parse(tmp_path / "g.nt"))
    assert result, text


@pytest.mark.parametrize(
    ("statement", "shape"),
    [
        (f'<{iri("i6")}> <{RDFS.label}> "another" .', "one plain label"),
        (f"<{iri('i6')}> <{ONTOLOGY}hasSource> <{iri('per1')}> .", "hasSource"),
        (f"<{iri('per1')}> <{ONTOLOGY}partOf> <{iri('hub')}> .", "PartOfShape"),
        (f"<{iri('x')}> <{RDF.type}> <{ONTOLOGY}Idiom> .", "An entity has a label"),
        (f'<{iri("per1")}> <{ONTOLOGY}ruledIn> "Han" .', "ruledIn"),
    ],
)
def test_the_shapes_refuse(graph: Path, tmp_path: Path, statement: str, shape: str) -> None:
    export(graph, "nt", tmp_path / "g.nt")
    rdf = Graph().parse(tmp_path / "g.nt").parse(data=statement, format="nt")
    result, text = conforms(rdf)
    assert not result
    assert shape in text
