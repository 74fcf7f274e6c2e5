"""Measure graph servers against the embedded store: the same graph, the same questions, the same answers.

    python -m benchmarks stores                                  # data/clwqa-100k/kg
    python -m benchmarks stores data/my-graph/kg --queries 50
    python -m benchmarks stores --stores bolt --uri bolt://root@127.0.0.1:7687/clwqa    # one that is loaded already

Bolt is a real server on loopback (ArcadeDB out of its wheel), "oxigraph" is pyoxigraph on disk in this process, and
"endpoint" the same over HTTP.  Every answer is compared with the embedded store's; a question that takes the longest
allowed time for its kind ends that kind, and the figures say how many were asked.  Last comes the command `validate`,
which executes 2,000 stored gold queries of the dataset; it is left out if the graph is not that of a dataset.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.graph_store import chains
from benchmarks.watch import PROGRAM, busy, watch
from clwqa_bench.kg.bolt.connection import Address, Connection
from clwqa_bench.kg.bolt.load import Source, load
from clwqa_bench.kg.bolt.store import BoltGraph
from clwqa_bench.kg.export import export
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.kg.sparql.load import fill
from clwqa_bench.kg.stores import open_store
from tests.bolt_server import PASSWORD, USER, BoltServer
from tests.sparql_server import endpoint

STORES = ("bolt", "oxigraph", "endpoint")
SECONDS = 60.0  # for one kind of question in one store
NEAR = 200  # nodes a neighbourhood is cut to

Question = Callable[[GraphStore], Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", nargs="?", default="data/clwqa-100k/kg", type=Path)
    parser.add_argument("--queries", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--stores", default=",".join(STORES), help="any of bolt, oxigraph, endpoint")
    parser.add_argument("--uri", help="a Bolt server the graph is loaded into already")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    mine = MemoryGraph.open(arguments.graph)
    kinds = questions(mine, random.Random(arguments.seed), arguments.queries)
    base = {kind: ask(mine, asked) for kind, asked in kinds.items()}
    figures: dict[str, Any] = {"embedded": {k: told(times) for k, (times, _) in base.items()}}
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.stores.split(","):
            with opened(name, arguments.graph, Path(scratch) / name, arguments.uri) as (
                store,
                address,
                loaded,
            ):
                figures[name] = loaded | {
                    kind: compared(kind, store, asked, *base[kind]) for kind, asked in kinds.items()
                }
                if (arguments.graph.parent / "manifest.json").is_file():
                    figures[name] |= {"gold queries s": gold(arguments.graph.parent, address)}
            show(name, figures[name], arguments.json)
    if arguments.json:
        print(json.dumps(figures, ensure_ascii=False, indent=2))
    else:
        show("embedded", figures["embedded"], False)
        print(busy())


def questions(graph: MemoryGraph, rng: random.Random, count: int) -> dict[str, list[Question]]:
    """Questions of each kind.  Ends of random triples: busy nodes are asked about more often, as in real questions."""
    triples = rng.sample(list(graph.triples()), count)
    ends = [(rng.choice((triple.head, triple.tail)), triple.relation) for triple in triples]
    words = [rng.choice(graph.ids) for _ in range(count)]
    return {
        "neighbours by relation": [lambda s, q=q: s.neighbours(q[0], q[1], "both") for q in ends],
        "typed 3-hop paths": [lambda s, q=q: s.follow([q[0]], q[1]) for q in chains(graph, rng, count)],
        "label lookup": [lambda s, w=w: s.lookup(graph.label(w)) for w in words],
        "2-hop neighbourhood": [lambda s, w=w: s.khop([w], 2, limit=NEAR) for w in words],
        "shortest path": [
            lambda s, a=a, b=b: s.shortest([a], b, max_length=4)
            for a, b in zip(words, words[1:], strict=False)
        ],
    }


def ask(store: GraphStore, asked: Sequence[Question]) -> tuple[NDArray[np.float64], list[Any]]:
    """(seconds of each question, its answer); the first is asked once before, to warm up."""
    asked[0](store)
    times, answers, until = [], [], time.perf_counter() + SECONDS
    for question in asked:
        start = time.perf_counter()
        answers.append(question(store))
        times.append(time.perf_counter() - start)
        if start + times[-1] > until:
            break
    return np.asarray(times), answers


def compared(
    kind: str,
    store: GraphStore,
    asked: Sequence[Question],
    base: NDArray[np.float64],
    expected: Sequence[Any],
) -> dict[str, Any]:
    """The times of a store as figures and as multiples of the embedded store's on the same questions."""
    times, answers = ask(store, asked)
    for place, answer in enumerate(answers):
        if answer != expected[place]:
            sys.exit(f"{kind}: different answers to question {place}: {answer}, not {expected[place]}")
    base = base[: len(times)]
    ratios = np.median(times) / np.median(base), times.sum() / base.sum()
    return told(times) | {"times slower p50 / sum": " / ".join(f"{ratio:,.0f}" for ratio in ratios)}


def gold(dataset: Path, address: str) -> float:
    """Seconds of the command that executes stored gold queries; a wrong answer ends the benchmark."""
    command = [*PROGRAM, "validate", str(dataset), "--rules", "gold-equals-store", "--uri", address]
    return round(watch(command).seconds, 1)


def told(times: NDArray[np.float64]) -> dict[str, Any]:
    p50, p99 = np.percentile(times, (50, 99)) * 1e3
    return {"asked": len(times), "p50 / p99 ms": f"{p50:.3f} / {p99:.3f}"}


@contextmanager
def opened(
    name: str, graph: Path, scratch: Path, uri: str | None
) -> Iterator[tuple[GraphStore, str, dict[str, float]]]:
    """A store with the graph in it, its address, and the seconds that loading took."""
    scratch.mkdir()
    start = time.perf_counter()
    if name == "bolt" and uri:
        yield open_store(uri), uri, {}
    elif name == "bolt":
        with BoltServer.start(scratch / "server", options=()) as server:
            started = time.perf_counter() - start
            with Connection(Address.parse(server.uri, USER), PASSWORD) as connection:
                start = time.perf_counter()
                load(Source(graph), connection)
                figures = {
                    "server start s": round(started, 1),
                    "load s": round(time.perf_counter() - start, 1),
                }
                os.environ["CLWQA_STORE_PASSWORD"] = PASSWORD  # of this server alone, for the command below
                yield BoltGraph.open(connection), server.uri.replace("//", f"//{USER}@"), figures
    elif name == "oxigraph":
        fill(graph, scratch / "store")
        loaded = round(time.perf_counter() - start, 1)
        where = f"oxigraph:{scratch}/store"
        yield open_store(where), where, {"load s": loaded}
    else:
        (file,) = export(graph, "nt", scratch / "kg.nt")
        with endpoint(file) as address:
            loaded = round(time.perf_counter() - start, 1)
            yield open_store(f"{address}/sparql"), f"{address}/sparql", {"load s": loaded}


def show(name: str, figures: dict[str, Any], as_json: bool) -> None:
    """A store's figures for people, as soon as they are there."""
    out = sys.stderr if as_json else sys.stdout
    for kind, figure in figures.items():
        text = "   ".join(f"{k} {v}" for k, v in figure.items()) if isinstance(figure, dict) else figure
        print(f"{name:10} {kind:24} {text}", file=out, flush=True)


if __name__ == "__main__":
    main()
