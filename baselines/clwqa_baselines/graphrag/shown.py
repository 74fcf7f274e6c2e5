"""What a question is answered from: rows as they are shown, as evidence, and as an answer refers to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from clwqa_baselines.graphrag.reports import REFERENCE, references
from clwqa_baselines.graphrag.tables import REMEMBERED
from clwqa_baselines.graphrag.tasks import EntityRow, Fact, ReportRow, SourceRow
from clwqa_baselines.shared.wrappers import ITEM_MARK, Unwrapped
from clwqa_bench.predictions import Citation, Evidence, EvidenceText, EvidenceTriple
from clwqa_bench.records import TripleRef

SHORT = 30  # characters of a line that is an answer although it refers to nothing
PREFIXES = {"report": "report", "entit": "entity", "relation": "relationship", "source": "source"}
"""How the name of a table begins, and the ids of its rows."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Rows of the four tables, each in the order shown."""

    reports: tuple[ReportRow, ...] = ()
    entities: tuple[EntityRow, ...] = ()
    relations: tuple[Fact, ...] = ()
    sources: tuple[SourceRow, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.reports or self.entities)

    @property
    def evidence(self) -> Evidence:
        """Relationships that are shown or that a report refers to; reports, entities and source texts."""
        of_reports = (fact for report in self.reports for fact in report.facts)
        facts = {fact.number: fact for fact in (*self.relations, *of_reports)}
        entities = (
            EvidenceText(id=f"entity:{row.number}", text=row.description, entity_id=row.entity_id)
            for row in self.entities
        )
        sources = (
            EvidenceText(id=f"source:{row.number}", text=row.text, entity_id=row.entity_id)
            for row in self.sources
        )
        return Evidence(
            triples=tuple(map(as_evidence, facts.values())),
            texts=(*map(_community, self.reports), *entities, *sources),
        )


@lru_cache(REMEMBERED)
def as_evidence(fact: Fact) -> EvidenceTriple:
    """A relationship as a prediction holds it."""
    triple = TripleRef(head=fact.head, relation=fact.relation, tail=fact.tail)
    return EvidenceTriple(id=f"relationship:{fact.number}", triple=triple, text=fact.description)


def _community(row: ReportRow) -> EvidenceText:
    return EvidenceText(id=f"report:{row.number}", text=row.content, kind="community")


def citations(text: str, evidence: Evidence) -> tuple[Citation, ...]:
    """The references of an answer, each once; one to a row that was not shown is kept and marked."""
    ids = evidence.ids()
    found: dict[str, Citation] = {}
    for table, number in references(text):
        prefix = next((id for name, id in PREFIXES.items() if table.startswith(name)), table)
        id = f"{prefix}:{number}"
        marker = f"[Data: {table.capitalize()} ({number})]"
        found.setdefault(id, Citation(marker=marker, evidence_id=id, ok=id in ids))
    return tuple(found.values())


def cited(texts: Iterable[str], reports: Iterable[ReportRow]) -> tuple[ReportRow, ...]:
    """The reports that some texts refer to, by their number or by that of a relationship they refer to themselves."""
    referred = {reference for text in texts for reference in references(text)}
    communities = {number for table, number in referred if table.startswith("report")}
    edges = {number for table, number in referred if table.startswith("relation")}
    return tuple(
        row for row in reports if row.number in communities or any(fact.number in edges for fact in row.facts)
    )


def lines(text: str) -> Unwrapped:
    """Answers written one a line, with or without a reference at the end; None for a text of other make."""
    answers = []
    for line in filter(str.strip, text.splitlines()):
        bare = ITEM_MARK.sub("", REFERENCE.sub("", line)).strip(" 。.")
        if len(bare) > SHORT and not REFERENCE.search(line):
            return None
        answers.append(bare)
    return tuple(answers)
