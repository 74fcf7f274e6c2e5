"""The manifest, and the one function that writes a whole dataset folder in the right order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from clwqa_bench.dataset import FileEntry, Limits, Manifest, SourceNote, Targets, read_manifest
from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import BuildError, DatasetError
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Question, json_schema
from clwqa_builders.output import card, croissant, statistics, writers
from clwqa_builders.output.schema import CANARY, PAIRS, QUESTIONS
from clwqa_builders.pairs.adjudicated import COLUMNS
from clwqa_builders.pairs.make import NO_PAIRS, SHEET, Made
from clwqa_builders.parallel import beside

MANIFEST = "manifest.json"
INDEX = "kg/index/"
ADJUDICATED = "scoring_pairs/adjudicated.tsv"


@dataclass(frozen=True)
class Release:
    """What a build knows about itself: everything in the folder that is not a row."""

    name: str
    version: str
    seed: int
    code_version: str
    sources: tuple[SourceNote, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    targets: Targets = Targets()
    limits: Limits = Limits()
    supply: Mapping[str, int] = field(default_factory=dict)
    """Instances available per category before the draw; empty when not measured."""
    card: str = "card.md.j2"
    """The template of the dataset card; another one is of a graph somebody brought."""

    @property
    def language(self) -> str:
        """Language of the questions."""
        return str(self.config.get("language", "zh"))

    @property
    def is_brought(self) -> bool:
        """Whether the dataset is made from a graph of somebody else's, about something else."""
        return self.card != "card.md.j2"


def kind_of(config: Mapping[str, Any]) -> str:
    """What a dataset is, by its manifest's ``config``."""
    if extension := config.get("extension"):
        return f"the extension set {extension}"
    return "a dataset of somebody's own graph" if "language" in config else "the dataset"


def require_main(config: Mapping[str, Any], folder: Path) -> None:
    """Raise DatasetError unless this is the packaged dataset: of questions about culture-loaded words by templates."""
    if (kind := kind_of(config)) != kind_of({}):
        what = f"questions are generated for the dataset that `clwqa-bench build` makes, and this is {kind}"
        raise DatasetError(what, fix="name another one with --dataset", file=folder)


def refuse_other_kind(out: Path, config: Mapping[str, Any]) -> None:
    """Raise BuildError where a dataset of another kind would be replaced: ``--out`` may be that of the base."""
    try:
        there, coming = kind_of(read_manifest(out).config), kind_of(config)
    except DatasetError:
        return  # nothing is there, or a damaged dataset, which is built again
    if there != coming:
        what = f"{there} is here, and {coming} would replace it"
        raise BuildError(what, fix="name another folder with --out", file=out)


def write_dataset(
    folder: Path,
    questions: Iterable[Question],
    entities: pa.Table,
    triples: pa.Table,
    ontology: Path,
    release: Release,
    workers: int = 1,
    made: Made = NO_PAIRS,
) -> Manifest:
    """Write the dataset into an empty `folder`; the manifest comes last, so a folder with one is complete.

    The tables follow `schema.ENTITIES` and `schema.TRIPLES`; `made` are the scoring pairs. Same arguments, same
    bytes. The caller chooses a fresh folder and moves it into place, so an earlier dataset stays intact until this
    one is whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kg_digest = writers.write_graph(entities, triples, ontology, folder)
    with beside(
        lambda: writers.write_ntriples(folder / "kg", Ontology.load(ontology), folder / "kg.nt.gz"), workers
    ):
        rows, qa_digest = writers.write_rows(questions, QUESTIONS, folder / "qa")
        pairs, pairs_digest = writers.write_rows(made.pairs, PAIRS, folder / "scoring_pairs")
    writers.write_sheet(SHEET, made.disputed, folder / "scoring_pairs" / "adjudication.tsv")
    if made.adjudicated:
        writers.write_sheet(COLUMNS, made.adjudicated, folder / ADJUDICATED)
    (folder / "schema.json").write_bytes(writers.json_bytes(json_schema()))
    stats = statistics.compute(rows, pairs, entities, triples, release.targets, release.supply)
    (folder / "statistics.json").write_bytes(writers.json_bytes(asdict(stats)))
    (folder / "README.md").write_text(card.render(release, stats), encoding="utf-8", newline="\n")
    (folder / "croissant.json").write_bytes(writers.json_bytes(croissant.describe(folder, release, stats)))
    manifest = Manifest(
        name=release.name,
        version=release.version,
        canary=CANARY,
        seed=release.seed,
        config=release.config,
        code_version=release.code_version,
        sources=release.sources,
        targets=release.targets,
        limits=release.limits,
        counts=stats.counts() | ({"adjudicated": len(made.adjudicated)} if made.adjudicated else {}),
        content={"qa": qa_digest, "kg": kg_digest, "scoring_pairs": pairs_digest},
        files=digest_files(folder),
    )
    write_manifest(manifest, folder)
    return manifest


def digest_files(folder: Path) -> dict[str, FileEntry]:
    """Size and sha256 of every published file, by relative path."""
    return {
        name: FileEntry(sha256=file_sha256(folder / name), bytes=(folder / name).stat().st_size)
        for name in published_files(folder)
    }


def published_files(folder: Path) -> list[str]:
    """Relative paths of all files but the manifest itself and the graph index, which can be made from the tables."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return [name for name in names if name != MANIFEST and not name.startswith(INDEX)]


def write_manifest(manifest: Manifest, folder: Path) -> None:
    (folder / MANIFEST).write_bytes(writers.json_bytes(manifest.model_dump(mode="json")))
