"""Stage diagnostics on the real questions: a run without a fault is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.diagnostics import diagnose
from clwqa_bench.diagnostics.elements import reference_element
from clwqa_bench.grid import GoldQuestion, align
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import EvidencePath, Label, PredictedAnswer, Prediction, TraceEvent
from clwqa_bench.records import TripleRef
from clwqa_bench.runs import gold_of

ONTOLOGY = Ontology.load()


def perfect(question: GoldQuestion) -> Prediction:
    """What a system without a fault would hand in."""
    labels = [
        Label(element=reference_element(question, a, ONTOLOGY), entity_id=a.entity_id)
        for a in question.anchors
    ]
    paths = tuple(
        EvidencePath(
            id=str(number),
            triples=tuple(
                TripleRef(head=a, relation=step.relation, tail=b)
                if step.direction == "out"
                else TripleRef(head=b, relation=step.relation, tail=a)
                for a, step, b in zip(way.entities, way.steps, way.entities[1:], strict=False)
            ),
        )
        for number, way in enumerate(question.standard_paths)
    )
    return Prediction(
        id=question.id,
        status="ok",
        ranked=True,
        answers=tuple(PredictedAnswer(text=a.label, entity_id=a.entity_id) for a in question.answers),
        trace=(
            TraceEvent(
                stage="link",
                entities=tuple(anchor.entity_id for anchor in question.anchors),
                elements=(*labels, Label(element=question.target_element)),
            ),
            TraceEvent(stage="retrieve", paths=paths),
            TraceEvent(stage="rank", paths=paths),
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize("support", ["same", "compatible", "reaching"])
def test_a_faultless_run_on_the_real_questions_has_every_indicator_at_1(built: Path, support: Any) -> None:
    gold = gold_of(Dataset.open(built, verify=False), "validation")
    result = diagnose(
        align(gold, [perfect(question) for question in gold.questions]),
        ONTOLOGY,
        support=support,
        by=(),
        resamples=100,
    )
    assert {cell.metric: cell.value for cell in result.cells} == dict.fromkeys(result.labels, 1.0)
    assert result.rows()[0] == ("right", len(gold.questions), 100.0)
    assert not result.not_traced
