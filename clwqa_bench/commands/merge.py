"""Put the shards of a run together in one run folder, which is scored as any other."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from clwqa_bench.commands.common import DATASET, DatasetOption, JsonOption
from clwqa_bench.console import emit
from clwqa_bench.dataset import Dataset
from clwqa_bench.shards import merge as merge_shards


def merge(
    shards: Annotated[
        list[Path], typer.Argument(metavar="SHARD...", help="All folders made with `run --shard`.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The run folder to make.")],
    dataset: DatasetOption = DATASET,
    json: JsonOption = False,
) -> None:
    """Put the shards of a run together in one run folder, which is scored as any other.

    They have to be all shards of one run, each complete; what is missing is named.

    Example: clwqa-bench merge runs/ceaf.1 runs/ceaf.2 runs/ceaf.3 --out runs/ceaf
    """
    merged = merge_shards(shards, Dataset.open(dataset, verify=False), out)
    emit(
        asdict(merged),
        json,
        lambda _: Text(
            f"{merged.title}: {merged.questions:,} questions of {merged.shards} shards\n{merged.folder}"
        ),
    )
