"""Language models as one more replaceable part: typed tasks in, typed replies out, nothing imported until used."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from clwqa_bench.llm.protocol import LLM, Backend, LLMError, Options

if TYPE_CHECKING:
    from clwqa_bench.systems import Resources

BACKENDS: Final = {
    "lexical": "clwqa_bench.llm.lexical:open_lexical",
    "openai": "clwqa_bench.llm.openai:open_openai",
}
"""Where each back-end is opened: a `protocol.Backend`."""


def open_llm(spec: str, resources: Resources | None = None, options: Options | None = None) -> LLM:
    """A language model by spec: "lexical" or "openai:PRESET_OR_MODEL".

    `resources` are what the lexical back-end looks things up in; the others do without.
    Raises LLMError for an unknown spec, a missing key or package, or a setting that does not fit.
    """
    kind, _, name = spec.partition(":")
    if kind not in BACKENDS:
        near = get_close_matches(kind, BACKENDS, n=1)
        known = "lexical or openai:PRESET_OR_MODEL"
        raise LLMError(
            f"there is no language model {spec!r}",
            fix=f"did you mean {near[0]!r}" if near else f"use {known}",
        )
    module, _, function = BACKENDS[kind].partition(":")
    opener = cast(Backend, getattr(import_module(module), function))
    return opener(name, resources, options or Options())
