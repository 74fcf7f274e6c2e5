"""Measure time and memory of a whole build and of one that has nothing to do.

    python -m benchmarks build [--workers 2] [--profile full [--keep docs/results/full-profile.json]]

Builds into a temporary folder, each time in a fresh process; prints a table and keeps nothing, but for the figures of
time, memory and content that `--keep` writes for a page of the docs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

PROGRAM = [sys.executable, "-c", "from clwqa_bench.cli import main; main()"]
PAUSE = 0.05  # seconds between two looks at the memory in use


@dataclass(frozen=True)
class Run:
    """One build: wall time in seconds, in all and of each stage that ran; peak memory in bytes."""

    seconds: float
    stages: dict[str, float]
    peak: int


def measure(out: Path, workers: int, profile: str) -> Run:
    """Build into ``out``; a build that fails ends the benchmark with its message."""
    options = ("--profile", profile, "--out", str(out), "--workers", str(workers))
    command = [*PROGRAM, "build", *options, "--json"]
    started, peak = time.perf_counter(), 0
    with tempfile.TemporaryFile() as answer:
        process = subprocess.Popen(command, stdout=answer)
        while process.poll() is None:
            peak = max(peak, sum(map(resident, family(process.pid))))
            time.sleep(PAUSE)
        seconds = time.perf_counter() - started
        answer.seek(0)
        said = answer.read().decode()
    if process.returncode:
        sys.exit(said)
    return Run(seconds, json.loads(said)["seconds"], peak)


def family(pid: int) -> Iterator[int]:
    """A process and all that descend from it (Linux)."""
    yield pid
    try:
        children = [
            c
            for t in Path(f"/proc/{pid}/task").iterdir()
            for c in (t / "children").read_text(encoding="ascii").split()
        ]
    except OSError:  # it has ended
        return
    for child in children:
        yield from family(int(child))


def resident(pid: int) -> int:
    """Bytes of a process in memory; pages shared with others count in part, so that sums are true."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:  # it has ended
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


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
    load = (
        f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} before and during the runs counts against them"
    )
    Console(soft_wrap=True).print(table(fresh, again), load)


if __name__ == "__main__":
    main()
