"""The dataset that is generated from, and the endpoint that writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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
