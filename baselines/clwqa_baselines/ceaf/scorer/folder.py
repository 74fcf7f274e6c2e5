"""A trained scorer on disk: `scorer.json` says what it is, `weights.safetensors` holds what was learned.

Weights that training left alone are not stored; they are those of the encoder, which is told by its digest.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from pydantic import AfterValidator, PlainSerializer, ValidationError

from clwqa_baselines.ceaf.scorer.encoders import open_encoder
from clwqa_baselines.ceaf.scorer.errors import ScorerError, require_torch
from clwqa_baselines.ceaf.scorer.plot import draw_curves
from clwqa_baselines.ceaf.scorer.settings import READING, ScorerSettings
from clwqa_baselines.ceaf.scorer.statistics import Epoch, Statistics
from clwqa_bench import console
from clwqa_bench.dataset import Manifest
from clwqa_bench.digests import file_sha256
from clwqa_bench.records import Record
from clwqa_bench.systems import dataset_cache

if TYPE_CHECKING:
    from clwqa_baselines.ceaf.scorer.model import Trained

FORMAT = 1
DESCRIPTION, WEIGHTS, CURVES = "scorer.json", "weights.safetensors", "curves.svg"
AGAIN = "train it again with `clwqa-bench train scorer`"
SHOWN = 12  # digits of a digest in the settings of a run and in titles


class EncoderNote(Record):
    """Which encoder; `characters` are the vocabulary of one that was trained from nothing."""

    name: str
    digest: str
    characters: str | None = None


class DatasetNote(Record):
    """What was learned from: `content` tells graph and questions, `pairs` the scoring pairs."""

    name: str
    version: str
    content: str
    pairs: str

    @staticmethod
    def of(manifest: Manifest) -> DatasetNote:
        """The note of a dataset."""
        digests = manifest.content
        return DatasetNote(
            name=manifest.name,
            version=manifest.version,
            content=dataset_cache(digests.get("kg", ""), digests.get("qa", "")).name,
            pairs=digests.get("scoring_pairs", ""),
        )


class Description(Record):
    """`scorer.json`; `elements` are the ontology's types in the order of the embedding's rows."""

    format: int = FORMAT
    digest: str
    encoder: EncoderNote
    settings: ScorerSettings
    elements: tuple[str, ...]
    dataset: DatasetNote
    weights: str
    epochs: tuple[Epoch, ...] = ()
    best_epoch: int = 0
    statistics: Mapping[str, Statistics] = {}


def read_description(folder: Path) -> Description:
    """What `scorer.json` says.  Raises ScorerError if there is no scorer, or one this version cannot read."""
    file = folder / DESCRIPTION
    try:
        content = orjson.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise ScorerError(
            "there is no trained scorer here", fix=f"name the folder of one, or {AGAIN}", file=folder
        ) from None
    except orjson.JSONDecodeError as error:
        raise ScorerError(f"not JSON ({error})", fix=AGAIN, file=file) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ScorerError(
            f"this version reads scorers of format {FORMAT} only", fix=AGAIN, file=file, field="format"
        )
    try:
        return Description.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise ScorerError(first["msg"], fix=AGAIN, file=file, field=field) from None


def _existing(folder: str) -> str:
    if folder:
        read_description(Path(folder))
    return folder


def _identity(folder: str) -> str:
    return read_description(Path(folder)).digest[:SHOWN] if folder else ""


ScorerFolder = Annotated[str, AfterValidator(_existing), PlainSerializer(_identity)]
"""A setting that names the folder of a trained scorer.  What is recorded of it is the digest: a run is not another one
because the scorer was moved, and is another one if the scorer was trained again."""


# ---------------------------------------------------------------------- writing and opening


def refuse_existing(folder: Path) -> None:
    """Raises ScorerError if there is something in the way of a new scorer."""
    if folder.exists():
        raise ScorerError(
            "there is something here already", fix="name another --out, or remove it", file=folder
        )


def save(folder: Path, trained: Trained, **said: Any) -> Description:
    """Write a scorer into a new folder, whole or not at all; `said` are the remaining fields of the description."""
    from safetensors.torch import save_file

    refuse_existing(folder)
    partial = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}")
    partial.mkdir(parents=True)
    try:
        learned = trained.model.learned()
        save_file({name: weight.contiguous() for name, weight in learned.items()}, partial / WEIGHTS)
        weights, reads = file_sha256(partial / WEIGHTS), trained.encoder
        note = EncoderNote(name=reads.name, digest=reads.digest, characters=reads.characters)
        description = Description(
            digest=_digest(note, trained.settings, said["elements"], weights),
            encoder=note,
            settings=trained.settings,
            weights=weights,
            **said,
        )
        content = orjson.dumps(description.model_dump(mode="json"), option=orjson.OPT_INDENT_2)
        (partial / DESCRIPTION).write_bytes(content + b"\n")
        # safetensors lets nobody else read what it writes
        (partial / WEIGHTS).chmod((partial / DESCRIPTION).stat().st_mode)
        _draw(description, partial / CURVES)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return description


def _draw(made: Description, file: Path) -> None:
    """Draw the training curves, or say what is missing."""
    try:
        draw_curves(made.epochs, made.best_epoch, f"node scorer on {made.encoder.name}", file)
    except ScorerError as error:
        console.warn(f"{CURVES} is left out: {error}")


def open_scorer(folder: Path) -> tuple[Description, Trained]:
    """A trained scorer with its encoder.

    Raises ScorerError if a file is missing or damaged, or if the encoder is not the one it was trained on.
    """
    require_torch()
    from clwqa_baselines.ceaf.scorer.model import Trained
    from clwqa_baselines.ceaf.scorer.training import prepared

    description = read_description(folder)
    weights = _verified(folder / WEIGHTS, description)
    note = description.encoder
    encoder = open_encoder(note.name, characters=note.characters)
    if encoder.digest != note.digest:
        raise ScorerError(
            f"it was trained on another encoder {note.name!r} than the one that is here",
            fix=f"bring that encoder back (digest {note.digest[:SHOWN]}), or {AGAIN}",
            file=folder / DESCRIPTION,
            field="encoder",
        )
    model = prepared(encoder, len(description.elements), description.settings)
    found = {name: tuple(weight.shape) for name, weight in model.learned().items()}
    if found != {name: tuple(weight.shape) for name, weight in weights.items()}:
        raise ScorerError("its weights do not fit its settings", fix=AGAIN, file=folder / WEIGHTS)
    model.load_state_dict(weights, strict=False)
    return description, Trained(description.settings, model, encoder)


def _verified(file: Path, description: Description) -> dict[str, Any]:
    from safetensors.torch import load_file

    if not file.is_file():
        raise ScorerError("the weights are missing", fix=AGAIN, file=file)
    note = description.encoder
    digest = _digest(note, description.settings, description.elements, description.weights)
    if file_sha256(file) != description.weights or digest != description.digest:
        raise ScorerError(f"the file is damaged, or does not belong to {DESCRIPTION}", fix=AGAIN, file=file)
    weights: dict[str, Any] = load_file(file)
    return weights


def _digest(encoder: EncoderNote, settings: ScorerSettings, elements: tuple[str, ...], weights: str) -> str:
    """Of everything a score depends on; how the weights were come by is not part of it."""
    said = [FORMAT, encoder.digest, settings.model_dump(mode="json", include=set(READING)), elements, weights]
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()
