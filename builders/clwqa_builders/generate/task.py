"""What the model is asked: questions about one word, from numbered evidence and from nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from clwqa_bench.llm.tasks import Output, Task
from clwqa_bench.records import Record


class Node(Record):
    """A node of the evidence; `id` is its number ("n1"), `name` what a question should call it."""

    id: str
    type: str
    name: str


class Fact(Record):
    """A triple of the evidence, between two of its nodes; `id` is its number ("f1")."""

    id: str
    head: str
    relation: str
    tail: str


class WrittenQuestion(Output):
    """A question as the model writes it.

    `answers` are nodes, `evidence` the facts that lead from what the question names to the answers, `hops` how many of
    them lie one behind the other.
    """

    question: str
    answers: tuple[str, ...]
    evidence: tuple[str, ...]
    hops: int


class WrittenQuestions(Output):
    """What one call gives."""

    questions: tuple[WrittenQuestion, ...]


class GenerateQuestions(Task[WrittenQuestions]):
    """Write up to `wanted` questions about `word` (a node) that the facts answer."""

    id = "generate-questions"
    version = 1
    Output = WrittenQuestions
    max_tokens = 1024
    stage = "answer"
    prompts = Path(__file__).parent / "prompts"

    word: str
    nodes: tuple[Node, ...]
    facts: tuple[Fact, ...]
    wanted: int

    def output_schema(self) -> dict[str, Any]:
        """As for every task; node and fact ids are closed to those of the evidence."""
        schema = super().output_schema()
        questions = schema["properties"]["questions"]
        questions["maxItems"] = self.wanted
        fields = questions["items"]["properties"]
        fields["answers"]["items"] = {"type": "string", "enum": [node.id for node in self.nodes]}
        fields["evidence"]["items"] = {"type": "string", "enum": [fact.id for fact in self.facts]}
        return schema

    @property
    def material(self) -> str:
        """The evidence as one line of JSON: whatever the graph says, nothing in it ends the line."""
        shown = {
            "word": self.word,
            "nodes": [node.model_dump() for node in self.nodes],
            "facts": [fact.model_dump() for fact in self.facts],
        }
        return orjson.dumps(shown).decode().replace("<", "\\u003c")
