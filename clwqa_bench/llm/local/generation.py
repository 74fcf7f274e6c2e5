"""Many replies written at once: rows join and leave a batch while it goes on, the likeliest token next or one drawn.

Rows are padded on the left, so that all end at the same place and padding can be cut off or added as rows come and
go.  The keys and values of the last prompt of each kind are kept: prompts of a task begin alike (instructions,
labels, examples), and what they share is computed once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from clwqa_bench.llm.local.constraint import Constraint

if TYPE_CHECKING:
    import torch

Layers = list[tuple["torch.Tensor", "torch.Tensor"]]
"""Keys and values of each layer, (rows, heads, tokens, width)."""

KINDS = 4  # kinds of prompts whose beginnings are kept

End = Literal["done", "length", "timeout", "left"]
"""Complete, as long as it may be, out of time, or nobody waits for it any more."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Draws tokens by their likelihood at a temperature above 0, the same ones for the same `seed`."""

    temperature: float
    rng: random.Random

    @staticmethod
    def at(temperature: float, seed: str) -> Draw:
        """Draws that begin anew."""
        return Draw(temperature, random.Random(seed))

    def token(self, logits: torch.Tensor) -> int:
        """One of the tokens; never one that is ruled out."""
        heights = ((logits - logits.max()).cpu().double() / self.temperature).exp().cumsum(0)
        at = self.rng.random() * float(heights[-1])
        return int((heights <= at).sum())


@dataclass(slots=True, eq=False)
class Row:
    """A reply in the making.  `kind` says which prompts begin alike; `is_complete` is asked of the text so far where
    no `constraint` says when a reply is complete.  Without a `draw`, the likeliest token comes next.
    """

    kind: Hashable
    prompt: list[int]
    max_tokens: int
    timeout: float
    constraint: Constraint | None
    is_complete: Callable[[str], bool]
    future: asyncio.Future[End]
    draw: Draw | None = None
    written: list[int] = field(default_factory=list)
    deadline: float = float("inf")

    def begin(self) -> None:
        """The model begins to read; what can only come first is written already."""
        self.deadline = time.monotonic() + self.timeout
        if self.constraint:
            self.written = self.constraint.forced()


class Writer:
    """A model, and the batch it is at work on.  Nothing here waits: each `step` is one token of every row."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        import torch

        self._torch = torch
        self._model, self._tokenizer = model, tokenizer
        self.ends = _ends(model, tokenizer)
        self._kept: dict[Hashable, tuple[list[int], Layers]] = {}
        self.clear()

    def clear(self) -> None:
        """Leave every row where it is and forget it."""
        self.rows: list[Row] = []
        self._layers: Layers = []
        self._mask = self._logits = self._torch.empty(0)

    def step(self, new: Sequence[Row]) -> list[tuple[Row, End]]:
        """Let new rows join and write one token in every row; returns the rows that have ended."""
        with self._torch.inference_mode():
            for kind, rows in groupby(sorted(new, key=lambda row: str(row.kind)), key=lambda row: row.kind):
                first, *others = rows
                self._join(kind, [first])  # alone, so that the others find what they share with it
                if others:
                    self._join(kind, others)
            ended, going, tokens = [], [], []
            for at, row in enumerate(self.rows):
                token, end = self._next(row, self._logits[at])
                if end:
                    ended.append((row, end))
                else:
                    going.append(at)
                    tokens.append(token)
            if len(going) < len(self.rows):
                self._keep(going)
            if going:
                self._forward(tokens)
        return ended

    # ------------------------------------------------------------------ one token

    def _next(self, row: Row, logits: torch.Tensor) -> tuple[int, End | None]:
        """The next token of a row, unless the row ends."""
        if row.future.cancelled():
            return 0, "left"
        if time.monotonic() > row.deadline:
            return 0, "timeout"
        if row.constraint:
            row.constraint.mask(logits)
        token = row.draw.token(logits) if row.draw else int(logits.argmax())
        if token in self.ends:
            return token, "done"
        row.written.append(token)
        if row.constraint:
            complete = row.constraint.take(token)
        else:
            complete = "}" in self._tokenizer.decode([token]) and row.is_complete(self.text(row))
        if complete:
            return token, "done"
        return token, "length" if len(row.written) >= row.max_tokens else None

    def text(self, row: Row) -> str:
        """What a row has written."""
        return self._tokenizer.decode(row.written, skip_special_tokens=True)

    def _forward(self, tokens: list[int]) -> None:
        torch = self._torch
        column = torch.ones(len(tokens), 1, dtype=self._mask.dtype, device=self._mask.device)
        self._mask = torch.cat([self._mask, column], dim=1)
        ids = torch.tensor(tokens, device=self._mask.device)[:, None]
        self._logits, self._layers = self._run(ids, self._mask, self._layers)

    def _run(self, ids: torch.Tensor, mask: torch.Tensor, layers: Layers) -> tuple[torch.Tensor, Layers]:
        """Read more tokens (rows, new); returns the logits after the last (rows, vocabulary) and all layers."""
        from transformers import DynamicCache

        cache = DynamicCache()
        for at, (keys, values) in enumerate(layers):
            cache.update(keys, values, at)
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        out = self._model(
            input_ids=ids, attention_mask=mask, position_ids=positions, cache=cache, use_cache=True,
            logits_to_keep=1,
        )  # fmt: skip
        read: list[Any] = cache.layers
        return out.logits[:, -1].float(), [(layer.keys, layer.values) for layer in read]

    # ------------------------------------------------------------------ joining and leaving

    def _join(self, kind: Hashable, rows: list[Row]) -> None:
        """Read the prompts of rows of one kind, and add them to the batch."""
        torch = self._torch
        for row in rows:
            row.begin()
        texts = [row.prompt + row.written for row in rows]
        length = max(map(len, texts))
        pads = [length - len(text) for text in texts]
        device = self._model.device
        ids = torch.tensor([[0] * pad + text for pad, text in zip(pads, texts, strict=True)], device=device)
        mask = torch.tensor(
            [[0] * pad + [1] * len(text) for pad, text in zip(pads, texts, strict=True)], device=device
        )
        known, layers = self._kept.pop(kind, ([], []))
        # Of the columns before `first`, every row has padding or what the kept prompt has too.
        shared = (_shared(known, text) + pad for pad, text in zip(pads, texts, strict=True))
        first = min(*shared, length - 1) if layers else 0
        cached = _concatenated([_shifted(layers, first, pad) for pad in pads]) if first else []
        logits, read = self._run(ids[:, first:], mask, cached)
        self._kept[kind] = rows[-1].prompt, _part(read, -1, pads[-1], len(rows[-1].prompt))
        while len(self._kept) > KINDS:
            self._kept.pop(next(iter(self._kept)))
        if self.rows:
            width = max(length, self._mask.shape[1])
            read = _concatenated([_widened(self._layers, width), _widened(read, width)])
            mask = torch.cat([_left(self._mask, width), _left(mask, width)])
            logits = torch.cat([self._logits, logits])
        self.rows, self._layers, self._mask, self._logits = [*self.rows, *rows], read, mask, logits

    def _keep(self, going: list[int]) -> None:
        """Go on with some of the rows, without the padding that none of them needs."""
        if not going:
            return self.clear()
        self.rows = [self.rows[at] for at in going]
        mask = self._mask[going]
        first = int(mask.any(dim=0).int().argmax())
        self._mask, self._logits = mask[:, first:], self._logits[going]
        self._layers = [
            (keys[going][:, :, first:], values[going][:, :, first:]) for keys, values in self._layers
        ]
        return None


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a reply."""
    configured = getattr(model.generation_config, "eos_token_id", None)
    found = configured if isinstance(configured, list) else [configured]
    return sorted({end for end in (*found, tokenizer.eos_token_id) if end is not None})


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Tokens that two prompts begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _left(tensor: torch.Tensor, width: int, dimension: int = 1) -> torch.Tensor:
    """A tensor padded with zeros on the left of a dimension."""
    missing = width - tensor.shape[dimension]
    if not missing:
        return tensor
    shape = list(tensor.shape)
    shape[dimension] = missing
    import torch

    return torch.cat([tensor.new_zeros(shape), tensor], dim=dimension)


def _widened(layers: Layers, width: int) -> Layers:
    return [(_left(keys, width, 2), _left(values, width, 2)) for keys, values in layers]


def _shifted(layers: Layers, columns: int, pad: int) -> Layers:
    """So many columns of one row that begins after some padding."""
    tokens = max(0, columns - pad)
    return _widened([(keys[:, :, :tokens], values[:, :, :tokens]) for keys, values in layers], columns)


def _part(layers: Layers, row: int, first: int, tokens: int) -> Layers:
    """So many tokens of one row, copied."""
    chosen = slice(first, first + tokens)
    return [(keys[[row], :, chosen], values[[row], :, chosen]) for keys, values in layers]


def _concatenated(rows: Sequence[Layers]) -> Layers:
    import torch

    return [
        (torch.cat([keys for keys, _ in layer]), torch.cat([values for _, values in layer]))
        for layer in zip(*rows, strict=True)
    ]


class Desk:
    """Hands replies that are asked for to a writer, so many at a time, on a thread of its own."""

    def __init__(self, writer: Writer, most: int) -> None:
        self.writer, self._most = writer, most
        self._waiting: deque[Row] = deque()
        self._begun: set[Row] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="local-llm")
        self._work: asyncio.Task[None] | None = None

    async def write(self, row: Row) -> End:
        """Wait for a reply.  Raises whatever has stopped the work."""
        self._waiting.append(row)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._go())
            self._work.add_done_callback(self._stopped)
        return await row.future

    async def _go(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self.writer.clear)  # of what was left when work was stopped
        while self._waiting or self._begun:
            self._waiting = deque(row for row in self._waiting if not row.future.cancelled())
            room = min(self._most - len(self._begun), len(self._waiting))
            new = [self._waiting.popleft() for _ in range(room)]
            self._begun.update(new)
            for row, end in await loop.run_in_executor(self._thread, self.writer.step, new):
                self._begun.discard(row)
                if not row.future.done():
                    row.future.set_result(end)

    def _stopped(self, work: asyncio.Task[None]) -> None:
        """If the work has failed or was cancelled, so has everything that waits for it."""
        error = None if work.cancelled() else work.exception()
        if error is None and not work.cancelled():
            return
        for row in (*self._begun, *self._waiting):
            if error and not row.future.done():
                row.future.set_exception(error)
            row.future.cancel()
        self._begun.clear()
        self._waiting.clear()

    async def close(self) -> None:
        """Stop the work, as after an interrupt, and let go of the thread."""
        if self._work and not self._work.done():
            self._work.cancel()
            await asyncio.wait([self._work])
        self._thread.shutdown(wait=True, cancel_futures=True)
