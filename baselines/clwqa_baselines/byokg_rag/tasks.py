"""What BYOKG-RAG asks a language model: artifacts to retrieve by, what to expand, queries, the answer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from clwqa_baselines.byokg_rag.cypher import along_ways
from clwqa_baselines.byokg_rag.routes import routes, standing
from clwqa_baselines.rules.fitting import fitting
from clwqa_baselines.rules.ways import Offer, Reached
from clwqa_bench.llm.rules import Rules
from clwqa_bench.llm.tasks import Choices, Output, Task, Texts
from clwqa_bench.records import Record

PROMPTS = Path(__file__).parent / "prompts"
MOST_NAMES = 300  # names that a schema is closed to; with more the reply is checked alone


class Line(Record):
    """A line of context.  Prompts show the text; where it leads to is for rules."""

    text: str
    reached: tuple[Reached, ...] = ()


def _reached(context: Iterable[Line]) -> Iterable[Reached]:
    return (one for line in context for one in line.reached)


class Artifacts(Output):
    """What to retrieve by: entities to link, sequences of relations to follow, answers to check, a query to run."""

    entities: Texts
    paths: tuple[tuple[str, ...], ...]
    answers: Texts
    opencypher: str = ""
    finished: bool = False


class LinkToGraph(Task[Artifacts]):
    """The KG-linker: all artifacts in one call.  `first` says that there is no context yet, so nothing is finished."""

    id = "byokg-link"
    version = 1
    Output = Artifacts
    max_tokens = 1024
    stage = "link"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    relations: tuple[Offer, ...]
    context: tuple[Line, ...] = ()
    first: bool = True
    queryable: bool = False
    patterns: tuple[str, ...] = ()
    user_text: str = ""

    def choices(self) -> Choices:
        """Relations are those offered, and a query is written only for a store that runs it."""
        closed: dict[str, Iterable[str | int]] = {"paths": [one.label for one in self.relations]}
        if not self.queryable:
            closed["opencypher"] = [""]
        if self.first:
            closed["finished"] = [False]
        return closed

    def by_rule(self, rules: Rules) -> Artifacts:
        """The entities the linker sees and the best routes; later, what routes go on from, or that all is found.

        Without a model there is no knowledge, so no answers are drafted.
        """
        if self.first:
            planned = routes(self.question, self.relations, rules)
            anchors = rules.linker().link(self.question).anchors
            mentions = tuple(anchor.mention for anchor in anchors)
            return Artifacts(entities=mentions, paths=planned, answers=())
        arrived, ahead = standing(self.question, _reached(self.context), self.relations, rules)
        if arrived or not ahead:
            return Artifacts(entities=(), paths=(), answers=(), finished=True)
        return Artifacts(entities=tuple(ahead), paths=(), answers=())


class Selected(Output):
    """Relations to expand, by label."""

    relations: Texts


class SelectRelations(Task[Selected]):
    """Choose the relations at some entities that may lead to the answer."""

    id = "byokg-relations"
    version = 1
    Output = Selected
    max_tokens = 256
    stage = "expand"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    entities: tuple[str, ...]
    relations: tuple[Offer, ...]
    known: tuple[Offer, ...] = ()  # all relations of the graph: for rules, which plan over them

    def choices(self) -> Choices:
        """Relations are those offered."""
        return {"relations": [one.label for one in self.relations]}

    def by_rule(self, rules: Rules) -> Selected:
        """Those on any of the best routes; if none is, those whose words are like the question's."""
        planned = {label for route in routes(self.question, self.known, rules) for label in route}
        labels = [one.label for one in self.relations]
        alike = dict(zip(labels, rules.relevance(self.question, labels), strict=True))
        chosen = [label for label in labels if label in planned] or [
            label for label in labels if alike[label]
        ]
        return Selected(relations=tuple(chosen))


class NextStep(Output):
    """Entities to go on with, or that the context is enough."""

    entities: Texts
    finished: bool = False


class ChooseNext(Task[NextStep]):
    """Read the context; say which entities to expand next, or that nothing is missing."""

    id = "byokg-next"
    version = 1
    Output = NextStep
    max_tokens = 256
    stage = "decide"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    context: tuple[Line, ...]
    names: tuple[str, ...]
    known: tuple[Offer, ...] = ()

    def choices(self) -> Choices:
        """Entities are those in the triples of the context, if they are not too many to list."""
        return {"entities": self.names} if 0 < len(self.names) <= MOST_NAMES else {}

    def by_rule(self, rules: Rules) -> NextStep:
        """What a route goes on from; finished where one has arrived, or none goes on."""
        arrived, ahead = standing(self.question, _reached(self.context), self.known, rules)
        return NextStep(entities=tuple(ahead), finished=bool(arrived) or not ahead)


class Queries(Output):
    """A query that finds entities, one that fetches what was asked for, or that nothing is missing."""

    linking: str
    main: str
    finished: bool = False


class WriteQueries(Task[Queries]):
    """The Cypher linker: write queries, having seen what the ones before gave."""

    id = "byokg-cypher"
    version = 1
    Output = Queries
    max_tokens = 1024
    stage = "plan"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    patterns: tuple[str, ...]
    feedback: tuple[str, ...] = ()
    found: tuple[Reached, ...] = ()  # for rules: where the paths lead that queries found,
    known: tuple[Offer, ...] = ()  # and what may be walked

    def by_rule(self, rules: Rules) -> Queries:
        """The query along the best way that has not been tried; none any more once one has found something.

        Which entities the question names the linker knows, so there is none to find them.
        """
        tried = {text.partition("\n")[0] for text in self.feedback}
        left = (
            [] if self.found else [q for q in along_ways(self.question, self.known, rules) if q not in tried]
        )
        return Queries(linking="", main=left[0] if left else "", finished=not left)


class Generated(Output):
    """Answers, best first; reasoning stands before them, so it is written first."""

    reasoning: str = ""
    answers: Texts


class Generate(Task[Generated]):
    """Answer from the context, from own knowledge where it does not suffice."""

    id = "byokg-answer"
    version = 1
    Output = Generated
    max_tokens = 4096
    stage = "answer"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    context: tuple[Line, ...]
    user_text: str = ""

    def by_rule(self, rules: Rules) -> Generated:
        """What fits the question best of all that the context leads to."""
        return Generated(answers=fitting(self.question, _reached(self.context), rules).names)
