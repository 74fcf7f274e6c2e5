"""Question templates for a graph: the walks over its types (meta-paths) that make sensible questions.

A meta-path is walked from the anchor: each step is a relation, the way it is walked, and the type it reaches; type
pairs that no triple has are never walked.  A relation between two types is used once on a way, so that no question runs
back and forth.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clwqa_bench.ontology import Ontology
from clwqa_builders.own.schema import Pair
from clwqa_builders.own.wording import Said, Sense, Speaker
from clwqa_builders.questions.columns import GraphColumns, Side
from clwqa_builders.questions.templates import MAX_ANSWERS, Template, parse_template

LONGEST = 4  # hops
TEMPLATES_PER_HOP = 40
KEPT = 1_000  # walks of a length that are made longer
SINGLE = 0.98  # share of the starts of a step that reach one thing, from which "the" is said
VARIABLES = "xabcd"


@dataclass(frozen=True, slots=True)
class Step:
    """A step between two types: how it is said, and how many things it reaches on average."""

    start: str
    said: Said
    width: float

    @property
    def link(self) -> tuple[str, frozenset[str]]:
        """The step whichever way it is walked."""
        return self.said.relation, frozenset((self.start, self.said.type))


def templates(
    ontology: Ontology, pairs: Mapping[str, Sequence[Pair]], graph: GraphColumns, speaker: Speaker, seed: int
) -> tuple[list[tuple[dict[str, object], Template]], int]:
    """Entries of a template file, at most TEMPLATES_PER_HOP of each length, with the templates they make.

    Walks that reach more than MAX_ANSWERS things on average are left out; of the others, a seeded choice.  How many
    that passes over is returned as well.
    """
    found, passed_over = [], 0
    for walks in _walks(list(_steps(ontology, pairs, graph)), seed):
        found += [_entry(walk, ontology, speaker) for walk in walks[:TEMPLATES_PER_HOP]]
        passed_over += len(walks[TEMPLATES_PER_HOP:])
    found.sort(key=lambda entry: str(entry["id"]))
    return [(entry, parse_template(entry, ontology)) for entry in found], passed_over


def _steps(ontology: Ontology, pairs: Mapping[str, Sequence[Pair]], graph: GraphColumns) -> Iterator[Step]:
    for relation, ends in sorted(pairs.items()):
        ways: tuple[Sense, ...] = ("out",) if ontology.symmetric(relation) else ("out", "in")
        for (head, tail), sense in itertools.product(ends, ways):
            start, end = (head, tail) if sense == "out" else (tail, head)
            side: Side = "both" if len(ways) == 1 else "head" if sense == "out" else "tail"
            here, there = graph.pairs((relation,), side)
            fits = (
                (graph.is_a(ontology.with_descendants((start,)))[here])
                & (graph.is_a(ontology.with_descendants((end,)))[there])
            )
            reached = np.bincount(here[fits])
            reached = reached[reached > 0]
            if len(reached):
                single = bool((reached == 1).mean() >= SINGLE)
                yield Step(start, Said(relation, sense, end, single), float(reached.mean()))


def _walks(steps: Sequence[Step], seed: int) -> Iterator[list[tuple[Step, ...]]]:
    """The walks of each length, in a seeded order; longer ones go on from the first KEPT of the shorter."""
    onward: defaultdict[str, list[Step]] = defaultdict(list)
    for step in steps:
        onward[step.start].append(step)
    walks: list[tuple[Step, ...]] = [(step,) for step in steps]
    for _ in range(LONGEST):
        narrow = (walk for walk in walks if math.prod(step.width for step in walk) <= MAX_ANSWERS)
        ranked = sorted(narrow, key=lambda walk: _rank(seed, walk))
        yield ranked
        walks = [
            (*walk, step)
            for walk in ranked[:KEPT]
            for step in onward[walk[-1].said.type]
            if all(step.link != earlier.link for earlier in walk)
        ]


def _rank(seed: int, walk: Sequence[Step]) -> bytes:
    return hashlib.blake2b(f"{seed}/{_pattern(walk, frozenset())}".encode(), digest_size=8).digest()


def _pattern(walk: Sequence[Step], symmetric: frozenset[str]) -> str:
    text = f"{VARIABLES[0]}:{walk[0].start}"
    for variable, step in zip(VARIABLES[1:], walk, strict=False):
        relation, sense = step.said.relation, step.said.sense
        arrow = (
            f"-{relation}-"
            if relation in symmetric
            else f"-{relation}->"
            if sense == "out"
            else f"<-{relation}-"
        )
        text += f" {arrow} {variable}:{step.said.type}"
    return text


def _entry(walk: Sequence[Step], ontology: Ontology, speaker: Speaker) -> dict[str, object]:
    """One template as a TOML file holds it; the category is left to the type of the answer."""
    symmetric = frozenset(name for name in ontology.relations if ontology.symmetric(name))
    pattern = _pattern(walk, symmetric)
    digest = hashlib.blake2b(pattern.encode(), digest_size=4).hexdigest()
    target = walk[-1].said.type
    return {
        "id": f"walk.{len(walk)}.{digest}",
        "family": target,
        "hops": len(walk),
        "pattern": [pattern],
        "anchors": [VARIABLES[0]],
        "answer": VARIABLES[len(walk)],
        "target_element": target,
        "category": [f"type:{VARIABLES[len(walk)]}"],
        "phrasings": list(speaker.questions(walk[0].start, [step.said for step in walk])),
    }
