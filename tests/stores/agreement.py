"""Two stores over one graph give the same answers, to the last path and in the same order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import GraphStore

DIRECTIONS: tuple[Any, ...] = ("out", "in", "both")
RELATIONS = (None, "hasSource", "seeAlso", ("partOf", "authoredBy"))
TYPES = (None, "Word", "Idiom", ("Book", "ContentUnit"))


def check_whole(mine: MemoryGraph, other: GraphStore, attributes_ordered: bool = True) -> None:
    """Everything about every entity, every triple, the schema."""
    assert list(other.entities()) == mine.ids
    assert list(other.triples()) == list(mine.triples())
    assert other.schema() == mine.schema()
    for node in mine.ids:
        mine_says, other_says = mine.entity(node), other.entity(node)
        if attributes_ordered:
            assert other_says == mine_says
        assert (other_says.label, other_says.text) == (mine_says.label, mine_says.text)
        assert sorted(other_says.aliases) == sorted(mine_says.aliases)
        assert sorted(other_says.attributes) == sorted(mine_says.attributes)
        assert other.neighbours(node) == mine.neighbours(node)
        assert list(other.triples(node)) == list(mine.triples(node))
        for name in (mine_says.label, *mine_says.aliases):
            assert other.lookup(name) == mine.lookup(name)
            assert other.fuzzy(name, 3) == mine.fuzzy(name, 3)


def check_walks(mine: MemoryGraph, other: GraphStore, rounds: int, seed: int = 3) -> None:
    """Random questions of every kind."""
    rng = random.Random(seed)
    for _ in range(rounds):
        for operation, arguments, options in _questions(mine, rng):
            expected, found = (getattr(store, operation)(*arguments, **options) for store in (mine, other))
            if isinstance(expected, Iterator):
                expected, found = list(expected), list(found)
            assert found == expected, (operation, arguments, options)


def _questions(
    mine: MemoryGraph, rng: random.Random
) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """(operation, arguments, options), one of each kind."""
    starts, target = rng.sample(mine.ids, rng.randint(1, 3)), rng.choice(mine.ids)
    node, limit, coin = starts[0], rng.choice((None, 1, 4)), rng.random() < 0.5
    steps = [(rng.choice(RELATIONS), rng.choice(DIRECTIONS), rng.choice(TYPES)) for _ in range(3)]
    yield "neighbours", (node, *steps[0]), {"limit": limit, "seed": rng.randrange(99)}
    yield "relations", (node, steps[0][1]), {}
    yield "triples", (node, steps[0][1]), {}
    yield "follow", (starts, steps[:2]), {"simple": coin, "limit": limit}
    yield "follow", (starts, steps), {"limit": limit}
    yield "paths", ([node], 2), {"directed": coin, "limit": limit}
    yield (
        "paths",
        (starts, 2),
        {"step_filter": lambda path, triple: len(path) == 0 or triple.relation != "seeAlso"},
    )
    yield "khop", (starts, 2), {"directed": coin, "limit": limit}
    yield "shortest", (starts, target), {"directed": coin, "limit": limit, "every": True}
    yield "shortest", (starts, target), {"max_length": 2}
    yield "by_type", ("Word",), {"descendants": coin}
