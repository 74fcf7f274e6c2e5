"""Evidence: several derivations, triples that do not exist, walks that lead nowhere, answers from nowhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clwqa_bench.errors import MetricError
from clwqa_bench.grid import Gold, GoldQuestion, Grid, align
from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.metrics import Metric, select
from clwqa_bench.metrics.graph import in_graph
from clwqa_bench.predictions import (
    Citation,
    Evidence,
    EvidencePath,
    EvidenceText,
    EvidenceTriple,
    PredictedAnswer,
    Prediction,
)
from clwqa_bench.records import Anchor, Answer, PathStep, StandardPath
from tests import tiny_dataset
from tests.core.metric_example import GOLD, grid, triple
from tests.core.test_metrics import REF, value

# 欧阳修 and 宋祁 compiled one book and lived in one period: either of them leads to the answer.
SOURCE, PERIOD = "word hasSource book", "period"
BY_OUYANG = ("book compiledBy 欧阳修", "欧阳修 livedIn period")
BY_SONG = ("book compiledBy 宋祁", "宋祁 livedIn period")


def standard(*lines: str) -> StandardPath:
    walked = [triple(line) for line in lines]
    return StandardPath(
        steps=tuple(PathStep(relation=t.relation, direction="out", type="") for t in walked),
        entities=(walked[0].head, *(t.tail for t in walked)),
    )


TWO_WAYS = GoldQuestion(
    "q", "", (Answer(entity_id=PERIOD, label="北宋"),), "g",
    anchors=(Anchor(entity_id="word", mention="word"),),
    standard_paths=(standard(SOURCE, *BY_OUYANG), standard(SOURCE, *BY_SONG)),
    evidence=tuple(map(triple, {SOURCE, *BY_OUYANG, *BY_SONG})),
)  # fmt: skip


def shown(*lines: str, question: GoldQuestion = TWO_WAYS, **more: object) -> Grid:
    """One question and a prediction that shows these triples."""
    pieces = tuple(EvidenceTriple(id=line, triple=triple(line)) for line in lines)
    prediction = Prediction(
        id="q", status="ok", answers=(PredictedAnswer(text="北宋"),), evidence=Evidence(triples=pieces)
    )
    return align(Gold(REF, (question,)), [prediction.model_copy(update=more)])


@pytest.mark.parametrize(
    ("lines", "precision", "recall"),
    [
        ((SOURCE, *BY_OUYANG), 1, 1),
        ((SOURCE, *BY_SONG), 1, 1),
        ((SOURCE, *BY_OUYANG, *BY_SONG), 1, 1),  # the second derivation is no mistake
        ((SOURCE, BY_OUYANG[0], BY_SONG[1]), 1, 2 / 3),  # half of each is no derivation
        ((SOURCE,), 1, 1 / 3),
        ((SOURCE, "book compiledBy 司马迁"), 1 / 2, 1 / 3),
        (("word seeAlso other",), 0, 0),
    ],
)
def test_one_of_several_derivations_is_enough(
    lines: tuple[str, ...], precision: float, recall: float
) -> None:
    assert value("EvidenceP", shown(*lines)) == pytest.approx(precision)
    assert value("EvidenceR", shown(*lines)) == pytest.approx(recall)


def test_one_derivation_is_asked_for_also_where_nothing_is_shown() -> None:
    """Three derivations of 4, 3 and 3 triples: a shortest one is what is missing."""
    longer = standard(SOURCE, "book compiledBy 刘羲叟", "刘羲叟 studentOf 欧阳修", BY_OUYANG[1])
    question = replace(
        TWO_WAYS,
        standard_paths=(longer, *TWO_WAYS.standard_paths),
        evidence=(*TWO_WAYS.evidence, *map(triple, ("book compiledBy 刘羲叟", "刘羲叟 studentOf 欧阳修"))),
    )
    for lines, found in (((SOURCE,), 1), (("word seeAlso other",), 0)):
        columns = Metric.parse("EvidenceR(agg=micro)").columns(shown(*lines, question=question))
        assert columns.values.tolist() == [[found, 3]]


def test_what_no_path_walks_over_is_needed_all_the_same() -> None:
    gloss = "word hasComponent part"
    question = replace(TWO_WAYS, evidence=(*TWO_WAYS.evidence, triple(gloss)))
    assert value("EvidenceR", shown(SOURCE, *BY_SONG, question=question)) == pytest.approx(3 / 4)
    assert value("EvidenceR", shown(SOURCE, *BY_SONG, gloss, question=question)) == 1


def test_a_repeated_triple_counts_once() -> None:
    assert value("EvidenceP", shown(SOURCE, SOURCE, "word seeAlso other")) == 1 / 2


def test_cited_is_what_citations_or_answers_name() -> None:
    both = shown(
        SOURCE, *BY_SONG, "word seeAlso other",
        citations=(Citation(marker="[1]", evidence_id=SOURCE),),
        answers=(PredictedAnswer(text="北宋", support=BY_SONG),),
    )  # fmt: skip
    assert value("EvidenceP", both) == pytest.approx(3 / 4)
    assert value("EvidenceP(of=cited)", both) == 1


def test_a_run_without_triples_is_not_measured() -> None:
    for name in ("EvidenceP", "EvidenceF1(of=cited)", "EvidencenDCG@10", "HallucinatedEdges"):
        with pytest.raises(MetricError, match=r"no prediction has a triple (shown|cited)"):
            Metric.parse(name).columns(shown())


@settings(max_examples=50, deadline=None)
@given(st.sets(st.sampled_from([SOURCE, *BY_OUYANG, *BY_SONG, "a seeAlso b", "b seeAlso c"]), min_size=1))
def test_evidence_metrics_lie_between_0_and_1(lines: set[str]) -> None:
    some = shown(*sorted(lines))
    for metric in select(["EvidenceP", "EvidenceR", "EvidenceF1", "EvidenceF1(agg=micro)", "EvidencenDCG@3"]):
        assert 0 <= value(metric, some) <= 1, str(metric)


# --- the graph ----------------------------------------------------------------------------------------------


def test_hallucinated_edges_need_a_graph() -> None:
    with pytest.raises(MetricError, match="no graph to look triples up in"):
        Metric.parse("HallucinatedEdges").columns(shown(SOURCE))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    folder = tmp_path_factory.mktemp("tiny")
    write_index(tiny_dataset.entity_table(), tiny_dataset.triple_table(), folder, tiny_dataset.ONTOLOGY)
    return MemoryGraph.open(folder)


class AnyStore:
    """A store that is not the embedded one, so that nothing but the protocol is used."""

    def __init__(self, graph: MemoryGraph) -> None:
        self.neighbours = graph.neighbours


def test_triples_are_looked_up_as_stored(tiny: MemoryGraph) -> None:
    stored = [(t.head, t.relation, t.tail) for t in tiny.triples()]
    backwards = [(tail, relation, head) for head, relation, tail in stored]
    renamed = [(head, "noSuchRelation", tail) for head, _, tail in stored]
    swapped = [(head, relation, "noSuchEntity") for head, relation, _ in stored]
    asked = [*stored, *backwards, *renamed, *swapped]
    held = in_graph(tiny, asked)
    assert held.tolist() == [triple in set(stored) for triple in asked]
    assert in_graph(AnyStore(tiny), asked).tolist() == held.tolist()
    assert in_graph(tiny, []).shape == (0,)


@pytest.mark.slow
def test_the_gold_evidence_of_the_built_data_is_in_its_graph(built: Path) -> None:
    from clwqa_bench.dataset import Dataset
    from clwqa_bench.runs import gold_of

    gold = gold_of(Dataset.open(built), "validation")
    triples = [(t.head, t.relation, t.tail) for question in gold.questions for t in question.evidence]
    assert in_graph(gold.graph, triples).all()


# --- paths --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "connected"),
    [
        ((SOURCE, *BY_SONG), 1),
        (("book hasQuotation word", *BY_SONG), 1),  # an edge may be walked from tail to head
        ((SOURCE, BY_SONG[1]), 0),  # a gap
        (BY_SONG, 0),  # not from an anchor
        ((SOURCE, BY_SONG[0]), 0),  # not to an answer
        ((*BY_SONG[::-1], SOURCE), 0),  # backwards
    ],
)
def test_a_path_is_a_walk_from_an_anchor_to_an_answer(lines: tuple[str, ...], connected: int) -> None:
    path = EvidencePath(id="p", triples=tuple(map(triple, lines)))
    answers = (PredictedAnswer(text="北宋", entity_id=PERIOD),)
    metric = Metric.parse("PathConnectedness")
    assert value(metric, shown(evidence=Evidence(paths=(path,)), answers=answers)) == connected
    assert value(metric, shown(evidence=Evidence(paths=(path,)), answers=(), status="empty")) == 0


def test_a_path_may_start_where_the_system_did() -> None:
    path = EvidencePath(id="p", triples=tuple(map(triple, BY_SONG)))
    answers = (PredictedAnswer(text="北宋", entity_id=PERIOD),)
    given = shown(evidence=Evidence(paths=(path,)), answers=answers, topics=("book",))
    assert value("PathConnectedness", given) == 1


# --- answers and citations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "answer", "without"),
    [
        (Evidence(), PredictedAnswer(text="北宋"), 1),
        (Evidence(texts=(EvidenceText(id="t", text="……生活在北宋。"),)), PredictedAnswer(text="北宋"), 0),
        (Evidence(texts=(EvidenceText(id="t", text="《宋書》記載"),)), PredictedAnswer(text="宋书"), 0),
        (Evidence(texts=(EvidenceText(id="t", text="南宋"),)), PredictedAnswer(text="北宋"), 1),
        (Evidence(texts=(EvidenceText(id="t", text="", entity_id="p"),)), PredictedAnswer(text="x", entity_id="p"), 0),
        (Evidence(triples=(EvidenceTriple(id="t", triple=triple("a livedIn p")),)),
         PredictedAnswer(text="x", entity_id="p"), 0),
        (Evidence(triples=(EvidenceTriple(id="t", triple=triple("a livedIn q")),)),
         PredictedAnswer(text="x", entity_id="p"), 1),
    ],
)  # fmt: skip
def test_an_answer_is_supported_by_an_entity_or_a_wording(
    evidence: Evidence, answer: PredictedAnswer, without: int
) -> None:
    assert value("AnswerWithoutSupport", shown(evidence=evidence, answers=(answer,))) == without


def test_support_may_be_asked_of_the_cited_evidence_alone() -> None:
    text = EvidenceText(id="t", text="生活在北宋。")
    uncited = shown(evidence=Evidence(texts=(text,)))
    cited = shown(evidence=Evidence(texts=(text,)), citations=(Citation(marker="[1]", evidence_id="t"),))
    both = [value("AnswerWithoutSupport(of=cited)", given) for given in (uncited, cited)]
    assert both == [1, 0]


def test_a_right_answer_without_support_among_duplicates() -> None:
    answers = tuple(PredictedAnswer(text=text) for text in ("南宋", "南宋", "北宋"))
    text = EvidenceText(id="t", text="南宋")
    given = shown(evidence=Evidence(texts=(text,)), answers=answers)
    columns = Metric.parse("CorrectButUnsupported").columns(given)
    assert columns.values.tolist() == [[1, 1]]


def test_a_citation_the_system_itself_gave_up_is_inconsistent() -> None:
    broken = Citation(marker="[1]", evidence_id=SOURCE, ok=False)
    given = shown(SOURCE, citations=(broken, Citation(marker="[2]", evidence_id=SOURCE)))
    assert value("CitationConsistency", given) == 1 / 2


def test_what_does_not_apply_is_nan_per_question() -> None:
    found = Metric.parse("CitationConsistency").per_question(grid())
    assert np.isnan(found).tolist() == [False, False, True, True]
    assert not Metric.parse("PathConnectedness").columns(align(GOLD, [])).applies.any()
