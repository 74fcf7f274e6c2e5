"""The rules of `clwqa-bench validate`, put to generated questions as if they stood in the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from clwqa_bench.records import Question
from clwqa_builders.output.schema import QUESTIONS
from clwqa_builders.output.writers import table_of
from clwqa_builders.validate.registry import RULES
from clwqa_builders.validate.tables import DatasetTables

REASON_OF = {
    "script": "language",
    "length-outlier": "length",
    "answer-in-question": "leak",
    "template-residue": "residue",
    "anchors-unique": "unclear-anchor",
    "gold-size": "too-many",
}
"""What a finding is called in the report; that of any other rule is `invalid`."""

OF_QUESTIONS = (
    *REASON_OF, "non-empty-gold", "gold-equals-path", "gold-equals-sparql", "evidence-in-graph", "hops-match-path",
    "anchor-mentioned", "category-known",
)  # fmt: skip
"""The rules that look at one question at a time."""


@dataclass(frozen=True)
class Generated(DatasetTables):
    """A dataset with other questions in the place of its own."""

    made: pa.Table = field(default_factory=QUESTIONS.empty_table)

    @property
    def questions(self) -> pa.Table:
        return self.made

    @classmethod
    def instead(cls, tables: DatasetTables, made: Sequence[Question]) -> Generated:
        """The tables of a dataset, none of them read again, with these questions."""
        lines = [question.model_dump_json().encode() for question in made]
        found = cls(tables.root, tables.manifest, tables.templates_dir, table_of(lines, QUESTIONS))
        for name in ("entities", "triples", "ontology", "store"):
            found.__dict__[name] = getattr(tables, name)  # where a cached property keeps its value
        return found


def findings(tables: DatasetTables, made: Sequence[Question]) -> dict[str, tuple[str, str]]:
    """(reason, what the rule says) by id of the question, the first rule in running order."""
    own = Generated.instead(tables, made)
    found: dict[str, tuple[str, str]] = {}
    for rule in (rule for rule in RULES if rule.id in OF_QUESTIONS and made):
        for fault in rule.check(own):
            reason = REASON_OF.get(rule.id, "invalid")
            found.setdefault(fault.question, (reason, f"{rule.id}: {fault.message}"))
    return found
