"""Edges that follow from comparing nodes: order variants, and persons named in explanations and stories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from clwqa_builders.graph.tables import GraphTables

SAFE_NAME_LENGTH = 3  # a two-character name is too often part of another word


def order_variants(words: Iterable[str], opposites: Collection[frozenset[str]] = ()) -> list[tuple[str, str]]:
    """Pairs of words made of the same characters in another order (风雨飘摇 / 飘摇风雨).

    Within a group each word is tied to the nearest one before it, in code point order, that is no opposite of it:
    n words give at most n-1 pairs.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for word in sorted(set(words)):
        if len(word) >= 4:
            groups["".join(sorted(word))].append(word)
    pairs = []
    for group in groups.values():
        for number, word in enumerate(group):
            earlier = (w for w in reversed(group[:number]) if frozenset((w, word)) not in opposites)
            if (partner := next(earlier, None)) is not None:
                pairs.append((partner, word))
    return pairs


def named_persons(text: str, by_prefix: dict[str, list[str]]) -> list[str]:
    """Names occurring in the text, longest match first, left to right; see :func:`name_index`."""
    found, position = [], 0
    while position + SAFE_NAME_LENGTH <= len(text):
        for name in by_prefix.get(text[position : position + SAFE_NAME_LENGTH], ()):
            if text.startswith(name, position):
                found.append(name)
                position += len(name) - 1
                break
        position += 1
    return list(dict.fromkeys(found))


def name_index(names: Iterable[str]) -> dict[str, list[str]]:
    """Names of at least three characters by their first three, longest first."""
    index: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names), key=lambda n: (-len(n), n)):
        if len(name) >= SAFE_NAME_LENGTH:
            index[name[:SAFE_NAME_LENGTH]].append(name)
    return dict(index)


def add_order_variants(graph: GraphTables, opposites: Collection[frozenset[str]], origin: str) -> None:
    """variantOf edges between idioms that are rearrangements of one another."""
    words = [id.removeprefix("word:") for id, _, _ in graph.nodes_of("Idiom")]
    for one, other in order_variants(words, opposites):
        graph.symmetric(f"word:{one}", "variantOf", f"word:{other}", origin)


def add_mentions(graph: GraphTables, origin: str) -> None:
    """mentionsPerson edges from explanations and allusions, only for names long enough to be unmistakable."""
    index = name_index(label for _, label, _ in graph.nodes_of("Person"))
    for node, _, text in graph.nodes_of("Explanation", "Allusion"):
        for name in named_persons(text, index):
            graph.edge(node, "mentionsPerson", f"person:{name}", origin)
