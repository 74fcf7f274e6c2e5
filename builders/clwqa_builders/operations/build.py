"""Building the extension set: a dataset of its own beside the one whose graph it asks about."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table

from clwqa_bench import __version__
from clwqa_bench.dataset import Dataset, Limits
from clwqa_bench.errors import BuildError, DatasetError
from clwqa_bench.kg.build import read_tables
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import OPERATIONS, SPLITS, Question
from clwqa_builders.operations.cases import Case, Cases
from clwqa_builders.operations.draw import draw
from clwqa_builders.operations.make import make_question
from clwqa_builders.operations.templates import load_operations
from clwqa_builders.output.manifest import Release, refuse_other_kind, write_dataset
from clwqa_builders.pipeline import DATASET, sources_of
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.make import Maker
from clwqa_builders.stages import Context, Stage, build_folder, publish, run_stages, tree
from clwqa_builders.validate.report import require_valid

EXTENSION = "operations"
QUOTA = 500  # questions of each operation
NEED_BYTES = 1 << 28
LINES = "questions.jsonl"


@dataclass(frozen=True)
class Plan:
    """What the extension depends on besides the code: the dataset it extends, the seed, questions per operation."""

    base: Dataset
    seed: int
    quota: int = QUOTA
    allow_shortfall: bool = False
    workers: int = 1

    @property
    def name(self) -> str:
        """clwqa-operations for clwqa-100k, clwqa-operations-full for clwqa-100k-full."""
        name = self.base.manifest.name
        return name.replace("100k", EXTENSION) if "100k" in name else f"{name}-{EXTENSION}"

    @property
    def ontology(self) -> Path:
        return self.base.root / "ontology.ttl"


def open_base(folder: Path) -> Dataset:
    """The dataset to extend, verified.  Raises DatasetError if it is none, of another version, or an extension."""
    try:
        base = Dataset.open(folder)
    except DatasetError as error:
        raise DatasetError(
            f"no graph to ask about: {error.what}", fix="run `clwqa-bench build` first, or name a dataset with --base",
            file=error.file,
        ) from error  # fmt: skip
    if base.manifest.config.get("extension"):
        raise DatasetError("this is an extension set itself", fix="name the dataset it extends", file=folder)
    if not Ontology.load(folder / "ontology.ttl").categories:
        what = "the operations ask about culture-loaded words, and this graph is about something else"
        raise DatasetError(what, fix="name a dataset that `clwqa-bench build` made", file=folder)
    if base.manifest.version != __version__:
        raise DatasetError(
            f"the dataset is of version {base.manifest.version}, this toolkit makes {__version__}",
            fix="build it again with `clwqa-bench build`",
            file=folder / "manifest.json",
            field="version",
        )
    return base


def build_extension(plan: Plan, out: Path) -> dict[str, Any]:
    """Build, validate and put in place; returns what a summary shows."""
    refuse_other_kind(out, {"extension": EXTENSION})
    with build_folder(out, NEED_BYTES) as work:
        finished = run_stages(stages(plan), work)
        changed = publish(tree(finished["dataset"].folder / DATASET), out)
    made = Dataset.open(out, verify=False).manifest
    return {
        "out": out,
        "changed": changed,
        "counts": made.counts,
        "operations": made.config["operations"],
        "content": made.content,
        "seconds": {name: round(f.seconds, 1) for name, f in finished.items() if not f.reused},
    }


def stages(plan: Plan) -> list[Stage]:
    """The stages in order; see :func:`clwqa_builders.stages.run_stages`."""
    manifest = plan.base.manifest
    config = {
        "graph": manifest.content["kg"],
        "sources": [source.model_dump() for source in manifest.sources],
        "name": plan.name,
        "seed": plan.seed,
        "quota": plan.quota,
        "allow_shortfall": plan.allow_shortfall,
    }

    def bound(run: Callable[[Plan, Context], None]) -> Callable[[Context], None]:
        return lambda context: run(plan, context)

    return [
        Stage("questions", bound(draw_questions), config=config),
        Stage("dataset", bound(write), inputs=("questions",), config=config),
        Stage("validation", bound(validate), inputs=("dataset",)),
    ]


def draw_questions(plan: Plan, context: Context) -> None:
    """Graph -> questions.jsonl."""
    kg, ontology = plan.base.root / "kg", Ontology.load(plan.ontology)
    entities, triples = read_tables(kg)
    columns, store = GraphColumns.of_tables(entities, triples), plan.base.kg()
    cases = Cases(columns, store, ontology, plan.seed)
    templates = load_operations(ontology)
    supply: dict[str, list[Iterator[Case]]] = {
        family: [cases.of(template) for template in templates if template.spec.family == family]
        for family in OPERATIONS
    }
    drawn = draw(supply, plan.quota, plan.seed)
    _require_full(Counter(one.case.template.spec.family for one in drawn), plan)
    maker = Maker(columns, store, ontology, sources_of(triples))
    questions = sorted((make_question(maker, one) for one in drawn), key=lambda question: question.id)
    lines = (question.model_dump_json().encode("utf-8") + b"\n" for question in questions)
    (context.out / LINES).write_bytes(b"".join(lines))
    context.progress.note(f"  {len(questions):,} questions from {len(templates)} templates")


def _require_full(drawn: Mapping[str, int], plan: Plan) -> None:
    short = {family: plan.quota - drawn.get(family, 0) for family in OPERATIONS}
    told = ", ".join(f"{family}: {n:,} short" for family, n in short.items() if n > 0)
    if told and not plan.allow_shortfall:
        raise BuildError(
            f"the graph cannot supply {plan.quota:,} questions of each operation ({told})",
            fix="accept fewer with --allow-shortfall",
        )


def write(plan: Plan, context: Context) -> None:
    """Questions and graph -> the dataset folder, its card and manifest."""
    questions = [
        Question.model_validate_json(line)
        for line in (context.inputs["questions"] / LINES).read_bytes().splitlines()
    ]
    folder, kg = context.out / DATASET, plan.base.root / "kg"
    if (kg / "index").is_dir():
        shutil.copytree(kg / "index", folder / "kg" / "index")
    manifest = plan.base.manifest
    counts = Counter((question.family, question.split) for question in questions)
    release = Release(
        name=plan.name,
        version=__version__,
        seed=plan.seed,
        code_version=__version__,
        sources=manifest.sources,
        config={
            "extension": EXTENSION,
            "base": manifest.name,
            "allow_shortfall": plan.allow_shortfall,
            "llm": "none",
            "operations": {f: {split: counts[f, split] for split in SPLITS} for f in OPERATIONS},
        },
        limits=Limits(template_share=1.0),
    )
    write_dataset(folder, questions, *read_tables(kg), plan.ontology, release, workers=plan.workers)


def validate(plan: Plan, context: Context) -> None:
    """Run every rule on the written dataset; an error stops the build and the earlier output stays."""
    fix = "correct the operation or template behind them; earlier output is untouched"
    require_valid(
        context.inputs["dataset"] / DATASET, fix, plan.workers, told=context.out / "validation.json"
    )


def summary_table(data: dict[str, Any]) -> Group:
    """The summary for people."""
    table = Table("operation", *SPLITS, title="questions per operation")
    for family, row in data["operations"].items():
        table.add_row(family, *(f"{row[split]:,}" for split in SPLITS))
    spent = ", ".join(f"{name} {seconds} s" for name, seconds in data["seconds"].items()) or "nothing to do"
    done = "written" if data["changed"] else "unchanged"
    return Group(f"{data['out']}: {data['counts']['questions']:,} questions ({done}; {spent})", table)
