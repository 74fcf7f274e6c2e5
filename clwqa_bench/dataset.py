"""Reading a built dataset: its manifest is checked first, then questions come one by one as records.

Works from a local folder with no network and without the `datasets` package.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import DatasetError
from clwqa_bench.records import SCHEMA_VERSION, SPLITS, Question, QuestionView, Record, ScoringPair, Split

if TYPE_CHECKING:
    from clwqa_bench.kg.memory import MemoryGraph
    from clwqa_bench.llm.tasks import Language

REBUILD = "build or download the dataset again; a file of it must not be edited"
BATCH = 2_000


class SourceNote(Record):
    """A raw source the dataset was made from, with the licence it states and where its text came from."""

    id: str
    version: str
    sha256: str
    title: str = ""
    licence: str = ""
    provenance: str = ""


class FileEntry(Record):
    sha256: str
    bytes: int


class Targets(Record):
    """The marginal counts the build aimed at (seed paper sec. 5.1). Hop bands are "1", "2", "3", "4+"."""

    hops: Mapping[str, int] = {}
    categories: Mapping[str, int] = {}
    splits: Mapping[str, float] = {"train": 0.8, "validation": 0.1, "test": 0.1}
    pairs: Mapping[str, int] = {}


class Limits(Record):
    """Bounds the question draw promises to keep; shares are fractions of 1.

    `stratum` is the size from which a hop x category stratum's split shares are compared: below 400, the
    tolerance is narrower than two questions.
    """

    template_share: float = 0.2
    questions_per_word: int = 12
    answers: int = 10
    split_tolerance: float = 0.005
    stratum: int = 400


class Manifest(Record):
    """`manifest.json`: what the folder holds, what it was made from, and a digest of every file."""

    schema_version: int = SCHEMA_VERSION
    name: str
    version: str
    canary: str
    seed: int
    config: Mapping[str, Any] = {}
    code_version: str
    sources: tuple[SourceNote, ...]
    targets: Targets = Targets()
    limits: Limits = Limits()
    counts: Mapping[str, int] = {}
    content: Mapping[str, str] = Field(
        default={}, description="Digests that do not depend on the file encoding."
    )
    files: Mapping[str, FileEntry]


@dataclass(frozen=True)
class Dataset:
    """A dataset folder, opened: `for q in Dataset.open(folder).questions("test"): ...`"""

    root: Path
    manifest: Manifest

    @classmethod
    def open(cls, root: str | Path, verify: bool = True) -> Dataset:
        """Read the manifest and, with `verify`, compare size and sha256 of every file it lists.

        Raises DatasetError, naming the file: missing, damaged, or written by a newer version of the toolkit.
        """
        root = Path(root)
        manifest = read_manifest(root)
        if verify:
            for name, entry in manifest.files.items():
                verify_file(root, name, entry)
        return cls(root, manifest)

    @property
    def prompts(self) -> Language:
        """The language in which models are asked about it: Chinese, or English for whatever else it is written in."""
        return "zh" if self.manifest.config.get("language", "zh") == "zh" else "en"

    def withholds(self, split: Split) -> bool:
        """Whether this is a public folder from which the gold of a split is left out (`leaderboard withhold`)."""
        return bool(self.manifest.config.get("withheld", {}).get("split") == split)

    def questions(self, split: Split | None = None) -> Iterator[Question]:
        """Questions of one split (of all, in the order train, validation, test), sorted by id."""
        for path in self._parquet("qa", split):
            for row in _rows(path):
                yield _question(row, path)

    def pairs(self, part: Split | None = None) -> Iterator[ScoringPair]:
        """Scoring pairs of one split of theirs (of all, in the order train, validation, test), sorted by id."""
        for path in self._parquet("scoring_pairs", part):
            for row in _rows(path):
                yield _pair(row, path)

    def view(self, split: Split | None = None) -> Iterator[QuestionView]:
        """What a system may see; the gold columns are not even read."""
        for path in self._parquet("qa", split):
            for row in _rows(path, columns=["id", "question"]):
                yield QuestionView(id=row["id"], text=row["question"])

    def kg(self, verify: bool = False) -> MemoryGraph:
        """The knowledge graph the questions were made from; see `open_graph`.

        With `verify` its tables are compared with the manifest and its index with the digests written when it was
        made: 0.15 s that a number is worth.  Raises DatasetError or GraphError naming the file.
        """
        if verify:
            for name, entry in self.manifest.files.items():
                if name.startswith("kg/"):
                    verify_file(self.root, name, entry)
        graph = open_graph(self.root, self.manifest)
        if verify:
            graph.verify()
        return graph

    def _parquet(self, folder: str, split: Split | None) -> list[Path]:
        if split is not None and split not in SPLITS:
            raise DatasetError(f"there is no split {split!r}", fix=f"use one of {', '.join(SPLITS)}")
        return [self.root / folder / f"{name}.parquet" for name in SPLITS if split in (None, name)]


def read_manifest(root: Path) -> Manifest:
    """Parse `manifest.json` of a dataset folder; refuses a newer schema before looking at anything else."""
    path = root / "manifest.json"
    try:
        content = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise DatasetError(
            "no dataset here: manifest.json is missing", fix="name the folder that holds it", file=root
        ) from None
    except orjson.JSONDecodeError as error:
        raise DatasetError(f"not JSON ({error})", fix=REBUILD, file=path) from None
    version = content.get("schema_version") if isinstance(content, dict) else None
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise DatasetError(
            f"schema version {version} is not known, this toolkit reads up to {SCHEMA_VERSION}",
            fix="update clwqa-bench",
            file=path,
            field="schema_version",
        )
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        raise _invalid(error, path) from None


def verify_file(root: Path, name: str, entry: FileEntry) -> None:
    """Raise DatasetError unless the file has the size and sha256 of its manifest entry."""
    path = root / name
    try:
        size, found = path.stat().st_size, file_sha256(path)
    except FileNotFoundError:
        raise DatasetError("the file is missing", fix=REBUILD, file=path) from None
    if size != entry.bytes:
        raise DatasetError(
            f"the file has {size} bytes, the manifest says {entry.bytes}", fix=REBUILD, file=path
        )
    if found != entry.sha256:
        raise DatasetError(
            f"wrong checksum: expected sha256 {entry.sha256}, found {found}", fix=REBUILD, file=path
        )


def open_graph(root: Path, manifest: Manifest) -> MemoryGraph:
    """The graph of a dataset folder: with the index in `kg/index` if there is one, else with one in the user's
    cache, made on first use from the tables. The folder itself is never written to; it may be read-only.
    """
    from clwqa_bench.kg.layout import INDEX_FORMAT
    from clwqa_bench.kg.memory import MemoryGraph
    from clwqa_bench.ontology import Ontology

    if (root / "kg" / "index").is_dir():
        return MemoryGraph.open(root / "kg")
    made_for = [
        INDEX_FORMAT,
        *(manifest.files[f"kg/{name}.parquet"].sha256 for name in ("entities", "triples")),
    ]
    target = cache_folder() / "graphs" / hashlib.sha256("".join(made_for).encode("ascii")).hexdigest()[:32]
    if not target.is_dir():
        from clwqa_bench.kg.build import read_tables, write_index  # only who has no index yet makes one

        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="partial-") as partial:
            made = Path(partial) / "graph"
            write_index(*read_tables(root / "kg"), made, Ontology.load(root / "ontology.ttl"))
            with contextlib.suppress(OSError):  # another process was first: use what it made
                made.rename(target)
    return MemoryGraph.open(target)


def cache_folder() -> Path:
    """Where derived files may be kept: $XDG_CACHE_HOME/clwqa-bench, by default ~/.cache/clwqa-bench."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "clwqa-bench"


def _rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH, columns=columns, use_threads=False):
                yield from batch.to_pylist()
    except FileNotFoundError:
        raise DatasetError("the file is missing", fix=REBUILD, file=path) from None
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(f"not a complete Parquet file ({error})", fix=REBUILD, file=path) from None


def _question(row: dict[str, Any], path: Path) -> Question:
    try:
        return Question.model_validate(row)
    except ValidationError as error:
        raise _invalid(error, path, of=f"question {row.get('id')!r}: ") from None


def _pair(row: dict[str, Any], path: Path) -> ScoringPair:
    try:
        return ScoringPair.model_validate(row)
    except ValidationError as error:
        raise _invalid(error, path, of=f"pair {row.get('id')!r}: ") from None


def _invalid(error: ValidationError, path: Path, of: str = "") -> DatasetError:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    return DatasetError(f"{of}{first['msg']}", fix=REBUILD, file=path, field=field)
