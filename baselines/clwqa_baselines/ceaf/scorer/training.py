"""Training: MSE on soft labels, AdamW, stopping when validation no longer gets better; one checkpoint an epoch.

Everything random is drawn from the seed and the number of the epoch, so training that goes on from a checkpoint ends
where it would have ended.  Imports torch, so this module is imported inside functions only.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clwqa_baselines.ceaf.scorer.data import Examples, buckets, shuffled
from clwqa_baselines.ceaf.scorer.encoders import Encoder
from clwqa_baselines.ceaf.scorer.errors import ScorerError
from clwqa_baselines.ceaf.scorer.model import AT_ONCE, Hidden, NodeScorer, Read, read_pairs
from clwqa_baselines.ceaf.scorer.settings import ScorerSettings
from clwqa_baselines.ceaf.scorer.statistics import Epoch
from clwqa_bench.console import Progress


@dataclass
class Course:
    """How far training has come: its epochs, and the weights of the best one."""

    epochs: list[Epoch] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)

    @property
    def best_epoch(self) -> Epoch:
        """The first with the lowest validation loss."""
        return min(self.epochs, key=lambda epoch: epoch.validation)

    def over(self, settings: ScorerSettings) -> bool:
        """True if no further epoch is due."""
        if not self.epochs:
            return False
        waited = len(self.epochs) - self.best_epoch.number
        return waited >= settings.patience or len(self.epochs) >= settings.epochs


def prepared(encoder: Encoder, elements: int, settings: ScorerSettings) -> NodeScorer:
    """A scorer without learned weights."""
    return NodeScorer(encoder, elements, settings)


@contextmanager
def repeatable(threads: int) -> Iterator[None]:
    """Let torch work out the same sums each time, on so many cores; afterwards it does as before."""
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])


def train(
    model: NodeScorer,
    encoder: Encoder,
    learn: Examples,
    check: Examples,
    settings: ScorerSettings,
    checkpoint: Checkpoint,
    bar: Progress,
) -> Course:
    """Fit a model; it ends with the weights of its best epoch.  Goes on from the checkpoint if there is one.

    Raises ScorerError if the loss is no longer a number, or if the checkpoint cannot be read.
    """
    optimizer = torch.optim.AdamW(model.groups(settings))
    course = checkpoint.load(model, optimizer)
    bar.advance(len(course.epochs))
    fed = Feed(model, read_pairs(encoder.tokenizer, learn.pairs, settings.max_length), learn.labels)
    checked = Feed(model, read_pairs(encoder.tokenizer, check.pairs, settings.max_length), check.labels)
    while not course.over(settings):
        number = len(course.epochs) + 1
        began = time.perf_counter()
        lost = _pass(model, optimizer, fed, settings, number)
        epoch = Epoch(number, lost, _loss(model, checked), round(time.perf_counter() - began, 3))
        if not math.isfinite(epoch.train + epoch.validation):
            raise ScorerError(
                f"the loss of epoch {number} is not a number any more",
                fix="set a lower encoder_rate or head_rate",
                field="encoder_rate",
            )
        course.epochs.append(epoch)
        if course.best_epoch is epoch:
            course.best = {name: weight.clone() for name, weight in model.learned().items()}
        checkpoint.save(model, optimizer, course)
        bar.note(f"epoch {number}: train {epoch.train:.4f}, validation {epoch.validation:.4f}")
        bar.advance()
    model.load_state_dict(course.best, strict=False)
    return course


@dataclass
class Feed:
    """Read pairs with their labels.  What frozen layers make of a pair is worked out once, not in every epoch."""

    model: NodeScorer
    pairs: list[Read]
    labels: Sequence[float]
    _below: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lengths = [len(pair.tokens) for pair in self.pairs]
        if self.model.frozen is None:
            return
        self._below = [torch.empty(0)] * len(self.pairs)
        with torch.no_grad():
            for places in buckets(self.lengths, AT_ONCE):
                states = self.model.lower([self.pairs[place] for place in places]).states
                for place, row in zip(places, states, strict=True):
                    self._below[place] = row[: self.lengths[place]].clone()

    def hidden(self, places: Sequence[int]) -> Hidden:
        """Some pairs below the upper half of the model."""
        if not self._below:
            return self.model.lower([self.pairs[place] for place in places])
        states = torch.nn.utils.rnn.pad_sequence([self._below[place] for place in places], batch_first=True)
        lengths = torch.tensor([self.lengths[place] for place in places])
        there = torch.arange(states.shape[1]) < lengths[:, None]
        return Hidden(states, there, torch.tensor([self.pairs[place].element for place in places]))

    def wanted(self, places: Sequence[int]) -> Tensor:
        """Their labels."""
        return torch.tensor([self.labels[place] for place in places])


def _pass(
    model: NodeScorer, optimizer: torch.optim.Optimizer, feed: Feed, settings: ScorerSettings, number: int
) -> float:
    """One epoch; returns the mean loss of a pair."""
    torch.manual_seed(_mixed(settings.seed, number))
    rng = np.random.default_rng([settings.seed, number])
    model.train()
    lost = 0.0
    batches = shuffled(feed.lengths, settings.batch, rng)
    for step, places in enumerate(batches, start=1 + (number - 1) * len(batches)):
        share = pace(step / (settings.epochs * len(batches)), settings.warmup)
        for group, rate in zip(
            optimizer.param_groups, (settings.encoder_rate, settings.head_rate), strict=True
        ):
            group["lr"] = share * rate
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model.upper(feed.hidden(places)), feed.wanted(places))
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        lost += loss.item() * len(places)
    return lost / len(feed.pairs)


def pace(done: float, warmup: float) -> float:
    """Share of the learning rates when so much of training is done: up to 1 at `warmup`, then down to 0."""
    return done / warmup if done < warmup else (1 - done) / (1 - warmup)


def _loss(model: NodeScorer, feed: Feed) -> float:
    model.eval()
    with torch.no_grad():
        squares = [
            (model.upper(feed.hidden(places)) - feed.wanted(places)).square().sum().item()
            for places in buckets(feed.lengths, AT_ONCE)
        ]
    return sum(squares) / len(feed.pairs)


def _mixed(seed: int, number: int) -> int:
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


# ---------------------------------------------------------------------- checkpoints


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds training after its last whole epoch; `identity` is what it is the training of."""

    file: Path
    identity: dict[str, Any]

    def save(self, model: NodeScorer, optimizer: torch.optim.Optimizer, course: Course) -> None:
        """Replace the file at once, so that a kill leaves this state or the one before."""
        state = {
            "identity": self.identity,
            "weights": model.learned(),
            "optimizer": optimizer.state_dict(),
            "epochs": [asdict(epoch) for epoch in course.epochs],
            "best": course.best,
        }
        self.file.parent.mkdir(parents=True, exist_ok=True)
        partial = self.file.with_suffix(".partial")
        with partial.open("wb") as stream:
            torch.save(state, stream)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(self.file)

    def load(self, model: NodeScorer, optimizer: torch.optim.Optimizer) -> Course:
        """Put model and optimizer into the state of the file, if there is one.

        Raises ScorerError if it is damaged or of another training.
        """
        if not self.file.is_file():
            return Course()
        again = f"remove {self.file.parent} to begin anew"
        try:
            state = torch.load(self.file, weights_only=True)
            identity = state["identity"]
        except Exception as error:  # noqa: BLE001 - a damaged pickle in a damaged zip may raise anything
            raise ScorerError(
                f"the checkpoint cannot be read ({type(error).__name__})", fix=again, file=self.file
            ) from None
        keys = sorted({*identity, *self.identity})
        if other := [key for key in keys if identity.get(key) != self.identity.get(key)]:
            raise ScorerError(
                f"another training was begun here; it differs in {', '.join(other)}",
                fix=f"name another --out, or {again}",
                file=self.file,
            )
        model.load_state_dict(state["weights"], strict=False)
        optimizer.load_state_dict(state["optimizer"])
        return Course([Epoch(**epoch) for epoch in state["epochs"]], state["best"])
