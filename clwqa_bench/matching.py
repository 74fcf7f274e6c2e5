"""Which answers are right: named policies, one-to-one, the same for every metric.

An answer that carries the id of a gold names that gold, whatever the policy; policies differ in what they make of
the text of the others.  docs/matching.md walks through every policy with examples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.errors import MetricError
from clwqa_bench.predictions import PredictedAnswer
from clwqa_bench.records import Answer
from clwqa_bench.text import comparison_key

POLICIES: Final = (
    "id", "alias", "contains", "judge",
    "legacy-pog", "legacy-tog", "legacy-rog", "legacy-gcr", "legacy-gretriever",
)  # fmt: skip
WITH_TEXT: Final = ("alias", "judge")  # policies that may compare passages by their characters
_DECIMAL = re.compile(r"[0-9]*\.?[0-9]+(e-[0-9]+)?")  # float() also reads １ and 0_1
SHORTEST_CONTAINED = 2  # characters; a shorter name is inside half of all sentences

Bearers = Callable[[str], Sequence[str]]
Judge = Callable[[str], bool | None]


@dataclass(frozen=True, slots=True)
class Policy:
    """When an answer counts as a gold; `text` is the least character F1 of a passage, in (0, 1].

    Raises MetricError for a policy that does not exist.
    """

    name: str
    text: float | None = None

    def __post_init__(self) -> None:
        if self.name not in POLICIES:
            near = get_close_matches(self.name, POLICIES, n=1)
            known = f"use one of {', '.join(POLICIES)} (alias is equality of names)"
            raise MetricError(
                f"there is no matching policy {self.name!r}",
                fix=f"did you mean {near[0]!r}" if near else known,
            )
        if self.text is not None and self.name not in WITH_TEXT:
            raise MetricError(f"policy {self.name!r} compares no passages", fix=f"write {self.name!r} alone")
        if self.text is not None and not 0 < self.text <= 1:
            raise MetricError(
                f"{self.text:g} is not a character F1",
                fix=f"choose a threshold above 0 and up to 1, such as {self.name},text>=0.8",
            )

    @classmethod
    def parse(cls, text: str) -> Policy:
        """Read "alias" or "alias,text>=0.8"; `Policy.parse(str(policy)) == policy`."""
        name, comma, threshold = (part.strip() for part in text.partition(","))
        if not comma:
            return cls(name)
        label, sign, number = (part.strip() for part in threshold.partition(">="))
        if (label, sign) != ("text", ">=") or not _DECIMAL.fullmatch(number):
            raise MetricError(
                f"{threshold!r} in the policy {text!r} is not a threshold", fix=f"write {name},text>=0.8"
            )
        return cls(name, float(number))

    def __str__(self) -> str:
        return self.name if self.text is None else f"{self.name},text>={repr(self.text).removesuffix('.0')}"

    @property
    def is_legacy(self) -> bool:
        """True for a source's own matcher, which judges a whole output rather than its items."""
        return self.name.startswith("legacy-")


HEADLINE: Final = Policy("alias", 0.8)


@dataclass(frozen=True, slots=True)
class QuestionMatch:
    """What became of the answers to one question.

    Items are named by their position in the list given.  `items` are the distinct ones in order of rank; `credited`
    holds for each the position of its gold, or None.  `ambiguous` are those refused because another entity bears
    the same name, `unjudged` those a judge gave no verdict on.  `short` counts golds whose names are too short to
    be looked for by `contains`.
    """

    items: tuple[int, ...]
    credited: tuple[int | None, ...]
    golds: int
    ambiguous: tuple[int, ...] = ()
    unjudged: tuple[int, ...] = ()
    short: int = 0

    @property
    def right(self) -> int:
        """The number of credited items."""
        return len(self.credited) - self.credited.count(None)


@dataclass(frozen=True)
class Matches:
    """Matches of n questions as arrays.

    `golds`, `items`, `right`, `ambiguous`, `unjudged` and `short` count per question, shape (n,).  `rows` and
    `ranks` have one entry for each of the m credited items, shape (m,): its question, and its rank among the
    distinct items, from 1.
    """

    golds: NDArray[np.int64]
    items: NDArray[np.int64]
    right: NDArray[np.int64]
    rows: NDArray[np.int64]
    ranks: NDArray[np.int64]
    ambiguous: NDArray[np.int64]
    unjudged: NDArray[np.int64]
    short: NDArray[np.int64]

    @classmethod
    def of(cls, matches: Sequence[QuestionMatch]) -> Matches:
        """Stack the matches of single questions."""
        ranks = [[r for r, gold in enumerate(m.credited, 1) if gold is not None] for m in matches]
        right = _counts(map(len, ranks))
        return cls(
            golds=_counts(m.golds for m in matches),
            items=_counts(len(m.items) for m in matches),
            right=right,
            rows=np.repeat(np.arange(len(matches)), right),
            ranks=_counts(rank for of_one in ranks for rank in of_one),
            ambiguous=_counts(len(m.ambiguous) for m in matches),
            unjudged=_counts(len(m.unjudged) for m in matches),
            short=_counts(m.short for m in matches),
        )


def _counts(numbers: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(numbers, np.int64)


def match_answers(
    policy: Policy,
    answers: Sequence[PredictedAnswer],
    golds: Sequence[Answer],
    *,
    bearers: Bearers = lambda _: (),
    verdict: Judge = lambda _: None,
) -> QuestionMatch:
    """Credit the answers to one question, best rank first, each to one gold and each gold once.

    `bearers` names the entities of the answer's type that bear a name (none: nothing is ambiguous); `verdict` is a
    judge's ruling on an answer text, None if there is none.  The items credited are as many as possible and of
    the best ranks possible.  Raises MetricError for a legacy policy.
    """
    if policy.is_legacy:
        raise MetricError(
            f"{policy} judges a whole output and credits no items",
            fix="ask for it as a metric of the legacy group",
        )
    items = distinct(answers)
    matcher = _Matcher(policy, golds, bearers)
    found = {item: matcher.candidates(answers[item]) for item in items}
    ambiguous = tuple(item for item, places in found.items() if places is None)
    gold_of = assign({item: places or () for item, places in found.items()}, len(golds))
    unjudged: tuple[int, ...] = ()
    if policy.name == "judge":
        rest = (item for item in items if item not in gold_of)
        texts = {item: text for item in rest if not matcher.names_a_gold(text := answers[item].text)}
        unjudged = _judge(verdict, texts, gold_of, len(golds))
    return QuestionMatch(
        items, tuple(map(gold_of.get, items)), len(golds), ambiguous, unjudged, matcher.short()
    )


def distinct(answers: Sequence[PredictedAnswer]) -> tuple[int, ...]:
    """Positions of the answers that repeat no earlier one: by id, or by comparison key if they carry none."""
    if len(answers) == 1:
        return (0,)
    first: dict[tuple[bool, str], int] = {}
    for place, answer in enumerate(answers):
        id = answer.entity_id
        first.setdefault((True, id) if id is not None else (False, key_of(answer.text)), place)
    return tuple(first.values())


key_of = lru_cache(maxsize=1 << 17)(comparison_key)
"""The comparison key, remembered: the same names are compared under every policy."""


def character_f1(one: str, other: str) -> float:
    """F1 of two texts as bags of characters: the letters and numbers of their comparison keys.

    0 if either has none.  White space and punctuation do not count, order does not either.
    """
    a, b = _characters(one), _characters(other)
    common = sum(min(a[character], b[character]) for character in a.keys() & b.keys())
    return 2 * common / (a.total() + b.total()) if common else 0.0


@lru_cache(maxsize=1 << 14)
def _characters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, key_of(text)))


class _Matcher:
    """The golds of one question, arranged for looking answers up."""

    def __init__(self, policy: Policy, golds: Sequence[Answer], bearers: Bearers) -> None:
        self._policy, self._golds, self._bearers = policy, golds, bearers
        self._ids = _index([(gold.entity_id,) for gold in golds])
        self._names = {} if policy.name == "id" else _index(map(_keys, golds))

    def candidates(self, answer: PredictedAnswer) -> Sequence[int] | None:
        """The golds an answer may be credited to; None if all it has is a name that others bear too.

        The strongest evidence decides: an id, then an equal name, then a similar text.
        """
        if answer.entity_id is not None and (found := self._ids.get(answer.entity_id)):
            return found
        if not self._names or not (key := key_of(answer.text)):  # a text that shows nothing names nothing
            return ()
        if self._policy.name == "contains":
            return self._contained(key)
        if found := self._names.get(key):
            return self._unambiguous(answer, found)
        return self._similar(answer.text)

    def names_a_gold(self, text: str) -> bool:
        """Whether a text is the name of a gold.  Then the rules have decided; to a judge, who reads names, all who
        bear one are the same."""
        return key_of(text) in self._names

    def short(self) -> int:
        """How many golds have no name long enough to be looked for inside an answer."""
        if self._policy.name != "contains":
            return 0
        return sum(all(len(name) < SHORTEST_CONTAINED for name in _keys(gold)) for gold in self._golds)

    def _contained(self, key: str) -> Sequence[int]:
        """Golds with a name inside the answer; a name too short to be looked for has to be all of it."""
        found = (
            place
            for name, of_name in self._names.items()
            if name == key or (len(name) >= SHORTEST_CONTAINED and name in key)
            for place in of_name
        )
        return list(dict.fromkeys(found))

    def _unambiguous(self, answer: PredictedAnswer, found: Sequence[int]) -> Sequence[int] | None:
        """Those of the golds that the name identifies: not an entity, if others of its kind bear the name.

        An answer whose id is that of another bearer says which it means, and is wrong rather than ambiguous.
        """
        others = [place for place in found if self._golds[place].kind != "entity"]
        if len(others) == len(found):
            return found
        bearers = self._bearers(answer.text)
        if all(bearer in self._ids for bearer in bearers):
            return found
        return others if others or answer.entity_id in bearers else None

    def _similar(self, text: str) -> Sequence[int]:
        """Passages the text agrees with to the degree the policy asks for."""
        least = self._policy.text
        if least is None:
            return ()
        return [
            place
            for place, gold in enumerate(self._golds)
            if gold.kind == "passage" and character_f1(text, gold.label) >= least
        ]


def _index(names: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """Where each name occurs: positions of the golds that bear it."""
    places: dict[str, list[int]] = {}
    for place, of_one in enumerate(names):
        for name in of_one:
            places.setdefault(name, []).append(place)
    return places


def _keys(gold: Answer) -> set[str]:
    return {key_of(name) for name in (gold.label, *gold.aliases)}


def assign(candidates: Mapping[int, Sequence[int]], golds: int) -> dict[int, int]:
    """A largest one-to-one assignment of items to golds, by augmenting paths: the gold of each item that gets one.

    Items are served in order and never lose a place once they have one, so the items served are the earliest
    that any largest assignment serves.
    """
    gold_of: dict[int, int] = {}
    item_of: dict[int, int] = {}
    for item in candidates:
        if len(item_of) == golds:
            break
        taker_of, gold = _search(item, candidates, item_of)
        while gold is not None:  # every taker on the way leaves its gold to the one before
            taker = taker_of[gold]
            left = gold_of.get(taker)
            gold_of[taker], item_of[gold] = gold, taker
            gold = left
    return gold_of


def _search(
    item: int, candidates: Mapping[int, Sequence[int]], item_of: Mapping[int, int]
) -> tuple[dict[int, int], int | None]:
    """A free gold that `item` reaches by others' moving on, or None, and who would take each gold on the way."""
    taker_of: dict[int, int] = {}
    queue = [item]
    for taker in queue:
        for gold in candidates[taker]:
            if gold in taker_of:
                continue
            taker_of[gold] = taker
            if gold not in item_of:
                return taker_of, gold
            queue.append(item_of[gold])
    return taker_of, None


def _judge(verdict: Judge, texts: Mapping[int, str], gold_of: dict[int, int], golds: int) -> tuple[int, ...]:
    """Let a judge rule on items without credit while golds are free; returns those it has no verdict on."""
    free = sorted(set(range(golds)) - set(gold_of.values()))
    unjudged = []
    for item, text in texts.items():
        if not free:
            break
        ruling = verdict(text)
        if ruling is None:
            unjudged.append(item)
        elif ruling:
            gold_of[item] = free.pop(0)
    return tuple(unjudged)
