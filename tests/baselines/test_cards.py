"""What `systems info` says of every system that is compared: where it is from and what to expect of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clwqa_baselines.experiments.definitions import SYSTEMS
from clwqa_bench.systems import system_class
from tests.conftest import Result

COMPARED = ["rag", "topk-triples", *(row.system for row in SYSTEMS)]


@pytest.mark.parametrize("name", COMPARED)
def test_a_compared_system_says_where_it_is_from_and_what_to_expect(
    name: str, cli: Callable[..., Result]
) -> None:
    card = system_class(name).card
    assert card is not None
    assert card.citation
    assert card.calls
    assert card.weaknesses
    assert card.deviations
    said = " ".join(cli("systems", "info", name).out.split())
    assert card.citation.split(".")[0] in said
