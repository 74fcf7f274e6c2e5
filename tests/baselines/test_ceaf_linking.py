"""Stage 1 of CEAF: what is told to the model, what of its reply is kept, and which nodes its mentions are."""

from __future__ import annotations

import pytest

from clwqa_baselines.ceaf.linking import Checked, Labels, Names, check, element_notes, link
from clwqa_baselines.ceaf.retrieval import AnchorNodes, Query
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.linking import Gazetteer
from clwqa_bench.llm.tasks import AnchorMention, Constraints, ElementNote, ExtractConstraints, render
from clwqa_bench.ontology import Ontology
from tests.baselines import culture
from tests.baselines.culture import ONTOLOGY

MENTIONED = AnchorMention(mention="守株待兔", elements=("Idiom",))
QUESTION = "“守株待兔”出自韩非子的哪一篇？"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


@pytest.fixture(scope="module")
def names(kg: MemoryGraph) -> Names:
    return Names(kg, Gazetteer(kg), similarity=0.6, cap=2)


def constraints(*anchors: tuple[str, str], target: str = "Unit") -> Constraints:
    mentions = (AnchorMention(mention=mention, elements=tuple(of.split())) for mention, of in anchors)
    return Constraints(anchors=tuple(mentions), target_element=target)


def test_the_closed_set_is_told_with_words_and_parents() -> None:
    assert ElementNote(label="Idiom", description="Idiom类", parent="Word") in element_notes(ONTOLOGY)
    packaged = element_notes(Ontology.load())
    assert all(note.description for note in packaged)
    task = ExtractConstraints(question=QUESTION, elements=packaged)
    assert "CultureLoadedWord" in render(task)[1]["content"]


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (
            constraints(("守株待兔", "Idiom"), ("韩非子", "Work")),
            Checked((MENTIONED, AnchorMention(mention="韩非子", elements=("Work",))), "Unit"),
        ),
        (  # labels: exact, else folded, else their Chinese word; never made up
            constraints(("守株待兔", "ｉｄｉｏｍ Word类 Saying"), target=" unit "),
            Checked((AnchorMention(mention="守株待兔", elements=("Idiom", "Word")),), "Unit", ("Saying",)),
        ),
        (  # mentions: words of the question, also in another spelling
            constraints(("守株待兎", "Idiom"), ("刻舟求剑", "Idiom"), ("", "Word")),
            Checked((AnchorMention(mention="守株待兎", elements=("Idiom",)),), "Unit", (), ("刻舟求剑", "")),
        ),
        (constraints(target="篇名"), Checked((), None, ("篇名",))),
    ],
)  # fmt: skip
def test_constraints_are_held_against_the_closed_set_and_the_question(
    found: Constraints, kept: Checked
) -> None:
    assert check(found, QUESTION, Labels(ONTOLOGY)) == kept


@pytest.mark.parametrize(
    ("mention", "elements", "nodes", "tier"),
    [
        ("守株待兔", "Idiom", ("守株待兔",), "typed"),
        ("守株待兔", "Word", ("守株待兔",), "typed"),  # below the element
        ("韩非子", "Work", ("韩非子",), "typed"),
        ("韩非子", "Person", ("韩非",), "typed"),  # an alias of his
        ("守株待兔", "Person", ("守株待兔",), "name"),  # the element is wrong, the name is right
        ("守株", "Idiom", (), ""),  # 守株待兔 is only half like it
        ("守株待兔的人", "Idiom", ("守株待兔",), "near"),
        ("买椟还珠", "Idiom", ("买椟还珠",), "typed"),  # not 買椟还珠, whose name has the same key
        ("序", "Unit", ("序一", "序二"), "typed"),  # two of the name: both
        ("兔走触株，～，因释其耒", "Quotation", ("引文",), "typed"),  # a passage quoted in part
        (culture.PASSAGE, "Quotation", ("引文",), "typed"),  # its name is only its beginning
    ],
)  # fmt: skip
def test_a_mention_is_linked_by_the_first_tier_that_finds_a_node(
    names: Names, mention: str, elements: str, nodes: tuple[str, ...], tier: str
) -> None:
    assert names.nodes(mention, elements.split()) == (nodes, tier)


@pytest.mark.parametrize(
    ("mention", "nodes"),
    [
        ("守株待树兔甲", ("守株待兔",)),  # a likeness of 2/3; 守株缘木 has 1/3, which would do by itself
        ("守株待兔缘木", ("守株待兔", "守株缘木")),  # 2/3 both
    ],
)
def test_of_near_names_only_the_nearest_count(mention: str, nodes: tuple[str, ...], kg: MemoryGraph) -> None:
    assert Names(kg, Gazetteer(kg), similarity=0.3, cap=9).nodes(mention, []) == (nodes, "near")


def test_nodes_that_tie_are_kept_up_to_the_cap(kg: MemoryGraph) -> None:
    assert Names(kg, Gazetteer(kg), similarity=0.6, cap=1).nodes("序", ["Unit"]) == (("序一",), "typed")


def test_constraints_become_nodes_with_elements_and_what_was_thrown_out_is_told(names: Names) -> None:
    found = constraints(("守株待兔", "Idiom Saying"), ("韩非子", "Book"), ("刻舟求剑", "Idiom"))
    query, detail = link(found, QUESTION, names, Labels(ONTOLOGY))
    # without a usable element an anchor stands for what the node of its name is
    assert query == Query(
        (AnchorNodes(("守株待兔",), ("Idiom",), "守株待兔"), AnchorNodes(("韩非子",), ("Work",), "韩非子")),
        "Unit",
    )
    assert detail == {
        "tiers": {"守株待兔": "typed", "韩非子": "name"},
        "unknown_labels": ["Saying", "Book"],
        "absent_mentions": ["刻舟求剑"],
    }


def test_without_elements_anchors_are_what_they_are_and_anything_is_sought(names: Names) -> None:
    query, _ = link(constraints(("守株待兔", "Word")), QUESTION, names, Labels(ONTOLOGY), use_elements=False)
    assert query == Query((AnchorNodes(("守株待兔",), ("Idiom",), "守株待兔"),), None)
