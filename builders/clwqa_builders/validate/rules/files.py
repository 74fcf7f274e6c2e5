"""The folder against its manifest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path

import pyarrow as pa

from clwqa_bench.dataset import verify_file
from clwqa_bench.errors import DatasetError
from clwqa_bench.records import SPLITS
from clwqa_builders.output.manifest import published_files
from clwqa_builders.output.schema import ENTITIES, PAIRS, QUESTIONS, TRIPLES
from clwqa_builders.output.writers import content_sha256, json_lines, read_jsonl
from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables

FOLDERS = {"qa": QUESTIONS, "scoring_pairs": PAIRS}
"""Folders of rows with a JSONL mirror, and their schemas."""


@rule(
    "files-match-manifest",
    "error",
    "Every file has its sha256, the JSONL mirror its rows, the rows their digest.",
)
def files_match_manifest(tables: DatasetTables) -> Iterator[Fault]:
    damaged = list(_bytes(tables))
    yield from damaged
    if not damaged:
        yield from _mirror(tables)
        yield from _content(tables)


def _bytes(tables: DatasetTables) -> Iterator[Fault]:
    root, listed = tables.root, tables.manifest.files
    for name, entry in listed.items():
        try:
            verify_file(root, name, entry)
        except DatasetError as error:
            yield Fault("", name, error.what)
    for name in sorted(set(published_files(root)) - set(listed)):
        yield Fault("", name, "the manifest does not list this file")


def _mirror(tables: DatasetTables) -> Iterator[Fault]:
    for folder, split in product(FOLDERS, SPLITS):
        name = f"{folder}/{split}.jsonl"
        try:
            mirror = read_jsonl(tables.root / name, FOLDERS[folder])
        except (pa.ArrowException, OSError) as error:
            yield Fault("", name, f"not JSON lines of the published schema: {error}")
            continue
        if not mirror.equals(tables.parquet(f"{folder}/{split}.parquet")):
            yield Fault("", name, "its rows are not those of the Parquet file")


def _content(tables: DatasetTables) -> Iterator[Fault]:
    digests = {folder: _rows_sha256(tables.root / folder) for folder in FOLDERS}
    graph = chain(json_lines(tables.entities, ENTITIES), json_lines(tables.triples, TRIPLES))
    for name, digest in {**digests, "kg": content_sha256(graph)}.items():
        if (listed := tables.manifest.content.get(name)) != digest:
            yield Fault("", f"content.{name}", f"the rows have digest {digest}, the manifest says {listed}")


def _rows_sha256(folder: Path) -> str:
    mirrors = ((folder / f"{split}.jsonl").read_bytes().splitlines() for split in SPLITS)
    return content_sha256(sorted(chain.from_iterable(mirrors)))
