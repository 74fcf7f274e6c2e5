"""What a board knows of a submission: the record a site is rendered from, made of a verified bundle and nothing else.

An entry is a pure function of bundle, gold and what the maintainers decide (its standing, the entry it supersedes), so
anybody can make it again and compare (`board.check`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat

from clwqa_bench.diagnostics import Diagnosis, diagnose
from clwqa_bench.errors import GraphError, PredictionError
from clwqa_bench.grid import GoldQuestion, Grid
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.matching import HEADLINE
from clwqa_bench.metrics import Metric
from clwqa_bench.metrics.measure import Columns, harmonic, ratio
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import DatasetRef, PredictedAnswer, Prediction, RunManifest, StageUsage
from clwqa_bench.records import Record
from clwqa_bench.report.items import lost_at, verdict_of
from clwqa_bench.scoring import WHOLE, Cell, Scored
from clwqa_leaderboard.disclosure import Disclosure
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.probes import DUPLICATE, Finding, Marks, Standing
from clwqa_leaderboard.verification import Verified

SAMPLES, GOLDS, ANSWERS, SIGNS = 20, 3, 5, 200
"""How many wrong answers an entry shows, golds and answers of each, and signs of any text."""
EXCERPT = 10  # signs of an answer that is no name
SHOWN, FEWEST = 3, 500
"""Decimals of a share, and questions of a stratum, where the gold is withheld: a run that answers one question and no
other must not learn from its scores whether it is right, or of which kind the question is."""
GOLD_DECIDES = "the gold, which is withheld, decides on how many questions it is defined"
SCHEMA = 1

Verdict = Literal["partly", "wrong", "failed"]


class Number(Record):
    """A metric, or a stage indicator, on the `n` questions it is defined on; the interval is None where one fact group
    leaves the spread unknown."""

    value: FiniteFloat
    n: int
    low: FiniteFloat | None
    high: FiniteFloat | None


class Cost(Record):
    """What a question cost on average, all stages together; `cached` of the `calls` were answered from a cache."""

    calls: FiniteFloat
    cached: FiniteFloat
    tokens_in: FiniteFloat
    tokens_out: FiniteFloat
    seconds: FiniteFloat
    cost: FiniteFloat


class Loss(Record):
    """A step of the waterfall: so many questions were lost at a stage."""

    stage: str
    questions: int
    percent: FiniteFloat


class Profile(Record):
    """How far the answers stayed within reach: stage indicators and the waterfall, on all questions."""

    indicators: Mapping[str, Number]
    labels: Mapping[str, str]
    not_traced: Mapping[str, str]
    waterfall: tuple[Loss, ...]


class Miss(Record):
    """A question that was not answered right, as it was asked, is right, and was answered."""

    id: str
    question: str
    strata: tuple[str, ...]
    gold: tuple[str, ...]
    answers: tuple[str, ...]
    verdict: Verdict
    status: str
    lost: str = ""


class Figures(Record):
    """What is computed of a run.  `scores` is by metric and stratum, "all" first; `answers` is a digest of them all."""

    questions: int
    statuses: Mapping[str, int]
    notes: Mapping[str, int]
    scores: Mapping[str, Mapping[str, Number]]
    left_out: Mapping[str, str]
    cost: Cost
    profile: Profile | None
    misses: tuple[Miss, ...]
    answers: str


class Entry(Figures):
    """One entry of a board.

    Text in it was written by strangers: whatever shows it escapes it.  `contents` is the digest the id is made of,
    `bundle` that of the zip file.  `supersedes` is the entry whose place the maintainers gave it, "" if none; what its
    author says of that stands in the form.  Nothing in it tells gold if the board's gold is withheld.
    """

    schema_version: Literal[1] = 1
    id: str
    board: str
    standing: Standing
    contents: str
    bundle: str
    signed_by: str
    manifest: RunManifest
    disclosure: Disclosure
    remarks: tuple[Finding, ...]
    supersedes: str = ""

    def number(self, metric: str, stratum: str = "all") -> Number | None:
        """One number by the metric's name in full or in short, None if the board has none."""
        return self.scores.get(str(Metric.parse(metric)), {}).get(stratum)


class Outcomes(Record):
    """An entry question by question, in the order of ids asked: what paired tests and other probes read.

    `first` is 1 if the first answer is right (empty if answers are not ranked), `right` of `items` distinct answers are
    right.  These three are empty where the gold is withheld.  `marks` are 16 bits of the answers given, 0 for none.
    """

    schema_version: Literal[1] = 1
    first: tuple[int, ...]
    right: tuple[int, ...]
    items: tuple[int, ...]
    marks: tuple[int, ...]


class Board(Record):
    """What all entries of a board share.  `golds` and `groups` (fact groups, as codes) are by question, sorted by id;
    they are empty where the gold is withheld."""

    schema_version: Literal[1] = 1
    key: str
    ref: DatasetRef
    suite: str
    questions: int
    withheld: bool
    golds: tuple[int, ...]
    groups: tuple[int, ...]


def columns(metric: Metric, outcomes: Outcomes, golds: Iterable[int]) -> Columns:
    """The metric's columns from an entry's outcomes, as `metric.columns(grid)` makes them from predictions.

    For Hits@1, P, R, F1 (both ways) and EM under the headline policy; `golds` are those of the questions asked.
    Raises SubmissionError for another metric, or if the entry does not tell.
    """
    right, items, wanted = (np.array(a, np.float64) for a in (outcomes.right, outcomes.items, tuple(golds)))
    p, r = ratio(right, items), ratio(right, wanted)
    by_name: dict[str, tuple[NDArray[np.float64], ...]] = {
        "Hits@1": (np.array(outcomes.first, np.float64),),
        "P": (p,),
        "R": (r,),
        "F1": (harmonic(p, r),),
        "F1(agg=of-means)": (p, r),
        "EM": (((right == items) & (right == wanted)).astype(np.float64),),
    }
    known = {Metric.parse(name): found for name, found in by_name.items()}
    if metric not in known or not len(known[metric][0]):
        raise SubmissionError(
            f"{metric} cannot be told from an entry",
            fix="score the bundles themselves, or ask for the headline",
        )
    return Columns.of(*known[metric])


# ---------------------------------------------------------------------- making


def make_entry(verified: Verified, board: Board, ontology: Ontology) -> tuple[Entry, Outcomes]:
    """The entry of a submission, and its outcomes; the traces are read for the profile."""
    submission = verified.submission
    traced = _traced(verified.scored.grid, verified.traces)
    made, outcomes = figures(verified.scored, verified.marks, traced, ontology, withheld=board.withheld)
    entry = Entry(
        **dict(made),
        id=submission.id,
        board=board.key,
        standing=verified.standing,
        contents=submission.bundle.digest,
        bundle=hashlib.sha256(submission.bundle.path.read_bytes()).hexdigest(),
        signed_by=submission.signed_by,
        manifest=submission.manifest,
        disclosure=submission.disclosure,
        remarks=tuple(
            remark for remark in verified.remarks if remark.probe != DUPLICATE
        ),  # depends on others
        supersedes=verified.supersedes,
    )
    return entry, outcomes


def figures(
    scored: Scored, marks: Marks, traced: Grid, ontology: Ontology, *, withheld: bool
) -> tuple[Figures, Outcomes]:
    """What a board tells of a run; `traced` is its grid with the traces in it."""
    table, grid = scored.table, scored.grid
    diagnosis = _diagnosis(traced, ontology)
    scores: dict[str, dict[str, Number]] = {metric: {} for metric in table.metrics}
    for cell in table.cells:
        scores[cell.metric][cell.stratum] = _number(cell)
    if withheld:
        scores = _coarse(scores)
    made = Figures(
        questions=table.n,
        statuses={outcome: len(ids) for outcome, ids in table.outcomes.items() if ids},
        notes={name: count for name, count in table.notes.items() if count},
        scores=scores,
        left_out={**{name: GOLD_DECIDES for name in table.metrics if name not in scores}, **table.left_out},
        cost=_cost(grid.predictions),
        profile=_profile(diagnosis, table.n, withheld) if diagnosis else None,
        misses=() if withheld else _misses(grid, lost_at(diagnosis)),
        answers=marks.digest,
    )
    return made, _outcomes(grid, marks, withheld)


def _coarse(scores: Mapping[str, Mapping[str, Number]]) -> dict[str, dict[str, Number]]:
    """Scores that tell nothing of a single question: rounded, on large strata, and none of those that are defined on
    some questions only, since the answers and the gold decide on how many."""
    asked = {stratum: number.n for stratum, number in scores[str(Metric.parse("F1"))].items()}
    large = {stratum for stratum, n in asked.items() if stratum == WHOLE or n >= FEWEST}
    found = {
        metric: {s: _rounded(number) for s, number in cells.items() if s in large}
        for metric, cells in scores.items()
        if all(number.n == asked[s] for s, number in cells.items())
    }
    return {metric: cells for metric, cells in found.items() if cells}


def _rounded(number: Number) -> Number:
    bounds = {"value": number.value, "low": number.low, "high": number.high}
    return number.model_copy(
        update={name: None if value is None else round(value, SHOWN) for name, value in bounds.items()}
    )


def _outcomes(grid: Grid, marks: Marks, withheld: bool) -> Outcomes:
    matches = grid.matches(HEADLINE)
    first = np.zeros(len(grid), np.int64)
    first[matches.rows[matches.ranks == 1]] = 1
    told = not withheld
    return Outcomes(
        first=tuple(first.tolist()) if told and not grid.unranked else (),
        right=tuple(matches.right.tolist()) if told else (),
        items=tuple(matches.items.tolist()) if told else (),
        marks=tuple(marks.marks.tolist()),
    )


def _traced(grid: Grid, traces: Mapping[str, object]) -> Grid:
    """The grid with the traces back in its predictions."""
    predictions = tuple(
        p.model_copy(update={"trace": traces[p.id]}) if p is not None and p.id in traces else p
        for p in grid.predictions
    )
    return Grid(grid.gold, predictions)


def _diagnosis(grid: Grid, ontology: Ontology) -> Diagnosis | None:
    """None if there is nothing to look at: neither traces nor evidence."""
    try:
        return diagnose(grid, ontology, loss="recall" if grid.unranked else "hits", by=())
    except PredictionError:
        return None


def _profile(diagnosis: Diagnosis, asked: int, withheld: bool) -> Profile:
    """As `_coarse`, where the gold is withheld; losses are then told in steps of ten questions."""
    indicators = {cell.metric: _number(cell) for cell in diagnosis.cells}
    losses = [Loss(stage=s, questions=count, percent=percent) for s, count, percent in diagnosis.rows()]
    if withheld:
        indicators = {name: _rounded(number) for name, number in indicators.items() if number.n == asked}
        tens = [10 * round(loss.questions / 10) for loss in losses]
        losses = [
            Loss(stage=loss.stage, questions=count, percent=100 * count / asked)
            for loss, count in zip(losses, tens, strict=True)
        ]
    return Profile(
        indicators=indicators,
        labels=diagnosis.labels,
        not_traced=diagnosis.not_traced,
        waterfall=tuple(losses),
    )


def _number(cell: Cell) -> Number:
    return Number(value=cell.value, n=cell.n, low=cell.low, high=cell.high)


def _cost(predictions: Iterable[Prediction | None]) -> Cost:
    rows = list(predictions)
    stages = [stage for p in rows if p is not None for stage in p.usage.values()]
    fields = {name: sum(getattr(stage, name) for stage in stages) / len(rows) for name in Cost.model_fields}
    assert set(fields) <= set(StageUsage.model_fields)
    return Cost(**fields)


def _misses(grid: Grid, lost: Mapping[str, str]) -> tuple[Miss, ...]:
    """Some questions not answered right; whichever system it is, they are taken in the same order.

    Questions that quote or ask for a passage are left out: a board shows names, and no texts of others.
    """
    rows = sorted(range(len(grid)), key=lambda row: hashlib.sha256(grid.gold.ids[row].encode()).digest())
    found: list[Miss] = []
    for row in rows:
        question, status = grid.gold.questions[row], grid.outcomes[row]
        verdict = verdict_of(grid.match(row, HEADLINE), answered=status == "ok")
        if verdict == "right" or _is_about_passages(question, grid.gold.graph):
            continue
        found.append(
            Miss(
                id=question.id,
                question=question.text,
                strata=question.strata,
                gold=tuple(_cut(answer.label) for answer in question.answers[:GOLDS]),
                answers=tuple(_excerpt(answer, grid.gold.graph) for answer in grid.answers[row][:ANSWERS]),
                verdict=verdict,  # type: ignore[arg-type]  # what is left of the four
                status=status,
                lost=lost.get(question.id, ""),
            )
        )
        if len(found) == SAMPLES:
            break
    return tuple(found)


def _is_about_passages(question: GoldQuestion, graph: GraphStore | None) -> bool:
    """Whether an anchor or a gold is a passage rather than a name: judged by its text, or with a text of its own."""
    ids = [anchor.entity_id for anchor in question.anchors]
    ids += [answer.entity_id for answer in question.answers]
    return any(answer.kind == "passage" for answer in question.answers) or any(
        _has_text(graph, id) for id in ids
    )


def _excerpt(answer: PredictedAnswer, graph: GraphStore | None) -> str:
    """An answer that is a name, and the beginning of any other."""
    bearers = graph.lookup(answer.text) if graph else ()
    is_name = any(not _has_text(graph, id) for id in bearers)
    return _cut(answer.text, SIGNS if is_name else EXCERPT)


def _has_text(graph: GraphStore | None, id: str) -> bool:
    """Whether an entity carries a text of its own, as an explanation, a quotation or an allusion does."""
    try:
        return graph is not None and bool(graph.entity(id).text)
    except GraphError:
        return False


def _cut(text: str, signs: int = SIGNS) -> str:
    return text if len(text) <= signs else f"{text[:signs]} …"
