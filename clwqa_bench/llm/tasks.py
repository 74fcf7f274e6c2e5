"""What systems ask a language model: typed tasks.  A task's fields are the input, `Output` is what comes back.

A system never writes a prompt.  It asks `llm.do(AnswerFromEvidence(...))`, and every back-end answers the same
question: an endpoint from the prompt, a local model constrained to the schema, the lexical one from the fields.
The prompt of a task is `prompts/<id>.<language>.j2`; a change to it that may change a reply raises `version`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypedDict, TypeVar, cast

import orjson
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from clwqa_bench.predictions import Stage
from clwqa_bench.records import Record

if TYPE_CHECKING:
    from jinja2 import Environment

    from clwqa_bench.llm.rules import Rules
    from clwqa_bench.ontology import Ontology

Language = Literal["zh", "en"]
PROMPTS = Path(__file__).parent / "prompts"
ANNOTATIONS = frozenset({"title", "description", "default"})  # say nothing about what is valid


class Message(TypedDict):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class Output(Record):
    """Base of what tasks return.  A key nobody asked for does no harm, so it is left out rather than refused."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)


OutputT = TypeVar("OutputT", bound=Output)

Choices = Mapping[str, Iterable[str | int]]
"""By the names that lead to a field, with dots between them: `anchors.elements`.  A list is passed through, so the
name of a list of texts means each text."""


class Task(Record, Generic[OutputT]):
    """Base of all tasks.  `max_tokens` bounds the reply; `stage` is where its cost counts unless a system says.

    `alone` says that the reply has to be the JSON object and nothing besides: no prose, no code fence around it.
    `temperature` is that of this call, instead of the run's own (None); the lexical back-end has none.
    A task from elsewhere names the folder of its templates in `prompts`, says `by_rule` what is replied to it without
    a model, and is listed in `System.tasks`.
    """

    id: ClassVar[str]
    version: ClassVar[int]
    Output: ClassVar[type[Output]]
    max_tokens: ClassVar[int]
    stage: ClassVar[Stage]
    alone: ClassVar[bool] = False
    prompts: ClassVar[Path] = PROMPTS

    temperature: FiniteFloat | None = Field(default=None, ge=0)

    @model_serializer(mode="wrap")
    def _fields(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without a temperature unless the call has one of its own."""
        fields: dict[str, Any] = dump(self)
        if self.temperature is None:
            fields.pop("temperature", None)
        return fields

    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the reply: every key required and no other allowed, without references, values closed to
        `choices`.
        """
        schema = _strict(self.Output.model_json_schema(mode="serialization"))
        for path, values in self.choices().items():
            _within(schema, path)["enum"] = list(dict.fromkeys(values))
        return schema

    def choices(self) -> Choices:
        """The values that fields of the reply are closed to; all others are as `Output` has them."""
        return {}

    def by_rule(self, rules: Rules) -> OutputT | None:
        """What `--llm lexical` replies, from the fields alone; None if there is no rule for it."""
        return None


# ---------------------------------------------------------------------- outputs


def _distinct(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


Texts = Annotated[tuple[str, ...], AfterValidator(_distinct)]
"""Texts in the order given, without blanks and repetitions."""


class AnchorMention(Output):
    """Words of the question that name an entity, and the elements (labels) it may belong to."""

    mention: str
    elements: Texts


class Constraints(Output):
    """What a question starts from, and the element of what it asks for (seed paper sec. 4.2)."""

    anchors: tuple[AnchorMention, ...]
    target_element: str


class Answers(Output):
    """Answers, best first."""

    answers: Texts


class EvidenceAnswer(Answers):
    """Answers from evidence, best first, with the numbers of the snippets they rest on."""

    explanation: str = ""
    citations: tuple[int, ...] = ()


class ClosedBookAnswer(Output):
    """Answers from the model's own knowledge, best first.  Reasoning stands before them, so it is written first."""

    reasoning: str = ""
    answers: Texts


class Judgement(Output):
    """A judge's ruling on an answer.  Here a key nobody asked for is not left out: it may be meant to change it."""

    model_config = ConfigDict(extra="forbid")

    verdict: Literal["correct", "wrong"]
    reason: str


# ---------------------------------------------------------------------- tasks


class ElementNote(Record):
    """A cultural element as the model is told of it; `parent` is the label of the element above, if any."""

    label: str
    description: str
    parent: str | None = None


class ExtractConstraints(Task[Constraints]):
    """CEAF stage 1: the anchors a question names, their elements, and the element asked for (seed paper sec. 4.1)."""

    id = "extract-constraints"
    version = 1
    Output = Constraints
    max_tokens = 512
    stage = "link"

    question: str
    elements: tuple[ElementNote, ...]

    def choices(self) -> Choices:
        """Labels are those of `elements`."""
        labels = [note.label for note in self.elements]
        return {"target_element": labels, "anchors.elements": labels}

    def by_rule(self, rules: Rules) -> Constraints:
        """What the linker finds, in the labels the task has."""
        linker = rules.linker()
        linked = linker.link(self.question)
        anchors = tuple(
            AnchorMention(mention=anchor.mention, elements=labels)
            for anchor in linked.anchors
            if (labels := self._labels(anchor.element, linker.ontology))
        )
        target = self._labels(linked.target_element, linker.ontology)
        return Constraints(anchors=anchors, target_element=target[0] if target else "")

    def _labels(self, element: str, ontology: Ontology) -> tuple[str, ...]:
        """The label the task has for an element, or for the nearest one above; none if there is none."""
        known = {note.label for note in self.elements}
        for name in (element, *ontology.ancestors(element)):
            for label in (name, ontology.label(name)):
                if label in known:
                    return (label,)
        return ()


class Snippet(Record):
    """A numbered piece of evidence.  A prompt shows number and text; the end node (`answer`, `entity_id`) and the
    ranker's `score` are for back-ends that answer without a model.
    """

    number: int
    text: str
    answer: str
    entity_id: str | None = None
    score: float | None = None


class AnswerFromEvidence(Task[EvidenceAnswer]):
    """CEAF stage 4: answer from numbered snippets alone, and cite them.  No snippets means no evidence was found."""

    id = "answer-from-evidence"
    version = 1
    Output = EvidenceAnswer
    max_tokens = 1024
    stage = "answer"

    question: str
    snippets: tuple[Snippet, ...]

    def by_rule(self, rules: Rules) -> EvidenceAnswer:
        """The end nodes of the best snippets, and of no other.

        Snippets come best first.  All that share the highest score are taken, since a question may have several
        answers and paths of one shape score alike; where nothing is scored, the first alone.  No snippet, no answer.
        """
        scores = [snippet.score for snippet in self.snippets if snippet.score is not None]
        best = [one for one in self.snippets if one.score == max(scores)] if scores else self.snippets[:1]
        return EvidenceAnswer(
            answers=tuple(one.answer for one in best), citations=tuple(one.number for one in best)
        )


class AnswerClosedBook(Task[ClosedBookAnswer]):
    """Answer without any graph: at once (zero-shot) or, if `reasoned`, after thinking step by step."""

    id = "answer-closed-book"
    version = 1
    Output = ClosedBookAnswer
    max_tokens = 1024
    stage = "answer"

    question: str
    reasoned: bool = False

    def choices(self) -> Choices:
        """Without room for reasoning unless it is asked for: a zero-shot answer must not be a reasoned one."""
        return {} if self.reasoned else {"reasoning": [""]}

    def by_rule(self, rules: Rules) -> ClosedBookAnswer:
        """No answer: without a model there is no knowledge."""
        return ClosedBookAnswer(answers=())


class ExtractAnswers(Task[Answers]):
    """Pick out the answers that a text in prose gives to a question, in order of appearance."""

    id = "extract-answers"
    version = 1
    Output = Answers
    max_tokens = 512
    stage = "adapt"

    question: str
    text: str

    def by_rule(self, rules: Rules) -> Answers:
        """Names of the graph in the text, longest first at every place, but for those the question names itself."""
        found = rules.linker().gazetteer.all_mentions(self.text)
        return Answers(answers=tuple(m.text.strip("《》") for m in found if m.text not in self.question))


TASKS: tuple[type[Task[Any]], ...] = (
    ExtractConstraints,
    AnswerFromEvidence,
    AnswerClosedBook,
    ExtractAnswers,
)
"""What systems ask, and so what a run's replies depend on."""


_LEAVING = re.compile("[<\u0085\u2028\u2029]")  # what could pass for the end of a line of data


class JudgeAnswer(Task[Judgement]):
    """Rule on an answer that no rule credits; asked by `clwqa_bench.judging`, never by a system.

    `golds` are those not credited yet; `order` is the order in which the prompt shows golds and answer.
    The answer may say anything, also what the judge should write.  So a reply is the ruling alone: a model that quotes
    a ruling dictated by the answer, in whatever words of its own, has not ruled.
    """

    id = "judge-answer"
    version = 2
    Output = Judgement
    max_tokens = 256
    stage = "adapt"
    alone = True

    question: str
    golds: tuple[str, ...]
    answer: str
    order: Literal["gold-first", "answer-first"] = "gold-first"

    @property
    def material(self) -> str:
        """One line of JSON that nothing inside it can end: no quote, line break or "<" in it is left as it is."""
        sides: list[tuple[str, object]] = [("gold", self.golds), ("answer", self.answer)]
        shown = dict(sides if self.order == "gold-first" else sides[::-1])
        text = orjson.dumps({"question": self.question, **shown}).decode()
        return _LEAVING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# ---------------------------------------------------------------------- prompts


def render(task: Task[Any], language: Language = "zh") -> tuple[Message, ...]:
    """The prompt of a task: a system message and a user message."""
    system, user = _blocks(task.prompts, f"{task.id}.{language}.j2", ("system", "user"), task=task)
    return Message(role="system", content=system), Message(role="user", content=user)


def render_repair(error: str, language: Language = "zh") -> Message:
    """What a model is told when its reply could not be read."""
    (user,) = _blocks(PROMPTS, f"repair.{language}.j2", ("user",), error=error)
    return Message(role="user", content=user)


def prompts_digest(language: Language, tasks: Iterable[type[Task[Any]]] = TASKS) -> str:
    """Twelve hex digits that change with any prompt of these tasks: part of what replies depend on."""
    paths = [task.prompts / f"{task.id}.{language}.j2" for task in tasks]
    digest = hashlib.sha256()
    for path in sorted((*paths, PROMPTS / f"repair.{language}.j2")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _blocks(folder: Path, template: str, names: tuple[str, ...], **context: object) -> tuple[str, ...]:
    found = _environment(folder).get_template(template)
    filled = found.new_context(context)
    return tuple("".join(found.blocks[name](filled)).strip() for name in names)


@cache
def _environment(folder: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(folder, encoding="utf-8")
    return Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """What endpoints and grammars take: references replaced by what they mean, no titles and defaults."""
    definitions = schema.pop("$defs", {})

    def strict(node: Any) -> Any:
        if isinstance(node, list):
            return [strict(part) for part in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return strict(definitions[node["$ref"].rpartition("/")[2]])
        kept = {key: strict(part) for key, part in node.items() if key not in ANNOTATIONS}
        if "properties" in node:
            fields = {name: strict(field) for name, field in node["properties"].items()}
            kept |= {"properties": fields, "required": list(fields), "additionalProperties": False}
        return kept

    return cast(dict[str, Any], strict(schema))


def _within(schema: dict[str, Any], path: str) -> dict[str, Any]:
    """The part of a schema that a path of `Choices` leads to.  Raises KeyError if there is none."""
    for name in path.split("."):
        schema = schema["properties"][name]
        while "items" in schema:
            schema = schema["items"]
    return schema
