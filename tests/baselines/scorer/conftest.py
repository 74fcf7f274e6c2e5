"""A scorer trained in a second or two: the character encoder on the four train pairs of the tiny dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from clwqa_baselines.ceaf.scorer.folder import Description
from clwqa_baselines.ceaf.scorer.making import train_scorer
from clwqa_baselines.ceaf.scorer.settings import ScorerSettings, settings_of
from clwqa_bench.dataset import Dataset
from clwqa_bench.systems import Resources, dataset_cache
from tests import tiny_dataset

pytest.importorskip("torch", reason="the scorer needs the extra `neural`")


def settings(**changed: str) -> ScorerSettings:
    """Three epochs of small steps."""
    return settings_of("char", {"epochs": "3", "batch": "2", "patience": "3", "threads": "1"} | changed)


@dataclass(frozen=True)
class Made:
    """A dataset and a scorer trained on its pairs."""

    dataset: Dataset
    folder: Path
    description: Description

    def resources(self, cache: Path) -> Resources:
        """What a run of this dataset gets, with a cache of its own below `cache`."""
        kg, digests = self.dataset.kg(), self.dataset.manifest.content
        name = dataset_cache(digests["kg"], digests["qa"]).name
        return Resources(kg, kg.ontology, lambda: self.dataset.questions("train"), cache=cache / name)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The tiny dataset."""
    folder = tmp_path_factory.mktemp("tiny") / "dataset"
    tiny_dataset.write(folder)
    return Dataset.open(folder)


@pytest.fixture(scope="session")
def made(tiny: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A scorer that nobody changes."""
    folder = tmp_path_factory.mktemp("scorers") / "char"
    return Made(tiny, folder, train_scorer(tiny, "char", settings(), folder))
