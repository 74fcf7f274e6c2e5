"""Joins and backtracking must agree; the golden answers are read off the hand-made graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Graph, URIRef
from rdflib.namespace import RDF

from clwqa_bench.errors import BuildError
from clwqa_bench.kg.iri import ONTOLOGY, iri
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import PathStep
from clwqa_builders.questions import solve
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.compile import cypher_string, to_cypher, to_sparql
from clwqa_builders.questions.pattern import Pattern, parse_pattern
from clwqa_builders.questions.solve import answers, bindings, standard_paths
from tests.builders.question_graph import mini_tables, triple_table

ONTO = Ontology.load()


@dataclass(frozen=True)
class ListStore:
    """The two store operations answering needs, over plain lists."""

    kinds: Mapping[str, str]
    triples: Sequence[tuple[str, str, str]]
    asked: list[str] = field(default_factory=list)

    def neighbours(self, node, /, relation=None, direction="both"):
        self.asked.append(node)
        wanted = {relation} if isinstance(relation, str) else set(relation)
        out = [t for h, r, t in self.triples if h == node and r in wanted and direction != "in"]
        back = [h for h, r, t in self.triples if t == node and r in wanted and direction != "out"]
        return sorted({*out, *back})

    def types(self, node, /):
        return (self.kinds[node], *ONTO.ancestors(self.kinds[node]))


def store_of(entities: pa.Table, triples: pa.Table) -> ListStore:
    kinds = dict(zip(entities["id"].to_pylist(), entities["type"].to_pylist(), strict=True))
    return ListStore(kinds, [tuple(t.values()) for t in triples.to_pylist()])


def pattern_of(*lines: str) -> Pattern:
    return parse_pattern(lines, ONTO)


@pytest.mark.parametrize(
    ("lines", "anchors", "answer", "expected"),
    [
        (["w:Idiom -hasSource-> u:Chapter -partOf-> b:Book -authoredBy-> a:Person"],
         {"w": "word:破釜沉舟"}, "a", {"person:司马迁"}),
        (["w:Idiom -hasSource-> u:Chapter <-hasSource- v:Idiom"],
         {"w": "word:破釜沉舟"}, "v", {"word:四面楚歌", "word:霸王别姬"}),
        (["w:Idiom -variantOf|sameMeaningAs- v:Idiom"],
         {"w": "word:背水一战"}, "v", {"word:背城一战", "word:破釜沉舟"}),
        (["u:Piece -authoredBy-> a:Person <-authoredBy- t:Piece"],
         {"u": "piece:苏轼/江城子"}, "t", {"piece:苏轼/赤壁赋"}),
        (["w:Idiom -hasSource-> u:Chapter -partOf-> b:Book", "w -belongsToCategory-> c:SubCategory"],
         {"b": "book:史记", "c": "category:emotions_values"}, "w",
         {"word:破釜沉舟", "word:四面楚歌", "word:背水一战"}),
        (["w:Idiom -hasSource-> u:Piece"], {"w": "word:破釜沉舟"}, "u", set()),
        (["w:Idiom -hasSource-> u:Piece"], {"w": "book:史记"}, "u", set()),
    ],
)  # fmt: skip
def test_answers_on_the_hand_made_graph(lines, anchors, answer, expected) -> None:
    assert answers(pattern_of(*lines), store_of(*mini_tables()), anchors, answer) == expected


def test_a_join_through_a_hub_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "MAX_ROWS", 8)
    columns = GraphColumns.of_tables(*mini_tables())
    with pytest.raises(BuildError, match="would make 11 rows"):
        bindings(pattern_of("w:Idiom -hasSource-> u:Chapter <-hasSource- v:Idiom"), columns)


def test_a_category_is_tested_from_the_word_not_walked_through_its_words() -> None:
    pattern = pattern_of("w:Idiom -hasSource-> u:Chapter", "w -belongsToCategory-> c:SubCategory")
    store = store_of(*mini_tables())
    found = answers(pattern, store, {"u": "chapter:3", "c": "category:language_dialects"}, "w")
    assert found == {"word:守株待兔"}
    assert "word:破釜沉舟" not in store.asked


def test_standard_paths_walk_from_every_anchor_and_list_stored_triples() -> None:
    pattern = pattern_of("w:Idiom -sameMeaningAs- v:Idiom -hasSource-> u:Chapter -partOf-> b:Book")
    paths, triples = standard_paths(pattern, store_of(*mini_tables()), {"w": "word:背水一战"}, "b")
    (path,) = paths
    assert path.entities == ("word:背水一战", "word:破釜沉舟", "chapter:1", "book:史记")
    assert path.steps[0] == PathStep(relation="sameMeaningAs", direction="in", type="Idiom")
    assert [(t.head, t.relation, t.tail) for t in triples] == [
        ("chapter:1", "partOf", "book:史记"),
        ("word:破釜沉舟", "hasSource", "chapter:1"),
        ("word:破釜沉舟", "sameMeaningAs", "word:背水一战"),
    ]


# --- the two solvers and SPARQL agree on random graphs --------------------------------------------------------

KINDS = ("Idiom", "Proverb", "Chapter", "Piece", "Book", "Novel", "Person")
PATTERNS = (
    ["w:Idiom -hasSource-> u:Chapter|Piece"],
    ["w:Word -hasSource-> u:ContentUnit <-hasSource- v:Word"],
    ["w:Word -variantOf|sameMeaningAs- v:Word -hasSource-> u:Chapter -partOf-> b:CulturalSource"],
    ["u:ContentUnit -authoredBy|compiledBy-> a:Person <-authoredBy- t:ContentUnit|Book"],
    ["w:Word -hasSource-> u:Chapter -partOf-> b:Book", "v:Word -hasSource-> t:Chapter -partOf-> b"],
    ["w:Word -variantOf- v:Word -sameMeaningAs- x:Word -variantOf- w"],
)
RELATIONS = ("hasSource", "variantOf", "sameMeaningAs", "partOf", "authoredBy", "compiledBy")
ANCHOR_OF = {"w": "w", "u": "u"}


@st.composite
def graphs(draw: st.DrawFn) -> tuple[pa.Table, pa.Table]:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=4, max_size=14))
    ids = [f"n{i:02}" for i in range(len(kinds))]
    node = st.integers(0, len(ids) - 1)
    drawn = draw(st.lists(st.tuples(node, st.sampled_from(RELATIONS), node), max_size=60))
    allowed = {(h, r, t) for h, r, t in drawn if h != t and ONTO.allows(kinds[h], r, kinds[t])}
    entities = pa.table({
        "id": ids, "label": ids, "type": kinds,
        "aliases": pa.array([[] for _ in ids], pa.list_(pa.string())), "text": [""] * len(ids),
    })  # fmt: skip
    return entities, triple_table((ids[h], r, ids[t]) for h, r, t in allowed)


@settings(max_examples=150, deadline=None)
@given(graphs(), st.sampled_from(PATTERNS))
def test_joins_find_exactly_what_backtracking_finds(
    tables: tuple[pa.Table, pa.Table], lines: list[str]
) -> None:
    pattern, columns, store = pattern_of(*lines), GraphColumns.of_tables(*tables), store_of(*tables)
    anchor = next(iter(pattern.variables))
    table = bindings(pattern, columns)
    rows = [
        tuple(columns.ids[i] for i in row)
        for row in zip(*(table[v].tolist() for v in pattern.variables), strict=True)
    ]
    assert len(rows) == len(set(rows))
    for goal in list(pattern.variables)[1:]:
        where = list(pattern.variables).index(goal)
        for node in columns.ids:
            joined = {row[where] for row in rows if row[0] == node}
            assert answers(pattern, store, {anchor: node}, goal) == joined


def rdf(entities: pa.Table, triples: pa.Table) -> Graph:
    graph = Graph()
    for row in entities.to_pylist():
        for type_ in (row["type"], *ONTO.ancestors(row["type"])):
            graph.add((URIRef(iri(row["id"])), RDF.type, URIRef(ONTOLOGY + type_)))
    for row in triples.to_pylist():
        graph.add((URIRef(iri(row["head"])), URIRef(ONTOLOGY + row["relation"]), URIRef(iri(row["tail"]))))
    return graph


@settings(max_examples=25, deadline=None)
@given(graphs(), st.sampled_from(PATTERNS))
def test_sparql_returns_the_same_answers(tables: tuple[pa.Table, pa.Table], lines: list[str]) -> None:
    pattern, store, graph = pattern_of(*lines), store_of(*tables), rdf(*tables)
    anchor, *_, goal = pattern.variables
    for node in tables[0]["id"].to_pylist()[:4]:
        found = [str(row.id) for row in graph.query(to_sparql(pattern, {anchor: node}, goal))]
        assert found == sorted(found)
        assert set(found) == {iri(n) for n in answers(pattern, store, {anchor: node}, goal)}


@pytest.mark.parametrize(
    "odd", ["word:O'Brien", 'word:say "hi"', r"word:back\slash", "word:a b", "chapter:史记·<一>{}|^`"]
)
def test_odd_ids_survive_both_languages(odd: str) -> None:
    pattern = pattern_of("w:Idiom -hasSource-> b:Book")
    entities = pa.table(
        {
            "id": sorted([odd, "book:x"]),
            "type": ["Idiom" if i == odd else "Book" for i in sorted([odd, "book:x"])],
        }
    )
    graph = rdf(entities, triple_table([(odd, "hasSource", "book:x")]))
    assert [str(r.id) for r in graph.query(to_sparql(pattern, {"w": odd}, "b"))] == [iri("book:x")]
    assert f"{{id: {cypher_string(odd)}}}" in to_cypher(pattern, {"w": odd}, "b")


def test_cypher_reads_as_expected() -> None:
    pattern = pattern_of("w:Idiom -variantOf- v:Idiom|Proverb -hasSource-> u:Chapter")
    assert to_cypher(pattern, {"w": r"word:it's \ here"}, "u") == (
        r"MATCH (w:Entity {id: 'word:it\'s \\ here'})-[:variantOf]-(v:Entity), (v)-[:hasSource]->(u:Entity:Chapter)"
        "\nWHERE w:Idiom AND (v:Idiom OR v:Proverb) AND w <> v\n"
        "RETURN DISTINCT u.id AS id ORDER BY id"
    )
