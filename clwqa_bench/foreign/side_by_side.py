"""A result file scored twice: as its source's script does, and on the full list of questions with strict matching.

A bridge leads from the one count to the other: every row that only the source counts has its reason, and the
numbers add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clwqa_bench.errors import PredictionError
from clwqa_bench.foreign.gold import ForeignGold, read_gold
from clwqa_bench.foreign.joining import Joined, join
from clwqa_bench.foreign.native import READERS, Output
from clwqa_bench.foreign.original import REASONS, Original, original, reason
from clwqa_bench.foreign.results import Results, read_results
from clwqa_bench.matching import HEADLINE
from clwqa_bench.metrics import Metric, select
from clwqa_bench.scoring import LEVEL, RESAMPLES, Scored, ScoreTable, score

METRICS = ("headline", "E[Hits]@1", "Coverage")
JOINING = "joining"  # the step that is about rows and questions, not about matching
EXAMPLES = 3  # shown for every reason
SHOWN = 80  # characters of an output an example shows


@dataclass(frozen=True, slots=True)
class Example:
    """A row that counts on one side only."""

    line: int | None
    id: str
    output: str
    golds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the bridge: how many rows it takes away from the source's count (negative) or adds to it."""

    name: str
    meaning: str
    change: int
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Bridge:
    """From the rows the source counts as right to the questions that are right here: `right` + steps = `strict`.

    A question is right here if one of its answers is credited, whatever its rank, as in the sources.
    """

    right: int
    rows: int
    steps: tuple[Step, ...]
    strict: int
    questions: int
    without_row: int

    @property
    def shares(self) -> tuple[float, float, float]:
        """The source's share of its rows, the same rows with our matching, and our share of all questions."""
        ours = self.right + sum(step.change for step in self.steps if step.name != JOINING)
        return self.right / self.rows, ours / self.rows, self.strict / self.questions


@dataclass(frozen=True)
class SideBySide:
    """Both scores of one file.  `original` is None where the format has no script, `bridge` also where that crashes."""

    format: str
    original: Original | None
    scored: Scored
    bridge: Bridge | None
    notes: tuple[str, ...]

    @property
    def strict(self) -> ScoreTable:
        """Our table, on all questions that have gold."""
        return self.scored.table

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        theirs = self.original
        return {
            "schema_version": 1,
            "format": self.format,
            "legacy": theirs and _legacy(theirs),
            "strict": self.strict.as_dict(),
            "bridge": self.bridge and {**asdict(self.bridge), "shares": self.bridge.shares},
            "notes": self.notes,
        }


def side_by_side(
    results: str | Path,
    format: str,
    gold: str | Path | None = None,
    gold_format: str | None = None,
    *,
    metrics: Sequence[Metric] | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> SideBySide:
    """Score a result file as its source does and strictly, by `metrics` or those that sources have a counterpart of.

    RoG and GCR files may do without a gold file.  Raises PredictionError for files that cannot be read or joined.
    """
    read = read_results(results, format)
    asked = _gold(read, gold, gold_format)
    joined = join(read, asked)
    scored = score(
        joined.grid,
        select(METRICS) if metrics is None else metrics,
        title=f"{read.path.name} ({format})",
        resamples=resamples,
        level=level,
    )
    theirs = original(read, asked)
    bridge = _bridge(read, joined, theirs) if theirs and theirs.total else None
    return SideBySide(format, theirs, scored, bridge, tuple(_notes(read, asked, joined, gold is None)))


def _gold(results: Results, gold: str | Path | None, gold_format: str | None) -> ForeignGold:
    if gold is None:
        return results.own_gold()
    if gold_format is None:
        raise PredictionError(
            "the format of the gold is not given",
            fix="add --gold-format webqsp, cwq, grailqa, metaqa or jsonl",
            file=gold,
        )
    return read_gold(gold, gold_format)


def _bridge(results: Results, joined: Joined, theirs: Original) -> Bridge:
    gold = joined.grid.gold.questions
    credited = joined.grid.matches(HEADLINE).right > 0
    right = {question.id: bool(credited[place]) for place, question in enumerate(gold)}
    hits = {place: bool(score.hit) for place, score in zip(theirs.places, theirs.scores, strict=True)}
    notes = dict(zip(theirs.places, theirs.scores, strict=True))
    found: dict[str, list[int]] = {name: [] for name in (*REASONS, "ours")}
    paired = {p: joined.owners[p][0].id for p in hits if [q.id in right for q in joined.owners[p]] == [True]}
    for place, id in paired.items():
        if hits[place] and not right[id]:
            found[reason(results.format, notes[place])].append(place)
        elif right[id] and not hits[place]:
            found["ours"].append(place)
    unpaired = sum(right[id] for id in right.keys() - set(paired.values()))
    unpaired -= sum(hits[place] for place in hits.keys() - paired.keys())
    meanings = {**REASONS, "ours": "right here only"}
    steps = [
        Step(
            name,
            meaning,
            len(found[name]) * (1 if name == "ours" else -1),
            _examples(results, joined, found[name]),
        )
        for name, meaning in meanings.items()
    ]
    steps.append(Step(JOINING, "rows that are repeated, answer several questions, or have no gold", unpaired))
    answered = {question.id for owners in joined.owners for question in owners}
    return Bridge(
        right=sum(hits.values()),
        rows=len(hits),
        steps=tuple(step for step in steps if step.change),
        strict=sum(right.values()),
        questions=len(gold),
        without_row=len(right.keys() - answered),
    )


def _examples(results: Results, joined: Joined, places: Sequence[int]) -> tuple[Example, ...]:
    return tuple(
        Example(
            line=results.rows[place].item.line,
            id=joined.owners[place][0].id,
            output=_short(
                READERS[results.format](results.rows[place].output).texts or results.rows[place].output
            ),
            golds=tuple(answer.label for answer in joined.owners[place][0].answers[:EXAMPLES]),
        )
        for place in places[:EXAMPLES]
    )


def _short(output: Output) -> str:
    text = output if isinstance(output, str) else " / ".join(output[:EXAMPLES])
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _legacy(theirs: Original) -> Mapping[str, Any]:
    total = theirs.total
    return {
        "source": theirs.source,
        "values": total and dict(total.values),
        "n": total and total.n,
        "denominator": total and total.denominator,
        "crash": theirs.crash,
    }


def _notes(results: Results, gold: ForeignGold, joined: Joined, own_gold: bool) -> Iterator[str]:
    """What a reader has to know before believing either number."""
    if own_gold:
        yield "no gold file: only questions that have a row can be seen, so missing ones are not counted as 0"
    if results.torn is not None:
        yield f"line {results.torn} is cut off; its question counts as missing"
    if gold.left_out:
        yield f"questions without gold answers, left out of ours: {some(gold.left_out)}"
    if joined.shared:
        yield f"texts that several questions of the gold share: {some(joined.shared)}"
    if joined.repeated:
        yield f"rows that repeat an earlier one to the letter, counted once in ours: {joined.repeated}"
    if results.renamed:
        yield f"the field {results.renamed!r} is read as 'results', which is the one ToG's script looks for"
    if results.format == "pog":
        if results.braces > len(results.rows) / 2:
            yield f"{results.braces} outputs hold braces but no JSON of PoG's; for a file of ToG's use --format tog"
        yield "PoG's script also reads alias files of its own, which are not here; it may accept a little more"


def some(names: Sequence[str]) -> str:
    """How many, and the first few by name."""
    more = ", …" if len(names) > EXAMPLES else ""
    return f"{len(names):,} ({', '.join(names[:EXAMPLES])}{more})"
