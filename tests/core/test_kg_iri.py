"""Ids as IRIs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Graph, URIRef

from clwqa_bench.kg.iri import entity_id, iri


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("word:守株待兔", "urn:clwqa:word:守株待兔"),
        ("chapter:韩非子/五蠹", "urn:clwqa:chapter:韩非子/五蠹"),
        ("period:南朝·宋", "urn:clwqa:period:南朝·宋"),
        ("piece:a b", "urn:clwqa:piece:a%20b"),
        ("word:100%", "urn:clwqa:word:100%25"),
        ("word:<a>", "urn:clwqa:word:%3Ca%3E"),
        ("word:a#b", "urn:clwqa:word:a%23b"),
        (
            "word:\ue000",
            "urn:clwqa:word:%EE%80%80",
        ),  # private use: a character without a code point of its own
        ("word:𠀀", "urn:clwqa:word:𠀀"),
    ],
)
def test_only_illegal_characters_are_encoded(name: str, expected: str) -> None:
    assert iri(name) == expected


@given(st.text())
def test_there_and_back(name: str) -> None:
    assert entity_id(iri(name)) == name


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_rdf_tools_read_it_as_it_is(name: str) -> None:
    graph = Graph().parse(data=f"<{iri(name)}> <urn:p> <urn:o> .", format="nt")
    assert set(graph.subjects()) == {URIRef(iri(name))}
