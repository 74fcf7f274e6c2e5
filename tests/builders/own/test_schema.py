"""Types and signatures that nobody wrote down are found, and what does not fit them is listed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clwqa_bench.errors import ClwqaError
from clwqa_bench.ontology import Ontology
from clwqa_builders.own.kinds import UNKNOWN, Edges, discover, infer, match
from clwqa_builders.own.names import identifiers
from clwqa_builders.own.report import report
from clwqa_builders.own.schema import Schema, complete
from clwqa_builders.own.signatures import Signature, induce
from clwqa_builders.own.tables import read_graph
from clwqa_builders.own.turtle import to_turtle
from tests.builders.own.conftest import Folder, library


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


# --- signatures ---------------------------------------------------------------------------------------------


def test_rare_pairs_are_exceptions_and_systematic_ones_are_not() -> None:
    # 100 towns (type 0) in 10 lands (1), 3 lands in one union (2); and one town is "in" another town.
    heads = ints(*range(100), 100, 101, 102, 0)
    tails = ints(*(100 + i % 10 for i in range(100)), 110, 110, 110, 1)
    type_of = ints(*[0] * 100, *[1] * 10, 2)
    signature, follows = induce(heads, tails, type_of, symmetric=False)
    assert signature.pairs == ((0, 1, 100), (1, 2, 3))
    assert follows.tolist() == [True] * 103 + [False]
    assert signature.coverage == pytest.approx(103 / 104)


def test_confidence_grows_with_the_number_of_triples() -> None:
    few, many = Signature((), 3, 3), Signature((), 300, 300)
    assert few.confidence == pytest.approx(3 / (3 + 1.96**2))  # Wilson's bound at a share of one
    assert few.confidence < many.confidence < 1


# --- types --------------------------------------------------------------------------------------------------


def towns_and_lands(towns: int = 60, lands: int = 5) -> Edges:
    """Towns (first) lie in lands and have mayors; lands lie in the last entity, by the same relation."""
    people, world = towns + lands, 2 * towns + lands
    heads = [*range(towns), *range(towns), *range(towns, people)]
    tails = [*(towns + i % lands for i in range(towns)), *range(people, world), *[world] * lands]
    relations = [*[0] * towns, *[1] * towns, *[0] * lands]
    return Edges.of(ints(*heads), ints(*relations), ints(*tails), np.zeros(2, dtype=bool), world + 1)


def test_groups_are_found_from_nothing() -> None:
    group, confidence = discover(towns_and_lands())
    towns, lands, people = set(group[:60]), set(group[60:65]), set(group[65:125])
    assert [len(part) for part in (towns, lands, people)] == [1, 1, 1]
    assert len({*towns, *lands, *people}) == 3
    assert confidence.min() > 0.8


def test_an_entity_without_triples_is_in_no_group() -> None:
    edges = Edges.of(ints(0), ints(0), ints(1), np.zeros(1, dtype=bool), 3)
    group, confidence = discover(edges)
    assert (group[2], confidence[2]) == (UNKNOWN, 0)


@settings(max_examples=10)
@given(st.permutations(range(126)))
def test_groups_do_not_depend_on_the_order_of_entities(order: list[int]) -> None:
    edges, place = towns_and_lands(), np.argsort(order)
    turned = Edges(place[edges.here], edges.slot, place[edges.there], edges.entities, edges.slots)
    one, other = discover(edges)[0], discover(turned)[0][place]
    assert len(set(zip(one.tolist(), other.tolist(), strict=True))) == len(set(one.tolist()))


def test_what_not_every_entity_has_does_not_split_a_type() -> None:
    # Two of three persons act, every second directs, three of five have a birthplace, independently of each other.
    people, films, towns = range(300), range(300, 500), range(500, 520)
    acts = [(i, 0, films[i * 7 % 200]) for i in people if i % 3]
    directs = [(i, 1, films[i * 11 % 200]) for i in people if i % 2]
    born = [(i, 2, towns[i % 20]) for i in people if i % 5 < 3]
    heads, relations, tails = zip(*acts, *directs, *born, strict=True)
    edges = Edges.of(ints(*heads), ints(*relations), ints(*tails), np.zeros(3, dtype=bool), 520)
    group, _ = discover(edges)
    seen = [set(group[list(part)].tolist()) - {UNKNOWN} for part in (people, films, towns)]
    assert [len(groups) for groups in seen] == [1, 1, 1]
    assert len(set.union(*seen)) == 3


def test_known_types_vote_for_the_others() -> None:
    edges = towns_and_lands()
    known = np.full(126, UNKNOWN)
    known[[0, 60, 65, 125]] = [0, 1, 2, 3]
    found, confidence = infer(edges.matrix, discover(edges)[0], known, np.ones((4, 4), dtype=bool))
    assert Counter(found[:60].tolist()) == {0: 60}
    assert Counter(found[65:125].tolist()) == {2: 60}
    assert confidence[0] == 1 > confidence[1] > 0.5


def test_groups_become_the_types_that_the_ontology_allows_them() -> None:
    # Relation 0 leads from A or B to B or C: the group that is only head is A, the one that is both B, only tail C.
    held, sizes = np.array([[50.0, 0], [5, 5], [0, 2]]), np.array([50.0, 5, 2])
    allowed = np.array([[True, True, False], [False, True, True]])
    assert match(held, sizes, allowed, np.ones(3, dtype=bool)).tolist() == [0, 1, 2]


# --- whole graphs -------------------------------------------------------------------------------------------


def schema_of(made: Path) -> Schema:
    return complete(read_graph(made))


def test_a_library_without_types_gets_its_types_back(folder: Folder) -> None:
    given_types, found = schema_of(folder(library(), "a")), schema_of(folder(library(types=False), "b"))
    pairs = Counter(zip(given_types.types, found.types, strict=True))
    assert len(pairs) == 4  # one group for each type, none split or mixed
    assert report(found)["types"]["found"] == 130
    assert report(given_types)["types"]["given"] == 130
    assert [s["coverage"] for s in report(found)["signatures"]] == [1.0, 1.0, 1.0]


def test_names_of_a_table_become_identifiers_with_labels(folder: Folder) -> None:
    ontology = schema_of(folder(library())).ontology
    assert ontology.relations == ("homeTown", "locatedIn", "wasWrittenBy")
    assert ontology.label("wasWrittenBy", "en") == "was written by"
    assert ontology.signature("locatedIn") == (("Town",), ("Land",))


def test_identifiers_are_told_apart() -> None:
    assert identifiers(["a b", "aB", "1st", "生于"], {"aB"}, capital=False) == {
        "a b": "aB2", "aB": "aB3", "1st": "_1st", "生于": "生于",
    }  # fmt: skip


def test_an_ontology_is_read_back_as_it_was_written(folder: Folder, tmp_path: Path) -> None:
    ontology = schema_of(folder(library())).ontology
    for this in (ontology, Ontology.load()):
        (tmp_path / "o.ttl").write_text(to_turtle(this), encoding="utf-8")
        again = Ontology.load(tmp_path / "o.ttl")
        assert again.type_terms == this.type_terms
        assert again.relation_terms == this.relation_terms


NEIGHBOURS = {
    "entities.tsv": "id\tlabel\ttype\n"
    + "".join(f"{c}\tLand {c}\tLand\n" for c in "abcd")
    + "x\tXi\tPerson\n",
    "triples.tsv": "head\trelation\ttail\na\tborders\tb\nb\tborders\ta\nb\tborders\tc\nc\tborders\tb\na\truler\tx\n",
}


def test_a_relation_that_holds_both_ways_is_symmetric_and_stored_once(folder: Folder) -> None:
    schema = schema_of(folder(NEIGHBOURS))
    assert schema.ontology.symmetric("borders")
    assert schema.kept.tolist() == [True, False, True, False, True]
    assert report(schema)["mirrored"] == 2


def test_triples_that_do_not_follow_are_listed_with_their_line(folder: Folder) -> None:
    files = library()
    files["triples.tsv"] += "Albert\twas written by\tEdbert\n"
    (left_out,) = report(schema_of(folder(files)))["exceptions"]
    assert left_out["types"] == ["Author", "Author"]
    assert left_out["line"] == files["triples.tsv"].count("\n")


OPEN = """\
@prefix : <urn:example#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Land a owl:Class ; rdfs:label "country"@en . :Person a owl:Class .
:borders a owl:ObjectProperty , owl:SymmetricProperty .
:rules a owl:ObjectProperty ; rdfs:domain :Person .
"""
RULED = {
    "entities.tsv": "id\tlabel\ttype\na\tA\tLand\nb\tB\tLand\nx\tXi\tPerson\n",
    "triples.tsv": "head\trelation\ttail\na\tborders\tb\nx\trules\ta\n",
    "ontology.ttl": OPEN,
}


def test_only_what_the_ontology_leaves_open_is_found(folder: Folder) -> None:
    schema = schema_of(folder(RULED))
    assert schema.ontology.signature("borders") == (("Land",), ("Land",))
    assert schema.ontology.signature("rules") == (("Person",), ("Land",))
    assert schema.ontology.label("Land", "en") == "country"


def test_an_entity_of_which_nothing_is_known_needs_a_type(folder: Folder) -> None:
    files = RULED | {"entities.tsv": RULED["entities.tsv"] + "y\tYpsilon\t\n"}
    with pytest.raises(ClwqaError, match="'y' has no type, and no triple tells one"):
        schema_of(folder(files))
    del files["ontology.ttl"]
    assert schema_of(folder(files, "open")).types[-1] == "Thing"
