"""A command in a process of its own, watched from outside: its wall time and the memory of all its processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM = (sys.executable, "-c", "from clwqa_bench.cli import main; main()")
PAUSE = 0.05  # seconds between two looks at the memory in use


@dataclass(frozen=True)
class Watched:
    """What a command wrote to stdout, its wall time in seconds, its peak memory in bytes."""

    said: str
    seconds: float
    peak: int


def watch(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Watched:
    """Run a command, with more of an environment; one that fails ends the benchmark with what it wrote."""
    started, peak = time.perf_counter(), 0
    with tempfile.TemporaryFile() as answer:
        process = subprocess.Popen(command, stdout=answer, env=os.environ | dict(environment or {}))
        while process.poll() is None:
            peak = max(peak, sum(map(resident, family(process.pid))))
            time.sleep(PAUSE)
        seconds = time.perf_counter() - started
        answer.seek(0)
        said = answer.read().decode()
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with code {process.returncode}\n{said}")
    return Watched(said, seconds, peak)


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


def busy() -> str:
    """How busy the machine is, to stand below the figures."""
    return (
        f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} before and during the runs counts against them"
    )
