"""The packaged ontology, and one brought along."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from clwqa_bench.errors import OntologyError
from clwqa_bench.ontology import Ontology, TypeNeighbour

CRM = "http://www.cidoc-crm.org/cidoc-crm/"


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return Ontology.load()


# ---------------------------------------------------------------------- the packaged one

HIERARCHY = {
    "CultureLoadedWord": "Character Word Sentence",
    "Word": "Idiom Xiehouyu Proverb DictionaryWord",
    "Context": "Allusion Quotation Source Explanation",
    "ContentUnit": "Chapter Piece",
    "CulturalSource": "Book Collection Drama Novel Periodical",
    "Person": "",
    "HistoricalPeriod": "Dynasty Era",
    "CulturalContentCategory": "UpperCategory SubCategory",
}

SIGNATURES = """
hasExplanation     CultureLoadedWord                Explanation
hasComponent       CultureLoadedWord                CultureLoadedWord
hasComponentGloss  CultureLoadedWord                Explanation
hasCitation        CultureLoadedWord                Source
hasExample         CultureLoadedWord                Source
citesWork          Source                           ContentUnit;CulturalSource
citesQuotation     Source                           Quotation
hasSource          CultureLoadedWord                ContentUnit;CulturalSource
hasQuotation       CultureLoadedWord                Quotation
hasAllusion        CultureLoadedWord                Allusion
inContentUnit      Context                          ContentUnit;CulturalSource
partOf             ContentUnit                      CulturalSource
hasCreator         ContentUnit;CulturalSource       Person
authoredBy         ContentUnit;CulturalSource       Person
compiledBy         ContentUnit;CulturalSource       Person
attributedTo       ContentUnit;CulturalSource       Person
livedIn            Person                           HistoricalPeriod
datedTo            ContentUnit;CulturalSource       HistoricalPeriod
variantOf          CultureLoadedWord                CultureLoadedWord
sameMeaningAs      CultureLoadedWord                CultureLoadedWord
seeAlso            CultureLoadedWord                CultureLoadedWord
contains           Sentence                         CultureLoadedWord
mentionsPerson     Context                          Person
belongsToCategory  ContentUnit;CulturalSource;CultureLoadedWord SubCategory
subCategoryOf      SubCategory                      UpperCategory
subPeriodOf        HistoricalPeriod                 HistoricalPeriod
ruledIn            Person                           Dynasty
proclaimedBy       Era                              Person
inSolarTerm        CultureLoadedWord                CultureLoadedWord
"""


def test_types_are_a_closed_set(ontology: Ontology) -> None:
    listed = set(HIERARCHY) | {child for children in HIERARCHY.values() for child in children.split()}
    assert set(ontology.types) == listed
    assert len(ontology.types) == 29


@pytest.mark.parametrize(("parent", "children"), HIERARCHY.items())
def test_hierarchy(ontology: Ontology, parent: str, children: str) -> None:
    assert set(ontology.children(parent)) == set(children.split())


def test_signatures(ontology: Ontology) -> None:
    rows = [line.split() for line in SIGNATURES.strip().splitlines()]
    assert {row[0] for row in rows} == set(ontology.relations)
    for relation, domains, ranges in rows:
        assert ontology.signature(relation) == (tuple(domains.split(";")), tuple(ranges.split(";"))), relation


def test_parents_come_before_children(ontology: Ontology) -> None:
    place = {name: i for i, name in enumerate(ontology.types)}
    assert all(place[p] < place[t] for t in ontology.types if (p := ontology.parent(t)) is not None)


def test_walking_the_hierarchy(ontology: Ontology) -> None:
    assert ontology.ancestors("Idiom") == ("Word", "CultureLoadedWord")
    assert set(ontology.descendants("CultureLoadedWord")) == {
        "Character", "Word", "Idiom", "Xiehouyu", "Proverb", "DictionaryWord", "Sentence",
    }  # fmt: skip
    assert ontology.descendants("Idiom") == ()
    assert ontology.is_a("Idiom", "Idiom")
    assert ontology.is_a("Idiom", "CultureLoadedWord")
    assert not ontology.is_a("Word", "Idiom")
    assert ontology.with_descendants(["ContentUnit", "Era"]) == {"ContentUnit", "Chapter", "Piece", "Era"}


def test_creators_share_a_super_relation(ontology: Ontology) -> None:
    assert set(ontology.sub_relations("hasCreator")) == {"authoredBy", "compiledBy", "attributedTo"}
    assert ontology.parent_relation("compiledBy") == "hasCreator"
    assert [r for r in ontology.relations if ontology.abstract(r)] == ["hasCreator"]


def test_symmetric_relations(ontology: Ontology) -> None:
    assert {r for r in ontology.relations if ontology.symmetric(r)} == {"variantOf", "sameMeaningAs"}


@pytest.mark.parametrize(
    ("head", "relation", "tail", "allowed"),
    [
        ("Idiom", "hasSource", "Piece", True),
        ("Idiom", "hasSource", "Book", True),
        ("Idiom", "hasSource", "Person", False),
        ("Book", "hasSource", "Book", False),
        ("Person", "ruledIn", "Era", False),
    ],
)
def test_allows(ontology: Ontology, head: str, relation: str, tail: str, allowed: bool) -> None:
    assert ontology.allows(head, relation, tail) is allowed


def test_every_term_is_named_and_described_twice(ontology: Ontology) -> None:
    for name in ontology.types + ontology.relations:
        for words in (ontology.label, ontology.description):
            assert words(name, "zh")
            assert words(name, "en")
            assert words(name, "zh") != words(name, "en")
    assert ontology.label("Idiom") == "成语"
    assert ontology.label("Idiom", "en") == "idiom"
    assert ontology.label("Idiom", "fr") == "idiom"  # any language is better than none


def test_labels_tell_types_apart(ontology: Ontology) -> None:
    for lang in ("zh", "en"):
        assert len({ontology.label(name, lang) for name in ontology.types}) == len(ontology.types)
        assert len({ontology.label(name, lang) for name in ontology.relations}) == len(ontology.relations)


def test_categories(ontology: Ontology) -> None:
    upper = {c.slug: c for c in ontology.categories if c.upper is None}
    assert {c.slug: c.upper for c in ontology.categories if c.upper} == {
        "language_dialects": "linguistic",
        "arts_literature": "linguistic",
        "customs_practices": "social",
        "social_institutions": "social",
        "religion_beliefs": "spiritual",
        "emotions_values": "spiritual",
        "history_geography": "historical_ecological",
        "technical_specialized": "material",
    }
    assert set(upper) == {"linguistic", "social", "spiritual", "historical_ecological", "material"}
    assert all(c.zh and c.en and c.zh != c.en for c in ontology.categories)
    assert {c.type for c in ontology.categories} == {"UpperCategory", "SubCategory"}


def test_type_neighbours(ontology: Ontology) -> None:
    assert ontology.type_neighbours("SubCategory") == (
        TypeNeighbour("ContentUnit", "belongsToCategory", "in"),
        TypeNeighbour("CulturalSource", "belongsToCategory", "in"),
        TypeNeighbour("CultureLoadedWord", "belongsToCategory", "in"),
        TypeNeighbour("UpperCategory", "subCategoryOf", "out"),
    )
    around_a_quotation = {(n.relation, n.direction) for n in ontology.type_neighbours("Quotation")}
    assert ("hasQuotation", "in") in around_a_quotation
    assert ("inContentUnit", "out") in around_a_quotation
    assert not any(relation == "hasCreator" for relation, _ in around_a_quotation)


def test_type_graph_is_symmetric(ontology: Ontology) -> None:
    for name in ontology.types:
        for other, relation, direction in ontology.type_neighbours(name):
            back = "in" if direction == "out" else "out"
            returns = [
                n for n in ontology.type_neighbours(other) if (n.relation, n.direction) == (relation, back)
            ]
            assert any(ontology.is_a(name, n.type) or ontology.is_a(n.type, name) for n in returns)


def test_aligned_with_cidoc_crm(ontology: Ontology) -> None:
    from rdflib import RDFS, Graph, URIRef

    from clwqa_bench.ontology import DEFAULT_PATH

    graph = Graph().parse(DEFAULT_PATH)
    expected = {
        "CultureLoadedWord": "E33_Linguistic_Object",
        "Context": "E73_Information_Object",
        "Person": "E21_Person",
        "HistoricalPeriod": "E4_Period",
        "CulturalContentCategory": "E55_Type",
    }
    for name, crm in expected.items():
        subject = URIRef(f"urn:clwqa:ontology#{name}")
        assert (subject, RDFS.subClassOf, URIRef(CRM + crm)) in graph
    assert not any(name.startswith("E") and name[1:2].isdigit() for name in ontology.types)


def test_the_shortcuts_past_a_citation_record_are_property_chains(ontology: Ontology) -> None:
    assert ontology.property_chains == {
        ("hasCitation", "citesWork"): "hasSource",
        ("hasCitation", "citesQuotation"): "hasQuotation",
    }


# ---------------------------------------------------------------------- JSON


def test_json_holds_everything(ontology: Ontology) -> None:
    text = json.dumps(ontology.to_json(), ensure_ascii=False)
    assert Ontology.from_json(json.loads(text)) == ontology


# ---------------------------------------------------------------------- unknown names


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda o: o.parent("Idoim"), "unknown type 'Idoim'. Fix: did you mean 'Idiom'."),
        (lambda o: o.children("person"), "unknown type 'person'. Fix: did you mean 'Person'."),
        (lambda o: o.is_a("Idiom", "Wrod"), "unknown type 'Wrod'. Fix: did you mean 'Word'."),
        (lambda o: o.is_a("Wrod", "Word"), "unknown type 'Wrod'. Fix: did you mean 'Word'."),
        (lambda o: o.signature("part_of"), "unknown relation 'part_of'. Fix: did you mean 'partOf'."),
        (lambda o: o.label("bookk"), "unknown type or relation 'bookk'. Fix: did you mean 'Book'."),
    ],
)
def test_unknown_names_get_a_suggestion(ontology: Ontology, ask, message: str) -> None:
    with pytest.raises(OntologyError) as failure:
        ask(ontology)
    assert str(failure.value) == message


def test_without_anything_close_all_names_are_listed(ontology: Ontology) -> None:
    with pytest.raises(OntologyError, match=r"use one of: .*Idiom"):
        ontology.parent("qqqqqq")


# ---------------------------------------------------------------------- one brought along

FILM = """
    @prefix ex:   <http://example.org/film/> .
    @prefix owl:  <http://www.w3.org/2002/07/owl#> .
    @prefix rdf:  <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    ex:Work a owl:Class ; rdfs:label "work"@en .
    ex:Film a rdfs:Class ; rdfs:subClassOf ex:Work .
    ex:Person a owl:Class .
    ex:directedBy a rdf:Property ; rdfs:domain ex:Film ; rdfs:range ex:Person .
    ex:relatedTo a owl:ObjectProperty .
"""


def bring(folder: Path, turtle: str) -> Ontology:
    path = folder / "mine.ttl"
    path.write_text(dedent(turtle), encoding="utf-8")
    return Ontology.load(path)


def test_bring_your_own(tmp_path: Path) -> None:
    film = bring(tmp_path, FILM)
    assert film.types == ("Person", "Work", "Film")
    assert film.signature("directedBy") == (("Film",), ("Person",))
    assert film.signature("relatedTo") == (("Person", "Work"), ("Person", "Work"))  # not declared: anything
    assert film.label("Work") == "work"
    assert film.label("Film") == "Film"
    assert film.categories == ()
    assert film.type_neighbours("Film") == (
        TypeNeighbour("Person", "directedBy", "out"),
        TypeNeighbour("Person", "relatedTo", "in"),
        TypeNeighbour("Person", "relatedTo", "out"),
        TypeNeighbour("Work", "relatedTo", "in"),
        TypeNeighbour("Work", "relatedTo", "out"),
    )


def test_a_relation_may_have_several_chains_of_any_length(tmp_path: Path) -> None:
    chains = """
        ex:relatedTo owl:propertyChainAxiom
            ( ex:directedBy ex:relatedTo ex:relatedTo ), ( ex:relatedTo ex:directedBy ) .
    """
    film = bring(tmp_path, dedent(FILM) + dedent(chains))
    assert film.property_chains == {
        ("directedBy", "relatedTo", "relatedTo"): "relatedTo",
        ("relatedTo", "directedBy"): "relatedTo",
    }
    assert Ontology.from_json(json.loads(json.dumps(film.to_json()))) == film


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            "ex:relatedTo owl:propertyChainAxiom ( ex:directedBy ex:edits ) .",
            "'relatedTo' has 'edits' in a property chain, which is no relation",
        ),
        (
            "ex:relatedTo owl:propertyChainAxiom ( ex:directedBy [ owl:inverseOf ex:directedBy ] ) .",
            "in a property chain, which is no relation",
        ),
        ("ex:Film rdfs:subClassOf ex:Person .", "'Film' has several parents: Person, Work"),
        ("ex:Work rdfs:subClassOf ex:Film .", "runs in a circle"),
        ("ex:directedBy rdfs:range ex:Studio .", "'Studio' in its signature, which is no type"),
        ("<http://other.org/Film> a owl:Class .", "two terms share the local name 'Film'"),
        ("<http://other.org/Film> a owl:ObjectProperty .", "'Film' names both a type and a relation"),
        ("ex:Film a ex:", "not valid Turtle"),
    ],
)
def test_unsound_ontologies_are_refused(tmp_path: Path, extra: str, message: str) -> None:
    with pytest.raises(OntologyError, match=message) as failure:
        bring(tmp_path, dedent(FILM) + extra)
    assert "mine.ttl" in str(failure.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (":a a :b .", "mine.ttl:1: not valid Turtle: Prefix \":\" not bound. Fix"),
        ("@prefix : <urn:x#> .\n:歌 a :曲\n:词 a :曲 .", "not valid Turtle: expected '.' or '}' or ']' at end"),
        ("@prefix : <urn:x#> .\n:a a :b", "not valid Turtle: the file ends in the middle of a statement"),
        ('@prefix : <urn:x#> .\n:a :b "c', "not valid Turtle: the file ends in the middle of a statement"),
        ("@prefix : <urn:x#> .\n:a :b '\udcff' .", "not UTF-8. Fix: save it as UTF-8"),
    ],
    ids=["prefix", "full stop", "cut off", "cut off in a string", "encoding"],
)  # fmt: skip
def test_a_file_that_is_no_turtle(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "mine.ttl").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(OntologyError) as failure:
        Ontology.load(tmp_path / "mine.ttl")
    assert told in str(failure.value)
    assert "b'" not in str(failure.value)


def test_an_empty_or_missing_file(tmp_path: Path) -> None:
    with pytest.raises(OntologyError, match="no class is declared"):
        bring(tmp_path, "")
    with pytest.raises(OntologyError, match=r"cannot read the ontology \(No such file"):
        Ontology.load(tmp_path / "none.ttl")


# ---------------------------------------------------------------------- shapes


def test_shapes_say_the_same_as_the_signatures(ontology: Ontology) -> None:
    from rdflib import Graph, Namespace
    from rdflib.collection import Collection

    from clwqa_bench.ontology import DEFAULT_PATH

    sh = Namespace("http://www.w3.org/ns/shacl#")
    graph = Graph().parse(DEFAULT_PATH.with_name("shapes.ttl"))

    def name(term) -> str:
        return str(term).rpartition("#")[2]

    def classes(node) -> tuple[str, ...]:
        single = [name(c) for c in graph.objects(node, sh["class"])]
        unions = [Collection(graph, u) for u in graph.objects(node, sh["or"])]
        return tuple(sorted(single + [name(graph.value(m, sh["class"])) for union in unions for m in union]))

    found = {}
    for shape, relation in graph.subject_objects(sh.targetSubjectsOf):
        constraint = graph.value(shape, sh.property)
        assert name(graph.value(constraint, sh.path)) == name(relation)
        found[name(relation)] = (classes(shape), classes(constraint))
    assert found == {r: ontology.signature(r) for r in ontology.relations if not ontology.abstract(r)}
