"""A tiny dataset, made once, and a scene on it for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_leaderboard import probes
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


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards take a sample of one question: the tiny dataset has two."""
    monkeypatch.setattr(probes, "SMALLEST", 1)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")
