"""The content of a dataset as rows: the same digests as in the manifest, from tables read in whatever way."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from clwqa_bench.records import SPLITS
from clwqa_builders.output.writers import content_sha256, json_lines

FILES: Mapping[str, tuple[str, ...]] = {
    "qa": tuple(f"qa/{split}.parquet" for split in SPLITS),
    "scoring_pairs": tuple(f"scoring_pairs/{split}.parquet" for split in SPLITS),
    "kg_entities": ("kg/entities.parquet",),
    "kg_triples": ("kg/triples.parquet",),
}
"""Configurations of the card, and the files of their splits."""

CONTENT: Mapping[str, tuple[str, ...]] = {
    "qa": ("qa",),
    "scoring_pairs": ("scoring_pairs",),
    "kg": ("kg_entities", "kg_triples"),
}
"""Digests of the manifest, and the configurations they are about."""


def stored_content(folder: Path) -> dict[str, str]:
    """Digests of the rows in a dataset folder's Parquet files."""
    return content(
        {
            config: [pq.read_table(folder / name) for name in names]
            for config, names in FILES.items()
            if all((folder / name).is_file() for name in names)
        }
    )


def content(tables: Mapping[str, Sequence[pa.Table]]) -> dict[str, str]:
    """Digests of rows, by the manifest's names for them; `tables` are those of each configuration's splits.

    A digest is left out if one of its configurations is.  Rows of questions and pairs are sorted, those of the graph
    stay in their order.
    """
    return {
        name: content_sha256(_lines(name, [table for config in configs for table in tables[config]]))
        for name, configs in CONTENT.items()
        if tables.keys() >= set(configs)
    }


def _lines(name: str, tables: Sequence[pa.Table]) -> Iterator[bytes]:
    lines = itertools.chain.from_iterable(json_lines(table, table.schema) for table in tables)
    return lines if name == "kg" else iter(sorted(lines))
