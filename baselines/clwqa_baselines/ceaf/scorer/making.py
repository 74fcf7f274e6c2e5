"""From a dataset to a scorer on disk."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from clwqa_baselines.ceaf.scorer import folder
from clwqa_baselines.ceaf.scorer.data import Examples, examples, texts
from clwqa_baselines.ceaf.scorer.encoders import open_encoder
from clwqa_baselines.ceaf.scorer.errors import require_torch
from clwqa_baselines.ceaf.scorer.folder import DatasetNote, Description
from clwqa_baselines.ceaf.scorer.settings import ScorerSettings
from clwqa_baselines.ceaf.scorer.statistics import Statistics, statistics
from clwqa_bench import console
from clwqa_bench.dataset import Dataset
from clwqa_bench.ontology import Ontology

if TYPE_CHECKING:
    from clwqa_baselines.ceaf.scorer.model import Trained

CHECKPOINT = "checkpoint.pt"


def train_scorer(dataset: Dataset, encoder: str, settings: ScorerSettings, out: Path) -> Description:
    """Train a scorer and write it into the new folder `out`; a folder beside it holds the training until then.

    Raises ScorerError if it cannot be trained, or if there is something at `out` already.
    """
    require_torch()
    from clwqa_baselines.ceaf.scorer.model import Trained
    from clwqa_baselines.ceaf.scorer.training import Checkpoint, prepared, repeatable, train

    folder.refuse_existing(out)
    ontology = Ontology.load(dataset.root / "ontology.ttl")
    learn, check = examples(dataset, "train", ontology), examples(dataset, "validation", ontology)
    reads = open_encoder(encoder, texts=texts(learn.pairs), seed=settings.seed)
    model, note = prepared(reads, len(ontology.types), settings), DatasetNote.of(dataset.manifest)
    said = {"encoder": reads.digest, "pairs": note.pairs, "ontology": list(ontology.types)}
    work = out.with_name(f"{out.name}.training")
    checkpoint = Checkpoint(work / CHECKPOINT, said | settings.model_dump(mode="json"))
    progress = console.progress(f"training on {len(learn.pairs):,} pairs", settings.epochs)
    with progress as bar, repeatable(settings.threads):
        course = train(model, reads, learn, check, settings, checkpoint, bar)
    trained = Trained(settings, model, reads)
    figures = {"validation": measured(trained, check)}
    figures["test"] = measured(trained, examples(dataset, "test", ontology))  # looked at for the first time
    made = folder.save(
        out,
        trained,
        elements=ontology.types,
        dataset=note,
        epochs=tuple(course.epochs),
        best_epoch=course.best_epoch.number,
        statistics=figures,
    )
    shutil.rmtree(work)
    return made


def measured(trained: Trained, some: Examples) -> Statistics:
    """How a scorer does on some pairs."""
    return statistics(some.records, trained.scores(some.pairs))
