"""What a model may write: JSON that fits the schema of a task, token by token (with the library llguidance).

The schema is the task's, with bounds: a small model that has begun to repeat itself would otherwise fill the reply
and leave its JSON open.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    import torch

ITEMS, WORDS, NUMBER = 8, 64, 999
"""Most items of a list, characters of a text in one, and size of a number."""

PROSE = 4
"""Tokens of the bound of a reply for each character of a text that is not in a list."""


BOUNDS = (ITEMS, WORDS, NUMBER, PROSE)


def bounded(schema: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    """A schema with bounds that let a reply end before so many tokens.

    References must have been replaced, as `Task.output_schema` does.  Raises ValueError for a part without bounds.
    """

    def bound(node: dict[str, Any], words: int) -> dict[str, Any]:
        if "anyOf" in node:
            return node | {"anyOf": [bound(part, words) for part in node["anyOf"]]}
        if "enum" in node or "const" in node:
            return node
        match node.get("type"):
            case "object":
                fields = {name: bound(field, words) for name, field in node.get("properties", {}).items()}
                return node | {"properties": fields}
            case "array" if "items" in node:
                return {"maxItems": ITEMS} | node | {"items": bound(node["items"], WORDS)}
            case "string":
                return {"maxLength": words} | node
            case "integer":
                return {"minimum": 0, "maximum": NUMBER} | node
            case "number" | "boolean" | "null":
                return node
            case _:
                raise ValueError(f"a reply cannot be bounded by this part of its schema: {node}")

    return bound(schema, max_tokens // PROSE)


class Grammars:
    """Makes constraints for one tokenizer; reading it takes about a second."""

    def __init__(self, tokenizer: Any, vocabulary: int, ends: list[int]) -> None:
        from llguidance.hf import from_tokenizer

        size = max(vocabulary, len(tokenizer))  # either may have tokens that the other has not
        self._tokenizer = from_tokenizer(tokenizer, n_vocab=size, eos_token=ends)
        self._grammar = cache(_grammar)

    def begin(self, schema: dict[str, Any]) -> Constraint:
        """A constraint for one reply."""
        from llguidance import LLMatcher

        return Constraint(LLMatcher(self._tokenizer, self._grammar(orjson.dumps(schema).decode())))


def _grammar(schema: str) -> str:
    from llguidance import LLMatcher

    # Written as in the prompts: no freedom in spaces, which a model would fill with nothing else.
    style: Any = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    return LLMatcher.grammar_from_json_schema(schema, defaults=style)


class Constraint:
    """Follows one reply.  Raises ValueError if the schema has something that cannot be followed."""

    def __init__(self, matcher: Any) -> None:
        if matcher.is_error():
            raise ValueError(f"the schema cannot be followed: {matcher.get_error()}")
        self._matcher = matcher

    def forced(self) -> list[int]:
        """Take the tokens that can only come next, as at the beginning of an object."""
        tokens: list[int] = self._matcher.compute_ff_tokens()
        self._matcher.consume_tokens(tokens)
        return tokens

    def mask(self, logits: torch.Tensor) -> None:
        """Rule out, in a row of logits (vocabulary,), the tokens that may not come next."""
        import numpy as np
        import torch

        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        allowed = np.unpackbits(bits, bitorder="little").astype(bool)[: logits.shape[0]]
        logits[: len(allowed)].masked_fill_(~torch.from_numpy(allowed).to(logits.device), float("-inf"))
        logits[len(allowed) :] = float("-inf")

    def take(self, token: int) -> bool:
        """Take the token that was written; returns whether the reply is complete."""
        return not self._matcher.consume_token(token) or self._matcher.is_stopped()
