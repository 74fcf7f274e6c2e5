"""What is wrong with a folder is said with file, line, column and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clwqa_bench.errors import ClwqaError
from clwqa_builders.own.schema import complete
from clwqa_builders.own.tables import LONGEST_LINE, read_about, read_graph
from clwqa_builders.own.wording import FOLDER
from tests.builders.own.conftest import Folder

ENTITIES = "id\tlabel\ttype\na\tAnn\tPerson\nb\tBonn\tCity\n"
TRIPLES = "head\trelation\ttail\na\tlivesIn\tb\n"
ONTOLOGY = """\
@prefix : <urn:example#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Person a owl:Class . :City a owl:Class .
:livesIn a owl:ObjectProperty ; rdfs:domain :Person ; rdfs:range :City .
"""


def test_rows_have_their_line_and_their_parts(folder: Folder) -> None:
    table = '\ufeffid\tlabel\taliases\ttext\r\na\t Ann \tAnnie|Anna|Annie\tShe "said".\r\n\r\nb\tBonn\t\t\r\n'
    graph = read_graph(folder({"entities.tsv": table, "triples.tsv": TRIPLES}))
    ann, bonn = graph.entities
    assert (ann.label, ann.type, ann.aliases, ann.text, ann.line) == (
        "Ann",
        "",
        ("Annie", "Anna"),
        'She "said".',
        2,
    )
    assert bonn.line == 4
    assert graph.source == "graph@1"


def test_csv_and_parquet_say_the_same(folder: Folder) -> None:
    entities = 'id,label,aliases\na,"Smith, Ann",Annie|Anna\nb,Bonn,\n'
    table = pa.table(
        {"id": ["a", "b"], "label": ["Smith, Ann", "Bonn"], "aliases": [["Annie", "Anna"], None]}
    )
    text = folder({"entities.csv": entities, "triples.tsv": TRIPLES}, "text")
    binary = folder({"triples.tsv": TRIPLES}, "binary")
    pq.write_table(table, binary / "entities.parquet")
    one, other = ([row.aliases for row in read_graph(f).entities] for f in (text, binary))
    assert one == other == [("Annie", "Anna"), ()]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"entities.tsv": ENTITIES + "a\tAnn\tPerson\n"}, "entities.tsv:4: field id: 'a' was already in line 2"),
        ({"entities.tsv": ENTITIES + "c\t \tCity\n"}, "entities.tsv:4: field label: the label is empty"),
        ({"entities.tsv": ENTITIES + "\tCleo\tCity\n"}, "entities.tsv:4: field id: the id is empty"),
        ({"entities.tsv": ENTITIES + "c\tCleo\tPersn\n", "ontology.ttl": ONTOLOGY}, "did you mean 'Person'"),
        ({"entities.tsv": ENTITIES + "c\tCleo\tCity\tmore\n"}, "entities.tsv:4: field type: the row has 4 cells"),
        ({"entities.tsv": ENTITIES.encode() + b"c\tK\xf6ln\tCity\n"}, "tsv:4: byte 4 of the line is not UTF-8"),
        ({"entities.tsv": ENTITIES + f"c\t{'x' * LONGEST_LINE}\tCity\n"}, "look for lost line ends"),
        ({"entities.tsv": ENTITIES.encode("utf-16")}, "entities.tsv:1: the table is in UTF-16 or no text. Fix: save"),
        ({"entities.tsv": "id\tlable\na\tAnn\n"}, "entities.tsv:1: field lable: there is no column 'lable'"),
        ({"entities.tsv": "id\ta\n"}, "the columns are id, label, type, aliases, text"),
        ({"entities.tsv": "id\n"}, "field label: the column 'label' is missing"),
        ({"entities.tsv": "id\tlabel\tid\n"}, "the column 'id' is there twice"),
        ({"entities.tsv": "id\tlabel\n"}, "there is no entity"),
        ({"triples.tsv": TRIPLES + "a\tlivesIn\tx\n"}, "triples.tsv:3: field tail: there is no entity 'x'"),
        ({"triples.tsv": TRIPLES + "a\tlivesIn\tb\n"}, "triples.tsv:3: field relation: line 2 already says this"),
        ({"triples.tsv": TRIPLES + "a\tlivesIn\ta\n"}, "triples.tsv:3: field tail: 'a' points to itself"),
        ({"triples.tsv": TRIPLES + "a\t\tb\n"}, "field relation: the relation is empty"),
        ({"triples.tsv": TRIPLES + "a\tliveIn\tb\n", "ontology.ttl": ONTOLOGY}, "did you mean 'livesIn'"),
        ({"triples.tsv": TRIPLES + "b\tlivesIn\ta\n", "ontology.ttl": ONTOLOGY},
         "triples.tsv:3: field relation: livesIn leads from Person to City, not from City to Person"),
        ({"triples.tsv": TRIPLES + "x\tr\ty\nz\tr\ty\n"}, "(3 more faults, in lines 3, 4)"),
        ({"triples.tsv": TRIPLES + "x\tr\tb\ny\tr\tb\n"}, "(1 more fault, in line 4)"),
        ({"triples.tsv": "head\trelation\ttail\n"}, "there is no triple"),
        ({"triples.csv": "head,relation,tail\n"}, "triples.tsv and triples.csv are both there"),
        ({"graph.toml": "language = 'xx'"}, "graph/graph.toml: field language: there are no sentences for"),
        ({"graph.toml": "langauge = 'en'"}, "graph.toml: field langauge: there is no such field. Fix: the fields are"),
        ({"graph.toml": "name = 'a b'"}, "use letters, digits, points and hyphens"),
        ({"graph.toml": "[relations.livesIn]\nforward = 'home'"}, "relations.livesIn.forward: 'home' must have one {}"),
        ({"graph.toml": "[mentions]\nCity = 'the {} of {}'"}, "field mentions.City: 'the {} of {}' must have one {}"),
        ({"graph.toml": "licence = ''"}, "graph.toml: field licence"),
        ({"graph.toml": "[relations.hates]\nforward = 'hates {}'"}, "the graph has no 'hates'"),
        ({"graph.toml": "licence ="}, "not TOML"),
        ({"ontology.ttl": ONTOLOGY + ":born-in a owl:ObjectProperty ."}, "'born-in' cannot stand in a query"),
        ({"ontology.ttl": "nothing"}, "not valid Turtle"),
        ({"ontology.ttl": ONTOLOGY.rpartition(":livesIn")[0]}, "'livesIn' is no relation of ontology.ttl. Fix: add it"),
    ],
)  # fmt: skip
def test_faults(folder: Folder, files: dict[str, str | bytes], told: str) -> None:
    made = folder({"entities.tsv": ENTITIES, "triples.tsv": TRIPLES, **files})
    with pytest.raises(ClwqaError) as caught:
        read_and_complete(made)
    assert told in str(caught.value)
    assert caught.value.fix


def test_frames_hold_regular_expressions(folder: Folder) -> None:
    frames = re.sub(r"^\[", "[frames.", (FOLDER / "en.toml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    made = folder({"graph.toml": "[frames]\n" + re.sub("(?m)^mutual = .*", "mutual = '('", frames)})
    with pytest.raises(ClwqaError, match=r"field frames.mutual: '\(' is no regular expression: missing \)"):
        read_about(made / "graph.toml")


def test_a_lost_quotation_mark_is_found(folder: Folder) -> None:
    made = folder({"entities.csv": 'id,label\na,"Ann\nb,Bonn\n', "triples.tsv": TRIPLES})
    with pytest.raises(ClwqaError, match="look for a lost quotation mark"):
        read_graph(made)


@pytest.mark.parametrize("missing", ["entities", "triples"])
def test_a_missing_table_is_named(folder: Folder, missing: str) -> None:
    files = {"entities.tsv": ENTITIES, "triples.tsv": TRIPLES}
    del files[f"{missing}.tsv"]
    with pytest.raises(
        ClwqaError, match=f"no table of {missing}.*{missing}.tsv, {missing}.csv, {missing}.parquet"
    ):
        read_graph(folder(files))


def read_and_complete(made: Path) -> None:
    from clwqa_builders.own.wording import Speaker

    graph = read_graph(made)
    Speaker.of(complete(graph).ontology, graph.about, made / "graph.toml")
