"""Which endpoint is asked, for which model, with which parameters: presets as data, every field open to the user."""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import orjson
from pydantic import Field, FiniteFloat

from clwqa_bench.llm.protocol import LLMError
from clwqa_bench.systems import Settings, parse_settings

PRESETS = Path(__file__).with_name("presets.toml")
FORMATS: tuple[Format, ...] = ("json_schema", "json_object", "prompt")

Format = Literal["json_schema", "json_object", "prompt"]
"""How an endpoint is asked for JSON: held to the schema, held to any JSON object, or by the prompt alone."""


class Endpoint(Settings):
    """Settings of an OpenAI-compatible endpoint.  Those in `identity` change replies, the others only how they come."""

    base_url: str = Field(default="", description="Address, up to but without /chat/completions.")
    model: str = Field(default="", description="Model id as the endpoint knows it.")
    revision: str = Field(default="", description="Which state of the model, if the id does not say.")
    key_env: str = Field(default="OPENAI_API_KEY", description="Environment variable that holds the key.")
    temperature: FiniteFloat = Field(default=0.0, ge=0)
    top_p: FiniteFloat | None = Field(default=None, gt=0, le=1)
    sampling_seed: int | None = Field(default=None, description="Sent as `seed`, where the endpoint has one.")
    max_tokens: int | None = Field(
        default=None, ge=1, description="Bound of a reply, instead of the task's own."
    )
    extra: str = Field(
        default="", description="More of the request, as a JSON object; null leaves a parameter out."
    )
    format: Literal["auto", Format] = Field(default="auto", description="How to ask for JSON.")
    repairs: int = Field(default=2, ge=0, le=2, description="Times a reply that cannot be read is sent back.")
    concurrency: int = Field(default=8, ge=1, description="Requests at a time.")
    rpm: int | None = Field(default=None, ge=1, description="Requests per minute.")
    tpm: int | None = Field(default=None, ge=1, description="Tokens per minute, both ways.")
    timeout: FiniteFloat = Field(default=120.0, gt=0, description="Seconds for one request, from end to end.")
    attempts: int = Field(
        default=6, ge=1, description="Times a request is sent before its failure is accepted."
    )
    max_wait: FiniteFloat = Field(
        default=300.0, ge=0, description="Longest wait before the next attempt, in seconds."
    )
    price_in: FiniteFloat | None = Field(
        default=None, ge=0, description="US dollars per million tokens sent, 0 if free."
    )
    price_out: FiniteFloat | None = Field(
        default=None, ge=0, description="US dollars per million tokens received, 0 if free."
    )
    price_as_of: str = Field(default="", description="Month the prices were looked up.")
    price_source: str = Field(default="", description="Where the prices were found.")

    @property
    def url(self) -> str:
        """Where requests go."""
        return self.base_url.rstrip("/") + "/chat/completions"

    def parameters(self) -> dict[str, Any]:
        """What of a request is neither prompt nor format: model parameters, without `max_tokens`."""
        chosen = {"temperature": self.temperature, "top_p": self.top_p, "seed": self.sampling_seed}
        return {key: value for key, value in chosen.items() if value is not None} | _extra(self.extra)

    def identity(self) -> dict[str, Any]:
        """The settings replies depend on."""
        return {
            "endpoint": self.base_url.rstrip("/"),
            "model": self.model,
            "revision": self.revision,
            "parameters": self.parameters(),
            "max_tokens": self.max_tokens,
            "format": self.format,
            "repairs": self.repairs,
        }

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars for so many tokens, None if a price is not known."""
        if self.price_in is None or self.price_out is None:
            return None
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1e6

    def key(self) -> str | None:
        """The key, or None where none is needed.  Raises LLMError naming the variable when it is missing."""
        if key := os.environ.get(self.key_env, "").strip():
            return key
        if _is_loopback(self.base_url):
            return None
        raise LLMError(
            f"there is no key for {self.base_url}: the environment variable {self.key_env} is not set",
            fix=f"set {self.key_env}, or name another variable with --llm-set key_env=NAME",
        )


@cache
def presets() -> Mapping[str, Endpoint]:
    """The presets by name."""
    return {
        name: Endpoint.model_validate(fields)
        for name, fields in tomllib.loads(PRESETS.read_text(encoding="utf-8")).items()
    }


def endpoint(name: str, settings: Mapping[str, str]) -> Endpoint:
    """The endpoint for a preset or, with `base_url` among the settings (or OPENAI_BASE_URL set), for any model id.

    Raises LLMError or SettingError when something is missing or does not fit.
    """
    given = parse_settings(f"openai:{name}", Endpoint, settings)
    base = presets().get(name) or Endpoint(model=name, base_url=os.environ.get("OPENAI_BASE_URL", ""))
    found = base.model_copy(update={field: getattr(given, field) for field in given.model_fields_set})
    if not found.model:
        raise LLMError("no model is named", fix=f"write openai:MODEL, or a preset ({', '.join(presets())})")
    if not found.base_url:
        raise LLMError(
            f"{name!r} is no preset ({', '.join(presets())}), and no address is given for it",
            fix="add --llm-set base_url=https://HOST/v1, or set OPENAI_BASE_URL",
        )
    parts = urlsplit(found.base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
        raise LLMError(
            "base_url is not a plain http or https address",
            fix="give it as https://HOST/v1, without user, password and query; a key goes into key_env",
            field="base_url",
        )
    _extra(found.extra)
    return found


def _extra(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise LLMError(
            f"extra is not a JSON object: {text}", fix='write e.g. {"enable_thinking": false}', field="extra"
        )
    return value


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
