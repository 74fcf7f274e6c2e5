"""A tiny dataset, made once, and a scene on it for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

from clwqa_bench.dataset import Dataset
from tests import tiny_dataset
from tests.leaderboard.scene import Scene


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("tiny") / "data"
    tiny_dataset.write(folder)
    return Dataset.open(folder)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: Dataset, cache: Path) -> Scene:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return Scene.of(tmp_path, tiny)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")
