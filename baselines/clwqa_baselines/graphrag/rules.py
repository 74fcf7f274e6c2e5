"""How the tasks of GraphRAG are done without a model: by what their rows say, and nothing else.

An answer is read off the relationships that are shown: where ways lead from what the question names, those that fit
it best.  Where no such way is shown there is no answer.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from clwqa_baselines.fitting import Reached, Way, fitting
from clwqa_bench.kg.protocol import Direction
from clwqa_bench.llm.rules import Rules

if TYPE_CHECKING:
    from clwqa_baselines.graphrag.tasks import EntityRow, Fact, ReportRow

MOST_FINDINGS, MOST_CITED = 10, 5  # as the prompt asks for
MOST_QUOTED = 200  # characters of a report on a part
LONGEST = 4  # relationships of a walk
MOST_WALKS = 4_000
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


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, how well the way to it fits the question, and the relationships it rests on."""

    name: str
    score: float
    numbers: tuple[int, ...]

    @property
    def points(self) -> int:
        """The score from 0 to 100, so that answers from several batches can be compared."""
        return round(100 / (1 + math.exp(-self.score / 10)))

    @property
    def cited(self) -> str:
        """The answer with its reference."""
        return f"{self.name} {cite('Relationships', self.numbers)}"


def answers(question: str, facts: Iterable[Fact], rules: Rules) -> list[Answer]:
    """What the facts say to a question: where the ways that fit it best lead to, see `fitting`."""
    steps = _steps({fact.number: fact for fact in facts}.values())
    linker = rules.linker()
    named = (node for anchor in linker.link(question).anchors for node in anchor.entities)
    walks = list(_walks([node for node in dict.fromkeys(named) if node in steps], steps))
    names = fitting(question, (walk.reached for walk in walks), rules)
    found = [walk for walk in walks if walk.name in names]
    scores = linker.scores(question, [walk.way for walk in found])
    best: dict[str, Answer] = {}
    for walk, score in zip(found, scores, strict=True):
        if walk.name not in best or score > best[walk.name].score:
            best[walk.name] = Answer(walk.name, score, walk.numbers)
    return [best[name] for name in names]


class Step(NamedTuple):
    """A relationship as it is walked."""

    relation: str
    sense: Direction
    end: str
    name: str
    type: str
    number: int


Steps = Mapping[str, Sequence[Step]]


def _steps(facts: Iterable[Fact]) -> Steps:
    steps: dict[str, list[Step]] = defaultdict(list)
    for f in facts:
        steps[f.head].append(Step(f.relation, "out", f.tail, f.target, f.tail_type, f.number))
        steps[f.tail].append(Step(f.relation, "in", f.head, f.source, f.head_type, f.number))
    return steps


class Walk(NamedTuple):
    """A walk: the nodes it meets, what the last one is called, the way, and the numbers of its relationships."""

    nodes: tuple[str, ...]
    name: str = ""
    way: Way = ()
    numbers: tuple[int, ...] = ()

    def then(self, step: Step) -> Walk:
        """One step longer."""
        way = (*self.way, (step.relation, step.sense, step.type))
        return Walk((*self.nodes, step.end), step.name, way, (*self.numbers, step.number))

    @property
    def reached(self) -> Reached:
        """What the shared rule is told of it."""
        return Reached(node=self.nodes[-1], name=self.name, root=self.nodes[0], way=self.way)


def _walks(starts: Iterable[str], steps: Steps) -> Iterator[Walk]:
    """Simple walks, the shortest first, so many at most."""
    walks = [Walk((start,)) for start in starts]
    left = MOST_WALKS
    for _ in range(LONGEST):
        longer = (
            walk.then(step) for walk in walks for step in steps[walk.nodes[-1]] if step.end not in walk.nodes
        )
        walks = list(islice(longer, left))
        left -= len(walks)
        yield from walks


def response(lines: Sequence[str], *, as_list: bool) -> str:
    """Answers a line each, or in a sentence; none is to say that it is not known."""
    if not lines:
        return UNKNOWN
    return "\n".join(lines) if as_list else f"答案是{'；'.join(lines)}。"


def rating(question: str, content: str, rules: Rules) -> int:
    """5 for a report that says what the question names, else 0."""
    named = (anchor.mention.strip("《》") for anchor in rules.linker().link(question).anchors)
    return 5 if any(mention in content for mention in named) else 0
