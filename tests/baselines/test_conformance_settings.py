"""What installed systems keep to with settings other than the defaults, each of which takes another way through them.

A system that runs with its defaults alone is not a system with settings: every mode, switch and bound that changes what
is asked or shown stands here once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from clwqa_bench.asking import SplitGold
from clwqa_bench.predictions import Prediction
from clwqa_bench.systems import Resources, SettingError, System, load_system, system_class
from tests.baselines import conformance
from tests.baselines.conformance import (
    FAILURES,
    ODD,
    QUESTIONS,
    TALKS,
    Known,
    Ready,
    is_sound,
    prepared,
    survived,
)
from tests.baselines.misbehaving import Misbehaving

SETTINGS = {
    "byokg-rag": [
        "retriever=scoring",
        "retriever=scoring reranker=bm25",
        "inverse_edges=true",
        "enforce_limits=true reranker=tfidf max_num_triplets=1",
        "direct_query_linking=true",
        "index=bm25",
        "overlong=cut max_input_tokens=5",
        "max_input_tokens=5",
        "tails=1 max_paths=1",
    ],
    "ceaf": [
        "relax=true",
        "use_elements=false",
        "answers_from=paths",
        "combine=intersection group_by_signature=true",
        "ranker=none top_k=1",
    ],
    "graphrag": [
        "mode=report-retrieval",
        "mode=report-retrieval response_type=prose",
        "mode=global",
        "mode=global response_type=prose",
        "mode=dynamic",
        "mode=dynamic max_rated=1 repeats=3 keep_parent=true",
        "reports=model report_edges=all",
        "entry=topics",
        "use_lcc=true match_names=component",
        "levels=one report_input=200 context_tokens=200",
    ],
    "mindmap": [
        "probe=true",
        "probe=true index=tfidf",
        "inverse_edges=true",
        "topics=linked",
        "no_mention=answer",
        "index=bm25",
        "threshold=0.9",
        "few_rows=none",
        "verbalise=false",
    ],
    "pog": [
        "pool=code on_failure=go_on",
        "group_cap=1 pool_cap=1",
        "at_depth=half_stop reflections=0",
        "unnamed_cap=1 nearest=bm25",
        "direction_marks=true no_backtrack=off",
    ],
    "rag": [
        "passages=nodes",
        "retriever=tfidf chunk=16 overlap=15",
        "explanations=false",
        "own_knowledge=false",
    ],
    "tog": [
        "prune_tools=bm25",
        "inverse=code",
        "no_backtrack=pooled",
        "no_backtrack=off direction_marks=true",
        "at_depth=half_stop",
        "passage_chars=1",
    ],
    "topk-triples": [
        "scope=global",
        "scope=global choose=random",
        "choose=random form=csv",
        "form=sentences fact_chars=1",
        "retriever=bm25 own_knowledge=false",
    ],
}
TOLD_ELSEWHERE = {"graphrag": {"rank"}}
"""Stages that ask the model, but what came of it is in the event of a later one (ratings in `decide`, points of the map
step in `retrieve`)."""
VARIANTS = [pytest.param(name, some, id=f"{name} {some}") for name, of in SETTINGS.items() for some in of]
WITH_ORACLES = [
    pytest.param(name, some, stage, id=f"{name} {some} {stage}")
    for name, of in SETTINGS.items()
    for some in of
    for stage in system_class(name).oracles
]

Get = Callable[[str, str], Ready]


def parsed(settings: str) -> dict[str, str]:
    return dict(setting.split("=") for setting in settings.split())


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Resources:
    return conformance.tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def ready(tiny: Resources) -> Get:
    """Systems by name and settings, each prepared once."""
    known: dict[tuple[str, str], Ready] = {}

    def once(name: str, settings: str) -> Ready:
        if (name, settings) not in known:
            known[name, settings] = prepared(name, tiny, parsed(settings))
        return known[name, settings]

    return once


def said(found: Prediction, *statuses: str) -> bool:
    """Whether the question was answered, or is of one of these statuses; a context too long to send is its own."""
    return found.status in ("ok", "empty", *statuses) or "context_overflow" in found.flags


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_it_answers_and_puts_down_what_it_does(name: str, settings: str, ready: Get) -> None:
    system = ready(name, settings)
    for found in system.ask_all(system.views):
        assert said(found), found.error
        is_sound(found, system.resources.kg)
        asked = {stage for stage, used in found.usage.items() if used.calls}
        assert asked - TOLD_ELSEWHERE.get(name, set()) <= {event.stage for event in found.trace}


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_odd_questions_and_nonsense_have_a_status(name: str, settings: str, ready: Get) -> None:
    system = ready(name, settings)
    for kind, text in ODD.items():
        found = system.ask(text)
        assert said(found), (kind, found.error)
        is_sound(found, system.resources.kg)
    for talk in TALKS:
        found = system.ask(QUESTIONS["three steps"], Misbehaving(talk=talk))
        assert survived(found), (talk, found.error)
        is_sound(found, system.resources.kg)


def refusal(system: System, stage: str) -> SettingError | None:
    try:
        system.check_oracle((stage,))
    except SettingError as error:
        return error
    return None


@pytest.mark.parametrize(("name", "settings", "stage"), WITH_ORACLES)
def test_gold_stands_in_for_a_stage_or_is_refused_before_anything_is_prepared(
    name: str, settings: str, stage: str, ready: Get, tiny: Resources
) -> None:
    if refused := refusal(load_system(name, parsed(settings)), stage):
        assert refused.fix
        return
    question = next(iter(tiny.train()))
    gold = cast(SplitGold, Known({question.id: question}))
    found = ready(name, settings).ask(question.question, id=question.id, gold=gold, oracle=(stage,))
    assert said(found), found.error
    assert "gold" in {event.op for event in found.trace}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_it_survives_the_failure_of_any_call(name: str, settings: str, ready: Get) -> None:
    """Of the first, the second, ... and of every call from some number on; a budget used up ends the question."""
    system = ready(name, settings)
    model = system.resources.llm
    for text in QUESTIONS.values():
        counted = Misbehaving(model)
        system.ask(text, counted)
        for number in range(1, counted.calls + 1):
            for status in FAILURES:
                for last in (number, 10**9):
                    found = system.ask(text, Misbehaving(model, status, number, last))
                    assert survived(found), (text, number, last, found.error)
                    assert said(found, status), (text, number, last, found.error)
            llm = Misbehaving(model, "skipped", number, 10**9)
            assert system.ask(text, llm).status == "skipped"
            assert not llm.after, f"asked on after call {number}: {llm.tasks[number - 1 :]}"
