"""One chat completion over HTTP: sent again while that may help, never longer or oftener than allowed.

Everything that comes from the endpoint is stripped of the key here, before anything else sees it.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from clwqa_bench import __version__
from clwqa_bench.llm.limits import Clock, Limiter, backoff, retry_after
from clwqa_bench.llm.parsing import MAX_TEXT
from clwqa_bench.llm.presets import Endpoint
from clwqa_bench.llm.protocol import Activity, LLMError, ReplyStatus

MAX_BODY = 4 * 1024 * 1024
"""Bytes of a response that are read; the rest is left where it is."""

SHORTEST_KEY = 8  # characters; anything shorter is a placeholder for servers that need none
UNREACHABLE = "no connection"
MESSAGE = 300  # characters of an endpoint's error message that are passed on
REFUSED_FINISH = frozenset({"content_filter", "sensitive"})
REFUSED_CODES = frozenset({"content_filter", "data_inspection_failed", "1301"})
BROKE_CODES = frozenset({"insufficient_quota", "arrearage", "1113"})
QUESTION_CODES = frozenset({"context_length_exceeded", "string_above_max_length"})
"""What vendors call a reply stopped by their filter, an account without balance, and a prompt that is too long."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote, why it stopped, and what it took; tokens are None if the endpoint does not count."""

    text: str
    finish: str
    refusal: str
    tokens_in: int | None
    tokens_out: int | None

    @property
    def refused(self) -> bool:
        """Whether the endpoint itself says that the model declined."""
        return bool(self.refusal) or self.finish in REFUSED_FINISH


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no completion.  `retry` is the reason under which it is worth another attempt, if it is, and `after`
    the seconds the endpoint asks for; `malformed` says that it does not take requests of this form.
    """

    status: ReplyStatus
    error: str
    retry: str | None = None
    after: float | None = None
    malformed: bool = False


class Chat:
    """A connection to an endpoint.  Raises LLMError for what no other request could survive either."""

    def __init__(
        self,
        endpoint: Endpoint,
        key: str | None,
        limiter: Limiter,
        activity: Activity,
        clock: Clock,
        seed: int,
    ) -> None:
        self.served = self._reached = False
        self._endpoint, self._limiter, self._activity, self._clock = endpoint, limiter, activity, clock
        self._rng = random.Random(seed)
        self._secret = key if key and len(key) >= SHORTEST_KEY else None
        headers = {"User-Agent": f"clwqa-bench/{__version__}", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        limits = httpx.Limits(max_connections=endpoint.concurrency)
        self._client = httpx.AsyncClient(headers=headers, limits=limits, timeout=endpoint.timeout)

    async def complete(self, body: Mapping[str, Any], tokens: int) -> tuple[Completion | Failure, int]:
        """Send a request of about so many tokens; returns the outcome and the number of attempts."""
        attempt = 1
        while isinstance(outcome := await self._once(body, tokens), Failure) and outcome.retry:
            if attempt == self._endpoint.attempts:
                self._give_up(outcome)
                break
            wait = outcome.after or backoff(attempt, self._rng)
            if wait > self._endpoint.max_wait:
                return replace(outcome, error=f"{outcome.error}; it asks to wait {wait:,.0f} s"), attempt
            self._activity.retries[outcome.retry] += 1
            if outcome.after:
                self._limiter.hold(wait)
            await self._limiter.wait(wait)
            attempt += 1
        self.served = self.served or isinstance(outcome, Completion)
        return outcome, attempt

    def _give_up(self, outcome: Failure) -> None:
        """Raises LLMError if there is nobody at the address."""
        if outcome.retry == UNREACHABLE and not self._reached:
            raise LLMError(
                f"{self._endpoint.base_url} cannot be reached: {outcome.error}",
                fix="check the address (--llm-set base_url=...) and the network",
            )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    # ------------------------------------------------------------------ one attempt

    async def _once(self, body: Mapping[str, Any], tokens: int) -> Completion | Failure:
        seconds = self._endpoint.timeout
        try:
            async with (
                self._limiter.slot(tokens),
                asyncio.timeout(seconds),
                self._client.stream("POST", self._endpoint.url, json=body) as response,
            ):
                content = await _content(response)
        except (TimeoutError, httpx.TimeoutException):
            return Failure("timeout", f"no complete response within {seconds:g} s", retry="timeout")
        except httpx.ConnectError as error:
            return Failure("error", self._clean(str(error)), retry=UNREACHABLE)
        except httpx.HTTPError as error:
            return Failure("error", self._clean(f"{type(error).__name__}: {error}"), retry="connection")
        self._reached = True
        if content is None:
            return Failure("unparsed", f"the response is longer than {MAX_BODY:,} bytes")
        text = self._clean(content.decode("utf-8", "replace"))
        if response.status_code != 200:
            return self._failure(response, text)
        outcome = _completion(text)
        if isinstance(outcome, Completion) and outcome.tokens_in is not None:
            self._limiter.used(tokens, outcome.tokens_in + (outcome.tokens_out or 0))
        return outcome

    def _failure(self, response: httpx.Response, text: str) -> Failure:
        """What a status other than 200 means.  Raises LLMError if it concerns every request."""
        status = response.status_code
        code, message = _error_of(text)
        error = f"HTTP {status}: {message}"
        if status in (401, 402, 403, 404) or code in BROKE_CODES or 300 <= status < 400:
            raise self._unusable(status, error)
        if code in REFUSED_CODES:
            return Failure("refused", error)
        if status == 429 or status >= 500 or status in (408, 409, 425):
            after = retry_after(response.headers.get("Retry-After"), self._clock.wall())
            return Failure("error", error, retry=str(status), after=after)
        return Failure("error", error, malformed=status in (400, 422) and code not in QUESTION_CODES)

    def _unusable(self, status: int, error: str) -> LLMError:
        endpoint = self._endpoint
        fixes = {
            401: f"check the key in the environment variable {endpoint.key_env}",
            403: f"check what the key in {endpoint.key_env} is allowed to use",
            404: f"check the address {endpoint.url} and the model id {endpoint.model!r}",
        }
        default = f"check the account behind the key in {endpoint.key_env}, and the address {endpoint.url}"
        return LLMError(f"{endpoint.base_url} refuses: {error}", fix=fixes.get(status, default))

    def not_understood(self, failure: Failure) -> LLMError:
        """The error for an endpoint that has taken no request so far, in any form."""
        return LLMError(
            f"{self._endpoint.base_url} does not take the request: {failure.error}",
            fix=f"check the model id {self._endpoint.model!r} and the settings (--llm-set KEY=VALUE)",
        )

    def _clean(self, text: str) -> str:
        return text.replace(self._secret, "[key]") if self._secret else text


async def _content(response: httpx.Response) -> bytes | None:
    """The body of a response, or None if there is too much of it."""
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_BODY:
            return None
    return bytes(content)


def _completion(text: str) -> Completion | Failure:
    """Read the body of a successful response."""
    try:
        body = json.loads(text)
        choice = body["choices"][0]
        message = choice["message"]
        usage = body.get("usage")
        if not isinstance(usage, dict):  # a good reply is not lost because it is counted oddly
            usage = {}
        return Completion(
            text=_plain(_joined(message.get("content"))),
            finish=_plain(choice.get("finish_reason")),
            refusal=_plain(message.get("refusal")),
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Failure(
            "error", f"the response is not a chat completion: {text[:80]!r}", retry="broken response"
        )


def _joined(content: object) -> object:
    """The text of a message, which some endpoints send in parts."""
    if not isinstance(content, list):
        return content
    texts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _plain(value: object) -> str:
    """Text that can be stored anywhere: no lone surrogates, not much longer than what is looked at."""
    text = value if isinstance(value, str) else ""
    return text[: MAX_TEXT + 1].encode("utf-8", "replace").decode()


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None  # not True either


def _error_of(text: str) -> tuple[str, str]:
    """Code (in lower case) and message of an error response, whatever its shape."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, dict):
        code, message = str(error.get("code") or error.get("type") or ""), str(error.get("message") or "")
    else:
        code, message = "", text
    printable = " ".join(message.encode("utf-8", "replace").decode().split())
    return code.casefold(), printable[:MESSAGE] or "no message"
