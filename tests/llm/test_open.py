"""Opening a language model by its name: every name the program offers can be opened, others are explained."""

from __future__ import annotations

from importlib import import_module

import pytest

from clwqa_bench.llm import BACKENDS, open_llm
from clwqa_bench.llm.protocol import LLMError


@pytest.mark.parametrize("kind", BACKENDS)
def test_every_back_end_that_is_offered_is_there(kind: str) -> None:
    module, _, function = BACKENDS[kind].partition(":")
    assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("spec", ["local:foo", "lexicl", "", "gpt-9"])
def test_an_unknown_one_is_an_error_that_names_the_known(spec: str) -> None:
    with pytest.raises(LLMError, match="there is no language model") as error:
        open_llm(spec)
    assert "lexical" in error.value.fix
