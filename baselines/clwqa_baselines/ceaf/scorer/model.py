"""The network: sigmoid(MLP([h of the pair; W_type[element]])), in two halves where the lower one may be frozen.

Imports torch, so this module is imported inside functions only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from clwqa_baselines.ceaf.scorer.data import Pair, buckets
from clwqa_baselines.ceaf.scorer.encoders import Encoder
from clwqa_baselines.ceaf.scorer.errors import ScorerError
from clwqa_baselines.ceaf.scorer.settings import ScorerSettings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

AT_ONCE = 32  # pairs scored together
PLACES = 4  # decimals of a score: what else is in a batch changes the sixth


@dataclass(frozen=True, slots=True)
class Read:
    """A pair as tokens: their numbers and which of the two texts each is of, and the index of the element."""

    tokens: tuple[int, ...]
    kinds: tuple[int, ...]
    element: int


@dataclass(frozen=True, slots=True)
class Hidden:
    """Some pairs below the upper half: (pairs, tokens, width), which tokens are there, the elements."""

    states: Tensor
    there: Tensor
    elements: Tensor


class NodeScorer(nn.Module):
    """Scores pairs; `lower` is what `frozen` leaves as it is, `upper` the rest and all that is new."""

    def __init__(self, encoder: Encoder, elements: int, settings: ScorerSettings) -> None:
        super().__init__()
        model: Any = encoder.model
        layers = model.encoder.layer[: settings.layers]
        self.frozen = settings.frozen
        _refuse_deeper(encoder.name, settings, len(model.encoder.layer))
        split = settings.frozen or 0
        self.embeddings, self.below, self.above = model.embeddings, layers[:split], layers[split:]
        if settings.frozen is not None:
            self.embeddings.requires_grad_(False)
            self.below.requires_grad_(False)
        self.pooling = settings.pooling
        width = int(model.config.hidden_size)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.element = nn.Embedding(elements, settings.element_width) if settings.elements else None
            fused = width + (settings.element_width if settings.elements else 0)
            self.mlp = _mlp((fused, *settings.hidden, 1), settings.dropout)

    def lower(self, batch: Sequence[Read]) -> Hidden:
        """Embeddings and frozen layers, without dropout if they are frozen."""
        longest = max(len(pair.tokens) for pair in batch)
        tokens, kinds, there = (torch.zeros(len(batch), longest, dtype=torch.long) for _ in range(3))
        for row, pair in enumerate(batch):
            size = len(pair.tokens)
            tokens[row, :size] = torch.tensor(pair.tokens)
            kinds[row, :size] = torch.tensor(pair.kinds)
            there[row, :size] = 1
        if self.frozen is not None:
            self.embeddings.eval()
            self.below.eval()
        states = self.embeddings(input_ids=tokens, token_type_ids=kinds)
        for layer in self.below:
            states = layer(states, _mask(there))
        return Hidden(states, there.bool(), torch.tensor([pair.element for pair in batch]))

    def upper(self, hidden: Hidden) -> Tensor:
        """Scores in [0, 1], one a pair."""
        states = hidden.states
        for layer in self.above:
            states = layer(states, _mask(hidden.there))
        if self.pooling == "cls":
            fused = states[:, 0]
        else:
            weights = hidden.there.to(states.dtype).unsqueeze(-1)
            fused = (states * weights).sum(1) / weights.sum(1)
        if self.element is not None:
            fused = torch.cat([fused, self.element(hidden.elements)], dim=-1)
        return torch.sigmoid(self.mlp(fused)).squeeze(-1)

    def forward(self, batch: Sequence[Read]) -> Tensor:
        """Scores in [0, 1], one a pair."""
        return self.upper(self.lower(batch))

    def learned(self) -> dict[str, Tensor]:
        """All weights that training may have changed."""
        return {name: weight.detach() for name, weight in self.named_parameters() if weight.requires_grad}

    def groups(self, settings: ScorerSettings) -> list[dict[str, Any]]:
        """What is learned, at the rates of the settings."""
        head = [weight for name, weight in self.named_parameters() if name.startswith(("mlp.", "element."))]
        encoder = [
            weight
            for name, weight in self.named_parameters()
            if weight.requires_grad and not name.startswith(("mlp.", "element."))
        ]
        return [
            {"params": encoder, "lr": settings.encoder_rate},
            {"params": head, "lr": settings.head_rate},
        ]


@dataclass(frozen=True, slots=True)
class Trained:
    """A model with what it reads by."""

    settings: ScorerSettings
    model: NodeScorer
    encoder: Encoder

    def scores(self, pairs: Sequence[Pair], at_once: int = AT_ONCE) -> list[float]:
        """The score of each pair in [0, 1], to four decimals, whatever the others are."""
        read = read_pairs(self.encoder.tokenizer, pairs, self.settings.max_length)
        found = [0.0] * len(read)
        self.model.eval()
        with torch.inference_mode():
            for places in buckets([len(pair.tokens) for pair in read], at_once):
                some = self.model([read[place] for place in places]).tolist()
                for place, score in zip(places, some, strict=True):
                    found[place] = round(score, PLACES)
        return found


def read_pairs(tokenizer: PreTrainedTokenizerBase, pairs: Sequence[Pair], longest: int) -> list[Read]:
    """Pairs as tokens, at most so many; of a pair that has more, the longer text is cut at its end."""
    if not pairs:
        return []
    found = tokenizer(
        [pair.question for pair in pairs],
        [pair.node for pair in pairs],
        truncation="longest_first",
        max_length=longest,
        return_token_type_ids=True,
    )
    rows = zip(pairs, found["input_ids"], found["token_type_ids"], strict=True)
    return [Read(tuple(tokens), tuple(kinds), pair.element) for pair, tokens, kinds in rows]


def _mask(there: Tensor) -> Tensor | None:
    """What attention adds to its scores, or nothing if no token is missing."""
    if bool(there.all()):
        return None
    return torch.where(there.bool(), 0.0, torch.finfo(torch.float32).min)[:, None, None, :]


def _mlp(widths: Sequence[int], dropout: float) -> nn.Sequential:
    return nn.Sequential(*_layers(widths, dropout))


def _layers(widths: Sequence[int], dropout: float) -> Iterator[nn.Module]:
    for inside, outside in zip(widths, widths[1:], strict=False):
        yield nn.Linear(inside, outside)
        if outside != widths[-1]:
            yield nn.ReLU()
            yield nn.Dropout(dropout)


def _refuse_deeper(name: str, settings: ScorerSettings, depth: int) -> None:
    used = min(settings.layers or depth, depth)
    for key, value, most in (("layers", settings.layers, depth), ("frozen", settings.frozen, used)):
        if value is not None and value > most:
            raise ScorerError(
                f"{value} layers, but {name} has {most} to use", fix=f"set at most {most}", field=key
            )
