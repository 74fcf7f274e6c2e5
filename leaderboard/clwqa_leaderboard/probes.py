"""Probes: what in a submission calls for a refusal, or for a second look by whoever keeps the board.

Each is a pure function of a case and names the questions it found.  A probe proves nothing about how a score came
about; it finds what an honest run does not look like.  On gold that everybody can read, a careful cheat is not found:
that is what withheld gold is for (`withhold`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from clwqa_bench.grid import Grid
from clwqa_bench.matching import HEADLINE
from clwqa_bench.predictions import Prediction, RunManifest, StageUsage, TraceEvent
from clwqa_bench.records import Record
from clwqa_leaderboard.usage import doubtful

Level = Literal["reject", "remark"]
Standing = Literal["ranked", "sample", "reference"]
"""How an entry stands on a board: among the ranked, as a sample beside them, or as a line to measure them by."""

DUMP, MANY = 50, 10  # answers to one question: a list of everything; more than a ranking needs, on average
ENOUGH = 100  # questions before a share of them says something
TOO_GOOD = 0.995  # exact answers beyond which gold was there, or the board is no longer needed
CHANCE = 1e-6  # odds below which an order is no coincidence
SMALLEST, SEED = 20, 0  # questions of a sample, and how they are drawn: not by whoever hands it in
KNOWN_ORDER = 0.95  # share of questions with golds in alphabetical order: anybody can make that order
COPIED = 0.98  # share of wrong answers two systems have in common
QUICKEST, SLOWEST = 0.001, 86_400.0  # seconds of a call to a language model, and of a question
FASTEST = 20_000.0  # tokens a second of one reply
NAMED = 5  # ids in a message
DUPLICATE = "duplicate"
GOLD = "gold"  # op of a trace event whose outcome was taken from the gold


class Finding(Record):
    """What a probe found; `ids` are the first questions it is about."""

    probe: str
    level: Level
    what: str
    fix: str = ""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Marks:
    """The answers of a run in few bytes: a 16-bit mark per question asked (0 for no answer), and a digest of all with
    the questions they are given to."""

    marks: NDArray[np.uint16]
    digest: str

    @classmethod
    def of(cls, ids: Iterable[str], predictions: Iterable[Prediction | None]) -> Marks:
        """Same texts and entities in the same order give the same mark; `ids` are those of the questions asked."""
        whole, marks = hashlib.sha256(), []
        for id, prediction in zip(ids, predictions, strict=True):
            answers = [(a.text, a.entity_id) for a in prediction.answers] if prediction else []
            digest = hashlib.sha256(orjson.dumps(answers)).digest()
            whole.update(hashlib.sha256(id.encode()).digest() + digest)
            marks.append(max(1, int.from_bytes(digest[:2])) if answers else 0)
        return cls(np.array(marks, np.uint16), whole.hexdigest())


@dataclass(frozen=True)
class Case:
    """A run on its grid, the marks of what is on the board already, by entry, and the traces that lie beside the
    predictions of a bundle, by question."""

    manifest: RunManifest
    grid: Grid
    others: Mapping[str, Marks] = field(default_factory=dict)
    traces: Traces = field(default_factory=dict)
    withheld: bool = False

    @cached_property
    def marks(self) -> Marks:
        return Marks.of(self.grid.gold.ids, self.grid.predictions)

    @cached_property
    def given(self) -> tuple[Prediction, ...]:
        """The predictions that hold answers."""
        return tuple(p for p in self.grid.predictions if p is not None and p.answers)

    @property
    def asks_a_model(self) -> bool:
        return not self.manifest.backbone.startswith("none/")


Traces = Mapping[str, tuple[TraceEvent, ...]]
Probe = Callable[[Case], Iterator[Finding]]


def oracle(case: Case) -> Iterator[Finding]:
    """Stages that were replaced by gold, as the run says, or as its traces say where the run does not."""
    if replaced := case.manifest.oracle:
        yield Finding(
            probe="oracle",
            level="reject",
            what=f"the run took {', '.join(replaced)} from the gold",
            fix="hand in a run without --oracle; a board shows oracles as reference lines only",
        )
    else:
        predictions = [p for p in case.grid.predictions if p is not None]
        yield from _finding(
            "oracle", "reject", with_gold(predictions, case.traces),
            "the traces of {} say that a stage was taken from the gold, and the run does not",
            "hand in a run without --oracle, with the run.json it was made with",
        )  # fmt: skip


def with_gold(predictions: Iterable[Prediction], traces: Traces | None = None) -> list[str]:
    """Ids of the predictions in whose trace, kept in them or beside them, some stage was taken from the gold."""
    beside = traces or {}
    return [p.id for p in predictions if any(e.op == GOLD for e in beside.get(p.id, p.trace))]


def sample(case: Case) -> Iterator[Finding]:
    """Runs on a part of the split."""
    if (asked := case.manifest.sample) is not None:
        yield Finding(
            probe="sample",
            level="reject",
            what=f"{asked:,} questions were asked, not the whole split",
            fix="run the whole split; a sample can stand beside the ranked entries (--as sample)",
        )


def picked(case: Case) -> Iterator[Finding]:
    """Samples that tell the gold of single questions, or that were drawn until one suited."""
    manifest = case.manifest
    if manifest.sample is None:
        return
    if case.withheld:
        yield Finding(
            probe="picked",
            level="reject",
            what="the gold is withheld, and scores of a sample tell it question by question",
            fix="run the whole split",
        )
    elif manifest.sample < SMALLEST or manifest.seed != SEED:
        yield Finding(
            probe="picked",
            level="reject",
            what=f"the sample is {manifest.sample:,} questions drawn with seed {manifest.seed}",
            fix=f"run with --seed {SEED} and --sample {SMALLEST} or more, so that nobody chooses the questions",
        )


def partial(case: Case) -> Iterator[Finding]:
    """Questions without a line."""
    rows = zip(case.grid.gold.ids, case.grid.outcomes, strict=True)
    yield from _finding(
        "partial", "reject", [id for id, outcome in rows if outcome == "missing"],
        "{} have no prediction", "go on with the run; a question that failed has a line that says so",
    )  # fmt: skip


def alias_dump(case: Case) -> Iterator[Finding]:
    """Lists of everything instead of answers."""
    yield from _finding(
        "alias-dump", "reject", [p.id for p in case.given if len(p.answers) > DUMP],
        f"{{}} have more than {DUMP} answers", "let the system decide",
    )  # fmt: skip
    given = case.given
    if given and (mean := sum(len(p.answers) for p in given) / len(given)) > MANY:
        yield Finding(probe="alias-dump", level="remark", what=f"{mean:.1f} answers to a question on average")


def gold_copy(case: Case) -> Iterator[Finding]:
    """Answers as right as only the gold is."""
    matches = case.grid.matches(HEADLINE)
    exact = (matches.right == matches.items) & (matches.right == matches.golds)
    if len(exact) >= ENOUGH and exact.mean() >= TOO_GOOD:
        yield Finding(
            probe="gold-copy",
            level="reject",
            what=f"{100 * exact.mean():.2f} % of the questions are answered exactly as in the gold",
            fix="hand in what the system answered without gold; if it did, ask the maintainers to look at it",
        )


def gold_order(case: Case) -> Iterator[Finding]:
    """Right answers that stand the other way round just where the gold does.

    Of every question, the two golds that come first by id are looked at.  Whatever order a system prefers, it goes
    with that of the gold by chance alone, unless it knows the gold, or the gold is in an order that anybody can make.
    """
    several = [q for q in case.grid.gold.questions if len(q.answers) > 1 and not q.ordered]
    if sum(_sorted([a.label for a in q.answers]) for q in several) >= KNOWN_ORDER * len(several):
        return
    asked = {q.id for q in several}
    turned: list[tuple[str, bool, bool]] = []  # is the gold the other way round, are the answers
    for row, question in enumerate(case.grid.gold.questions):
        if question.id not in asked or len(case.grid.answers[row]) < 2:
            continue
        credited = case.grid.match(row, HEADLINE).credited
        one, two = sorted(range(len(question.answers)), key=lambda gold: question.answers[gold].entity_id)[:2]
        if one in credited and two in credited:
            turned.append((question.id, one > two, credited.index(one) > credited.index(two)))
    both = [id for id, gold, answers in turned if gold and answers]
    golds, answers = sum(gold for _, gold, _ in turned), sum(answers for _, _, answers in turned)
    if both and _odds(len(both), golds, answers, len(turned)) < CHANCE:
        yield from _finding(
            "gold-order", "reject", both,
            f"{{}} have right answers in the order of the gold, of {answers} in that order at all",
            "order answers by what the system knows",
        )  # fmt: skip


def duplicate(case: Case) -> Iterator[Finding]:
    """The answers of another entry; where none is right nobody copied: models fall silent, or repeat an example."""
    matches = case.grid.matches(HEADLINE)
    for entry, other in case.others.items() if matches.right.any() else ():
        if other.digest == case.marks.digest:
            yield Finding(
                probe=DUPLICATE,
                level="reject",
                what=f"every answer is that of {entry}, which is on the board",
                fix="hand in another run; if only the form was wrong, sign both with one key and name that entry in "
                "`supersedes`, or ask the maintainers for `add --supersedes`",
            )
    wrong = (case.marks.marks > 0) & (matches.right == 0)
    if (n := int(wrong.sum())) < ENOUGH:
        return
    for entry, other in case.others.items():
        if other.digest == case.marks.digest or len(other.marks) != len(wrong):
            continue
        share = float((other.marks == case.marks.marks)[wrong].mean())
        if share >= COPIED:
            what = f"{100 * share:.1f} % of {n:,} wrong answers are those of {entry}"
            yield Finding(probe=DUPLICATE, level="remark", what=what)


def usage(case: Case) -> Iterator[Finding]:
    """What the answers cost has to be said."""
    bare = [p.id for p in case.given if not p.usage]
    if case.given and len(bare) == len(case.given):
        yield Finding(
            probe="usage",
            level="reject",
            what="no prediction says what it cost",
            fix="record calls, tokens and seconds by stage, as in the page on predictions",
        )
        return
    yield from _finding("usage", "remark", bare, "{} do not say what they cost")
    stages = [stage for p in case.given for stage in p.usage.values()]
    if case.asks_a_model and stages and not any(stage.calls for stage in stages):
        yield Finding(
            probe="usage",
            level="reject",
            what=f"{case.manifest.backbone} is named, but there is not a single call to it",
            fix="record the calls",
        )
    for what, ids in doubtful(case.given, asks_a_model=case.asks_a_model):
        yield from _finding("usage", "remark", ids, what)


def latency(case: Case) -> Iterator[Finding]:
    """Times in which nothing can be answered."""
    stages = [stage for p in case.given for stage in p.usage.values()]
    if stages and not any(stage.seconds or stage.cached for stage in stages):
        yield Finding(
            probe="latency", level="reject", what="no answer took any time", fix="record the seconds by stage"
        )
        return
    yield from _finding(
        "latency", "reject", [p.id for p in case.given if any(map(_impossible(case), p.usage.values()))],
        f"{{}} took less time than a reply takes ({QUICKEST:g} s a call, {FASTEST:,.0f} tokens a second), or a day",
        "record wall time; replies from the cache are counted as `cached`",
    )  # fmt: skip


def unknown_entities(case: Case) -> Iterator[Finding]:
    """Ids that the graph does not have; they are never right, and a reader should know."""
    graph = case.grid.gold.graph
    if graph is None:
        return
    named = {a.entity_id for p in case.given for a in p.answers if a.entity_id}
    strange = named.difference(graph.entities())
    ids = [p.id for p in case.given if any(a.entity_id in strange for a in p.answers)]
    yield from _finding("unknown-entities", "remark", ids, "{} name entities that the graph does not have")


PROBES: tuple[Probe, ...] = (
    oracle, sample, picked, partial, alias_dump, gold_copy, gold_order, duplicate, usage, latency, unknown_entities,
)  # fmt: skip
EXCUSED: Mapping[Standing, frozenset[str]] = {
    "ranked": frozenset(),
    "sample": frozenset({"sample"}),
    "reference": frozenset({"oracle", "sample", "gold-copy", "gold-order"}),
}
"""What an entry may be, as long as it does not stand among the ranked."""


def probe(case: Case, standing: Standing) -> tuple[Finding, ...]:
    """Everything found, refusals first; what the standing excuses is a remark."""
    found = [finding for look in PROBES for finding in look(case)]
    excused = EXCUSED[standing]
    found = [f.model_copy(update={"level": "remark", "fix": ""}) if f.probe in excused else f for f in found]
    return tuple(sorted(found, key=lambda finding: finding.level != "reject"))


def _finding(probe: str, level: Level, ids: Sequence[str], what: str, fix: str = "") -> Iterator[Finding]:
    """One finding about some questions, if there are any; `{}` in `what` is how many."""
    if ids:
        named = ", ".join(ids[:NAMED]) + ", ..." * (len(ids) > NAMED)
        number = f"{len(ids):,} question{'s' * (len(ids) > 1)} ({named})"
        yield Finding(probe=probe, level=level, what=what.format(number), fix=fix, ids=tuple(ids[:NAMED]))


def _impossible(case: Case) -> Callable[[StageUsage], bool]:
    def check(stage: StageUsage) -> bool:
        if stage.seconds > SLOWEST:
            return True
        asked = stage.calls - stage.cached if case.asks_a_model else 0
        too_quick = stage.seconds < QUICKEST * asked
        return asked > 0 and (too_quick or (not stage.cached and stage.tokens_out > FASTEST * stage.seconds))

    return check


def _sorted(texts: Sequence[str]) -> bool:
    return list(texts) == sorted(texts)


def _odds(both: int, golds: int, answers: int, n: int) -> float:
    """The chance that two independent traits, found `golds` and `answers` times in `n`, meet at least `both` times
    (Fisher's exact test, one-sided)."""
    ways = (
        math.comb(golds, k) * math.comb(n - golds, answers - k) for k in range(both, min(golds, answers) + 1)
    )
    return sum(ways) / math.comb(n, answers)
