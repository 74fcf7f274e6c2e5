"""How the tasks of GraphRAG are done without a model: by what their rows say, and nothing else.

An answer is read off the relationships that are shown: where ways lead from what the question names, those that fit
it best.  Where no such way is shown there is no answer.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from clwqa_baselines.rules.walks import read_off
from clwqa_bench.llm.rules import Rules

if TYPE_CHECKING:
    from clwqa_baselines.graphrag.tasks import EntityRow, Fact, ReportRow

MOST_FINDINGS, MOST_CITED = 10, 5  # as the prompt asks for
MOST_QUOTED = 200  # characters of a report on a part
UNKNOWN = "无法确定"


# ---------------------------------------------------------------------- reports


def report(
    entities: Sequence[EntityRow], relations: Sequence[Fact], reports: Sequence[ReportRow]
) -> dict[str, Any]:
    """An extract: the largest entities as title and summary, the relationships around each hub as findings.

    The rating is the logarithm of the number of rows, at most 10.
    """
    largest = sorted(entities, key=lambda row: (-row.degree, row.number))[:MOST_FINDINGS]
    told = [*(row.description for row in largest), *(row.title for row in reports)]
    below = [
        {"summary": row.title, "explanation": " ".join(row.content.split())[:MOST_QUOTED]} for row in reports
    ]
    return {
        "title": "、".join([*(row.name for row in largest), *(row.title for row in reports)][:2]),
        "summary": "；".join(told[:MOST_FINDINGS]),
        "rating": min(10.0, round(math.log2(1 + len(relations) + len(reports)), 1)),
        "findings": [*_findings(relations), *below][:MOST_FINDINGS],
    }


def _findings(relations: Iterable[Fact]) -> list[dict[str, str]]:
    """Relationships put down under the entity that has most of them left, at most five to a finding."""
    left = {fact.number: fact for fact in relations}
    at: dict[str, list[int]] = defaultdict(list)
    for fact in left.values():
        for end in dict.fromkeys((fact.head, fact.tail)):
            at[end].append(fact.number)
    count = Counter({end: len(numbers) for end, numbers in at.items()})
    findings: list[dict[str, str]] = []
    while left and len(findings) < MOST_FINDINGS:
        hub = min(count, key=lambda end: (-count[end], end))
        taken = [left.pop(number) for number in [n for n in at[hub] if n in left][:MOST_CITED]]
        count.subtract(end for fact in taken for end in {fact.head, fact.tail})
        name = taken[0].source if taken[0].head == hub else taken[0].target
        text = "；".join(fact.description for fact in taken)
        numbers = [fact.number for fact in taken]
        findings.append({"summary": name, "explanation": f"{text} {cite('Relationships', numbers)}"})
    return findings


def cite(table: str, numbers: Iterable[int]) -> str:
    """A reference as the prompts ask for it: [Data: Relationships (3, 8)]."""
    return f"[Data: {table} ({', '.join(map(str, numbers))})]"


# ---------------------------------------------------------------------- answers


def answers(question: str, facts: Iterable[Fact], rules: Rules) -> list[tuple[str, int]]:
    """What the facts say to a question, see `read_off`: each with its reference, and points from 0 to 100, so that
    answers from several batches can be compared.
    """
    rows = list({fact.number: fact for fact in facts}.values())
    found = read_off(question, [row.edge for row in rows], rules)
    return [
        (
            f"{answer.name} {cite('Relationships', [rows[place].number for place in answer.edges])}",
            round(100 / (1 + math.exp(-answer.score / 10))),
        )
        for answer in found
    ]


def response(lines: Sequence[str], *, as_list: bool) -> str:
    """Answers a line each, or in a sentence; none is to say that it is not known."""
    if not lines:
        return UNKNOWN
    return "\n".join(lines) if as_list else f"答案是{'；'.join(lines)}。"


def rating(question: str, content: str, rules: Rules) -> int:
    """5 for a report that says what the question names, else 0."""
    named = (anchor.mention.strip("《》") for anchor in rules.linker().link(question).anchors)
    return 5 if any(mention in content for mention in named) else 0
