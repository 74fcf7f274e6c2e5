"""A bundle as records: the run, the form, the stored scores, the traces, and who signed.  All of it is only read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import FiniteFloat

from clwqa_bench.predictions import RunManifest, TraceEvent
from clwqa_bench.records import Record
from clwqa_bench.runs import ITEMS, MANIFEST, RETRIES, Run, read_run
from clwqa_leaderboard import bundle as bundles
from clwqa_leaderboard.bundle import PACK, SCORES, SIGNATURE, SUMS, THIN, TRACES, Bundle
from clwqa_leaderboard.disclosure import DISCLOSURE, Disclosure, parse_disclosure
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.parsing import LESS, at_most, bounded_lines, parsed
from clwqa_leaderboard.signing import signer
from clwqa_leaderboard.thin import ANSWERS, COUNTED, DECIDE, read_thin
from clwqa_leaderboard.usage import refuse_absurd
from clwqa_leaderboard.words import safe_name, unmarked

DIGITS = 12  # of the digest, in an id
EVENTS, ALL_EVENTS = 300, 1_500_000  # of one trace, of all: ten times PoG's
BITS = 63  # of a whole number, its sign left out: what every program that reads JSON can hold


class Claims(Record):
    """Stored scores: the value of every metric on all questions, by its canonical name.  Believed by nobody."""

    schema_version: Literal[1] = 1
    suite: str
    values: Mapping[str, FiniteFloat]


class Traced(Record):
    """The trace of one prediction; it lies beside the predictions because no score is read from it."""

    id: str
    trace: tuple[TraceEvent, ...]


@dataclass(frozen=True)
class Submission:
    """What was handed in.  `signed_by` is the fingerprint of a key, "" without a signature.

    The predictions of a thin bundle are references until its run is put `on` a gold that has the graph.
    """

    bundle: Bundle
    run: Run
    manifest: RunManifest
    disclosure: Disclosure
    claims: Claims | None
    signed_by: str

    @property
    def id(self) -> str:
        """Name of the entry it makes: SYSTEM@DIGEST."""
        return entry_id(self.manifest, self.bundle.digest)

    def traces(self) -> dict[str, tuple[TraceEvent, ...]]:
        """Traces by question; none if the bundle has none.  Raises SubmissionError for one that is not the run's."""
        path = self.bundle.folder / TRACES
        if not path.exists():
            return {}
        known = {prediction.id for prediction in self.run.predictions}
        found: dict[str, tuple[TraceEvent, ...]] = {}
        events = 0
        for number, line, whole in bounded_lines(path):
            traced = parsed(Traced, line, path, number)
            if not whole or traced.id in found or traced.id not in known:
                what = (
                    "the line is cut off" if not whole else f"a trace of {traced.id} that has no prediction"
                )
                what = f"a second trace of {traced.id}" if traced.id in found else what
                raise SubmissionError(what, fix=PACK, file=path, line=number, field="id")
            events += len(traced.trace)
            _check_trace(traced.trace, events, path, number)
            found[traced.id] = traced.trace
        return found


@contextmanager
def opened(path: str | Path) -> Iterator[Submission]:
    """Unpack and read a bundle; what it is unpacked to is removed afterwards.

    Raises SubmissionError or PredictionError that names file, line and field of what is wrong.
    """
    with bundles.opened(path) as bundle:
        yield _read(bundle)


def entry_id(manifest: RunManifest, digest: str) -> str:
    """SYSTEM-VARIANT@DIGEST, fit for a file name."""
    name = f"{manifest.system}-{manifest.variant}" if manifest.variant else manifest.system
    kept = "".join(sign if sign.isalnum() or sign in "._+=,-" else "-" for sign in name)
    return f"{kept[:80]}@{digest[:DIGITS]}"


def check_names(manifest: RunManifest, place: Path) -> None:
    """Raises SubmissionError unless a board can print the names in `run.json` and write down its numbers."""
    checks = {"system": safe_name, "variant": safe_name, "backbone": unmarked, "code_version": unmarked}
    for field, check in checks.items():
        value = getattr(manifest, field)
        try:
            if value or field == "system":
                check(value)
            if len(value) > 120:
                raise ValueError(f"{len(value)} signs, 120 are enough")
        except ValueError as error:
            raise SubmissionError(
                str(error),
                fix="rename it and run again; the title in the disclosure form may be in Chinese",
                file=place,
                field=field,
            ) from None
    for field, value in (("seed", manifest.seed), ("config", manifest.config)):
        if not all(map(_fits, _numbers(value))):
            raise SubmissionError(
                f"a number that is not finite, or has more than {BITS + 1} bits",
                fix="run again with another one",
                file=place,
                field=field,
            )


def _fits(number: int | float) -> bool:
    return math.isfinite(number) if isinstance(number, float) else abs(number) >> BITS == 0


def _numbers(value: Any) -> Iterator[int | float]:
    """All numbers in a JSON value."""
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(inner)


def _read(bundle: Bundle) -> Submission:
    folder = bundle.folder
    disclosure = parse_disclosure(bundle.read(DISCLOSURE) or b"", folder / DISCLOSURE)
    claims = bundle.read(SCORES)
    signature = bundle.read(SIGNATURE)
    signed_by = signer(bundle.read(SUMS) or b"", signature, folder / SIGNATURE) if signature else ""
    thin = (folder / THIN).exists()
    for name in (THIN if thin else ITEMS, RETRIES):
        if (path := folder / name).exists():
            _check_lines(path)
    run = read_thin(folder) if thin else _whole_run(folder)
    assert run.manifest is not None  # a bundle has run.json, or it was refused
    check_names(run.manifest, folder / MANIFEST)
    return Submission(
        bundle=bundle,
        run=run,
        manifest=run.manifest,
        disclosure=disclosure,
        claims=None if claims is None else parsed(Claims, claims, folder / SCORES),
        signed_by=signed_by,
    )


def _whole_run(folder: Path) -> Run:
    run = read_run(folder)
    for number, prediction in zip(run.lines, run.predictions, strict=True):
        if prediction.trace:
            raise SubmissionError(
                f"traces belong in {TRACES}", fix=PACK, file=folder / ITEMS, line=number, field="trace"
            )
        at_most(ANSWERS, len(prediction.answers), "answers", run.items, number, "answers", DECIDE)
        refuse_absurd(prediction.usage, run.items, number)
    return run


def _check_trace(trace: tuple[TraceEvent, ...], events: int, path: Path, number: int) -> None:
    """Raises SubmissionError for more steps than a system takes; `events` are those of all traces up to this."""
    less = LESS[TRACES]
    at_most(EVENTS, len(trace), "steps", path, number, "trace", less)
    at_most(ALL_EVENTS, events, "steps up to here", path, number, "trace", less)
    for event in trace:
        if not 0 <= (event.total or 0) <= COUNTED:
            raise SubmissionError(
                f"it is below 0, or above {COUNTED:,}", fix=less, file=path, line=number, field="trace.total"
            )


def _check_lines(path: Path) -> None:
    """Raises SubmissionError for a line or a file that holds too much, or for a last line that is cut off."""
    for number, _, whole in bounded_lines(path):
        if not whole:
            raise SubmissionError(
                "the last line is cut off", fix="go on with the run until it is complete, and pack again",
                file=path, line=number,
            )  # fmt: skip
