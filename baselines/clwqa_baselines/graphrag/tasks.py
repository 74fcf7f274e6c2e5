"""What GraphRAG asks a language model, and how each is done by rule (`rules.py`).

Rows are numbered as in the tables of the graph.  A prompt shows a fact by number, names, description and rank; ids,
relation and types are for back-ends that answer without a model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from clwqa_baselines.graphrag.rules import answers, rating, report, response
from clwqa_baselines.rules.walks import Edge
from clwqa_baselines.shared.scores import Scale
from clwqa_bench.llm.rules import Rules
from clwqa_bench.llm.tasks import Output, Task
from clwqa_bench.records import Record

PROMPTS = Path(__file__).parent / "prompts"


# ---------------------------------------------------------------------- rows


class EntityRow(Record):
    """A row of the entities table."""

    number: int
    name: str
    description: str
    degree: int
    entity_id: str


class Fact(Record):
    """A row of the relationships table."""

    number: int
    source: str
    target: str
    description: str
    rank: int
    head: str
    relation: str
    tail: str
    head_type: str
    tail_type: str

    @property
    def edge(self) -> Edge:
        """What rules read of it."""
        return Edge(
            head=self.head,
            relation=self.relation,
            tail=self.tail,
            names=(self.source, self.target),
            types=(self.head_type, self.tail_type),
        )


class ReportRow(Record):
    """A report on a community; `facts` are the relationships it refers to, `weight` the share of relationships that
    members of the community take part in (global search).
    """

    number: int
    title: str
    content: str
    rating: float
    weight: float = 0.0
    facts: tuple[Fact, ...] = ()


class SourceRow(Record):
    """A source text: a passage of the graph, numbered as the entity it is."""

    number: int
    text: str
    entity_id: str


class Point(Record):
    """A point of a partial answer, as it is reduced; `analyst` numbers the batch of reports it is from."""

    analyst: int
    description: str
    score: int


# ---------------------------------------------------------------------- outputs


class Finding(Output):
    """What is remarkable about a community."""

    summary: str
    explanation: str


class Report(Output):
    """A report on a community; `rating` says how much it matters, 0 to 10."""

    title: str
    summary: str
    rating: Annotated[float, Scale(0, 10)]
    rating_explanation: str = ""
    findings: tuple[Finding, ...] = ()


class Rating(Output):
    """How much a report helps to answer a question, 0 to 5."""

    reason: str = ""
    rating: Annotated[int, Scale(0, 5)]


class FoundPoint(Output):
    """A point that helps to answer a question, 0 to 100."""

    description: str
    score: Annotated[int, Scale(0, 100)]


class Points(Output):
    """A partial answer."""

    points: tuple[FoundPoint, ...]


class Response(Output):
    """An answer in words, with references to rows."""

    response: str


# ---------------------------------------------------------------------- tasks


class WriteReport(Task[Report]):
    """Report on a community from its entities, relationships and the reports on parts of it."""

    id = "graphrag-report"
    version = 1
    Output = Report
    max_tokens = 4096
    stage = "plan"
    prompts: ClassVar[Path] = PROMPTS

    entities: tuple[EntityRow, ...]
    relations: tuple[Fact, ...]
    reports: tuple[ReportRow, ...] = ()
    words: int = 2_000

    def extract(self) -> Report:
        """A report by rule."""
        return Report.model_validate(report(self.entities, self.relations, self.reports))

    def by_rule(self, rules: Rules) -> Report:
        return self.extract()


class RateReport(Task[Rating]):
    """Rate how much a report helps to answer a question (dynamic selection)."""

    id = "graphrag-rate"
    version = 1
    Output = Rating
    max_tokens = 256
    stage = "rank"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    title: str
    content: str

    def by_rule(self, rules: Rules) -> Rating:
        return Rating(rating=rating(self.question, self.content, rules))


class MapReports(Task[Points]):
    """Points that a batch of reports gives to the answer (global search, map)."""

    id = "graphrag-map"
    version = 1
    Output = Points
    max_tokens = 2048
    stage = "rank"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    reports: tuple[ReportRow, ...]
    words: int = 1_000

    def by_rule(self, rules: Rules) -> Points:
        facts = [fact for report in self.reports for fact in report.facts]
        found = answers(self.question, facts, rules)
        return Points(points=tuple(FoundPoint(description=text, score=points) for text, points in found))


class ReducePoints(Task[Response]):
    """An answer from the points of all batches, the most helpful first (global search, reduce)."""

    id = "graphrag-reduce"
    version = 1
    Output = Response
    max_tokens = 4096
    stage = "answer"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    points: tuple[Point, ...]
    as_list: bool = True
    words: int = 2_000
    own_knowledge: bool = False

    def by_rule(self, rules: Rules) -> Response:
        best = max((point.score for point in self.points), default=0)
        lines = dict.fromkeys(point.description for point in self.points if point.score == best > 0)
        return Response(response=response(tuple(lines), as_list=self.as_list))


class AnswerFromTables(Task[Response]):
    """An answer from tables of reports, entities, relationships and source texts (local search, report retrieval)."""

    id = "graphrag-answer"
    version = 1
    Output = Response
    max_tokens = 4096
    stage = "answer"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    reports: tuple[ReportRow, ...] = ()
    entities: tuple[EntityRow, ...] = ()
    relations: tuple[Fact, ...] = ()
    sources: tuple[SourceRow, ...] = ()
    as_list: bool = True
    own_knowledge: bool = False

    def by_rule(self, rules: Rules) -> Response:
        facts = [*self.relations, *(fact for report in self.reports for fact in report.facts)]
        found = [text for text, _ in answers(self.question, facts, rules)]
        return Response(response=response(found, as_list=self.as_list))


TASKS: tuple[type[Task[Any]], ...] = (WriteReport, RateReport, MapReports, ReducePoints, AnswerFromTables)
