"""What nodes and relations are called, and how names are found in questions, in one way for every system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from clwqa_bench.kg.protocol import Entity, GraphStore
from clwqa_bench.linking import Gazetteer, Linker, open_linker
from clwqa_bench.ontology import Ontology
from clwqa_bench.systems import Resources

REMEMBERED = 65_536  # names of nodes


def called(entity: Entity) -> str:
    """The text of a passage, the label of anything else, on one line; "" for what has neither."""
    return " ".join((entity.text or entity.label).split())


def namer(graph: GraphStore) -> Callable[[str], str]:
    """What nodes are `called`, by id; those lately asked for are remembered."""
    return lru_cache(REMEMBERED)(lambda node: called(graph.entity(node)))


def relation_labels(ontology: Ontology) -> Mapping[str, str]:
    """The ontology's word for each relation; with its name where another is called the same."""
    words = {relation: ontology.label(relation) for relation in ontology.relations}
    times = Counter(words.values())
    return {
        relation: word if times[word] == 1 else f"{word}（{relation}）" for relation, word in words.items()
    }


@dataclass(frozen=True)
class Reader:
    """How questions are read: by the linker of a dataset, or by the names of its graph alone where there is no train
    split to learn a linker from.
    """

    linker: Linker | None
    gazetteer: Gazetteer

    @staticmethod
    def open(resources: Resources) -> Reader:
        """Everything is read now, and so is no part of the first question's time.

        Whoever holds on to it has the rules of `--llm lexical` find the same linker.
        """
        linker = open_linker(resources) if next(iter(resources.train()), None) is not None else None
        gazetteer = linker.gazetteer if linker else Gazetteer(resources.kg)
        gazetteer.read()
        return Reader(linker, gazetteer)
