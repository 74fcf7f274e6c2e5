"""What every graph store must answer on the graph of ``graph.py``; the expected values are worked out by hand.

To hold a store to it, derive a class whose name starts with ``Test`` and give it the fixture ``store``:

    class TestMine(StoreConformance):
        @pytest.fixture(scope="class")
        def store(self): ...    # a GraphStore over tables()

Only the protocol is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clwqa_bench.errors import GraphError, OntologyError
from clwqa_bench.kg.protocol import Entity, Found, GraphStore, Path, Signature, Subgraph, Triple
from clwqa_bench.ontology import TypeNeighbour
from tests.conformance.graph import FOX

W = ("w1", "w2", "w3", "w4", "w5", "w6")
ALL = (
    "per1",
    "per2",
    "b 1",
    "i1",
    "i2",
    "i5",
    "i3",
    "c1",
    "c2",
    "i4",
    "lone",
    "d1",
    "hub",
    "p1",
    "e1",
    *W,
    "i6",
)


def walk(text: str) -> Path:
    """Read ``i1 >hasSource c1 <partOf ...``: ``>`` is an edge walked forwards, ``<`` one walked backwards."""
    first, *rest = text.replace("b_1", "b~1").split()
    edges, nodes = rest[0::2], [first, *rest[1::2]]
    senses = tuple("out" if edge[0] == ">" else "in" for edge in edges)
    return Path(tuple(n.replace("~", " ") for n in nodes), tuple(edge[1:] for edge in edges), senses)


def walks(*texts: str, total: int | None = None) -> Found[Path]:
    return Found(tuple(map(walk, texts)), len(texts) if total is None else total)


ASK_FOR_NOBODY: tuple[Callable[[GraphStore], Any], ...] = (
    lambda store: store.entity("nobody"),
    lambda store: store.types("nobody"),
    lambda store: store.relations("nobody"),
    lambda store: store.neighbours("nobody"),
    lambda store: list(store.triples("nobody")),
    lambda store: store.follow(["i1", "nobody"], [(None, "out", None)]),
    lambda store: store.shortest(["nobody"], "i1"),
    lambda store: store.shortest(["i1"], "nobody"),
    lambda store: store.paths(["nobody"], 1),
    lambda store: store.khop(["nobody"], 1),
)


class StoreConformance:
    """The suite; one group of tests per operation."""

    # ------------------------------------------------------------------ G1 entity

    def test_entity_with_everything(self, store: GraphStore) -> None:
        assert store.entity("i6") == Entity(
            id="i6",
            label="守株待兔",
            types=("Idiom", "Word", "CultureLoadedWord"),
            aliases=("守株伺兔",),
            text="",
            attributes=(("pinyin", "shǒu zhū dài tù"),),
            provenance="hand@1#1",
        )

    def test_entity_with_little(self, store: GraphStore) -> None:
        assert store.entity("lone") == Entity("lone", "elk", ("Idiom", "Word", "CultureLoadedWord"))
        assert store.entity("lone").type == "Idiom"

    def test_text_keeps_quotes_and_line_breaks(self, store: GraphStore) -> None:
        assert store.entity("e1").text == 'to wait for luck\nto strike "twice"'

    def test_aliases_keep_their_order(self, store: GraphStore) -> None:
        assert store.entity("i1").aliases == ("emmet", "pismire")

    # ------------------------------------------------------------------ G2 lookup

    @pytest.mark.parametrize(
        ("name", "types", "expected"),
        [
            ("ant", None, ("i1",)),
            ("pismire", None, ("i1",)),
            ("ANT", None, ("i1",)),
            ("《守株待兔》。", None, ("i6",)),
            ("守 株 伺 兔", None, ("i6",)),
            (FOX, None, ("b 1",)),
            ("bee", None, ("i2", "i5")),
            ("bee", "Idiom", ("i2",)),
            ("bee", "CultureLoadedWord", ("i2", "i5")),
            ("bee", ("Proverb", "DictionaryWord"), ("i5",)),
            ("bee", "Person", ()),
            ("gnu", None, ()),
            ("", None, ()),
        ],
    )
    def test_lookup(self, store: GraphStore, name: str, types: Any, expected: tuple[str, ...]) -> None:
        assert store.lookup(name, types) == expected

    # ------------------------------------------------------------------ G3 fuzzy

    def test_fuzzy_finds_an_equal_name_first(self, store: GraphStore) -> None:
        assert store.fuzzy("守株待兔")[0] == ("i6", 1.0)

    def test_fuzzy_bridges_one_wrong_character(self, store: GraphStore) -> None:
        assert store.fuzzy("守株待免", 1) == (("i6", 0.75),)

    def test_fuzzy_bridges_two_swapped_characters(self, store: GraphStore) -> None:
        assert store.fuzzy("守待株兔", 1) == (("i6", 0.75),)

    def test_fuzzy_knows_aliases(self, store: GraphStore) -> None:
        assert store.fuzzy("pismires", 1) == (("i1", 0.875),)

    def test_fuzzy_breaks_ties_by_label_and_id(self, store: GraphStore) -> None:
        assert store.fuzzy("bee", 2) == (("i2", 1.0), ("i5", 1.0))

    def test_fuzzy_keeps_to_the_types(self, store: GraphStore) -> None:
        assert store.fuzzy("bee", 2, "DictionaryWord") == (("i5", 1.0),)

    def test_fuzzy_without_anything_in_common(self, store: GraphStore) -> None:
        assert store.fuzzy("龘") == ()

    # ------------------------------------------------------------------ G4 types

    def test_entities_in_order_of_label_then_id(self, store: GraphStore) -> None:
        assert tuple(store.entities()) == ALL

    def test_by_type_includes_descendants(self, store: GraphStore) -> None:
        assert tuple(store.by_type("Word")) == ("i1", "i2", "i5", "i3", "i4", "lone", *W, "i6")

    def test_by_type_without_descendants(self, store: GraphStore) -> None:
        assert tuple(store.by_type("Word", descendants=False)) == ()
        assert tuple(store.by_type("Book", descendants=False)) == ("b 1", "hub")

    def test_types_of_an_entity(self, store: GraphStore) -> None:
        assert store.types("c1") == ("Chapter", "ContentUnit")

    # ------------------------------------------------------------------ G5 relations

    @pytest.mark.parametrize(
        ("node", "direction", "expected"),
        [
            ("i1", "both", ("hasSource", "sameMeaningAs", "seeAlso")),
            ("i2", "out", ("hasSource", "seeAlso")),
            ("i2", "in", ("sameMeaningAs", "seeAlso")),
            ("lone", "both", ()),
        ],
    )
    def test_relations(self, store: GraphStore, node: str, direction: Any, expected: tuple[str, ...]) -> None:
        assert store.relations(node, direction) == expected

    # ------------------------------------------------------------------ G6 neighbours

    @pytest.mark.parametrize(
        ("node", "relation", "direction", "types", "expected"),
        [
            ("i1", None, "both", None, ("i2", "c1", "hub")),  # three edges lead to i2: it is named once
            ("i1", "seeAlso", "out", None, ("i2",)),
            ("i1", "sameMeaningAs", "in", None, ()),  # stored once, and "in" is the other way
            ("i2", "sameMeaningAs", "both", None, ("i1",)),
            ("i3", "seeAlso", "out", None, ("i3",)),  # a loop
            ("i3", "seeAlso", "both", None, ("i3", "i4")),
            ("b 1", "hasCreator", "out", None, ("per1", "per2")),  # by its sub-relations
            ("b 1", ("authoredBy", "partOf"), "both", None, ("per1", "c1", "c2")),
            ("hub", None, "in", "ContentUnit", ("p1",)),
            ("hub", None, "both", None, ("i1", "p1", *W)),
            ("lone", None, "both", None, ()),
        ],
    )
    def test_neighbours(
        self, store: GraphStore, node: str, relation: Any, direction: Any, types: Any, expected: Any
    ) -> None:
        assert store.neighbours(node, relation, direction, types) == Found(expected, len(expected))

    def test_a_limit_shows(self, store: GraphStore) -> None:
        found = store.neighbours("hub", "hasSource", "in", limit=3)
        assert found == Found(("i1", "w1", "w2"), 7)
        assert found.truncated

    def test_a_limit_that_cuts_nothing_does_not_show(self, store: GraphStore) -> None:
        found = store.neighbours("hub", "hasSource", "in", limit=7)
        assert not found.truncated
        assert found.total == 7

    def test_sampling_is_seeded_and_in_order(self, store: GraphStore) -> None:
        samples = [store.neighbours("hub", "hasSource", "in", limit=3, seed=seed) for seed in range(20)]
        again = [store.neighbours("hub", "hasSource", "in", limit=3, seed=seed) for seed in range(20)]
        assert samples == again
        assert len(set(samples)) > 5
        for sample in samples:
            assert list(sample) == sorted(set(sample), key=ALL.index)
            assert sample.total == 7

    # ------------------------------------------------------------------ G7 triples

    def test_triples_of_an_entity(self, store: GraphStore) -> None:
        assert list(store.triples("i3")) == [
            Triple("i3", "hasSource", "p1"),
            Triple("i3", "seeAlso", "i3"),
            Triple("i4", "seeAlso", "i3"),
        ]

    def test_triples_in_one_direction(self, store: GraphStore) -> None:
        assert list(store.triples("i2", "out")) == [
            Triple("i2", "hasSource", "c2"),
            Triple("i2", "seeAlso", "i1"),
        ]
        assert list(store.triples("i2", "in")) == [
            Triple("i1", "sameMeaningAs", "i2"),
            Triple("i1", "seeAlso", "i2"),
        ]

    def test_all_triples_in_order(self, store: GraphStore) -> None:
        triples = list(store.triples())
        assert len(triples) == 24
        assert triples[:6] == [
            Triple("per1", "livedIn", "d1"),
            Triple("per2", "livedIn", "d1"),
            Triple("b 1", "authoredBy", "per1"),
            Triple("b 1", "compiledBy", "per2"),
            Triple("i1", "hasSource", "c1"),
            Triple("i1", "hasSource", "hub"),
        ]
        assert triples[-1] == Triple("i6", "hasExplanation", "e1")

    def test_triple_ids_tell_triples_apart(self, store: GraphStore) -> None:
        assert len({triple.id for triple in store.triples()}) == 24

    # ------------------------------------------------------------------ G8 follow

    def test_follow_a_typed_path(self, store: GraphStore) -> None:
        steps = [("hasSource", "out", None), ("partOf", "out", None), ("hasCreator", "out", "Person")]
        assert store.follow(["i1"], steps) == walks(
            "i1 >hasSource c1 >partOf b_1 >authoredBy per1",
            "i1 >hasSource c1 >partOf b_1 >compiledBy per2",
        )

    def test_follow_types_only(self, store: GraphStore) -> None:
        assert store.follow(
            ["c1"], [(None, "both", "CulturalSource"), (None, "both", "ContentUnit")]
        ) == walks("c1 >partOf b_1 <partOf c2")

    def test_follow_may_come_back_if_not_simple(self, store: GraphStore) -> None:
        steps = [("partOf", "out", None), ("partOf", "in", None)]
        assert store.follow(["c1"], steps, simple=False) == walks(
            "c1 >partOf b_1 <partOf c1", "c1 >partOf b_1 <partOf c2"
        )

    def test_follow_keeps_parallel_edges(self, store: GraphStore) -> None:
        assert store.follow(["i1"], [(None, "both", "Idiom")]) == walks(
            "i1 >sameMeaningAs i2", "i1 >seeAlso i2", "i1 <seeAlso i2"
        )

    def test_follow_walks_a_loop_once(self, store: GraphStore) -> None:
        step = [("seeAlso", "both", None)]
        assert store.follow(["i3"], step, simple=False) == walks("i3 >seeAlso i3", "i3 <seeAlso i4")
        assert store.follow(["i3"], step) == walks("i3 <seeAlso i4")

    def test_follow_from_several_starts(self, store: GraphStore) -> None:
        step = [("hasSource", "out", ("Chapter", "Piece"))]
        assert store.follow(["i3", "i1", "i2", "i1", "lone"], step) == walks(
            "i1 >hasSource c1", "i2 >hasSource c2", "i3 >hasSource p1"
        )

    def test_follow_counts_what_a_limit_cuts(self, store: GraphStore) -> None:
        steps = [("hasSource", "in", "Word"), (None, "out", None)]
        # i1 goes on to c1 and, by two edges, to i2; the w's lead nowhere but back
        assert store.follow(["hub"], steps, limit=1) == walks("hub <hasSource i1 >sameMeaningAs i2", total=3)
        assert store.follow(["hub"], steps, limit=1).truncated

    def test_follow_no_steps(self, store: GraphStore) -> None:
        assert store.follow(["i1"], []) == walks("i1")

    def test_follow_without_a_match(self, store: GraphStore) -> None:
        assert store.follow(["i1", "lone"], [("livedIn", "out", None)]) == walks()

    # ------------------------------------------------------------------ G9 shortest

    def test_shortest_is_the_first_of_equals(self, store: GraphStore) -> None:
        assert store.shortest(["i1"], "per1") == walks("i1 >hasSource c1 >partOf b_1 >authoredBy per1")

    def test_every_shortest_path(self, store: GraphStore) -> None:
        assert store.shortest(["i1"], "per1", every=True) == walks(
            "i1 >hasSource c1 >partOf b_1 >authoredBy per1",
            "i1 >hasSource hub <partOf p1 >authoredBy per1",
        )

    def test_shortest_directed(self, store: GraphStore) -> None:
        found = store.shortest(["i1"], "per1", every=True, directed=True)
        assert found == walks("i1 >hasSource c1 >partOf b_1 >authoredBy per1")
        assert store.shortest(["per1"], "i1", directed=True) == walks()

    def test_shortest_over_parallel_edges(self, store: GraphStore) -> None:
        found = store.shortest(["i1"], "i2", every=True, limit=2)
        assert found == walks("i1 >sameMeaningAs i2", "i1 >seeAlso i2", total=3)
        assert found.truncated

    def test_shortest_from_the_nearest_source(self, store: GraphStore) -> None:
        found = store.shortest(["i1", "p1", "lone"], "per1", every=True)
        assert found == walks("p1 >authoredBy per1")

    def test_shortest_to_itself(self, store: GraphStore) -> None:
        assert store.shortest(["i3", "i4"], "i3") == walks("i3")

    def test_shortest_respects_the_longest_length(self, store: GraphStore) -> None:
        assert store.shortest(["i1"], "per1", max_length=2) == walks()
        assert len(store.shortest(["i1"], "per1", max_length=3)) == 1

    def test_shortest_between_parts_that_do_not_touch(self, store: GraphStore) -> None:
        assert store.shortest(["i1"], "e1") == walks()
        assert store.shortest(["lone"], "i1") == walks()

    # ------------------------------------------------------------------ G10 paths

    FROM_BOB = (
        "per2 <compiledBy b_1",
        "per2 <compiledBy b_1 >authoredBy per1",
        "per2 <compiledBy b_1 <partOf c1",
        "per2 <compiledBy b_1 <partOf c2",
        "per2 >livedIn d1",
        "per2 >livedIn d1 <livedIn per1",
    )

    def test_paths(self, store: GraphStore) -> None:
        assert store.paths(["per2"], 2) == walks(*self.FROM_BOB)

    def test_paths_directed(self, store: GraphStore) -> None:
        assert store.paths(["per2"], 2, directed=True) == walks("per2 >livedIn d1")

    @pytest.mark.parametrize("limit", range(7))
    def test_paths_count_what_a_limit_cuts(self, store: GraphStore, limit: int) -> None:
        found = store.paths(["per2"], 2, limit=limit)
        assert found == walks(*self.FROM_BOB[:limit], total=6)

    def test_paths_skip_loops(self, store: GraphStore) -> None:
        assert store.paths(["i4"], 2) == walks("i4 >seeAlso i3", "i4 >seeAlso i3 >hasSource p1")

    def test_paths_with_a_step_filter(self, store: GraphStore) -> None:
        asked = []

        def wanted(path: Path, triple: Triple) -> bool:
            asked.append((len(path), triple))
            return triple.relation != "livedIn"

        assert store.paths(["per2"], 2, step_filter=wanted) == walks(*self.FROM_BOB[:4])
        assert (0, Triple("per2", "livedIn", "d1")) in asked
        assert (1, Triple("c1", "partOf", "b 1")) in asked

    def test_paths_with_a_step_filter_and_a_limit(self, store: GraphStore) -> None:
        found = store.paths(["per2"], 2, step_filter=lambda _, t: t.relation != "livedIn", limit=1)
        assert found == walks(self.FROM_BOB[0], total=4)

    def test_no_paths(self, store: GraphStore) -> None:
        assert store.paths(["lone"], 3) == walks()
        assert store.paths(["i1"], 0) == walks()

    # ------------------------------------------------------------------ G11 k-hop

    def test_one_hop(self, store: GraphStore) -> None:
        near = store.khop(["per2"], 1)
        assert near.nodes == Found(("per2", "b 1", "d1"), 3)
        assert list(near.triples) == [Triple("per2", "livedIn", "d1"), Triple("b 1", "compiledBy", "per2")]

    def test_two_hops_nearest_first(self, store: GraphStore) -> None:
        near = store.khop(["per2"], 2)
        assert near.nodes == Found(("per2", "b 1", "d1", "per1", "c1", "c2"), 6)
        assert near.triples.total == len(near.triples) == 6
        assert not near.truncated

    def test_khop_directed(self, store: GraphStore) -> None:
        assert store.khop(["per2"], 2, directed=True).nodes == Found(("per2", "d1"), 2)

    def test_khop_with_a_limit(self, store: GraphStore) -> None:
        near = store.khop(["per2"], 2, limit=3)
        assert near.nodes == Found(("per2", "b 1", "d1"), 6)
        assert near.truncated
        assert near.triples == Found(
            (Triple("per2", "livedIn", "d1"), Triple("b 1", "compiledBy", "per2")), 6
        )

    def test_khop_around_several(self, store: GraphStore) -> None:
        assert store.khop(["i6", "i4"], 1).nodes == Found(("i4", "i6", "i3", "e1"), 4)

    def test_khop_at_rest(self, store: GraphStore) -> None:
        alone = Subgraph(Found(("lone",), 1), Found((), 0))
        assert store.khop(["lone"], 3) == alone
        loop = store.khop(["i3"], 0)
        assert loop == Subgraph(Found(("i3",), 1), Found((Triple("i3", "seeAlso", "i3"),), 1))

    # ------------------------------------------------------------------ G12, G13 schema

    def test_schema(self, store: GraphStore) -> None:
        schema = store.schema()
        assert schema.relations == (
            "authoredBy", "compiledBy", "hasExplanation", "hasSource", "livedIn", "partOf", "sameMeaningAs",
            "seeAlso",
        )  # fmt: skip
        assert schema.types == (
            "Book", "Chapter", "DictionaryWord", "Dynasty", "Explanation", "Idiom", "Person", "Piece", "Proverb",
            "Xiehouyu",
        )  # fmt: skip
        assert Signature("Idiom", "hasSource", "Book", 7) in schema.signatures
        assert Signature("Proverb", "seeAlso", "Xiehouyu", 1) in schema.signatures
        assert sum(signature.count for signature in schema.signatures) == 24
        assert list(schema.signatures) == sorted(schema.signatures)

    def test_type_neighbours(self, store: GraphStore) -> None:
        around = store.type_neighbours("Era")
        assert TypeNeighbour("Person", "proclaimedBy", "out") in around
        assert TypeNeighbour("Person", "livedIn", "in") in around
        assert TypeNeighbour("Person", "ruledIn", "in") not in around  # only dynasties are ruled in

    # ------------------------------------------------------------------ what is refused

    @pytest.mark.parametrize("call", ASK_FOR_NOBODY)
    def test_missing_id(self, store: GraphStore, call: Callable[[GraphStore], Any]) -> None:
        with pytest.raises(GraphError, match="no entity 'nobody'"):
            call(store)

    def test_a_label_in_place_of_an_id(self, store: GraphStore) -> None:
        with pytest.raises(GraphError, match="use its id, 'i6'"):
            store.entity("守株待兔")

    def test_unknown_type(self, store: GraphStore) -> None:
        with pytest.raises(OntologyError, match="did you mean 'Idiom'"):
            store.by_type("Idoim")
        with pytest.raises(OntologyError):
            store.lookup("ant", "Idoim")

    def test_unknown_relation(self, store: GraphStore) -> None:
        with pytest.raises(OntologyError, match="did you mean 'partOf'"):
            store.neighbours("c1", "part_of")
        with pytest.raises(OntologyError):
            store.follow(["c1"], [("part_of", "out", None)])

    def test_unknown_direction(self, store: GraphStore) -> None:
        with pytest.raises(GraphError, match="out, in or both"):
            store.neighbours("c1", None, "up")  # type: ignore[arg-type]
