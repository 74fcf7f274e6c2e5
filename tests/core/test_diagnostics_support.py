"""Which evidence supports an answer, and which element labels the gold path bears out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.diagnostics import diagnose
from clwqa_bench.diagnostics.elements import reference_element
from clwqa_bench.diagnostics.support import Holds, Support
from clwqa_bench.diagnostics.trace import Pool
from clwqa_bench.grid import Gold, GoldQuestion, align
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import DatasetRef, EvidencePath, EvidenceText, Label, TraceEvent
from clwqa_bench.records import Anchor, Answer, PathStep, StandardPath
from tests import tiny_dataset
from tests.core.traces import ASTRAY, BOOK, TO_BOOK, WORD, path, predicted, rank, retrieve, triples

ONTOLOGY = Ontology.load()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    folder: Path = tmp_path_factory.mktemp("support") / "tiny"
    tiny_dataset.write(folder)
    return Dataset.open(folder).kg()


GOLD_BOOK = GoldQuestion(
    id="q",
    text="“四面楚歌”见于哪部书？",
    answers=(Answer(entity_id=BOOK, label="史记", aliases=("太史公书",)),),
    group="q",
    target_element="Book",
    anchors=(Anchor(entity_id=WORD, mention="四面楚歌", elements=("Idiom", "Word", "CultureLoadedWord")),),
    standard_paths=(
        StandardPath(
            steps=(
                PathStep(relation="hasSource", direction="out", type="Chapter"),
                PathStep(relation="partOf", direction="out", type="Book"),
            ),
            entities=(WORD, "chapter:史记/项羽本纪", BOOK),
        ),
    ),
)


@pytest.mark.parametrize(
    ("walk", "levels"),
    [
        (TO_BOOK, {"same", "compatible", "reaching"}),
        (
            "book:史记 <partOf chapter:史记/项羽本纪 <hasSource word:四面楚歌",
            {"same", "compatible", "reaching"},
        ),
        # another chapter between: the same relations, directions and types
        ("word:四面楚歌 hasSource chapter:韩非子/五蠹 partOf book:史记", {"compatible", "reaching"}),
        # over the citation record, which hasSource sums up
        (
            "word:四面楚歌 hasCitation cite:1 citesWork chapter:史记/项羽本纪 partOf book:史记",
            {"same", "compatible", "reaching"},
        ),
        ("word:四面楚歌 hasSource person:韩非 partOf book:史记", {"reaching"}),  # a node of another type
        (
            "word:四面楚歌 hasSource chapter:没有 partOf book:史记",
            {"reaching"},
        ),  # a node that is not in the graph
        ("word:四面楚歌 hasQuotation quot:3 inContentUnit book:史记", {"reaching"}),  # other relations
        ("word:守株待兔 hasSource chapter:史记/项羽本纪 partOf book:史记", {"reaching"}),  # another anchor
        (
            "word:四面楚歌 <hasSource chapter:史记/项羽本纪 partOf book:史记",
            {"reaching"},
        ),  # against the arrow
        (ASTRAY, set()),
    ],
)
def test_three_readings_of_a_supporting_path(graph: MemoryGraph, walk: str, levels: set[str]) -> None:
    for level in ("same", "compatible", "reaching"):
        holds = Support(level, ONTOLOGY, graph).holds(GOLD_BOOK, Pool(paths=(path(walk),)))  # type: ignore[arg-type]
        assert holds.supported == ({BOOK} if level in levels else set())


def test_a_longer_chain_of_another_ontology_is_a_shortcut_too(graph: MemoryGraph) -> None:
    """Here the chapter's book, too, is said by one relation, reached over the citation record."""
    terms = dict(ONTOLOGY.relation_terms)
    chain = ("hasCitation", "citesWork", "partOf")
    terms["hasSource"] = replace(terms["hasSource"], chains=(chain,))
    question = replace(
        GOLD_BOOK,
        standard_paths=(
            StandardPath(
                steps=(PathStep(relation="hasSource", direction="out", type="Book"),), entities=(WORD, BOOK)
            ),
        ),
    )
    walk = Pool(paths=(path(f"{WORD} hasCitation cite:1 citesWork chapter:史记/项羽本纪 partOf {BOOK}"),))
    longer = Support("same", replace(ONTOLOGY, relation_terms=terms), graph)
    assert longer.holds(question, walk).supported == {BOOK}
    assert not Support("same", ONTOLOGY, graph).holds(question, walk).supported


def test_a_symmetric_relation_is_walked_either_way(graph: MemoryGraph) -> None:
    step = PathStep(relation="variantOf", direction="out", type="Idiom")
    question = GoldQuestion(
        "q", "", (Answer(entity_id="b", label="b"),), "g",
        standard_paths=(StandardPath(steps=(step,), entities=("a", "b")),),
    )  # fmt: skip
    for walk in ("a variantOf b", "a <variantOf b"):
        assert Support("compatible", ONTOLOGY, graph).holds(
            question, Pool(paths=(path(walk),))
        ).supported == {"b"}


def test_single_triples_count_together_and_paths_each_by_itself(graph: MemoryGraph) -> None:
    first, second = triples(TO_BOOK)
    support = Support("compatible", ONTOLOGY, graph)
    halves = tuple(EvidencePath(id=t.relation, triples=(t,)) for t in (first, second))
    assert support.holds(GOLD_BOOK, Pool(triples=(second, first))).supported == {BOOK}
    assert support.holds(GOLD_BOOK, Pool(paths=halves)) == Holds(frozenset(), frozenset(), frozenset({BOOK}))


@pytest.mark.parametrize(
    ("text", "covers"),
    [
        (EvidenceText(id="t", text="“四面楚歌”事见《史記·項羽本紀》。"), True),  # folded like every name
        (EvidenceText(id="t", text="太史公书载项羽事。"), True),  # an alias
        (EvidenceText(id="t", text="夜闻汉军四面皆歌。"), False),
        (EvidenceText(id="t", text="百三十篇。", entity_id=BOOK), True),  # the gold's own text
    ],
)
def test_a_passage_covers_the_gold_it_names(graph: MemoryGraph, text: EvidenceText, covers: bool) -> None:
    holds = Support("compatible", ONTOLOGY, graph).holds(GOLD_BOOK, Pool(texts=(text,)))
    assert holds.supported == ({BOOK} if covers else set())


def test_a_name_of_one_character_is_not_looked_for_in_texts(graph: MemoryGraph) -> None:
    question = GoldQuestion("q", "", (Answer(entity_id="period:汉", label="汉"),), "g")
    text = EvidenceText(id="t", text="夜闻汉军四面皆歌。")
    assert not Support("reaching", ONTOLOGY, graph).holds(question, Pool(texts=(text,))).reached


def test_a_question_with_two_anchors_is_within_reach_once_both_lead_to_one_answer(graph: MemoryGraph) -> None:
    """Which book holds both 四面楚歌 and 破釜沉舟?  A path from one of them covers it, but does not settle it."""
    other = "word:破釜沉舟"
    [way] = GOLD_BOOK.standard_paths
    second = way.model_copy(update={"entities": (other, *way.entities[1:])})
    question = GoldQuestion("q", "", GOLD_BOOK.answers, "g", standard_paths=(way, second))
    support = Support("compatible", ONTOLOGY, graph)
    one = support.holds(question, Pool(paths=(path(TO_BOOK),)))
    assert (one.supported, one.whole) == ({BOOK}, set())
    both = Pool(paths=(path(TO_BOOK), path(TO_BOOK.replace(WORD, other), "p2")))
    assert support.holds(question, both).whole == {BOOK}


@pytest.mark.parametrize(
    ("relation", "direction", "elements", "reference"),
    [
        ("hasSource", "out", ("Idiom", "Word", "CultureLoadedWord"), "CultureLoadedWord"),
        ("inContentUnit", "out", ("Quotation", "Context"), "Context"),
        ("citesQuotation", "in", ("Quotation", "Context"), "Quotation"),
        ("hasSource", "in", ("Chapter", "ContentUnit"), "ContentUnit"),
        ("ruledIn", "in", ("Dynasty", "HistoricalPeriod"), "Dynasty"),
    ],
)
def test_the_reference_label_is_the_least_specific_the_first_step_allows(
    relation: str, direction: Any, elements: tuple[str, ...], reference: str
) -> None:
    anchor = Anchor(entity_id="a", mention="a", elements=elements)
    steps = (PathStep(relation=relation, direction=direction, type="Thing"),)
    question = GoldQuestion(
        "q", "", (Answer(entity_id="b", label="b"),), "g", anchors=(anchor,),
        standard_paths=(StandardPath(steps=steps, entities=("a", "b")),),
    )  # fmt: skip
    assert reference_element(question, anchor, ONTOLOGY) == reference


def test_the_worked_example_of_the_documentation() -> None:
    question = replace(GOLD_BOOK, target_element="CulturalSource")
    by_quotation = f"{WORD} hasQuotation quot:3 inContentUnit chapter:史记/项羽本纪 partOf {BOOK}"
    over_record = f"{WORD} hasCitation cite:1 citesWork chapter:史记/项羽本纪 partOf {BOOK}"
    labels = Label(element="Idiom", entity_id=WORD), Label(element="CulturalSource")
    linked = TraceEvent(stage="link", entities=(WORD, "chapter:史记/项羽本纪"), elements=labels)
    line = predicted("q", "韩非子", linked, retrieve(by_quotation, over_record), rank(by_quotation))
    gold = Gold(DatasetRef(name="example", version="1", content="", split="test"), (question,))
    result = diagnose(align(gold, [line]), ONTOLOGY, resamples=100)
    assert {cell.metric: round(cell.value, 2) for cell in result.cells} == {
        "anchor-f1": 0.67,
        "element-match": 0.5,
        "element-fit": 1.0,
        "coverage": 1.0,
        "coverage-loose": 1.0,
        "retention": 0.0,
        "hits-if-covered": 0.0,
        "f1-if-covered": 0.0,
    }
    assert result.questions == {"ranking": ("q",)}
