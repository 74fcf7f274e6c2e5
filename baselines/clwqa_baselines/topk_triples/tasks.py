"""What top-k triples asks a language model: an answer to a question under which facts are listed."""

from __future__ import annotations

from pathlib import Path

from clwqa_baselines.rules.walks import Edge, read_off
from clwqa_bench.llm.rules import Rules
from clwqa_bench.llm.tasks import Choices, EvidenceAnswer, Task
from clwqa_bench.records import Record


class Fact(Record):
    """A numbered triple in words, best first; the prompt shows number and text, or the text alone."""

    number: int
    text: str
    edge: Edge


class AnswerFromFacts(Task[EvidenceAnswer]):
    """Answer with the help of facts that may or may not be relevant.

    `header` names the columns if the facts are rows of a table.  `own_knowledge` allows an answer that none of them
    says.
    """

    id = "answer-from-facts"
    version = 1
    Output = EvidenceAnswer
    max_tokens = 1024
    stage = "answer"
    prompts = Path(__file__).parent / "prompts"

    question: str
    facts: tuple[Fact, ...]
    header: str = ""
    own_knowledge: bool = True

    def choices(self) -> Choices:
        """Citations are numbers of facts."""
        return {"citations": [fact.number for fact in self.facts]}

    def by_rule(self, rules: Rules) -> EvidenceAnswer:
        """What the facts lead to from what the question names, over the way that fits it best."""
        found = read_off(self.question, [fact.edge for fact in self.facts], rules, guessing=True)
        answers = tuple(answer.name for answer in found)
        cited = (fact.number for fact in self.facts if not set(answers).isdisjoint(fact.edge.names))
        return EvidenceAnswer(answers=answers, citations=tuple(cited))
