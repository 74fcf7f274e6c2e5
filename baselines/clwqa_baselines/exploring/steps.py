"""Where a way can go on, and what of ways is shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clwqa_baselines.exploring.settings import ExplorerSettings
from clwqa_baselines.exploring.words import Words
from clwqa_baselines.rules.ways import Offer
from clwqa_baselines.shared.evidence import refs
from clwqa_bench.kg.protocol import GraphStore, Path, Sense
from clwqa_bench.records import TripleRef

SENSES: tuple[Sense, Sense] = ("out", "in")


@dataclass(frozen=True)
class Steps:
    """Which steps can be taken from the end of a way."""

    graph: GraphStore
    settings: ExplorerSettings

    def offers(self, path: Path, taken: Iterable[Path], words: Words) -> tuple[Offer, ...]:
        """The relations at the end of a way, by label; each outwards if it can be walked both ways.

        `taken` are the ways kept in the step before.
        """
        node = path.nodes[-1]
        ways = {
            sense: {*self.graph.relations(node, sense)}
            - words.known.left_out
            - self._back(path, sense, taken)
            for sense in SENSES
        }
        marked = self.settings.direction_marks
        found = [
            Offer(label=_marked(label, sense) if marked else label, relation=relation, sense=sense)
            for sense in SENSES
            for relation in ways[sense] - (set() if marked or sense == "out" else ways["out"])
            for label in [words.known.relation[relation]]
        ]
        return tuple(sorted(found, key=lambda offer: (offer.label, offer.sense)))

    def _back(self, path: Path, sense: Sense, taken: Iterable[Path]) -> set[str]:
        """Relations that would be walked back in this sense: inwards, unless the way arrived inwards itself."""
        arrived = path.senses[-1] if path.senses else "out"
        if sense == arrived or self.settings.no_backtrack == "off":
            return set()
        ways = taken if self.settings.no_backtrack == "pooled" else [path]
        return {way.relations[-1] for way in ways if way.relations}


def extended(path: Path, offer: Offer, node: str) -> Path:
    """A way with one more step."""
    return Path((*path.nodes, node), (*path.relations, offer.relation), (*path.senses, offer.sense))


def last_steps(paths: Iterable[Path]) -> tuple[TripleRef, ...]:
    """The steps that ways have just taken, as they are stored, each once."""
    return refs(dict.fromkeys(path.triples[-1] for path in paths))


def distinct_ends(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The first way to each end."""
    first: dict[str, Path] = {}
    for path in paths:
        first.setdefault(path.nodes[-1], path)
    return tuple(first.values())


def _marked(label: str, sense: Sense) -> str:
    return f"—{label}→" if sense == "out" else f"←{label}—"
