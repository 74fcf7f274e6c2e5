"""What is kept of a trace: lists of any length, cut so that no stage indicator changes."""

from __future__ import annotations

import pytest

from clwqa_bench.asking import TRACE_HEAD, on_gold, shortened
from clwqa_bench.predictions import TraceEvent
from clwqa_bench.records import Question, TripleRef
from tests.core.scripted import small_dataset

STRANGERS = tuple(f"word:{n}" for n in range(1_000))
TRIPLES = tuple(TripleRef(head=name, relation="seeAlso", tail="word:0") for name in STRANGERS)


@pytest.fixture(scope="module")
def question(tmp_path_factory: pytest.TempPathFactory) -> Question:
    """Its answer is book:史记."""
    dataset = small_dataset(tmp_path_factory.mktemp("asking") / "small")
    return next(question for question in dataset.questions("test") if question.id == "t00")


def test_a_long_trace_keeps_its_head_and_what_lies_on_a_gold_path(question: Question) -> None:
    around = TripleRef(head="word:0", relation="seeAlso", tail="book:史记")  # the answer, reached another way
    event = TraceEvent(
        stage="retrieve",
        entities=(*STRANGERS, "book:史记"),
        triples=(*TRIPLES, *question.evidence, around),
        dropped=STRANGERS,
    )
    short = shortened(event, lambda: on_gold(question))
    assert short.entities == (*STRANGERS[:TRACE_HEAD], "book:史记")
    assert short.triples == (*TRIPLES[:TRACE_HEAD], *question.evidence, around)
    assert short.dropped == STRANGERS[:TRACE_HEAD]
    assert short.total == len(TRIPLES) + len(question.evidence) + 1


def test_where_the_gold_is_withheld_the_head_alone_is_kept() -> None:
    short = shortened(TraceEvent(stage="retrieve", entities=STRANGERS), dict, head=3)
    assert (short.entities, short.total) == (STRANGERS[:3], len(STRANGERS))


def test_a_short_trace_stays_as_it_is_and_no_gold_is_looked_at() -> None:
    event = TraceEvent(stage="retrieve", entities=STRANGERS[:TRACE_HEAD])
    assert shortened(event, lambda: pytest.fail("gold was looked at")) is event
