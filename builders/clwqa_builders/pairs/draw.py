"""The draw: equal bands, and within a band all element types in turn, as far as the supply goes."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from clwqa_bench.errors import BuildError
from clwqa_bench.records import BAND_LABELS, Band
from clwqa_builders.pairs.asked import Asked, hashed
from clwqa_builders.pairs.rubric import Rule

PER_QUESTION = 8
PER_BAND = 3  # of one question
PER_NODE = 12  # of one part


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair that could be drawn; ``rules`` claim it, the first one decides."""

    asked: Asked
    entity: str
    element: str
    rules: tuple[Rule, ...]

    @property
    def id(self) -> str:
        """The id of the pair."""
        key = hashlib.sha256(f"{self.asked.id}\x1f{self.entity}".encode()).hexdigest()
        return f"pair-{key[:12]}"

    @property
    def band(self) -> Band:
        return self.rules[0].band


def quotas(size: int) -> dict[Band, int]:
    """``size`` in equal parts over the bands; what is over goes to the highest.

    >>> quotas(12)
    {'L5': 3, 'L4': 3, 'L3': 2, 'L2': 2, 'L1': 2}
    """
    share, over = divmod(size, len(BAND_LABELS))
    return {band: share + (number < over) for number, band in enumerate(BAND_LABELS)}


def draw(
    candidates: Sequence[Candidate], size: int, seed: int, text_of: Callable[[str], str]
) -> list[Candidate]:
    """Exactly ``size`` candidates, distinct in (question, node) and in (question, text of the node).

    A band that the supply cannot fill is made up by the others. Raises BuildError when all together are short.
    """
    taking = _Taking(text_of)
    in_order = sorted(candidates, key=lambda c: hashed(seed, "draw", c.asked.id, c.entity))
    waiting = {band: _in_turn([c for c in in_order if c.band == band], taking.may) for band in BAND_LABELS}
    for band, quota in sorted(quotas(size).items()):
        taking.take(islice(waiting[band], quota))
    for band in sorted(waiting):
        taking.take(islice(waiting[band], size - len(taking.chosen)))
    if len(taking.chosen) < size:
        raise BuildError(
            f"only {len(taking.chosen):,} of {size:,} scoring pairs can be drawn",
            fix="sample more questions, or loosen the caps in pairs/draw.py",
        )
    return taking.chosen


class _Taking:
    """What has been chosen so far, and how often every question, band and node."""

    def __init__(self, text_of: Callable[[str], str]) -> None:
        self.chosen: list[Candidate] = []
        self._text_of = text_of
        self._told: set[tuple[str, str]] = set()
        self._uses: Counter[Hashable] = Counter()

    def may(self, candidate: Candidate) -> bool:
        """Whether the caps and the texts already chosen allow one more."""
        open_still = all(self._uses[key] < cap for key, cap in _caps(candidate).items())
        return open_still and (candidate.asked.id, self._text_of(candidate.entity)) not in self._told

    def take(self, coming: Iterable[Candidate]) -> None:
        for candidate in coming:
            self._told.add((candidate.asked.id, self._text_of(candidate.entity)))
            self._uses.update(list(_caps(candidate)))
            self.chosen.append(candidate)


def _caps(candidate: Candidate) -> dict[Hashable, int]:
    asked = candidate.asked.id
    return {asked: PER_QUESTION, (asked, candidate.band): PER_BAND, (candidate.entity, "node"): PER_NODE}


def _in_turn(candidates: Sequence[Candidate], may: Callable[[Candidate], bool]) -> Iterator[Candidate]:
    """One candidate of each element type in turn; within a type of each rule, and there of each template.

    Irrelevant nodes are so plentiful of every type that the rules come first there: as many hard ones of each kind
    as easy ones. ``may`` is asked when it is a candidate's turn.
    """
    drawn = any(candidate.rules[0].entry.draw for candidate in candidates)
    first = (_rule, _element) if drawn else (_element, _rule)
    return _nested(candidates, (*first, _template), may)


def _element(candidate: Candidate) -> str:
    return candidate.element


def _rule(candidate: Candidate) -> str:
    return candidate.rules[0].id


def _template(candidate: Candidate) -> str:
    return candidate.asked.template


def _nested(
    candidates: Sequence[Candidate],
    keys: Sequence[Callable[[Candidate], str]],
    may: Callable[[Candidate], bool],
) -> Iterator[Candidate]:
    if not keys:
        return filter(may, candidates)
    cells: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        cells[keys[0](candidate)].append(candidate)
    return _round_robin([_nested(cells[key], keys[1:], may) for key in sorted(cells)])


def _round_robin(queues: Sequence[Iterator[Candidate]]) -> Iterator[Candidate]:
    while queues:
        still = []
        for queue in queues:
            if (candidate := next(queue, None)) is not None:
                yield candidate
                still.append(queue)
        queues = still
