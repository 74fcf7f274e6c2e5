"""Print random readings of the sources beside what they were read from, for a reader to judge.

    python -m benchmarks.read_extraction {citations,authors,categories,glosses} [--n 100] [--seed 7]

* citations: dictionary rows that have a derivation, with every citation parsed from them;
* authors: citations (a work cited often comes often), with the work they were taken to mean and its creators;
* categories: words that were given a content category, with the terms that decided;
* glosses: pairs of a part of a word and its meaning in that word, with the gloss they were split from.

The rows are parsed anew from the installed packages, so the figures belong to the code at hand; the same seed
prints the same rows as long as neither changes.  docs/quality.md says what was found this way.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from clwqa_bench.console import progress
from clwqa_builders.extract.canonical import Canonicaliser, creator_relation
from clwqa_builders.extract.categorise import Categorisation
from clwqa_builders.extract.records import Citation, ParsedRow
from clwqa_builders.extract.serial import load_rows
from clwqa_builders.graph.assemble import all_citations
from clwqa_builders.graph.words import citation_label
from clwqa_builders.pipeline import Plan, content_categories, hand_checked_tables, parse
from clwqa_builders.sources.catalogue import load_catalogue
from clwqa_builders.sources.locate import verify
from clwqa_builders.stages import Context

Item = Callable[[], str]  # prints itself: only the sampled ones are put into words
Reading = Callable[[Sequence[ParsedRow]], list[Item]]

_FIELDS = (
    "period", "author", "author_role", "title", "section", "locator", "genre", "via", "quotes_work", "quotation",
    "commentary",
)  # fmt: skip
_EMPTY = frozenset({"", "无"})


def read_sources(workers: int) -> list[ParsedRow]:
    """All dictionary rows, parsed from the installed packages as a build parses them."""
    plan = Plan(
        {source.id: verify(source) for source in load_catalogue().profile("core")}, 0, workers=workers
    )
    with TemporaryDirectory() as folder, progress("parsing") as report:
        parse(plan, Context(Path(folder), {}, {}, report))
        return load_rows(Path(folder) / "rows.jsonl")


def citations(rows: Sequence[ParsedRow]) -> list[Item]:
    """One item a row: the raw derivation, then each citation with the fields that are not empty."""
    return [partial(_derivation_text, row) for row in rows if row.raw.derivation.strip() not in _EMPTY]


def _derivation_text(row: ParsedRow) -> str:
    lines = [f"{row.raw.word}  {row.raw.derivation}"]
    for citation in row.derivation.citations:
        values = ((name, getattr(citation, name)) for name in _FIELDS)
        lines.append("  ".join(f"{name}={value}" for name, value in values if value))
    if row.derivation.allusion:
        lines.append(f"story={row.derivation.allusion}")
    if row.derivation.crossrefs:
        lines.append("  ".join(f"{ref.kind}→{ref.target}" for ref in row.derivation.crossrefs))
    return "\n    ".join(lines)


def authors(rows: Sequence[ParsedRow]) -> list[Item]:
    """One item a citation: as printed, then the work it was taken to mean, its kind, creators and their periods."""
    found = all_citations(rows)
    canon = Canonicaliser(found, hand_checked_tables())
    return [partial(_work_text, canon, citation) for citation in found]


def _work_text(canon: Canonicaliser, citation: Citation) -> str:
    place = canon.place(citation)
    work = place.work
    creators = "、".join(f"{name}（{canon.person_period(name) or '?'}）" for name in work.authors)
    relation = creator_relation(work, citation) if work.authors else "no creator"
    unit = f"  > {place.unit.kind} {place.unit.label}" if place.unit else ""
    dated = f"  datedTo {work.period}" if work.period else ""
    return f"{citation_label(citation)}\n    {work.kind} {work.id}  {relation} {creators}{dated}{unit}"


def categories(rows: Sequence[ParsedRow]) -> list[Item]:
    """One item a labelled word: word, gloss, label and the matched terms with their weights."""
    meanings = {row.raw.word: row.gloss.text for row in rows}
    found = content_categories(rows)
    return [partial(_label_text, word, meanings[word], found[word]) for word in found if found[word].label]


def _label_text(word: str, meaning: str, found: Categorisation) -> str:
    terms = " ".join(f"{match.term}:{match.slug[:4]}{match.weight:g}" for match in found.matched)
    return f"{word}  {meaning}\n    {found.label}  margin {found.margin:g} over {found.second}  {terms}"


def glosses(rows: Sequence[ParsedRow]) -> list[Item]:
    """One item a component gloss: the part, its meaning, and the whole gloss."""
    return [partial(_gloss_text, row, *pair) for row in rows for pair in row.gloss.components]


def _gloss_text(row: ParsedRow, piece: str, meaning: str) -> str:
    return f"{row.raw.word}  {piece} = {meaning}\n    {row.gloss.text}"


READINGS: Mapping[str, Reading] = {
    "citations": citations, "authors": authors, "categories": categories, "glosses": glosses,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Print random readings of the sources to be judged by eye.")
    parser.add_argument("what", choices=READINGS)
    parser.add_argument("--n", type=int, default=100, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="of the sample (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that parse")
    options = parser.parse_args(arguments)
    items = READINGS[options.what](read_sources(options.workers))
    print(f"{options.what}: {min(options.n, len(items))} of {len(items)}, seed {options.seed}")
    for number, item in enumerate(random.Random(options.seed).sample(items, min(options.n, len(items))), 1):
        print(f"{number}. {item()}")


if __name__ == "__main__":
    main()
