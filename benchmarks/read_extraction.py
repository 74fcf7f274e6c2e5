"""Print random readings of the sources beside what they were read from, for a reader to judge.

    python -m benchmarks.read_extraction {citations,authors,categories,glosses} [--n 100] [--seed 7]
    python -m benchmarks.read_extraction {words,sayings,lines} --profile full [--n 100] [--seed 7]

* citations: dictionary rows that have a derivation, with every citation parsed from them;
* authors: citations (a work cited often comes often), with the work they were taken to mean and its creators;
* categories: words that were given a content category, with the terms that decided;
* glosses: pairs of a part of a word and its meaning in that word, with the gloss they were split from;
* words: words of the large dictionary that enter the graph, with the sense they were read from;
* sayings: two-part sayings, with all their answers;
* lines: lines of poems and prose, with the line before and after them and the place they stand in.

The last three are of the full profile only.  The sources are parsed anew, so the figures belong to the code at hand;
the same seed prints the same items as long as neither changes.  docs/quality.md says what was found this way.
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
from clwqa_builders.extract.anthologies import Passage
from clwqa_builders.extract.canonical import Canonicaliser, creator_relation
from clwqa_builders.extract.categorise import Categorisation
from clwqa_builders.extract.dictionary import Entry, read_dictionary
from clwqa_builders.extract.headwords import Headword, load_headwords
from clwqa_builders.extract.metre import read_passages
from clwqa_builders.extract.records import Citation, ParsedRow
from clwqa_builders.extract.senses import first_telling
from clwqa_builders.extract.serial import load_rows
from clwqa_builders.extract.xiehouyu import read_sayings
from clwqa_builders.graph.assemble import all_citations
from clwqa_builders.graph.words import citation_label
from clwqa_builders.pipeline import (
    DICTIONARY,
    SAYINGS,
    SAYINGS_FILE,
    Plan,
    anthologies,
    content_categories,
    hand_checked_tables,
    parse,
    parse_dictionary,
)
from clwqa_builders.sources.catalogue import Profile, load_catalogue
from clwqa_builders.sources.locate import verify
from clwqa_builders.stages import Context

Item = Callable[[], str]  # prints itself: only the sampled ones are put into words
Reading = Callable[[Sequence[ParsedRow]], list[Item]]

_FIELDS = (
    "period", "author", "author_role", "title", "section", "locator", "genre", "via", "quotes_work", "quotation",
    "commentary",
)  # fmt: skip
_EMPTY = frozenset({"", "无"})


def plan_of(profile: Profile, workers: int) -> Plan:
    """A plan over the verified sources of a profile."""
    sources = {source.id: verify(source) for source in load_catalogue().profile(profile)}
    return Plan(sources, 0, workers=workers, profile=profile)


def read_sources(plan: Plan) -> list[ParsedRow]:
    """All dictionary rows, parsed from the installed packages as a build parses them."""
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


def words(plan: Plan) -> list[Item]:
    """One item a word of the large dictionary: the sense as printed, then what was read from it."""
    entries = {entry.row: entry for entry in read_dictionary(plan.file(DICTIONARY, "explanation/"))}
    with TemporaryDirectory() as folder, progress("reading the dictionary") as report:
        parse_dictionary(plan, Context(Path(folder), {}, {}, report))
        found = load_headwords(Path(folder) / "headwords.jsonl")
    return [partial(_word_text, word, entries[word.sense.row]) for word in found]


def _word_text(word: Headword, entry: Entry) -> str:
    sense = word.sense
    lines = [f"{sense.word}  {first_telling(entry)[0]}"]
    lines += [
        f"{name}={value}" for name, value in (("meaning", sense.meaning), ("story", sense.story)) if value
    ]
    if sense.citation:
        values = ((name, getattr(sense.citation, name)) for name in _FIELDS)
        lines.append("  ".join(f"{name}={value}" for name, value in values if value))
    if word.category:
        lines.append(f"{word.category} by the marker {word.marker}")
    return "\n    ".join(lines)


def sayings(plan: Plan) -> list[Item]:
    """One item a two-part saying: the riddle and its answers."""
    return [
        partial("{}——{}".format, saying.riddle, " / ".join(saying.answers))
        for saying in read_sayings(plan.file(SAYINGS, SAYINGS_FILE))
    ]


def lines(plan: Plan) -> list[Item]:
    """One item a line: with its neighbours, and where it stands."""
    return [
        partial(_line_text, passage, at)
        for passage in read_passages(anthologies(plan))
        for at, line in enumerate(passage.lines)
        if line in passage.sentences
    ]


def _line_text(passage: Passage, at: int) -> str:
    before, after = "".join(passage.lines[at - 1 : at]), "".join(passage.lines[at + 1 : at + 2])
    return f"{passage.lines[at]}\n    {before} … {after}\n    {citation_label(passage.at)}  {passage.at.period or ''}"


READINGS: Mapping[str, Reading] = {
    "citations": citations, "authors": authors, "categories": categories, "glosses": glosses,
}  # fmt: skip
FULL_READINGS: Mapping[str, Callable[[Plan], list[Item]]] = {
    "words": words, "sayings": sayings, "lines": lines,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Print random readings of the sources to be judged by eye.")
    parser.add_argument("what", choices=[*READINGS, *FULL_READINGS])
    parser.add_argument("--profile", choices=("core", "full"), default="core", help="(default: %(default)s)")
    parser.add_argument("--n", type=int, default=100, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="of the sample (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that parse")
    options = parser.parse_args(arguments)
    if options.what in FULL_READINGS and options.profile != "full":
        parser.error(f"{options.what} are read by the full profile only; add --profile full")
    plan = plan_of(options.profile, options.workers)
    if options.what in FULL_READINGS:
        items = FULL_READINGS[options.what](plan)
    else:
        items = READINGS[options.what](read_sources(plan))
    print(f"{options.what}: {min(options.n, len(items))} of {len(items)}, seed {options.seed}")
    for number, item in enumerate(random.Random(options.seed).sample(items, min(options.n, len(items))), 1):
        print(f"{number}. {item()}")


if __name__ == "__main__":
    main()
