"""Any OpenAI-compatible endpoint: prompt out, JSON in, from the cache if it was asked before.

A reply goes through four doors, each with its own status: the budget (skipped), the endpoint (error, timeout,
refused), the reading of it (unparsed, after at most two repairs), and only then the value.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from clwqa_bench import console
from clwqa_bench.llm.cache import ReplyCache, Request
from clwqa_bench.llm.chat import Chat, Completion, Failure
from clwqa_bench.llm.limits import Budget, Clock, Limiter, count_tokens
from clwqa_bench.llm.parsing import MAX_TEXT, read
from clwqa_bench.llm.presets import FORMATS, Endpoint, Format, endpoint
from clwqa_bench.llm.protocol import Estimate, LLMError, Options, Reply
from clwqa_bench.llm.talk import Talk, parameters_of, request_of, response_format
from clwqa_bench.llm.tasks import (
    TASKS,
    Message,
    OutputT,
    Task,
    prompts_digest,
    render,
    render_repair,
)

if TYPE_CHECKING:
    from clwqa_bench.systems import Resources

QUOTED = 4_000  # characters of a reply that is sent back to be repaired


def open_openai(name: str, resources: Resources | None, options: Options) -> OpenAI:  # noqa: ARG001
    """The back-end for a preset or a model id.

    Without a price what it costs is written down as 0, which is said.
    Raises LLMError if the endpoint or its key is missing, or the price of what is not to cost more than a limit.
    """
    found = endpoint(name, options.settings)
    _look_for_a_price(name, found, options)
    return OpenAI(name, found, options)


def _look_for_a_price(name: str, endpoint: Endpoint, options: Options) -> None:
    prices = {"price_in": endpoint.price_in, "price_out": endpoint.price_out}
    missing = [field for field, price in prices.items() if price is None]
    settings = " ".join(f"--llm-set {field}=..." for field in missing)
    if missing and options.limits.cost is None and not options.dry:
        console.warn(
            f"the price of openai:{name} is not known; costs are written down as 0 unless you add {settings}"
        )
    if missing and options.limits.cost is not None:
        raise LLMError(
            f"a limit of cost cannot be held: the price of openai:{name} is not known",
            fix=f"add {settings} (US dollars per million tokens, 0 if free), or use --max-tokens",
            field=missing[0],
        )


class OpenAI:
    """A language model behind an OpenAI-compatible endpoint (`clwqa_bench.llm.protocol.LLM`)."""

    def __init__(self, name: str, endpoint: Endpoint, options: Options, clock: Clock | None = None) -> None:
        self.name = f"openai/{name}"
        self.endpoint, self.options = endpoint, options
        self._activity = options.activity
        self._budget = Budget(options.limits)
        self._cache = ReplyCache(options.cache) if options.cache and not options.dry else None
        self._negotiation = asyncio.Lock()
        self._identity = endpoint.identity()
        self._format = self._known_format()
        clock = clock or Clock()
        limiter = Limiter(endpoint.concurrency, endpoint.rpm, endpoint.tpm, clock, options.activity)
        key = None if options.dry else endpoint.key()
        self._chat = Chat(endpoint, key, limiter, options.activity, clock, options.seed)

    def describe(self) -> dict[str, Any]:
        """See `LLM.describe`."""
        return {
            "backend": "openai",
            **self._identity,
            "language": self.options.language,
            "prompts": prompts_digest(self.options.language),
            "tasks": {task.id: task.version for task in TASKS},
            "repeat": self.options.repeat,
        }

    def estimate(self, task: Task[Any]) -> Estimate:
        """See `LLM.estimate`."""
        return self._worst(Talk(task, render(task, self.options.language)))

    async def close(self) -> None:
        """See `LLM.close`."""
        await self._chat.close()
        if self._cache:
            self._cache.close()

    async def do(self, task: Task[OutputT]) -> Reply[OutputT]:
        """See `LLM.do`."""
        talk = Talk(task, render(task, self.options.language))
        if (request := self._request(talk)) and (reply := talk.recalled(self._cache, request)):
            self._activity.cached += 1
            return reply
        reply = await self._converse(talk)
        if reply.value is not None and (request := self._request(talk)):
            talk.remember(self._cache, request, reply.value)
        self._activity.skipped += reply.status == "skipped"
        return reply

    # ------------------------------------------------------------------ conversation

    async def _converse(self, talk: Talk[OutputT]) -> Reply[OutputT]:
        """Ask, and send back what cannot be read, as often as is allowed."""
        problem = ""
        for turn in range(1 + self.endpoint.repairs):
            worst = self._worst(talk)
            if reason := self._budget.reserve(worst):
                return (
                    talk.failed("unparsed", f"{problem}; {reason}")
                    if turn
                    else talk.failed("skipped", reason)
                )
            self._activity.repairs += turn > 0
            outcome = await self._ask(talk, worst)
            if isinstance(outcome, Failure):
                return talk.failed(outcome.status, outcome.error)
            talk.raw = outcome.text[:MAX_TEXT]
            if outcome.refused:
                return talk.failed(
                    "refused", outcome.refusal or f"the endpoint ended it with {outcome.finish}"
                )
            found = read(talk.task, outcome.text)
            if found.value is not None:
                return Reply("ok", found.value, talk.raw, talk.usage())
            if found.refused:
                return talk.failed("refused", "the model declines")
            problem = found.error
            if len(outcome.text) > MAX_TEXT:
                break
            talk.repair = (*_returned(talk.raw), render_repair(problem, self.options.language))
        return talk.failed("unparsed", problem)

    async def _ask(self, talk: Talk[Any], worst: Estimate) -> Completion | Failure:
        """One completion, accounted for: the budget gets back what was set aside and not used."""
        used: Estimate | None = None
        try:
            outcome = await self._negotiated(talk)
            if isinstance(outcome, Completion):
                used = self._used(talk, outcome)
                talk.used += used
            return outcome
        finally:
            self._budget.settle(worst, used)

    async def _negotiated(self, talk: Talk[Any]) -> Completion | Failure:
        """Send a request; the first one finds out how this endpoint takes requests for JSON, the others wait."""
        if self._format is None:
            async with self._negotiation:
                for format in FORMATS if self._format is None else ():
                    outcome = await self._send(talk, format)
                    if isinstance(outcome, Completion):
                        self._settle_format(format)
                    if isinstance(outcome, Completion) or not outcome.malformed:
                        return outcome
        outcome = await self._send(talk, self._format or FORMATS[-1])
        if isinstance(outcome, Failure) and outcome.malformed and not self._chat.served:
            raise self._chat.not_understood(outcome)
        return outcome

    async def _send(self, talk: Talk[Any], format: Format) -> Completion | Failure:
        body: dict[str, Any] = {
            "model": self.endpoint.model,
            "messages": talk.messages,
            **parameters_of(talk.task, self._identity),
        }
        if how := response_format(talk.task, format):
            body["response_format"] = how
        worst = self._worst(talk)
        outcome, attempts = await self._chat.complete(body, worst.tokens_in + worst.tokens_out)
        talk.attempts += attempts
        return outcome

    def _worst(self, talk: Talk[Any]) -> Estimate:
        """Tokens and cost of the next request if the reply is as long as it may be."""
        return self._priced(_tokens(talk.messages), self.endpoint.max_tokens or talk.task.max_tokens)

    def _used(self, talk: Talk[Any], completion: Completion) -> Estimate:
        """Tokens and cost of a completion; what the endpoint does not count is estimated."""
        tokens_in, tokens_out = completion.tokens_in, completion.tokens_out
        return self._priced(
            _tokens(talk.messages) if tokens_in is None else tokens_in,
            count_tokens([completion.text]) if tokens_out is None else tokens_out,
        )

    def _priced(self, tokens_in: int, tokens_out: int) -> Estimate:
        return Estimate(tokens_in, tokens_out, self.endpoint.cost(tokens_in, tokens_out))

    # ------------------------------------------------------------------ cache

    def _request(self, talk: Talk[Any]) -> Request | None:
        """What a reply is kept under; None while it is not known how to ask this endpoint."""
        if self._cache is None or self._format is None:
            return None
        return request_of(talk.task, talk.prompt, self._identity, self.options.repeat, self._format)

    # ------------------------------------------------------------------ format

    def _known_format(self) -> Format | None:
        if self.endpoint.format != "auto":
            return self.endpoint.format
        identity = self._identity
        found = self._cache.format(identity["endpoint"], identity["model"]) if self._cache else None
        return next((format for format in FORMATS if format == found), None)

    def _settle_format(self, format: Format) -> None:
        self._format = format
        if self._cache:
            self._cache.put_format(self._identity["endpoint"], self._identity["model"], format)


def _tokens(messages: Iterable[Message]) -> int:
    return count_tokens(message["content"] for message in messages)


def _returned(raw: str) -> list[Message]:
    """A reply as the model is shown it again; none if it was empty, which endpoints do not accept."""
    return [Message(role="assistant", content=raw[:QUOTED])] if raw.strip() else []
