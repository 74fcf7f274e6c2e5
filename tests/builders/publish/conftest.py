"""A tiny dataset to publish, and a Hub on the loopback interface to publish it to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import tiny_dataset
from tests.hub_server import TOKEN, Hub, serving, without_xet


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "data"
    tiny_dataset.write(folder)
    return folder


@pytest.fixture
def tiny(made: Path, tmp_path: Path) -> Path:
    """A dataset folder of the test's own."""
    return Path(shutil.copytree(made, tmp_path / "tiny"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """An empty Hub, and a user who is logged in there."""
    without_xet(monkeypatch)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr("time.sleep", lambda _: None)  # the client tries several times, and waits in between
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub
