"""The dataset that is generated from, and the endpoint that writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clwqa_bench import cli as program
from clwqa_bench.registry import COMMANDS, Registry
from clwqa_builders.validate.tables import DatasetTables
from tests.builders.generate.writer import write_dataset
from tests.llm.server import Server, serving


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dataset(tmp_path_factory.mktemp("generate") / "dataset")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def tables(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> DatasetTables:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return DatasetTables.open(folder)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-0123456789")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as running:
        yield running


ENTRIES = """
[clwqa_bench.commands]
generate = clwqa_builders.generate.commands:generate
mix = clwqa_builders.generate.commands:mix
"""


@pytest.fixture
def commands(install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands, also in an installation made before they were."""
    install("generating", "1.0", {}, ENTRIES)
    monkeypatch.setattr(program, "COMMANDS", Registry(COMMANDS.group, COMMANDS.noun))
