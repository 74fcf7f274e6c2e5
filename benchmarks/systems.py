"""Measure systems without a language model: what is built before the first question, and what a question takes.

    python -m benchmarks systems                       # every installed system on 200 questions of data/clwqa-100k
    python -m benchmarks systems rag topk-triples --set top_k=15
    python -m benchmarks systems graphrag --sample 0 --split validation

Each system runs as a user runs it, with `clwqa-bench run SYSTEM --concurrency 1`, in a cache of its own: twice on one
question, then on the sample.  At first there is nothing in the cache but the linker, which most systems share and the
first row is about.  What the first run took longer to get ready than the second is the building, what it left in the
cache the size.  Memory is the peak of the process, with the pages it has mapped.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmarks.watch import PROGRAM, Watched, busy, watch
from clwqa_bench.registry import SYSTEMS
from clwqa_bench.runs import read_run

COLUMNS = (
    "system", "built in, s", "on disk, MB", "memory for it, MB", "ready in, s", "memory, MB", "ms a question",
    "calls a question", "most calls",
)  # fmt: skip
ALONE = ("--concurrency", "1", "--no-cache")
LEARN = """
import sys, time
from pathlib import Path
from benchmarks.ceaf import learn
from clwqa_bench.dataset import Dataset
dataset, began = Dataset.open(Path(sys.argv[1]), verify=False), time.perf_counter()
learn(dataset)
print(time.perf_counter() - began)
"""


@dataclass(frozen=True)
class Asked:
    """One run: seconds before the first question, seconds and calls of each question, peak in bytes."""

    ready: float
    seconds: Sequence[float]
    calls: Sequence[int]
    peak: int


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks systems",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("system", nargs="*", help="only these")
    parser.add_argument("--dataset", default="data/clwqa-100k", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument("--sample", default=200, type=int, help="questions, 0 for all (default: %(default)s)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="of every system named"
    )
    asked = parser.parse_args()
    settings = [option for text in asked.set for option in ("--set", text)]
    questions = ["--dataset", str(asked.dataset), "--split", asked.split]
    row(*COLUMNS)
    row("---", *["--:"] * (len(COLUMNS) - 1))
    with tempfile.TemporaryDirectory() as folder:
        linker = Path(folder) / "linker"
        learned = in_cache(linker, [sys.executable, "-c", LEARN, str(asked.dataset)])
        row("(linker)", f"{float(learned.said):.1f}", mega(size(linker)), mega(learned.peak), *[""] * 5)
        for name in asked.system or SYSTEMS.names():
            cache = shutil.copytree(linker, Path(folder) / name)
            sample = ["--sample", str(asked.sample)] if asked.sample else []
            first, second = (run(name, cache, [*questions, *settings, "--sample", "1"]) for _ in range(2))
            third = run(name, cache, [*questions, *settings, *sample])
            row(name, *figures(first, second, third, size(cache) - size(linker)))
            shutil.rmtree(cache)
    print(busy())


def run(name: str, cache: Path, options: Sequence[str]) -> Asked:
    """A run, whose folder is thrown away."""
    with tempfile.TemporaryDirectory() as out:
        command = [*PROGRAM, "run", name, *ALONE, "--json", "--out", f"{out}/run", *options]
        done = in_cache(cache, command)
        used = [item.usage.values() for item in read_run(Path(out) / "run").predictions]
    seconds = [sum(stage.seconds for stage in stages) for stages in used]
    calls = [sum(stage.calls for stage in stages) for stages in used]
    return Asked(json.loads(done.said)["seconds"] - sum(seconds), seconds, calls, done.peak)


def in_cache(cache: Path, command: Sequence[str]) -> Watched:
    """A command whose user's cache is that folder."""
    return watch(command, {"XDG_CACHE_HOME": str(cache)})


def size(cache: Path) -> int:
    """Bytes of what was derived from the dataset."""
    return sum(file.stat().st_size for file in cache.glob("clwqa-bench/derived/**/*") if file.is_file())


def row(*cells: str) -> None:
    """Print a row of a Markdown table as soon as it is known."""
    print(f"| {' | '.join(cells)} |", flush=True)


def figures(first: Asked, second: Asked, third: Asked, kept: int) -> list[str]:
    """The cells of a system; what built nothing has none for it."""
    building = [f"{first.ready - second.ready:.1f}", mega(kept), mega(first.peak)] if kept else ["", "", ""]
    each = [f"{mean(third.seconds) * 1e3:.1f}", f"{mean(third.calls):.2f}", str(max(third.calls))]
    return [*building, f"{second.ready:.1f}", mega(third.peak), *each]


def mega(number: int) -> str:
    """Bytes in MB."""
    return f"{number / 1e6:,.1f}" if number < 1e7 else f"{number / 1e6:,.0f}"


if __name__ == "__main__":
    main()
