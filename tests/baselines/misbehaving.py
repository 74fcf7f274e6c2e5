"""Language models that do not do as they are told, for tests of what systems make of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from pydantic import ValidationError

from clwqa_bench.llm.protocol import LLM, NOTHING, Estimate, Reply, ReplyStatus
from clwqa_bench.llm.tasks import Answers, ExtractAnswers, Task

Talk = Literal["nothing", "noise", "everything"]
NOISE = "\u3000㊣】｝{[“—→ NULL \ud7ff"


@dataclass
class Misbehaving:
    """Replies as another model does, but from call number `fail_from` on to call number `fail_to` with a failure, or
    always with something to say (`talk`) that fits the schema of the reply in form alone.
    """

    model: LLM | None = None
    status: ReplyStatus = "error"
    fail_from: int = 0
    fail_to: int = 0
    talk: Talk | None = None
    calls: int = 0
    failures: int = 0
    after: int = 0  # calls begun after a failure was handed over
    asked: list[Task[Any]] = field(default_factory=list)

    name = "test/misbehaving"

    @property
    def tasks(self) -> list[str]:
        """Their ids, in the order asked."""
        return [task.id for task in self.asked]

    async def do(self, task: Task[Any]) -> Reply[Any]:
        self.calls += 1
        self.after += bool(self.failures)
        self.asked.append(task)
        number = self.calls
        await asyncio.sleep(0)  # whatever is asked at once has been asked when the first reply comes
        if self.fail_from <= number <= self.fail_to:
            self.failures += 1
            return Reply(self.status, raw="…", error=f"call {number} was told to be {self.status}")
        if self.talk:
            return said(task, self.talk)
        assert self.model is not None
        return await self.model.do(task)

    def describe(self) -> dict[str, Any]:
        return {}

    def estimate(self, task: Task[Any]) -> Estimate:
        return NOTHING

    async def close(self) -> None: ...


@dataclass
class Recalling:
    """Does every task as another model does, but answers what nothing it was shown says."""

    ANSWER: ClassVar[str] = "凭空记得之人"
    FIELDS: ClassVar[dict[str, Any]] = {"answers": (ANSWER,), "answer": ANSWER, "response": ANSWER}

    model: LLM | None

    name = "test/recalling"

    async def do(self, task: Task[Any]) -> Reply[Any]:
        if isinstance(task, ExtractAnswers):
            return Reply("ok", Answers(answers=(self.ANSWER,)))
        assert self.model is not None
        reply = await self.model.do(task)
        if reply.value is None:
            return reply
        known = type(reply.value).model_fields
        own = {name: value for name, value in self.FIELDS.items() if name in known}
        return replace(reply, value=reply.value.model_copy(update=own))

    def describe(self) -> dict[str, Any]:
        return {}

    def estimate(self, task: Task[Any]) -> Estimate:
        return NOTHING

    async def close(self) -> None: ...


def said(task: Task[Any], talk: Talk) -> Reply[Any]:
    """A reply that says nothing, noise, or far too much; `unparsed` if the task's output has no room for that."""
    filled = _fill(task.Output.model_json_schema(), task.Output.model_json_schema().get("$defs", {}), talk)
    try:
        value = task.Output.model_validate(filled)
    except ValidationError as error:
        return Reply("unparsed", raw=str(filled), error=str(error))
    return Reply("ok", value, raw=value.model_dump_json())


def _fill(schema: dict[str, Any], known: dict[str, Any], talk: Talk) -> Any:
    """A value of the type that a JSON Schema asks for; labels it is closed to are not looked at but where it must."""
    if "$ref" in schema:
        return _fill(known[schema["$ref"].rpartition("/")[2]], known, talk)
    if "anyOf" in schema:
        return _fill(schema["anyOf"][0 if talk == "everything" else -1], known, talk)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[-1])
    kind = schema.get("type")
    if kind == "object":
        fields = {name: _fill(field, known, talk) for name, field in schema.get("properties", {}).items()}
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict) and talk != "nothing":
            fields |= {key: _fill(extra, known, talk) for key in ("1", NOISE)}
        return fields
    if kind == "array":
        many = {"nothing": 0, "noise": 2, "everything": 60}[talk]
        return [_fill(schema.get("items", {"type": "string"}), known, talk) for _ in range(many)]
    plain: dict[str, dict[Talk, Any]] = {
        "string": {"nothing": "", "noise": NOISE, "everything": "守株待兔，司马迁；史记、韩非子\n" * 40},
        "integer": {
            "nothing": 0,
            "noise": schema.get("minimum", -7),
            "everything": schema.get("maximum", 10**6),
        },
        "number": {
            "nothing": 0.0,
            "noise": schema.get("minimum", -7.5),
            "everything": schema.get("maximum", 1e6),
        },
        "boolean": {"nothing": False, "noise": True, "everything": True},
        "null": {"nothing": None, "noise": None, "everything": None},
    }
    return plain.get(str(kind), plain["string"])[talk]
