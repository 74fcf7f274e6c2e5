"""Building a graph directory: what is refused, and that the same rows give the same bytes."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clwqa_bench.errors import GraphError
from clwqa_bench.kg import search
from clwqa_bench.kg.build import index_tables, read_tables, write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import Ontology

ENTITIES = [
    {"id": "w:b", "label": "乙", "type": "Idiom"},
    {"id": "w:a", "label": "甲", "type": "Idiom"},
    {"id": "k", "label": "书", "type": "Book"},
]
TRIPLES = [
    {"head": "w:b", "relation": "hasSource", "tail": "k"},
    {"head": "w:a", "relation": "hasSource", "tail": "k"},
    {"head": "w:a", "relation": "variantOf", "tail": "w:b"},
]


def table(rows: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows)


def contents(directory: Path) -> dict[str, bytes]:
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_columns_that_may_be_left_out(tmp_path: Path) -> None:
    write_index(table(ENTITIES), table(TRIPLES), tmp_path)
    entities, triples = read_tables(tmp_path)
    assert entities["id"].to_pylist() == ["k", "w:a", "w:b"]  # sorted by id
    assert entities["text"].to_pylist() == ["", "", ""]
    assert entities["aliases"].to_pylist() == [[], [], []]
    assert triples.column_names == ["head", "relation", "tail", "provenance"]
    assert [tuple(row.values())[:3] for row in triples.to_pylist()] == [
        ("w:a", "hasSource", "k"),
        ("w:a", "variantOf", "w:b"),
        ("w:b", "hasSource", "k"),
    ]


def test_row_order_does_not_matter(tmp_path: Path) -> None:
    write_index(table(ENTITIES), table(TRIPLES), tmp_path / "one")
    write_index(table(ENTITIES[::-1]), table(TRIPLES[::-1]), tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_writing_again_replaces(tmp_path: Path) -> None:
    write_index(table(ENTITIES), table(TRIPLES), tmp_path / "one")
    write_index(table(ENTITIES[:2]), table(TRIPLES[2:]), tmp_path / "two")
    write_index(table(ENTITIES), table(TRIPLES), tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_what_was_written_can_be_indexed_again(tmp_path: Path) -> None:
    write_index(table(ENTITIES), table(TRIPLES), tmp_path)
    before = contents(tmp_path)
    write_index(*read_tables(tmp_path), tmp_path)
    assert contents(tmp_path) == before


def own_tables(directory: Path) -> dict[str, bytes]:
    """Tables as somebody else would write them: other order, other compression, only the columns needed."""
    pq.write_table(table(ENTITIES[::-1]), directory / "entities.parquet", compression="none")
    pq.write_table(table(TRIPLES[::-1]), directory / "triples.parquet", compression="none")
    return contents(directory)


def test_indexing_leaves_the_tables_as_they_are(tmp_path: Path) -> None:
    before = own_tables(tmp_path)
    index_tables(tmp_path)
    after = contents(tmp_path)
    assert {name: after[name] for name in before} == before
    write_index(table(ENTITIES), table(TRIPLES), tmp_path / "other")
    graphs = [MemoryGraph.open(folder) for folder in (tmp_path, tmp_path / "other")]
    assert len({tuple(graph.triples()) for graph in graphs}) == 1


def test_an_index_that_fails_leaves_the_earlier_one_and_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_tables(tmp_path)
    index_tables(tmp_path)
    before = contents(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(search, "write", full)
    with pytest.raises(OSError, match="No space left"):
        index_tables(tmp_path)
    assert contents(tmp_path) == before


def test_a_truncated_table_is_named(tmp_path: Path) -> None:
    own_tables(tmp_path)
    path = tmp_path / "triples.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(GraphError, match=r"triples\.parquet: not a complete Parquet file") as failure:
        index_tables(tmp_path)
    assert failure.value.fix == "write or download the table again"
    assert not (tmp_path / "index").exists()


def test_other_string_types_are_taken(tmp_path: Path) -> None:
    columns = {name: [row[name] for row in ENTITIES] for name in ("id", "label", "type")}
    entities = pa.table({name: pa.array(values, pa.large_string()) for name, values in columns.items()})
    triples = table(TRIPLES)
    relation = triples["relation"].combine_chunks().dictionary_encode()
    triples = triples.set_column(1, "relation", relation)
    write_index(entities, triples, tmp_path)
    assert len(list(MemoryGraph.open(tmp_path).triples())) == 3


@pytest.mark.parametrize("triples", [TRIPLES[:0], TRIPLES[:1]])
def test_tiny_graphs(tmp_path: Path, triples: list[dict[str, object]]) -> None:
    empty = pa.table({name: pa.array([], pa.string()) for name in ("head", "relation", "tail")})
    write_index(table(ENTITIES), table(triples) if triples else empty, tmp_path)
    graph = MemoryGraph.open(tmp_path)
    assert list(graph.entities()) == ["w:b", "k", "w:a"]
    assert len(list(graph.triples())) == len(triples)
    assert graph.khop(["k"], 2).nodes.total == 1 + len(triples)


def test_empty_graph(tmp_path: Path) -> None:
    names = {"entities": ("id", "label", "type"), "triples": ("head", "relation", "tail")}
    empty = [pa.table({name: pa.array([], pa.string()) for name in columns}) for columns in names.values()]
    write_index(*empty, tmp_path)
    graph = MemoryGraph.open(tmp_path)
    assert len(graph) == 0
    assert list(graph.triples()) == []
    assert graph.lookup("甲") == ()
    assert graph.fuzzy("甲") == ()
    assert graph.schema().signatures == ()


# ---------------------------------------------------------------------- what is refused

ENTITY = {"id": "w:c", "label": "丙", "type": "Idiom"}
TRIPLE = {"head": "w:b", "relation": "seeAlso", "tail": "w:a"}


@pytest.mark.parametrize(
    ("entity", "triple", "message"),
    [
        ({"type": "Idoim"}, {}, "entities row 4: type 'Idoim' is not known. Fix: use one of ContentUnit"),
        ({"id": "w:a"}, {}, "entities row 4: 'w:a' was already in row 2. Fix: keep one of the two."),
        ({"label": None}, {}, "entities row 4: label is null. Fix: write an empty string or list"),
        ({}, {"head": "w:x"}, "triples row 4: head 'w:x' is not known. Fix: add the entity."),
        ({}, {"tail": "w:x"}, "triples row 4: tail 'w:x' is not known. Fix: add the entity."),
        (
            {},
            {"relation": "knows"},
            "triples row 4: relation 'knows' is not known. Fix: use one of attributedTo",
        ),
        (
            {},
            {"relation": "hasSource", "tail": "k"},
            "triples row 4: 'w:b hasSource k' was already in row 1. Fix: keep one of the two.",
        ),
        (
            {},
            {"relation": "variantOf"},
            "triples row 4: the relation is symmetric and row 3 already says this. Fix: keep one of the two.",
        ),
        (
            {},
            {"relation": "hasCreator"},
            "triples row 4: relation 'hasCreator' is abstract and never stored. Fix: use one of attributedTo,",
        ),
    ],
)
def test_bad_rows_are_named(
    tmp_path: Path, entity: dict[str, object], triple: dict[str, object], message: str
) -> None:
    with pytest.raises(GraphError) as failure:
        write_index(table([*ENTITIES, ENTITY | entity]), table([*TRIPLES, TRIPLE | triple]), tmp_path)
    assert str(failure.value).startswith(message)
    assert not (tmp_path / "entities.parquet").exists()


def test_a_symmetric_loop_is_said_once(tmp_path: Path) -> None:
    loop = {"head": "w:a", "relation": "variantOf", "tail": "w:a"}
    write_index(table(ENTITIES), table([*TRIPLES, loop]), tmp_path)
    assert MemoryGraph.open(tmp_path).neighbours("w:a", "variantOf").items == ("w:b", "w:a")


def test_missing_columns(tmp_path: Path) -> None:
    with pytest.raises(
        GraphError, match=r"entities has no column 'label'\. Fix: give it the columns id, label"
    ):
        write_index(table(ENTITIES).drop_columns(["label"]), table(TRIPLES), tmp_path)


def test_wrong_column_type(tmp_path: Path) -> None:
    entities = table(ENTITIES).append_column("aliases", pa.array([1, 2, 3]))
    with pytest.raises(GraphError, match=r"entities: column 'aliases' is int64\. Fix: make the column list"):
        write_index(entities, table(TRIPLES), tmp_path)


# ---------------------------------------------------------------------- opening


def test_no_graph_here(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"name a directory that holds entities\.parquet"):
        MemoryGraph.open(tmp_path)


def test_tables_without_an_index(tmp_path: Path) -> None:
    pq.write_table(table(ENTITIES), tmp_path / "entities.parquet")
    with pytest.raises(GraphError, match=f"run `clwqa-bench kg index {tmp_path}`"):
        MemoryGraph.open(tmp_path)
    with pytest.raises(GraphError, match="the table is missing"):
        read_tables(tmp_path)


def test_an_index_of_other_tables_is_noticed(tmp_path: Path) -> None:
    write_index(table(ENTITIES), table(TRIPLES), tmp_path)
    pq.write_table(table(TRIPLES), tmp_path / "triples.parquet")
    with pytest.raises(GraphError, match="made for other tables"):
        MemoryGraph.open(tmp_path)


def test_an_index_of_another_format_is_noticed(tmp_path: Path) -> None:
    write_index(table(ENTITIES), table(TRIPLES), tmp_path)
    meta = tmp_path / "index" / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text("utf-8")) | {"format": 0}), encoding="utf-8")
    with pytest.raises(GraphError, match="has another format"):
        MemoryGraph.open(tmp_path)


def test_an_incomplete_index_is_noticed(tmp_path: Path) -> None:
    write_index(table(ENTITIES), table(TRIPLES), tmp_path)
    (tmp_path / "index" / "gram.npy").unlink()
    with pytest.raises(GraphError, match="index is incomplete"):
        MemoryGraph.open(tmp_path)


def test_the_index_is_enough(tmp_path: Path) -> None:
    write_index(table(ENTITIES), table(TRIPLES), tmp_path)
    for name in ("entities.parquet", "triples.parquet"):
        (tmp_path / name).unlink()
    assert MemoryGraph.open(tmp_path).entity("k").label == "书"


def test_bring_your_own_ontology(tmp_path: Path) -> None:
    turtle = tmp_path / "film.ttl"
    turtle.write_text(
        "@prefix : <http://example.org/film#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":Film a owl:Class . :Person a owl:Class . :directedBy a owl:ObjectProperty .\n",
        encoding="utf-8",
    )
    entities = table(
        [{"id": "f1", "label": "Metropolis", "type": "Film"}, {"id": "p1", "label": "Lang", "type": "Person"}]
    )
    triples = table([{"head": "f1", "relation": "directedBy", "tail": "p1"}])
    write_index(entities, triples, tmp_path / "kg", Ontology.load(turtle))
    graph = MemoryGraph.open(tmp_path / "kg")
    assert graph.ontology.types == ("Film", "Person")
    assert graph.neighbours("f1", "directedBy", "out", "Person").items == ("p1",)
