"""What every index of texts can do, and the ids that all of them keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clwqa_bench.kg.layout import read_batch, write_batch

IDS = "ids.arrow"
Floats = NDArray[np.float32]

Similarity = Callable[[str, Sequence[str]], list[float]]
"""(question, texts) -> scores in the order of the texts; higher is more alike."""


class Hit(NamedTuple):
    """A text found."""

    id: str
    score: float


class TextIndex(Protocol):
    """Texts by id; `len` is their number."""

    def __len__(self) -> int: ...

    def id(self, place: int) -> str:
        """The id of a text by its place in the order in which they were indexed, from 0."""

    def search(self, text: str, k: int) -> list[Hit]:
        """The `k` most similar, best first, equal ones in the order in which they were indexed."""


class Ids:
    """The ids of an index folder by place."""

    def __init__(self, folder: Path) -> None:
        self._column = read_batch(folder / IDS).column(0)

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, place: int) -> str:
        return str(self._column[place].as_py())

    def hits(self, places: NDArray[np.int64], scores: Floats) -> list[Hit]:
        """Places with their scores, as they are answered."""
        return [
            Hit(self[place], score) for place, score in zip(places.tolist(), scores.tolist(), strict=True)
        ]


class Kept:
    """An index folder, and what of a `TextIndex` does not depend on how texts are compared."""

    def __init__(self, folder: Path) -> None:
        self._ids = Ids(folder)

    def __len__(self) -> int:
        return len(self._ids)

    def id(self, place: int) -> str:
        return self._ids[place]


def write_ids(ids: Sequence[str], folder: Path) -> None:
    """Write the ids of an index in their order."""
    write_batch(pa.table({"id": pa.array(ids, pa.string())}), folder / IDS)


def best(scores: Floats, k: int) -> NDArray[np.int64]:
    """Places of the `k` highest scores, best first, equal ones by place."""
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        above, equal = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
        places = np.concatenate([above, equal[: k - len(above)]])
    else:
        places = np.arange(len(scores))
    return places[np.lexsort((places, -scores[places]))]
