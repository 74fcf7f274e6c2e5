"""Measure how long Python takes to import the package and to open a graph, each in fresh processes.

    python -m benchmarks import_time [GRAPH_DIRECTORY]

Every figure is the median of several runs.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

RUNS = 9
STATEMENTS = {
    "nothing (start of the interpreter)": "pass",
    "import clwqa_bench": "import clwqa_bench",
    "import clwqa_bench.cli": "import clwqa_bench.cli",
    "import clwqa_bench.kg.memory": "import clwqa_bench.kg.memory",
    "load the ontology from Turtle": "from clwqa_bench.ontology import Ontology; Ontology.load()",
}
OPEN = "from clwqa_bench.kg.memory import MemoryGraph; MemoryGraph.open({graph!r}).ontology.types"


def seconds(statement: str) -> float:
    """Median time of a process that runs one statement, by its own clock from start to end."""
    probe = f"import time; t = time.perf_counter(); exec({statement!r}); print(time.perf_counter() - t)"
    command = [sys.executable, "-c", probe]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(RUNS)]
    return statistics.median(map(float, runs))


def main() -> None:
    graph = sys.argv[1] if len(sys.argv) > 1 else "data/clwqa-100k/kg"
    statements = dict(STATEMENTS)
    if Path(graph).is_dir():
        statements["import and open a graph"] = OPEN.format(graph=graph)
    for name, statement in statements.items():
        print(f"{name:40} {seconds(statement) * 1000:7.1f} ms")


if __name__ == "__main__":
    main()
