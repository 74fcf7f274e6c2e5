"""Measure the embedded graph store against networkx on the same graph, the same queries and the same answers.

    python -m benchmarks graph_store                       # data/clwqa-100k/kg
    python -m benchmarks graph_store data/my-graph/kg
    python -m benchmarks graph_store --synthetic           # 225,000 entities of the same shape, no data needed

Opening and memory are measured in a fresh process.  Every answer of one engine is compared with the other's.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Step

OPEN_PROBE = """
import json, os, sys, time
import numpy, pyarrow
from clwqa_bench.kg.memory import MemoryGraph
page = os.sysconf("SC_PAGE_SIZE")
rss = lambda: int(open("/proc/self/statm", encoding="ascii").read().split()[1]) * page / 1e6
before, start = rss(), time.perf_counter()
graph = MemoryGraph.open(sys.argv[1])
opened, after_open = time.perf_counter() - start, rss() - before
first = graph.lookup("史记")
for node in list(graph.entities())[:1]:
    graph.neighbours(node)
print(json.dumps({"open_s": opened, "first_answer_s": time.perf_counter() - start,
                  "rss_open_mb": after_open, "rss_first_answer_mb": rss() - before}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", nargs="?", default="data/clwqa-100k/kg", type=Path)
    parser.add_argument("--synthetic", action="store_true", help="make a graph instead of reading one")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = arguments.graph
        if arguments.synthetic:
            directory = Path(scratch) / "kg"
            started = time.perf_counter()
            write_index(*synthetic_tables(arguments.seed), directory)
            print(f"written in {time.perf_counter() - started:.1f} s", file=sys.stderr)
        figures = measure(directory, random.Random(arguments.seed), arguments.queries)
    if arguments.json:
        print(json.dumps(figures, ensure_ascii=False, indent=2))
    else:
        for name, value in figures.items():
            print(f"{name:45} {value}")


def measure(directory: Path, rng: random.Random, queries: int) -> dict[str, Any]:
    """All figures of one graph directory."""
    probe = [sys.executable, "-c", OPEN_PROBE, str(directory)]
    opened = json.loads(subprocess.run(probe, check=True, capture_output=True, text=True).stdout)
    graph = MemoryGraph.open(directory)
    other = Networkx(graph)
    figures: dict[str, Any] = {"entities": len(graph), "triples": sum(1 for _ in graph.triples())}
    figures |= {name: round(value, 4) for name, value in opened.items()}

    # Ends of random triples: busy nodes are asked about more often, as in questions.
    triples = rng.sample(list(graph.triples()), queries)
    compare(
        figures,
        "neighbours of a node by relation",
        [(rng.choice((triple.head, triple.tail)), triple.relation) for triple in triples],
        lambda query: graph.neighbours(query[0], query[1], "both").items,
        lambda query: other.neighbours(*query),
    )
    for name, typed in {"typed 3-hop, forwards": chains, "typed 3-hop, any way": wanderings}.items():
        compare(
            figures,
            name,
            typed(graph, rng, queries // 2),
            lambda query: [path.nodes for path in graph.follow([query[0]], query[1])],
            lambda query: other.follow(*query),
        )
    return figures


def compare(
    figures: dict[str, Any],
    name: str,
    queries: Sequence[Any],
    ours: Callable[[Any], Any],
    theirs: Callable[[Any], Any],
) -> None:
    """Time both engines on every query and require equal answers."""
    times = np.zeros((2, len(queries)))
    answers = 0
    for place, query in enumerate(queries):
        results = []
        for engine, ask in enumerate((ours, theirs)):
            start = time.perf_counter()
            results.append(ask(query))
            times[engine, place] = time.perf_counter() - start
        if sorted(results[0]) != sorted(results[1]):  # both put parallel edges in an order of their own
            sys.exit(f"{name}: different answers to {query}")
        answers += len(results[0])
    p50, p99 = np.percentile(times, 50, axis=1) * 1e6, np.percentile(times, 99, axis=1) * 1e6
    figures |= {
        f"{name}: answers per query": round(answers / max(len(queries), 1), 1),
        f"{name}: p50 / p99 us": f"{p50[0]:.1f} / {p99[0]:.1f}",
        f"{name}: networkx p50 / p99 us": f"{p50[1]:.1f} / {p99[1]:.1f}",
        f"{name}: times faster p50 / p99 / sum": (
            f"{p50[1] / p50[0]:.1f} / {p99[1] / p99[0]:.1f} / {times[1].sum() / times[0].sum():.1f}"
        ),
    }


def chains(graph: MemoryGraph, rng: random.Random, count: int) -> list[tuple[str, list[Step]]]:
    """Word -> unit -> work -> person and the like: types only, edges walked forwards."""
    found = [walk for walk in (_walk(graph, rng, "out") for _ in range(count * 50)) if walk is not None]
    return found[:count]


def wanderings(graph: MemoryGraph, rng: random.Random, count: int) -> list[tuple[str, list[Step]]]:
    """Types along a random walk over edges in either direction."""
    return [walk for walk in (_walk(graph, rng, "both") for _ in range(count)) if walk is not None]


def _walk(graph: MemoryGraph, rng: random.Random, direction: Any) -> tuple[str, list[Step]] | None:
    start = here = rng.choice(graph.ids)
    if direction == "out" and not graph.ontology.is_a(graph.types(start)[0], "CultureLoadedWord"):
        return None
    seen, steps = {start}, []
    for _ in range(3):
        onward = [node for node in graph.neighbours(here, None, direction) if node not in seen]
        if not onward:
            return None
        here = rng.choice(onward)
        seen.add(here)
        steps.append((None, direction, graph.types(here)[0]))
    return start, steps


class Networkx:
    """The same questions asked of a MultiDiGraph, in the straightforward way."""

    def __init__(self, graph: MemoryGraph) -> None:
        import networkx

        self.graph: Any = networkx.MultiDiGraph()
        for node in graph.entities():
            self.graph.add_node(node, types=frozenset(graph.types(node)))
        for triple in graph.triples():
            self.graph.add_edge(triple.head, triple.tail, key=triple.relation)
        self.rank = {node: place for place, node in enumerate(graph.ids)}

    def neighbours(self, node: str, relation: str) -> list[str]:
        after = [other for other, keys in self.graph.succ[node].items() if relation in keys]
        before = [other for other, keys in self.graph.pred[node].items() if relation in keys]
        return sorted({*after, *before}, key=self.rank.__getitem__)

    def follow(self, start: str, steps: list[Step]) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []

        def grow(nodes: tuple[str, ...]) -> None:
            if len(nodes) > len(steps):
                found.append(nodes)
                return
            _, direction, wanted = steps[len(nodes) - 1]
            sides = [self.graph.succ] + ([self.graph.pred] if direction == "both" else [])
            for side in sides:
                for other, keys in side[nodes[-1]].items():
                    if other not in nodes and wanted in self.graph.nodes[other]["types"]:
                        for _ in keys:
                            grow((*nodes, other))

        grow((start,))
        return sorted(found, key=lambda nodes: [self.rank[node] for node in nodes])


def synthetic_tables(seed: int, words: int = 50_000) -> tuple[pa.Table, pa.Table]:
    """Tables of the real graph's size and shape: one explanation and citation per word, a few heavy books."""
    rng = np.random.default_rng(seed)
    # a made-up vocabulary of common code points; names need only have the right lengths and be distinct
    letters = [chr(code) for code in range(0x4E00, 0x4E00 + 3000)]

    def name(kind: str, number: int, length: int) -> str:
        local = random.Random(f"{seed}/{kind}/{number}")
        return "".join(local.choices(letters, k=length))

    sizes = {"Idiom": words, "Explanation": words, "Source": words, "Quotation": words - 5000, "Chapter": 12_000,
             "Book": 6_000, "Person": 11_000, "Dynasty": 60, "SubCategory": 8}  # fmt: skip
    length = {"Explanation": 24, "Quotation": 20, "Source": 10, "Dynasty": 2, "Person": 3}
    entities = [(f"{k}:{i}", name(k, i, length.get(k, 4)), k) for k, n in sizes.items() for i in range(n)]

    def skewed(count: int, size: int) -> list[int]:
        return (rng.random(count) ** 4 * size).astype(int).tolist()

    triples: set[tuple[str, str, str]] = set()

    def link(head: str, relation: str, tail: str, count: int) -> None:
        tails = skewed(count, sizes[tail])
        triples.update((f"{head}:{i}", relation, f"{tail}:{t}") for i, t in enumerate(tails))

    for i in range(words):
        triples |= {(f"Idiom:{i}", "hasExplanation", f"Explanation:{i}"),
                    (f"Idiom:{i}", "hasCitation", f"Source:{i}")}  # fmt: skip
    link("Idiom", "hasQuotation", "Quotation", 45_000)
    link("Source", "citesWork", "Chapter", 50_000)
    link("Idiom", "hasSource", "Chapter", 50_000)
    link("Quotation", "inContentUnit", "Chapter", 45_000)
    link("Chapter", "partOf", "Book", 12_000)
    link("Book", "authoredBy", "Person", 6_000)
    link("Chapter", "authoredBy", "Person", 9_000)
    link("Person", "livedIn", "Dynasty", 11_000)
    link("Idiom", "belongsToCategory", "SubCategory", 40_000)
    link("Idiom", "seeAlso", "Idiom", 40_000)
    ids, labels, types = zip(*entities, strict=True)
    heads, relations, tails = zip(*sorted(triples), strict=True)
    return (
        pa.table({"id": ids, "label": labels, "type": types}),
        pa.table({"head": heads, "relation": relations, "tail": tails}),
    )


if __name__ == "__main__":
    main()
