"""What RAG asks a language model: an answer to a question under which passages stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clwqa_baselines.rules.walks import Edge, read_off
from clwqa_baselines.rules.ways import may_be
from clwqa_bench.llm.rules import Rules
from clwqa_bench.llm.tasks import Choices, EvidenceAnswer, Task
from clwqa_bench.records import Record


class NumberedPassage(Record):
    """A passage by its rank.  The prompt shows number and text; what it is about and says as triples is for rules."""

    number: int
    text: str
    name: str
    type: str
    edges: tuple[Edge, ...] = ()


class AnswerFromPassages(Task[EvidenceAnswer]):
    """Answer with the help of passages that may or may not be relevant.

    `own_knowledge` allows an answer that none of them says.
    """

    id = "answer-from-passages"
    version = 1
    Output = EvidenceAnswer
    max_tokens = 1024
    stage = "answer"
    prompts = Path(__file__).parent / "prompts"

    question: str
    passages: tuple[NumberedPassage, ...]
    own_knowledge: bool = True

    def choices(self) -> Choices:
        """Citations are numbers of passages."""
        return {"citations": [passage.number for passage in self.passages]}

    def by_rule(self, rules: Rules) -> EvidenceAnswer:
        """What the passages say to lead from what the question names, over the way that fits it best; failing that,
        what the first passage is about that may be meant by its type and is not named by the question."""
        edges = dict.fromkeys(edge for passage in self.passages for edge in passage.edges)
        found = read_off(self.question, tuple(edges), rules, guessing=True)
        answers = tuple(answer.name for answer in found) or tuple(self._about(rules))[:1]
        cited = (p.number for p in self.passages if any(answer in p.text for answer in answers))
        return EvidenceAnswer(answers=answers, citations=tuple(cited))

    def _about(self, rules: Rules) -> Iterator[str]:
        linker = rules.linker()
        target = linker.link(self.question).target_element
        for passage in self.passages:
            if may_be(passage.type, target, linker.ontology) and passage.name not in self.question:
                yield passage.name
