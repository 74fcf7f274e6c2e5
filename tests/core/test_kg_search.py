"""Finding entities by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from clwqa_bench.kg import search
from clwqa_bench.kg.search import NameIndex
from clwqa_bench.text import comparison_key

NAMES = [
    ("守株待兔", ["守株伺兔"]),
    ("刻舟求剑", []),
    ("缘木求鱼", []),
    ("史记", ["太史公书"]),
    ("史记·项羽本纪", []),
    ("史記", []),  # the same key as node 3
    ("……", []),
    ("", []),
]


def make(directory: Path, names: list[tuple[str, list[str]]], types: list[int] | None = None) -> NameIndex:
    directory.mkdir(exist_ok=True)
    search.write([label for label, _ in names], [aliases for _, aliases in names], directory)
    return NameIndex(directory, np.asarray(types or [0] * len(names), dtype=np.int32))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> NameIndex:
    return make(tmp_path_factory.mktemp("names"), NAMES, [0, 0, 0, 1, 2, 1, 3, 3])


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("守株待兔", [0]),
        ("守株伺兔", [0]),
        ("《史记》", [3, 5]),
        ("太史公書", [3]),
        ("……", [6]),
        ("史", []),
        ("", []),
        ("龘", []),
    ],
)
def test_exact(index: NameIndex, name: str, nodes: list[int]) -> None:
    assert index.exact(name) == nodes


@pytest.mark.parametrize(
    ("name", "node", "score"),
    [
        ("守株待兔", 0, 1.0),
        ("守株待免", 0, 0.75),  # one wrong
        ("守株兔", 0, 0.75),  # one missing
        ("守株以待兔", 0, 0.8),  # one too many
        ("株守待兔", 0, 0.75),  # two swapped
        ("史记项羽本纪", 4, 6 / 7),
        ("缘木取鱼", 2, 0.75),
    ],
)
def test_similar(index: NameIndex, name: str, node: int, score: float) -> None:
    assert index.similar(name, 1, None) == [(node, pytest.approx(score))]


def test_similar_best_first_then_by_node(index: NameIndex) -> None:
    assert index.similar("史记", 3, None) == [(3, 1.0), (5, 1.0), (4, pytest.approx(2 / 7))]


def test_similar_within_types(index: NameIndex) -> None:
    assert index.similar("史记", 5, [2]) == [(4, pytest.approx(2 / 7))]
    assert index.similar("史记", 5, [0]) == []


def test_a_node_is_named_once(index: NameIndex) -> None:
    nodes = [node for node, _ in index.similar("守株", 10, None)]
    assert nodes == [0]


LETTERS = "山水人天日月风云"


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.text(LETTERS, min_size=2, max_size=5), min_size=1, max_size=30), st.text(LETTERS, min_size=1)
)
def test_similar_agrees_with_comparing_everything(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], asked: str
) -> None:
    """Below the number of candidates compared in full, nothing that shares a character can be missed."""
    index = make(tmp_path_factory.mktemp("names"), [(name, []) for name in names])
    scores = [(node, OSA.normalized_similarity(asked, name)) for node, name in enumerate(names)]
    expected = sorted((pair for pair in scores if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))
    assert index.similar(asked, 5, None) == expected[:5]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=4), max_size=20))
def test_exact_agrees_with_comparing_everything(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    names = [
        name.encode("utf-8", "ignore").decode("utf-8") for name in names
    ]  # tables hold no lone surrogates
    index = make(tmp_path_factory.mktemp("names"), [(name, []) for name in names])
    keys = [comparison_key(name) for name in names]
    for name in names:
        key = comparison_key(name)
        assert index.exact(name) == [node for node, other in enumerate(keys) if key and other == key]
