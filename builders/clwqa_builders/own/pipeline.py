"""From a folder with a graph to a validated dataset folder: graph -> questions -> dataset -> validation."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from clwqa_bench import __version__
from clwqa_bench.dataset import Limits, SourceNote, Targets
from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import BuildError
from clwqa_bench.kg.build import read_tables, write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Answer, Question, hop_band
from clwqa_builders.output.manifest import Release, write_dataset
from clwqa_builders.output.schema import ENTITIES, TRIPLES
from clwqa_builders.own.groups import FactGroups
from clwqa_builders.own.instances import Asked, Enumerator
from clwqa_builders.own.metapaths import templates
from clwqa_builders.own.report import report
from clwqa_builders.own.schema import Schema, complete
from clwqa_builders.own.select import held_out, select
from clwqa_builders.own.tables import ABOUT, ONTOLOGY, About, OwnGraph, input_files, read_graph
from clwqa_builders.own.turtle import to_turtle
from clwqa_builders.own.wording import Speaker
from clwqa_builders.parallel import parallel_map
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.draw import TEMPLATE_SHARE, WORD_CAPS
from clwqa_builders.questions.make import Maker, make_questions
from clwqa_builders.questions.select import Selection, only_drawn
from clwqa_builders.stages import Context, Stage
from clwqa_builders.validate.report import require_valid

DATASET, INDUCTION, TEMPLATES, SUPPLY = "dataset", "induction.json", "templates.toml", "supply.json"


@dataclass(frozen=True)
class Plan:
    """What a build depends on besides the code, and how many processes may help."""

    folder: Path
    questions: int
    seed: int
    workers: int = 1


def stages(plan: Plan) -> list[Stage]:
    """The stages in order; see :func:`clwqa_builders.stages.run_stages`.  Raises GraphError for a missing table."""
    files = {name: file_sha256(path) for name, path in input_files(plan.folder).items()}
    files["folder"] = plan.folder.resolve().name
    drawn = {"seed": plan.seed, "questions": plan.questions}
    return [
        Stage("graph", lambda context: build_graph(plan, context), config=files),
        Stage("questions", lambda context: draw_questions(plan, context), inputs=("graph",), config=drawn),
        Stage("dataset", lambda context: write(plan, context), inputs=("graph", "questions"), config=drawn),
        Stage("validation", lambda context: validate(plan, context), inputs=("dataset",)),
    ]


# --- graph --------------------------------------------------------------------------------------------------


def build_graph(plan: Plan, context: Context) -> None:
    """The folder -> tables and index, the complete ontology, and what was found to complete it."""
    graph = read_graph(plan.folder)
    schema = complete(graph)
    # Words for unknown relations are noticed before anything is written.
    Speaker.of(schema.ontology, graph.about, plan.folder / ABOUT)
    entities, triples = entity_table(graph, schema), triple_table(graph, schema)
    write_index(entities, triples, context.out, schema.ontology)
    (context.out / ONTOLOGY).write_text(to_turtle(schema.ontology), encoding="utf-8")
    (context.out / INDUCTION).write_bytes(orjson.dumps(report(schema), option=orjson.OPT_INDENT_2))
    (context.out / "pairs.json").write_bytes(orjson.dumps(schema.pairs))
    (context.out / "about.json").write_text(graph.about.model_dump_json(), encoding="utf-8")
    context.progress.note(f"  {entities.num_rows:,} entities, {triples.num_rows:,} triples")


def entity_table(graph: OwnGraph, schema: Schema) -> pa.Table:
    """The entities as the graph store keeps them; provenance is the row of the folder's table."""
    rows = [
        {
            "id": row.id,
            "label": row.label,
            "type": type_,
            "aliases": list(row.aliases),
            "text": row.text,
            "attributes": [],
            "provenance": f"{graph.source}#entities:{row.line}",
        }
        for row, type_ in zip(graph.entities, schema.types, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=ENTITIES)


def triple_table(graph: OwnGraph, schema: Schema) -> pa.Table:
    """The triples that follow their signatures, a symmetric one once."""
    rows = [
        {
            "head": row.head,
            "relation": relation,
            "tail": row.tail,
            "provenance": f"{graph.source}#triples:{row.line}",
        }
        for row, relation, kept in zip(graph.triples, schema.relations, schema.kept.tolist(), strict=True)
        if kept
    ]
    return pa.Table.from_pylist(rows, schema=TRIPLES)


# --- questions ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OwnMaker(Maker):
    """Makes records whose category is the type of the answer, and whose answers are always entities."""

    def category(self, number: int) -> tuple[str, str]:
        type_ = self.ontology.types[number]
        return type_, (type_, *self.ontology.ancestors(type_))[-1]

    def answer(self, entity: int) -> Answer:
        columns = self.columns
        aliases = tuple(columns.aliases[entity])
        return Answer(entity_id=columns.ids[entity], label=columns.labels[entity], aliases=aliases)


def draw_questions(plan: Plan, context: Context) -> None:
    """Graph -> questions.jsonl, the templates they were made from, and what could have been asked."""
    folder = context.inputs["graph"]
    ontology, about = Ontology.load(folder / ONTOLOGY), _about(folder)
    columns = GraphColumns.of_tables(*read_tables(folder))
    pairs = {name: [(h, t) for h, t in ends] for name, ends in _json(folder / "pairs.json").items()}
    made, walks = templates(ontology, pairs, columns, Speaker.of(ontology, about), plan.seed)
    enumerator = Enumerator(columns, ontology, FactGroups.of(columns, ontology), plan.seed)
    asked = parallel_map(enumerator.enumerate, [template for _, template in made], plan.workers)
    selection = select(asked, columns, len(ontology.types), plan.questions, plan.seed)
    if selection is None:
        raise BuildError(
            f"there are too few questions for three splits: {plan.questions:,} were asked for, and the graph supplies "
            f"{sum(len(a.instances) for a in asked):,}",
            fix="ask for 50 or more; add facts; give entities labels of their own, and triples that lead to few others",
            file=plan.folder,
        )
    (context.out / SUPPLY).write_bytes(
        orjson.dumps(supply(asked, selection, ontology, walks), option=orjson.OPT_INDENT_2)
    )
    (context.out / TEMPLATES).write_text(_toml([entry for entry, _ in made]), encoding="utf-8")
    enumerated, selection = only_drawn([one.instances for one in asked], selection)
    source_of = dict.fromkeys(_keys(read_tables(folder)[1]), (about.name,))
    maker = OwnMaker(columns, MemoryGraph.open(folder), ontology, source_of)
    lines = make_questions(maker, enumerated, selection, held_out(asked, plan.seed), plan.workers)
    with (context.out / "questions.jsonl").open("wb") as file:
        file.writelines(line + b"\n" for _, line in lines)
    context.progress.note(f"  {len(lines):,} questions from {selection.instances:,} instances")


def supply(asked: Sequence[Asked], selection: Selection, ontology: Ontology, walks: int) -> dict[str, Any]:
    """Instances per template, hop count and type of answer; ``crossing`` were unusable, since they tell facts of two
    splits.  ``passed_over`` counts what the limits on a graph with many walks or instances kept from being looked at.
    """
    types: Counter[str] = Counter()
    for one in asked:
        types.update(ontology.types[number] for number in one.instances.category.tolist())
    hops: Counter[str] = Counter()
    for one in asked:
        hops[str(one.instances.template.hops)] += len(one.instances)
    return {
        "instances": selection.instances,
        "crossing": selection.ungrouped,
        "passed_over": {"walks": walks, "instances": sum(one.passed_over for one in asked)},
        "category": dict(sorted(types.items())),
        "hop": dict(sorted(hops.items())),
        "template": {one.instances.template.id: len(one.instances) for one in asked},
    }


# --- dataset ------------------------------------------------------------------------------------------------


def write(plan: Plan, context: Context) -> None:
    """Questions and graph -> the dataset folder, with its templates and what was found about the graph."""
    graph, drawn, folder = context.inputs["graph"], context.inputs["questions"], context.out / DATASET
    shutil.copytree(graph / "index", folder / "kg" / "index")
    shutil.copyfile(graph / INDUCTION, folder / INDUCTION)
    for name in (TEMPLATES, SUPPLY):
        shutil.copyfile(drawn / name, folder / name)
    questions = list(_questions(drawn))
    about = release(plan, _about(graph), questions, _json(drawn / SUPPLY)["category"])
    write_dataset(folder, questions, *read_tables(graph), graph / ONTOLOGY, about, workers=plan.workers)


def release(plan: Plan, about: About, questions: Sequence[Question], supplied: Mapping[str, int]) -> Release:
    """What the card and the manifest say; the targets are what the graph could supply."""
    bands = Counter(hop_band(question.hops) for question in questions)
    used = Counter((hop_band(question.hops), question.template_id) for question in questions)
    largest = max(count / bands[band] for (band, _), count in used.items())
    return Release(
        name=about.name,
        version=about.version,
        seed=plan.seed,
        code_version=__version__,
        sources=(
            SourceNote(
                id=about.name,
                version=about.version,
                sha256=file_sha256(input_files(plan.folder)["triples"]),
                title=about.name,
                licence=about.licence,
                provenance=about.provenance,
            ),
        ),
        config={"language": about.language, "questions": plan.questions, "llm": "none"},
        targets=Targets(hops=dict(sorted(bands.items()))),
        limits=Limits(template_share=max(TEMPLATE_SHARE, largest), questions_per_word=WORD_CAPS[-1]),
        supply=supplied,
        card="own.md.j2",
    )


def validate(plan: Plan, context: Context) -> None:
    """Run every rule on the written dataset; an error stops the build."""
    fix = "correct the rows, labels or wording behind them; earlier output is untouched"
    require_valid(
        context.inputs["dataset"] / DATASET, fix, plan.workers, told=context.out / "validation.json"
    )


# --- files --------------------------------------------------------------------------------------------------


def _toml(entries: Sequence[Mapping[str, object]]) -> str:
    """Template entries as a TOML file; a JSON string or list of strings is TOML as well."""
    blocks = (
        "\n".join(
            [
                "[[template]]",
                *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in e.items()),
            ]
        )
        for e in entries
    )
    return "\n\n".join(blocks) + "\n"


def _keys(triples: pa.Table) -> Iterator[tuple[str, str, str]]:
    yield from zip(*(triples[name].to_pylist() for name in ("head", "relation", "tail")), strict=True)


def _questions(folder: Path) -> Iterator[Question]:
    with (folder / "questions.jsonl").open("rb") as file:
        yield from map(Question.model_validate_json, file)


def _about(folder: Path) -> About:
    return About.model_validate_json((folder / "about.json").read_bytes())


def _json(path: Path) -> Any:
    return orjson.loads(path.read_bytes())
