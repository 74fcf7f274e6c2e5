"""Assemble the graph: all rows and tables in, sorted entity and triple tables out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from clwqa_bench.ontology import Ontology
from clwqa_builders.extract.anthologies import Passage
from clwqa_builders.extract.canonical import Canonicaliser, Tables
from clwqa_builders.extract.categorise import Categorisation
from clwqa_builders.extract.headwords import Headword
from clwqa_builders.extract.records import Citation, ParsedRow
from clwqa_builders.extract.xiehouyu import Saying
from clwqa_builders.graph.calendar import add_calendar
from clwqa_builders.graph.dictionary import add_headwords
from clwqa_builders.graph.history import AgreedEra, add_eras, add_periods
from clwqa_builders.graph.lines import add_passages
from clwqa_builders.graph.links import add_mentions, add_order_variants
from clwqa_builders.graph.riddles import add_sayings
from clwqa_builders.graph.tables import GraphTables
from clwqa_builders.graph.verify import Texts, add_agreement, corrected
from clwqa_builders.graph.words import add_crossrefs, add_word


@dataclass(frozen=True, slots=True)
class CalendarNames:
    """The calendar lists, each in the order of the year from the winter solstice (festivals: lunar order)."""

    terms: tuple[str, ...]
    signs: tuple[str, ...]
    festivals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Supplement:
    """What the full profile adds: dictionary words, two-part sayings, passages of anthologies and classics."""

    words: tuple[Headword, ...]
    sayings: tuple[Saying, ...]
    passages: tuple[Passage, ...]

    def citations(self) -> list[Citation]:
        """Every citation of the supplement: they vote on authors and kinds of works like all others."""
        cited = [word.sense.citation for word in self.words if word.sense.citation]
        return [*cited, *(passage.at for passage in self.passages)]

    def add_to(self, graph: GraphTables, canon: Canonicaliser, versions: Mapping[str, str]) -> None:
        """Add all three layers to a graph that holds the idioms."""
        names = ("cnchar-data", "cnchar-xhy", "chinese-poetry")
        dictionary, sayings, poetry = (f"{name}@{versions[name]}" for name in names)
        texts = Texts.of(self.passages, canon)
        add_headwords(graph, corrected(self.words, texts, canon), canon, dictionary)
        add_sayings(graph, self.sayings, sayings)
        add_passages(graph, self.passages, canon, poetry)
        add_agreement(graph, texts)


def all_citations(rows: Sequence[ParsedRow]) -> list[Citation]:
    """Every citation of every row, derivations first within a row."""
    found: list[Citation] = []
    for row in rows:
        found.extend(row.derivation.citations)
        if row.example is not None and row.example.citation is not None:
            found.append(row.example.citation)
    return found


def assemble(
    rows: Sequence[ParsedRow],
    tables: Tables,
    categories: Mapping[str, Categorisation],
    eras: Sequence[AgreedEra],
    calendar: CalendarNames,
    ontology: Ontology,
    spellings: Mapping[str, str],
    versions: dict[str, str],
    supplement: Supplement | None = None,
) -> tuple[pa.Table, pa.Table]:
    """Entity and triple tables (schemas of graph/tables.py), sorted; pure: same inputs, same rows.

    ``categories`` maps a word to its content categorisation, ``spellings`` a word to its form with commas,
    ``versions`` a source id to its version.  ``supplement`` is None in the core profile.
    """
    graph = GraphTables()
    own = f"tables@{versions['tables']}"  # the repository's tables, and what is computed with them
    add_categories(graph, ontology, own)
    add_periods(graph, tables.periods, own)
    more = supplement.citations() if supplement else []
    canon = Canonicaliser([*all_citations(rows), *more], tables)
    for row in rows:
        add_word(graph, row, canon, versions, spellings.get(row.raw.word))
    add_order_variants(graph, tables.false_variants, own)
    for row in rows:
        add_crossrefs(graph, row, versions)
    for word, categorisation in sorted(categories.items()):
        if categorisation.label:
            graph.edge(f"word:{word}", "belongsToCategory", f"category:{categorisation.label}", own)
            terms = sorted(
                {match.term for match in categorisation.matched if match.slug == categorisation.label}
            )
            graph.node(
                f"word:{word}",
                word,
                "Idiom",
                own,
                attributes={
                    "category_margin": f"{categorisation.margin:g}",
                    "category_terms": "、".join(terms),
                },
            )
    add_eras(graph, eras, f"chinese-history-toolkits@{versions['chinese-history-toolkits']}")
    add_calendar(
        graph,
        list(calendar.terms),
        list(calendar.signs),
        list(calendar.festivals),
        f"tyme4py@{versions['tyme4py']}",
    )
    if supplement:
        supplement.add_to(graph, canon, versions)
    add_mentions(graph, own)
    return graph.entities(), graph.triples()


def add_categories(graph: GraphTables, ontology: Ontology, origin: str) -> None:
    """The five upper and eight sub-categories of the ontology."""
    for category in ontology.categories:
        kind = "SubCategory" if category.upper else "UpperCategory"
        graph.node(f"category:{category.slug}", category.zh, kind, origin, aliases=[category.en])
        if category.upper:
            graph.edge(f"category:{category.slug}", "subCategoryOf", f"category:{category.upper}", origin)
