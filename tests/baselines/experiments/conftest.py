"""A dataset of seven questions to learn from and the same seven to ask, and the experiments run on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clwqa_baselines.experiments.definitions import EXPERIMENTS
from clwqa_baselines.experiments.plan import Plan, Setting, SharedGraph, plan
from clwqa_baselines.experiments.session import Session
from clwqa_bench.dataset import Dataset
from clwqa_bench.runner import Selection
from tests import tiny_dataset

ASKED = len(tiny_dataset.QUESTIONS)


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What systems learn is kept in a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset folder."""
    path = tmp_path_factory.mktemp("experiments") / "small"
    train = [q.model_copy(update={"split": "train"}) for q in tiny_dataset.QUESTIONS]
    test = [
        q.model_copy(update={"id": f"t{n}", "split": "test"}) for n, q in enumerate(tiny_dataset.QUESTIONS)
    ]
    tiny_dataset.write(path, questions=[*train, *test])
    return path


@pytest.fixture(scope="session")
def dataset(folder: Path) -> Dataset:
    return SharedGraph.open(folder)


@pytest.fixture(scope="session")
def session(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session in which `main`, `hops`, `topk`, `oracle`, `cost` and `latency` have been run."""
    out = tmp_path_factory.mktemp("out")
    made = Session(Setting(dataset, Selection("test"), out / "runs"), out)
    assert made.run(planned(made, name) for name in ("main", "topk", "oracle", "latency"))
    return made


def planned(session: Session, name: str) -> Plan:
    """An experiment planned for a session."""
    return plan(EXPERIMENTS[name], session.setting)
