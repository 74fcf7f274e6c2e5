"""Measure time and memory of a whole build and of one that has nothing to do.

    python -m benchmarks build [--workers 2] [--profile full [--keep docs/results/full-profile.json]]

Builds into a temporary folder, each time in a fresh process; prints a table and keeps nothing, but for the figures of
time, memory and content that `--keep` writes for a page of the docs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.watch import PROGRAM, busy, watch


@dataclass(frozen=True)
class Run:
    """One build: wall time in seconds, in all and of each stage that ran; peak memory in bytes."""

    seconds: float
    stages: dict[str, float]
    peak: int


def measure(out: Path, workers: int, profile: str) -> Run:
    """Build into ``out``; a build that fails ends the benchmark with its message."""
    options = ("--profile", profile, "--out", str(out), "--workers", str(workers))
    done = watch([*PROGRAM, "build", *options, "--json"])
    return Run(done.seconds, json.loads(done.said)["seconds"], done.peak)


def table(fresh: Run, again: Run) -> Table:
    """Both runs side by side."""
    rows = Table("", "fresh build", "unchanged rerun", box=None)
    for column in rows.columns[1:]:
        column.justify = "right"
    for name, seconds in fresh.stages.items():
        rows.add_row(name, f"{seconds:.1f} s", f"{again.stages.get(name, 0):.1f} s")
    rest = [run.seconds - sum(run.stages.values()) for run in (fresh, again)]
    rows.add_row("start, sources, putting in place", *(f"{seconds:.1f} s" for seconds in rest))
    rows.add_row("total", *(f"{run.seconds:.1f} s" for run in (fresh, again)), style="bold")
    rows.add_row("peak memory of all its processes", *(f"{run.peak / 1e6:,.0f} MB" for run in (fresh, again)))
    return rows


def kept(out: Path, fresh: Run) -> dict[str, object]:
    """What a page tells of a profile that the tests cannot build: JSON."""
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    statistics = json.loads((out / "statistics.json").read_text(encoding="utf-8"))
    return {"run": asdict(fresh), "digests": manifest["content"], "statistics": statistics}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--profile", choices=("core", "full"), default="core", help="(default: %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the figures there, as JSON")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "dataset"
        fresh, again = (measure(out, asked.workers, asked.profile) for _ in range(2))
        if asked.keep:
            asked.keep.write_text(
                json.dumps(kept(out, fresh), ensure_ascii=False, indent=1), encoding="utf-8"
            )
    Console(soft_wrap=True).print(table(fresh, again), busy())


if __name__ == "__main__":
    main()
