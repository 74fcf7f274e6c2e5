"""Runs small enough to read, for the tests of the reports: tables by hand, and a page of 120 questions."""

from __future__ import annotations

from collections.abc import Sequence

from clwqa_bench.grid import Gold, GoldQuestion, align
from clwqa_bench.metrics import Metric, select
from clwqa_bench.predictions import (
    DatasetRef,
    Evidence,
    EvidencePath,
    EvidenceText,
    PredictedAnswer,
    Prediction,
    RunManifest,
    StageUsage,
)
from clwqa_bench.records import Anchor, Answer, PathStep, StandardPath, TripleRef
from clwqa_bench.report.html import html
from clwqa_bench.report.items import EVERYTHING, Selection
from clwqa_bench.report.results import by_metric
from clwqa_bench.scoring import Cell, Scored, ScoreTable, score

REF = DatasetRef(name="clwqa-tiny", version="1.0.0", content="0123456789abcdef0123", split="test")
HITS, F1, EM = (str(Metric.parse(name)) for name in ("Hits@1", "F1", "EM"))
POG = "Hit(match=legacy-pog)"
ATTACK = "</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"

# ---------------------------------------------------------------- tables by hand


def cell(metric: str, stratum: str, value: float, n: int = 100, half: float | None = 0.05) -> Cell:
    """A number with an interval of `half` on either side; None leaves the spread unknown."""
    low, high = (None, None) if half is None else (max(0.0, value - half), min(1.0, value + half))
    return Cell(metric, stratum, value, n, n, low, high, half)


def table(
    title: str, cells: Sequence[Cell], *, manifest: RunManifest | None = None, **changes: object
) -> ScoreTable:
    fields: dict[str, object] = {
        "title": title,
        "ref": REF,
        "manifest": manifest,
        "suite": "1",
        "metrics": tuple(dict.fromkeys(c.metric for c in cells)),
        "strata": tuple(dict.fromkeys(c.stratum for c in cells)),
        "cells": tuple(cells),
        "left_out": {},
        "outcomes": {
            "ok": tuple(f"q{n}" for n in range(95)),
            "timeout": ("q95", "q96"),
            "missing": ("q97", "q98", "q99"),
        },
        "notes": {"ambiguous_surface": 0},
        "level": 0.95,
        "resamples": 10_000,
        "seed": 7,
        **changes,
    }
    return ScoreTable(**fields)  # type: ignore[arg-type]


def ceaf() -> ScoreTable:
    """Every kind of number: strata, a small one, one without a spread, a legacy metric, one left out."""
    cells = [
        cell(HITS, "all", 0.62),
        cell(HITS, "hops=1", 0.7, 60),
        cell(HITS, "hops=2", 0.5, 29),
        cell(HITS, "hops=4+", 1.0, 1, None),
        cell(F1, "all", 0.99996),
        cell(F1, "hops=1", 0.71, 60),
        cell(F1, "hops=2", 0.55, 29),
        cell(F1, "hops=4+", 0.0, 1, None),
        cell(POG, "all", 0.9),
    ]
    return table(
        "ceaf [glm-4-flash]",
        cells,
        manifest=RunManifest(system="ceaf", backbone="glm-4-flash", dataset=REF, code_version="0.1.0"),
        left_out={"BLEU(agg=corpus)": "sacrebleu is not installed", "ROUGE-L": "sacrebleu is not installed"},
        notes={"ambiguous_surface": 3, "unranked_predictions": 0},
    )


def tog() -> ScoreTable:
    """A weaker run with fewer metrics, and a name that LaTeX and Markdown would take for markup."""
    return table(
        "检索_50%|*", [cell(HITS, "all", 0.5), cell(HITS, "hops=1", 0.5, 60), cell(HITS, "hops=2", 0.5, 40)]
    )


# ---------------------------------------------------------------- a page

BOOKS = {
    "守株待兔": ("五蠹", "韩非子"),
    "四面楚歌": ("项羽本纪", "史记"),
    "画蛇添足": ("齐策二", "战国策"),
    "唇亡齿寒": ("僖公五年", "左传"),
}
SIZE = 120


def gold(size: int = SIZE) -> Gold:
    """Which book a word comes from; questions 0, 4, 8, ... are about 守株待兔, one in three has one hop."""
    words = list(BOOKS)
    return Gold(REF, tuple(_question(n, words[n % len(words)]) for n in range(size)))


def predictions(size: int = SIZE) -> list[Prediction]:
    """By the number of the question mod 6: right, partly right, wrong, an attack, timeout, missing."""
    words = list(BOOKS)
    given = (_prediction(n, words[n % len(words)]) for n in range(size))
    return [prediction for prediction in given if prediction is not None]


def run(title: str = "demo", *, size: int = SIZE, given: Sequence[Prediction] | None = None) -> Scored:
    """The run scored, with few resamples."""
    grid = align(gold(size), predictions(size) if given is None else given)
    return score(grid, select(["headline", "evidence", "legacy"]), title=title, resamples=100)


def page(*runs: Scored, selection: Selection = EVERYTHING) -> str:
    """The report page of some runs."""
    tables = [r.table for r in runs]
    return html(runs, by_metric(tables, [HITS, F1, EM]), selection=selection)


def _question(n: int, word: str) -> GoldQuestion:
    chapter, book = BOOKS[word]
    steps = (
        PathStep(relation="hasSource", direction="out", type="Chapter"),
        PathStep(relation="partOf", direction="out", type="Book"),
    )
    path = StandardPath(steps=steps, entities=(f"word:{word}", f"chapter:{chapter}", f"book:{book}"))
    return GoldQuestion(
        id=f"q{n:03}",
        text=f"第{n}问：“{word}”见于哪部书？",
        answers=(Answer(entity_id=f"book:{book}", label=book, aliases=(f"《{book}》一书",)),),
        group=word,
        anchors=(Anchor(entity_id=f"word:{word}", mention=word),),
        strata=(
            f"hops={1 if n % 3 == 0 else 2}",
            f"category={'history_geography' if n % 2 else 'arts_literature'}",
        ),
        standard_paths=(path,),
        evidence=tuple(_triples(word)),
    )


def _triples(word: str) -> list[TripleRef]:
    chapter, book = BOOKS[word]
    return [
        TripleRef(head=f"word:{word}", relation="hasSource", tail=f"chapter:{chapter}"),
        TripleRef(head=f"chapter:{chapter}", relation="partOf", tail=f"book:{book}"),
    ]


def _prediction(n: int, word: str) -> Prediction | None:
    book = BOOKS[word][1]
    answers = {0: [book], 1: [book, "论语"], 2: ["孟子"], 3: [ATTACK]}.get(n % 6, [])
    if n % 6 == 5:
        return None
    return Prediction(
        id=f"q{n:03}",
        status="ok" if answers else "timeout",
        ranked=True,
        answers=tuple(PredictedAnswer(text=text) for text in answers),
        evidence=Evidence(
            paths=(EvidencePath(id="p", triples=tuple(_triples(word))),),
            texts=(EvidenceText(id="t", text=f"{word}，语出《{book}》。"),),
        ),
        raw_answer=f"答案是{'、'.join(answers)}" if answers else None,
        usage={"answer": StageUsage(calls=2, cached=1, tokens_in=1500, tokens_out=20, seconds=1.25)},
        flags=("relaxed",) if answers else (),
        error=None if answers else "no reply after 60 s",
    )
