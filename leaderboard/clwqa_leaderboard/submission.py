"""A bundle as records: the run, the form, the stored scores, the traces, and who signed.  All of it is only read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import FiniteFloat

from clwqa_bench.predictions import RunManifest, TraceEvent
from clwqa_bench.records import Record
from clwqa_bench.runs import ITEMS, MANIFEST, Run, numbered_lines, read_run
from clwqa_leaderboard import bundle as bundles
from clwqa_leaderboard.bundle import PACK, SCORES, SIGNATURE, SUMS, THIN, TRACES, Bundle
from clwqa_leaderboard.disclosure import DISCLOSURE, Disclosure, parse_disclosure
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.parsing import parsed
from clwqa_leaderboard.signing import signer
from clwqa_leaderboard.thin import read_thin
from clwqa_leaderboard.words import safe_name, unmarked

LONGEST = 256 << 10  # bytes of one prediction, its trace left out
DIGITS = 12  # of the digest, in an id


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
        for number, line, whole in numbered_lines(path):
            traced = parsed(Traced, line, path, number)
            if not whole or traced.id in found or traced.id not in known:
                what = (
                    "the line is cut off" if not whole else f"a trace of {traced.id} that has no prediction"
                )
                what = f"a second trace of {traced.id}" if traced.id in found else what
                raise SubmissionError(what, fix=PACK, file=path, line=number, field="id")
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
    """Raises SubmissionError unless system, variant and backbone are names that a board can print."""
    checks = {"system": safe_name, "variant": safe_name, "backbone": unmarked}
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


def _read(bundle: Bundle) -> Submission:
    folder = bundle.folder
    disclosure = parse_disclosure(bundle.read(DISCLOSURE) or b"", folder / DISCLOSURE)
    claims = bundle.read(SCORES)
    signature = bundle.read(SIGNATURE)
    signed_by = signer(bundle.read(SUMS) or b"", signature, folder / SIGNATURE) if signature else ""
    thin = (folder / THIN).exists()
    _check_lines(folder / (THIN if thin else ITEMS))
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
    return run


def _check_lines(path: Path) -> None:
    """Raises SubmissionError for a prediction that is too long, or for a last line that is cut off."""
    for number, line, whole in numbered_lines(path):
        if len(line) > LONGEST:
            raise SubmissionError(
                f"the prediction has {len(line) / 1024:,.0f} kB, a board takes {LONGEST >> 10}",
                fix="keep as evidence what the model was shown, not what was looked at",
                file=path,
                line=number,
            )
        if not whole:
            raise SubmissionError(
                "the last line is cut off", fix="go on with the run until it is complete, and pack again",
                file=path, line=number,
            )  # fmt: skip
