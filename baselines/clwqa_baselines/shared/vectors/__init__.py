"""Texts by similarity to a question: an index of many, built once, or a few compared on the fly.

``bm25`` and ``tfidf`` read characters and pairs of characters (`sparse`), ``dense`` compares the vectors of a
pretrained encoder (`dense`).  All give the same answer for the same texts; equal scores keep the order of the texts.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from clwqa_baselines.shared.made_once import made_once
from clwqa_baselines.shared.vectors import dense, sparse
from clwqa_baselines.shared.vectors.base import Hit, Similarity, TextIndex
from clwqa_bench.systems import Resources

__all__ = ["Hit", "Retriever", "Similarity", "TextIndex", "open_index", "open_similarity"]

Retriever = Literal["bm25", "tfidf", "dense"]
Texts = Callable[[], Iterable[tuple[str, str]]]

INDEX_VERSION = 1
"""Raised by any change to what is written or to how it scores."""


def open_index(
    kind: Retriever, name: str, texts: Texts, resources: Resources, *made_from: object
) -> TextIndex:
    """The index of the (id, text) that `texts` yields, which are read only if there is none yet.

    It is kept under `name` and `made_from`: whatever the texts depend on besides the graph and the train split.  It
    appears whole or not at all; one process builds it and others wait.  Raises ScorerError for `dense` without the
    encoder.
    """
    encoder = dense.Encoder.open() if kind == "dense" else None
    encoded_by = encoder.digest if encoder else ""
    folder = resources.derived(f"{name}-{kind}", INDEX_VERSION, encoded_by, *made_from)
    blocks = folder.with_name(f"{folder.name}.blocks")  # of an unfinished dense index

    def make(made: Path) -> None:
        if encoder:
            dense.build(texts(), made, blocks, encoder)
        else:
            sparse.build(texts(), made, sparse.WEIGHTINGS[kind])

    if made_once(folder, make):
        shutil.rmtree(blocks, ignore_errors=True)
    return (
        dense.DenseIndex(folder, encoder) if encoder else sparse.SparseIndex(folder, sparse.WEIGHTINGS[kind])
    )


def open_similarity(kind: Retriever) -> Similarity:
    """How alike a question and each of some texts are; `bm25` and `tfidf` count in these texts alone."""
    if kind == "dense":
        return dense.Encoder.open().similarity
    weighting = sparse.WEIGHTINGS[kind]
    return lambda question, texts: sparse.similarity(question, texts, weighting)
