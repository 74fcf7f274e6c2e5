"""The scorer examined on gold: what a perfect, an empty, a halved, a reordered submission must score, to the bit.

Every check is a pure function of an Exam and looks for a fault of the scorer, or of the gold, that a plausible number
would hide.  None compares with a stored figure, so all hold on any gold.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from clwqa_bench.dataset import Dataset
from clwqa_bench.grid import Gold, GoldQuestion, Grid, align
from clwqa_bench.matching import HEADLINE
from clwqa_bench.metrics import Metric, select
from clwqa_bench.predictions import STATUSES, Evidence, EvidenceTriple, PredictedAnswer, Prediction
from clwqa_bench.records import Split
from clwqa_bench.runs import gold_of
from clwqa_bench.scoring import ScoreTable, score

METRICS = select(["answers", "evidence"])
RESAMPLES = 100  # enough to see that intervals, too, do not depend on order
SEED = 0
SIGMAS = 5  # how far from chance shuffled gold may score
SHOWN = 3  # faults a finding names


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: a figure, or the first of what is wrong."""

    check: str
    ok: bool
    found: str


@dataclass(frozen=True)
class Exam:
    """Gold and the metrics examined on it."""

    gold: Gold
    metrics: tuple[Metric, ...] = METRICS

    def grid(self, predictions: Iterable[Prediction]) -> Grid:
        """Predictions on the gold."""
        return align(self.gold, list(predictions))

    def score(self, predictions: Iterable[Prediction]) -> ScoreTable:
        """All metrics, overall and by stratum."""
        return score(self.grid(predictions), self.metrics, resamples=RESAMPLES).table

    @property
    def counted(self) -> tuple[Metric, ...]:
        """Answer metrics that a question left out takes its full part of; a micro average weighs by answers."""
        return tuple(m for m in self.metrics if m.group == "answers" and m.direction > 0 and m.agg != "micro")

    @cached_property
    def mixed(self) -> tuple[Prediction, ...]:
        """A submission with a bit of everything; see :func:`mixed`."""
        return tuple(mixed(self.gold))


Check = Callable[[Exam], Finding]


# ---------------------------------------------------------------------- submissions


def ideal(question: GoldQuestion, *, ids: bool = True) -> Prediction:
    """The gold answers, each resting on the gold evidence; with `ids` false by their names alone."""
    pieces = tuple(EvidenceTriple(id=f"t{n}", triple=t) for n, t in enumerate(question.evidence, start=1))
    support = tuple(piece.id for piece in pieces)
    answers = tuple(
        PredictedAnswer(text=a.label, entity_id=a.entity_id if ids else None, support=support)
        for a in question.answers
    )
    return Prediction(
        id=question.id, status="ok", ranked=True, answers=answers, evidence=Evidence(triples=pieces)
    )


def mixed(gold: Gold) -> Iterator[Prediction]:
    """Right, partly right, wrong, named without id, failed and missing predictions, drawn by a fixed seed."""
    rng = np.random.default_rng(SEED)
    questions = gold.questions
    kinds = rng.integers(7, size=len(questions)).tolist()
    others = rng.integers(len(questions), size=len(questions)).tolist()
    for question, kind, other in zip(questions, kinds, others, strict=True):
        right = ideal(question, ids=kind != 1)
        known = {answer.entity_id for answer in question.answers}
        wrong = tuple(a for a in ideal(questions[other]).answers if a.entity_id not in known)
        if kind <= 1:
            yield right
        elif kind == 2 and wrong:
            yield right.model_copy(update={"answers": wrong})
        elif kind == 3:
            yield right.model_copy(update={"answers": (*right.answers[1:], *wrong, *right.answers[:1])})
        elif kind == 4:
            yield right.model_copy(update={"answers": right.answers[:1], "evidence": Evidence()})
        elif kind == 5:
            yield failed(question, other)


def failed(question: GoldQuestion, number: int = 0) -> Prediction:
    """A prediction without an answer; `number` chooses the reason."""
    reasons = [status for status in STATUSES if status != "ok"]
    return Prediction(id=question.id, status=reasons[number % len(reasons)], ranked=True)


# ---------------------------------------------------------------------- checks


def oracle(exam: Exam) -> Finding:
    """The gold scores exactly 1 on every metric and in every stratum, and 0 where less is better."""
    table = exam.score(map(ideal, exam.gold.questions))
    faults = _unlike(table, lambda metric: 1.0 if metric.direction > 0 else 0.0)
    return _finding("oracle", faults, f"exactly 1 in {len(table.cells):,} cells")


def empty(exam: Exam) -> Finding:
    """No submission, and one in which every question failed, score exactly 0 on every metric of answers."""
    nothing = exam.score([])
    failures = exam.score(failed(question, row) for row, question in enumerate(exam.gold.questions))
    faults = [f for table in (nothing, failures) for f in _unlike(table, lambda _: 0.0, exam.counted)]
    return _finding("empty", faults, "exactly 0, missing or failed")


def halves(exam: Exam) -> Finding:
    """What is deleted counts 0 and nothing else changes: half of the gold scores exactly one half of it."""
    questions = exam.gold.questions[: len(exam.gold.questions) // 2 * 2]
    faults = []
    if questions:
        even = Exam(Gold(exam.gold.ref, questions, exam.gold.graph), exam.counted)
        table = even.score(map(ideal, questions[::2]))
        wholes = (cell for cell in table.cells if cell.stratum == "all" and cell.value != 0.5)
        faults = [f"{cell.metric} of one half is {cell.value!r}" for cell in wholes]
    parts = [[p for row, p in enumerate(exam.mixed) if row % 2 == side] for side in (0, 1)]
    grids = [exam.grid(part) for part in (exam.mixed, *parts)]
    for metric in exam.counted:
        whole, one, other = (metric.columns(grid).values for grid in grids)
        if not np.array_equal(whole, one + other):
            faults.append(f"{metric}: two halves do not add up to the whole")
    return _finding("halves", faults, "one half scores exactly 0.5, two add up")


def order(exam: Exam) -> Finding:
    """The order of lines, of questions, of JSON keys, and of answers where it is not a ranking, changes no bit."""
    expected = exam.score(exam.mixed)
    backwards = Gold(exam.gold.ref, exam.gold.questions[::-1], exam.gold.graph)
    variants = {
        "lines": exam.score(exam.mixed[::-1]),
        "questions": Exam(backwards, exam.metrics).score(exam.mixed),
        "JSON keys": exam.score(map(_with_keys_reversed, exam.mixed)),
    }
    faults = [
        f"the order of {name} changes the table" for name, table in variants.items() if table != expected
    ]
    unranked = [p.model_copy(update={"ranked": False, "answers": p.answers[::-1]}) for p in exam.mixed]
    table = exam.score(unranked)
    values = {(cell.metric, cell.stratum): cell.value for cell in table.cells}
    faults += [
        f"the order of unranked answers changes {cell.metric}"
        for cell in expected.cells
        if Metric.parse(cell.metric).group == "answers"
        and cell.value
        != values.get((cell.metric, cell.stratum), cell.value)  # what needs a ranking is not there
    ]
    return _finding("order", faults, "lines, questions, JSON keys, unranked answers: the same bits")


def bounds(exam: Exam) -> Finding:
    """Every metric, of every question and over each stratum, lies in [0, 1]."""
    table = exam.score(exam.mixed)
    grid = exam.grid(exam.mixed)
    faults = [f"{c.metric} of {c.stratum} is {c.value!r}" for c in table.cells if not 0 <= c.value <= 1]
    for metric in map(Metric.parse, table.metrics):
        values = metric.per_question(grid)
        outside = np.flatnonzero((values < 0) | (values > 1))  # nan where it does not apply
        faults += [f"{metric} of {exam.gold.questions[row].id} is {values[row]!r}" for row in outside]
    return _finding("bounds", faults, f"{len(table.metrics)} metrics within [0, 1]")


def monotone(exam: Exam) -> Finding:
    """One right answer more never lowers the recall of a question."""
    before = exam.grid(exam.mixed)
    more = exam.grid(map(_with_one_more, before.gold.questions, before.predictions))
    faults = []
    for metric in (m for m in exam.metrics if m.measure in ("R", "Recall")):
        lower = np.flatnonzero(metric.per_question(more) < metric.per_question(before))
        faults += [f"{metric} of {exam.gold.questions[row].id} falls" for row in lower]
    return _finding("monotone", faults, "a right answer more never lowers recall")


def shuffled(exam: Exam) -> Finding:
    """Gold dealt to other questions scores as chance does, which is worked out from the ids alone."""
    questions = exam.gold.questions
    n = len(questions)
    dealt = np.random.default_rng(SEED).permutation(n)
    submission = [
        ideal(questions[other]).model_copy(update={"id": question.id})
        for question, other in zip(questions, dealt.tolist(), strict=True)
    ]
    metric = Metric.parse("Hits(match=id)@1")
    value = float(metric.per_question(exam.grid(submission)).mean())
    first = Counter(question.answers[0].entity_id for question in questions)
    right = sum(first[id] for q in questions for id in {answer.entity_id for answer in q.answers})
    chance = right / n**2
    found = f"Hits@1 by id {value:.4f}, chance {chance:.4f}"
    near = abs(value - chance) <= SIGMAS * (np.sqrt(chance / n) + 1 / n)
    return _finding("shuffled gold", [] if near else [found], found)


def names(exam: Exam) -> Finding:
    """The gold by names alone loses exactly the names that other entities of the type asked for bear too."""
    grid = exam.grid(ideal(question, ids=False) for question in exam.gold.questions)
    matches = grid.matches(HEADLINE)
    shared = np.array([_shares_a_name(exam.gold, question) for question in exam.gold.questions], bool)
    lost = np.flatnonzero(matches.right != matches.items - matches.ambiguous)
    faults = [f"{exam.gold.questions[row].id} loses a name that nothing else bears" for row in lost]
    differ = np.flatnonzero((matches.ambiguous > 0) != shared)
    faults += [f"{exam.gold.questions[row].id}: a name that others bear too is credited" for row in differ]
    value = float(Metric.parse("F1").per_question(grid).mean())
    refused = int(matches.ambiguous.sum())
    return _finding("names alone", faults, f"F1 {value:.4f}: {refused} ambiguous names are not credited")


QUICK: tuple[Check, ...] = (oracle, empty, halves, names)
CHECKS: tuple[Check, ...] = (oracle, empty, halves, order, bounds, monotone, shuffled, names)


# ---------------------------------------------------------------------- across processes


FINGERPRINT = "import sys; from clwqa_bench.selftest import fingerprint; print(fingerprint(*sys.argv[1:]))"


def hash_seeds(root: Path, split: Split, *, code: str = FINGERPRINT) -> Finding:
    """Processes with different hash seeds print the same for the same `code`: here the digest of a whole table."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(root), split],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for seed in ("1", "2")
    ]
    digests = [process.communicate()[0].strip() for process in processes]
    faults = [] if digests[0] and digests[0] == digests[1] else [f"tables differ: {', '.join(digests)}"]
    return _finding("hash seed", faults, f"the same bytes ({digests[0][:12]})")


def fingerprint(root: str | Path, split: Split) -> str:
    """sha256 of the table that the mixed submission gets."""
    exam = Exam(gold_of(Dataset.open(root, verify=False), split))
    return hashlib.sha256(json.dumps(exam.score(exam.mixed).as_dict()).encode("utf-8")).hexdigest()


# ---------------------------------------------------------------------- helpers


def _finding(check: str, faults: Sequence[str], found: str) -> Finding:
    more = f" and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    return Finding(check, not faults, "; ".join(faults[:SHOWN]) + more if faults else found)


def _unlike(
    table: ScoreTable, expected: Callable[[Metric], float], among: Sequence[Metric] | None = None
) -> list[str]:
    """What of a table is not as expected, answer metrics that were left out included."""
    metrics = {str(metric) for metric in among} if among is not None else set(table.metrics)
    faults = [
        f"{cell.metric} of {cell.stratum} is {cell.value!r}"
        for cell in table.cells
        if cell.metric in metrics and cell.value != expected(Metric.parse(cell.metric))
    ]
    lost = (m for m in table.left_out if Metric.parse(m).group == "answers" and Metric.parse(m).direction > 0)
    return faults + [f"{metric} is left out: {table.left_out[metric]}" for metric in lost]


def _with_keys_reversed(prediction: Prediction) -> Prediction:
    """The same prediction, read from a line whose objects name their keys in another order."""

    def reverse(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: reverse(value[key]) for key in reversed(value)}
        return [reverse(item) for item in value] if isinstance(value, list) else value

    line = orjson.dumps(reverse(prediction.model_dump(mode="json")))
    return Prediction.model_validate_json(line, strict=True)


def _with_one_more(question: GoldQuestion, prediction: Prediction | None) -> Prediction:
    """The prediction with the first gold answer added that it does not carry the id of, if there is one."""
    given = prediction.answers if prediction else ()
    ids = {answer.entity_id for answer in given}
    more = tuple(a for a in ideal(question).answers if a.entity_id not in ids)[:1]
    return ideal(question).model_copy(update={"answers": (*given, *more)})


def _shares_a_name(gold: Gold, question: GoldQuestion) -> bool:
    """True if another entity of the type asked for bears the label of a gold answer."""
    ids = {answer.entity_id for answer in question.answers}
    return any(
        not ids.issuperset(gold.bearers(answer.label, question.target_element))
        for answer in question.answers
        if answer.kind == "entity"
    )
