"""The ``adopt`` command: a graph of your own becomes a dataset."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Group
from rich.table import Column, Table

from clwqa_bench.console import emit

DEFAULT_SEED = 20260105
QUESTIONS = 1_000
NEED_BYTES = 1 << 28
SHOWN = 3  # exceptions and doubtful types that are printed


def adopt(
    folder: Annotated[
        Path, typer.Argument(help="Holds entities.tsv, triples.tsv; perhaps ontology.ttl, graph.toml.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the dataset goes.")],
    questions: Annotated[
        int, typer.Option("--questions", "-n", min=1, help="How many to draw, if the graph supplies them.")
    ] = QUESTIONS,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draw.")] = DEFAULT_SEED,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes; the result does not depend on it.")
    ] = os.cpu_count() or 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Make a dataset of a graph of your own: two tables, and an ontology as far as there is one.

    Types of entities and signatures of relations that are not given are found from the triples.  Tables may also be
    .csv or .parquet files.  An earlier dataset stays as it is until the new one is complete and free of errors.

    Example: clwqa-bench adopt my-graph --out data/my-graph
    """
    from clwqa_builders.output.manifest import refuse_other_kind
    from clwqa_builders.own import pipeline  # imports what --help does not need
    from clwqa_builders.stages import build_folder, publish, run_stages, tree

    plan = pipeline.Plan(folder, questions, seed, workers)
    stages = pipeline.stages(plan)
    refuse_other_kind(out, {"language": ""})
    with build_folder(out, NEED_BYTES) as work:
        finished = run_stages(stages, work)
        changed = publish(tree(finished["dataset"].folder / pipeline.DATASET), out)
    emit(summary(out, questions, changed=changed), json, summary_tables)


def summary(out: Path, wished: int, *, changed: bool) -> dict[str, Any]:
    """What was made, and what was found about the graph."""
    from clwqa_bench.dataset import Dataset
    from clwqa_builders.own.pipeline import INDUCTION, SUPPLY

    statistics = orjson.loads((out / "statistics.json").read_bytes())
    return {
        "out": out,
        "changed": changed,
        "wished": wished,
        "counts": Dataset.open(out, verify=False).manifest.counts,
        "hops": statistics["hops"],
        "splits": statistics["splits"],
        "passed_over": orjson.loads((out / SUPPLY).read_bytes())["passed_over"],
        "induction": orjson.loads((out / INDUCTION).read_bytes()),
    }


def summary_tables(data: dict[str, Any]) -> Group:
    """The summary for people."""
    counts, found = data["counts"], data["induction"]
    types = found["types"]
    table = Table("relation", "from", "to", Column("triples", justify="right"), "coverage", "signature")
    for signature in found["signatures"]:
        ends = [
            " | ".join(dict.fromkeys(pair[end] for pair in signature["pairs"])) for end in ("head", "tail")
        ]
        how = "given" if signature["given"] else f"found, at least {signature['confidence']:.1%} sure"
        coverage = f"{signature['coverage']:.1%}"
        table.add_row(signature["relation"], *ends, f"{signature['triples']:,}", coverage, how)
    lines = [f"types: {types['given']:,} given, {types['found']:,} found, {types['without']:,} without"]
    if types["mean_confidence"] is not None:
        lines[0] += f"; confidence {types['mean_confidence']:.3f} on average"
    for title, rows in (("doubtful type", types["doubtful"]), ("left out", found["exceptions"])):
        told = (" ".join(str(value) for value in row.values()) for row in rows[:SHOWN])
        lines += [f"{title}: {len(rows):,}, see induction.json; line " + "; line ".join(told)] if rows else []
    short = f" ({data['wished']:,} were asked for)" if counts["questions"] < data["wished"] else ""
    if short and any(data["passed_over"].values()):
        unseen = " and ".join(f"{number:,} {name}" for name, number in data["passed_over"].items())
        lines.append(f"not looked at, being more than a graph is given: {unseen}")
    graph = f"{counts['entities']:,} entities and {counts['triples']:,} triples"
    return Group(
        table,
        *lines,
        f"{data['out']}: {counts['questions']:,} questions{short} on {graph} "
        f"({'written' if data['changed'] else 'unchanged'})",
        "hops: " + ", ".join(f"{hop}: {n:,}" for hop, n in data["hops"].items()),
        "splits: " + ", ".join(f"{split}: {n:,}" for split, n in data["splits"].items()),
    )
