"""The pattern language: what it reads, and what it refuses and why."""

from __future__ import annotations

import pytest

from clwqa_bench.errors import OntologyError, TemplateError
from clwqa_bench.ontology import Ontology
from clwqa_builders.questions.pattern import Edge, parse_pattern


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return Ontology.load()


def test_a_chain_is_read_edge_by_edge_in_stored_direction(ontology: Ontology) -> None:
    pattern = parse_pattern(["w:Idiom -hasSource-> u:Chapter <-hasSource- v:Idiom|Proverb"], ontology)
    assert pattern.edges == (Edge("w", ("hasSource",), "u"), Edge("v", ("hasSource",), "u"))
    assert pattern.variables == {"w": ("Idiom",), "u": ("Chapter",), "v": ("Idiom", "Proverb")}


def test_types_include_their_descendants(ontology: Ontology) -> None:
    pattern = parse_pattern(["w:Word -hasSource-> b:CulturalSource"], ontology)
    assert pattern.admitted["b"] == {"CulturalSource", "Book", "Collection", "Drama", "Novel", "Periodical"}


def test_symmetric_relations_are_undirected(ontology: Ontology) -> None:
    (edge,) = parse_pattern(["v:Idiom -variantOf- w:Idiom"], ontology).edges
    assert edge.symmetric


def test_only_variables_that_could_coincide_are_rivals(ontology: Ontology) -> None:
    lines = ["w:Idiom -hasSource-> u:Piece -authoredBy-> a:Person <-authoredBy- t:Piece"]
    assert parse_pattern(lines, ontology).rivals == (("u", "t"),)


@pytest.mark.parametrize(
    ("lines", "anchors", "answer", "hops"),
    [
        (["w:Idiom -hasExplanation-> e:Explanation"], ["w"], "e", 1),
        (["w:Idiom -hasSource-> u:Chapter -partOf-> b:Book -authoredBy-> a:Person"], ["w"], "a", 3),
        (
            ["w:Idiom -hasSource-> u:Chapter -partOf-> b:Book", "w -belongsToCategory-> c:SubCategory"],
            ["b", "c"],
            "w",
            2,
        ),
        (
            [
                "w:Idiom -hasComponentGloss-> g:Explanation",
                "k:Character -hasExplanation-> g",
                "w -hasComponent-> k",
            ],
            ["w", "k"],
            "g",
            1,
        ),
    ],
)
def test_hops_are_the_longest_of_the_shortest_ways(
    ontology: Ontology, lines: list[str], anchors: list[str], answer: str, hops: int
) -> None:
    assert parse_pattern(lines, ontology).hops(anchors, answer) == hops


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "no edge"),
        (["w:Idiom"], "cannot read"),
        (["w:Idiom hasSource u:Piece"], "cannot read"),
        (["w:Idiom -hasSource-> u:Piece trailing"], "cannot read"),
        (["w -hasSource-> u:Piece"], "w has no type"),
        (["w:Idiom -hasSource-> u:Piece", "w:Word -hasExplanation-> e:Explanation"], "type twice"),
        (["u:Piece -hasSource-> w:Idiom"], "can never match"),
        (["w:Idiom -hasSource-> a:Person"], "can never match"),
        (["u:Piece|Book -partOf-> b:Book"], "type Book of u can never match"),
        (["w:Idiom -variantOf-> v:Idiom"], "write -variantOf-"),
        (["w:Idiom -hasSource- u:Piece"], "write -hasSource->"),
        (["w:Idiom <-hasSource-> u:Piece"], "points both ways"),
        (["w:Idiom -variantOf- w"], "points to itself"),
        (["u:Piece -hasCreator-> a:Person"], "is abstract"),
        (["w:Idiom -hasSource-> u:Piece", "v:Idiom -hasExplanation-> e:Explanation"], "hang apart"),
    ],
)
def test_a_pattern_that_cannot_work_is_refused_with_a_fix(
    ontology: Ontology, lines: list[str], complaint: str
) -> None:
    with pytest.raises(TemplateError) as refusal:
        parse_pattern(lines, ontology)
    assert complaint in str(refusal.value)
    assert refusal.value.field == "pattern"
    assert refusal.value.fix


def test_an_unknown_name_is_the_ontologys_complaint(ontology: Ontology) -> None:
    with pytest.raises(OntologyError, match="hasSource"):
        parse_pattern(["w:Idiom -hasSourse-> u:Piece"], ontology)
