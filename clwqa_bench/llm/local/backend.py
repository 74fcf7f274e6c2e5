"""The back-end `local`: a model of transformers on this machine, held to the schema of the task.

It is greedy unless a task has a temperature above 0: then tokens are drawn, the same ones for the same request.

The same request gets the same reply up to rounding: which other replies are written at the same time decides how
sums are grouped, and two tokens that are almost equally likely can change places.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import Field, FiniteFloat

from clwqa_bench.llm.cache import ReplyCache
from clwqa_bench.llm.limits import Budget, count_tokens
from clwqa_bench.llm.local import constraint, prompting, weights
from clwqa_bench.llm.local.constraint import Grammars, bounded
from clwqa_bench.llm.local.generation import Desk, Draw, End, Row, Writer
from clwqa_bench.llm.parsing import json_object, read
from clwqa_bench.llm.presets import Format
from clwqa_bench.llm.protocol import Estimate, LLMError, Options, Reply, ReplyStatus
from clwqa_bench.llm.talk import Talk, request_of
from clwqa_bench.llm.tasks import TASKS, OutputT, Task, prompts_digest, render
from clwqa_bench.systems import Settings, parse_settings

if TYPE_CHECKING:
    from clwqa_bench.systems import Resources

VERSIONS = ("torch", "transformers", "tokenizers", "llguidance")
"""Packages whose version can change a reply."""

SMALLER = "use a smaller model, fewer replies at a time (--llm-set batch=1), or dtype=bfloat16"


class Local(Settings):
    """Settings of the local back-end.  Those in `identity` change replies, the others only how fast they come."""

    revision: str = Field(default="", description="Branch, tag or commit of a model from the Hub.")
    dtype: Literal["float32", "bfloat16", "float16"] = Field(default="float32", description="Of the weights.")
    device: str = Field(
        default="cpu", pattern=r"^(cpu|mps|cuda(:\d+)?)$", description="cpu, mps, cuda, cuda:1 ..."
    )
    constrained: bool = Field(default=True, description="Hold replies to the schema of the task.")
    max_tokens: int | None = Field(
        default=None, ge=1, description="Bound of a reply, instead of the task's own."
    )
    batch: int = Field(default=8, ge=1, description="Replies written at a time.")
    threads: int | None = Field(
        default=None, ge=1, description="Threads of torch, by default one for each core."
    )
    timeout: FiniteFloat = Field(default=600.0, gt=0, description="Seconds for one reply, once it is begun.")


def open_local(name: str, resources: Resources | None, options: Options) -> LocalModel:  # noqa: ARG001
    """A model by folder, .gguf file or Hub name, the bundled one for "".  It is loaded now, unless `options.dry`.

    Raises LLMError if packages or files are missing or damaged, SettingError for a setting that does not fit.
    """
    settings = cast(Local, parse_settings("local", Local, options.settings))
    source = weights.find(name, settings.revision, dry=options.dry)
    return LocalModel(source, settings, options)


class LocalModel:
    """A language model on this machine (`clwqa_bench.llm.protocol.LLM`)."""

    def __init__(self, source: weights.Source, settings: Local, options: Options) -> None:
        self.name = f"local/{source.name}"
        self.settings, self.options = settings, options
        self._source = source
        self._budget = Budget(options.limits)
        self._cache = ReplyCache(options.cache) if options.cache and not options.dry else None
        self._format: Format = "json_schema" if settings.constrained else "prompt"
        self._identity = self._identified()
        if not options.dry:
            self._load()

    def _load(self) -> None:
        try:
            model, self._tokenizer = weights.load(
                self._source, self.settings.dtype, self.settings.device, self.settings.threads
            )
        except (RuntimeError, MemoryError, AssertionError) as error:
            what = f"{self._source.name} cannot be loaded: {error}"
            fix = "check that its files belong together, and --llm-set device=..."
            raise out_of_memory(error) or LLMError(what, fix=fix) from None
        writer = Writer(model, self._tokenizer)
        self._longest: int = getattr(model.config, "max_position_embeddings", None) or 1 << 31
        self._grammars = Grammars(self._tokenizer, model.config.vocab_size, writer.ends)
        self._desk = Desk(writer, self.settings.batch)

    def _identified(self) -> dict[str, Any]:
        """What replies depend on besides task and prompts; the fields that `request_of` asks for are among them."""
        parameters = {
            "decoding": "greedy",
            "dtype": self.settings.dtype,
            "device": self.settings.device,
            "bounds": constraint.BOUNDS if self.settings.constrained else None,
            "examples": prompting.VERSION,
            "versions": {package: version(package) for package in VERSIONS},
        }
        return {
            "endpoint": "local",
            "model": self._source.name,
            "revision": self._source.revision,
            "quantisation": self._source.quantisation,
            "parameters": parameters,
            "max_tokens": self.settings.max_tokens,
            "format": self._format,
        }

    def describe(self) -> dict[str, Any]:
        """See `LLM.describe`."""
        return {
            "backend": "local",
            **self._identity,
            "language": self.options.language,
            "prompts": prompts_digest(self.options.language),
            "tasks": {task.id: task.version for task in TASKS},
            "repeat": self.options.repeat,
        }

    def estimate(self, task: Task[Any]) -> Estimate:
        """See `LLM.estimate`; with the examples that a model without a chat template is shown."""
        shown = prompting.messages(task, self.options.language, chat=False)
        return Estimate(count_tokens(message["content"] for message in shown), self._most(task))

    async def close(self) -> None:
        """See `LLM.close`."""
        if not self.options.dry:
            await self._desk.close()
        if self._cache:
            self._cache.close()

    async def do(self, task: Task[OutputT]) -> Reply[OutputT]:
        """See `LLM.do`."""
        if task.temperature == 0:  # greedy, as without one: a reply kept for either is the other's too
            task = task.model_copy(update={"temperature": None})
        talk = Talk(task, render(task, self.options.language))
        request = request_of(task, talk.prompt, self._identity, self.options.repeat, self._format)
        if reply := talk.recalled(self._cache, request):
            self.options.activity.cached += 1
            return reply
        reply = await self._answered(
            talk, Draw.at(task.temperature, request.key) if task.temperature else None
        )
        if reply.value is not None:
            talk.remember(self._cache, request, reply.value)
        self.options.activity.skipped += reply.status == "skipped"
        return reply

    def _most(self, task: Task[Any]) -> int:
        return self.settings.max_tokens or task.max_tokens

    # ------------------------------------------------------------------ one reply

    async def _answered(self, talk: Talk[OutputT], draw: Draw | None) -> Reply[OutputT]:
        """A reply, if the prompt can be read and the budget allows it."""
        try:
            row = self._row(talk.task, draw)
        except ValueError as error:
            return talk.failed("error", str(error))
        worst = Estimate(len(row.prompt), row.max_tokens)
        if worst.tokens_in + worst.tokens_out > self._longest:
            tokens = f"{worst.tokens_in:,} tokens and a reply of {worst.tokens_out:,}"
            return talk.failed("error", f"{tokens} are more than the {self._longest:,} the model can read")
        if reason := self._budget.reserve(worst):
            return talk.failed("skipped", reason)
        used: Estimate | None = None
        try:
            end = await self._written(row)
            used = Estimate(len(row.prompt), len(row.written))
        finally:
            self._budget.settle(worst, used)
        talk.attempts, talk.used, talk.raw = 1, used, self._desk.writer.text(row)
        return self._read(talk, row, end)

    async def _written(self, row: Row) -> End:
        activity = self.options.activity
        activity.requests += 1
        activity.in_flight += 1
        try:
            return await self._desk.write(row)
        except (RuntimeError, MemoryError) as error:
            raise out_of_memory(error) or error from None
        finally:
            activity.in_flight -= 1

    def _row(self, task: Task[Any], draw: Draw | None) -> Row:
        """Raises ValueError for a prompt or a schema that the model cannot take."""
        language, most = self.options.language, self._most(task)
        chat = bool(self._tokenizer.chat_template)
        prompt = prompting.encode(self._tokenizer, prompting.messages(task, language, chat=chat), language)
        held = self.settings.constrained
        return Row(
            kind=task.id,
            prompt=prompt,
            max_tokens=most,
            timeout=self.settings.timeout,
            constraint=self._grammars.begin(bounded(task.output_schema(), most)) if held else None,
            is_complete=_has_object,
            future=asyncio.get_running_loop().create_future(),
            draw=draw,
        )

    def _read(self, talk: Talk[OutputT], row: Row, end: End) -> Reply[OutputT]:
        if end == "timeout":
            return talk.failed("timeout", f"no complete reply within {self.settings.timeout:g} s")
        found = read(talk.task, talk.raw)
        if found.value is not None:
            return Reply("ok", found.value, talk.raw, talk.usage())
        status: ReplyStatus = "refused" if found.refused else "unparsed"
        cut = f"; it was cut off after {row.max_tokens:,} tokens" if end == "length" else ""
        return talk.failed(status, (found.error or "the model declines") + cut)


def out_of_memory(error: Exception) -> LLMError | None:
    """The error to raise if memory has run out; None if it is anything else."""
    if isinstance(error, MemoryError) or "memory" in str(error).casefold():
        return LLMError("there is not enough memory for the model", fix=SMALLER)
    return None


def _has_object(text: str) -> bool:
    """Whether there is a complete JSON object in a text."""
    try:
        json_object(text)
    except ValueError:
        return False
    return True
