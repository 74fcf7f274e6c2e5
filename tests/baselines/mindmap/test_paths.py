"""MindMap's evidence, worked out by hand from the description of the published search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from clwqa_baselines.mindmap.neighbours import rows, told
from clwqa_baselines.mindmap.paths import Chain, Chains, Finder, Pair, chains, joined, select
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Path
from tests.baselines import culture


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


def walk(nodes: str) -> Path:
    """ "abc" is the path a -r-> b -r-> c."""
    return Path(tuple(nodes), ("r",) * (len(nodes) - 1), tuple("out" for _ in nodes[1:]))


def between(*paths: str) -> Callable[[str, str, Sequence[str]], Pair]:
    """These paths by their two ends."""

    def find(start: str, end: str, waiting: Sequence[str]) -> Pair:
        found = tuple(walk(path) for path in paths if (path[0], path[-1]) == (start, end))
        visited = [node for path in found for node in path.nodes[1:-1] if node in waiting]
        return Pair(found, visited[0] if visited else None)

    return find


@pytest.mark.parametrize(
    ("entities", "paths", "expected"),
    [
        ("", (), []),
        ("a", (), []),
        ("ab", ("axb", "ayb"), ["axb", "ayb"]),
        ("abc", ("ab", "bxc", "byc"), ["abxc", "abyc"]),  # every combination of the two steps
        ("abc", ("axb", "ayb", "bc"), ["axbc", "aybc"]),
        ("abc", ("acb", "bc"), ["acb"]),  # c is visited on the way to b and waits no longer
        (
            "abcd",
            ("ab", "cd"),
            ["ab"],
        ),  # c cannot be reached: a new chain begins at d, which has nowhere to go
        ("abcde", ("ab", "dxe"), ["ab", "dxe"]),
        ("abc", ("bc",), []),  # b cannot be reached and is dropped; c is the last
        ("abc", ("ab",), ["ab"]),
    ],
)
def test_chains(entities: str, paths: tuple[str, ...], expected: list[str]) -> None:
    found = chains(tuple(entities), between(*paths), most=4)
    assert (names(found), found.cut) == (expected, False)


def names(found: Chains) -> list[str]:
    return ["".join(joined(one).nodes) for one in found.found]


def test_more_ways_than_are_looked_at_are_cut_and_that_is_told() -> None:
    paths = ("axb", "ayb", "bxc", "byc", "ezf", "egf")
    assert names(chains("abc", between(*paths), most=4)) == ["axbxc", "axbyc", "aybxc", "aybyc"]
    cut = chains("abcdef", between(*paths), most=3)
    assert names(cut) == ["axbxc", "axbyc", "aybxc", "ezf", "egf"]  # so many for each beginning
    assert cut.cut


@pytest.mark.parametrize(
    ("starts", "kept"),
    [
        ("", []),
        ("aaaaaaa", [0, 1, 2, 3, 4]),  # one beginning: the first five
        ("aaabbb", [0, 1, 3, 4, 5]),  # 5 div 2 for the first, the last one fills the rest
        ("abbb", [0, 1, 2, 3]),
        ("aabbccc", [0, 2, 4, 5, 6]),
        ("aabcdeff", [0, 2, 3, 4, 5]),  # six beginnings: one each, of five
    ],
)
def test_five_paths_balanced_over_where_they_begin(starts: str, kept: list[int]) -> None:
    found: list[Chain] = [(walk(start + "z"),) for start in starts]
    assert select(found, 5) == kept


def finder(kg: MemoryGraph, kept: int = 5, directed: bool = True, length: int = 5, most: int = 100) -> Finder:
    return Finder(kg, length, kept, most, directed, text=lambda path: "->".join(path.nodes))


def test_shortest_paths_are_directed_and_at_most_so_long(kg: MemoryGraph) -> None:
    paths, via, cut = finder(kg)("守株待兔", "王先慎", ())
    assert {path.nodes for path in paths} == {
        ("守株待兔", "守株缘木", "韩非子", "王先慎"),
        ("守株待兔", "五蠹", "韩非子", "王先慎"),
    }
    assert (via, cut) == (None, False)
    assert not finder(kg)("王先慎", "守株待兔", ()).paths
    assert finder(kg, directed=False)("王先慎", "守株待兔", ()).paths
    assert not finder(kg, length=2)("守株待兔", "王先慎", ()).paths


def test_of_many_shortest_paths_those_with_the_shortest_texts_stay(kg: MemoryGraph) -> None:
    found = finder(kg, kept=1)("守株待兔", "王先慎", ())
    assert [path.nodes for path in found.paths] == [("守株待兔", "五蠹", "韩非子", "王先慎")]
    assert not found.cut  # all were looked at; these are wanted


def test_a_pair_with_more_shortest_paths_than_are_looked_at_is_cut(kg: MemoryGraph) -> None:
    assert finder(kg, most=1)("守株待兔", "王先慎", ()).cut
    assert not finder(kg, most=2)("守株待兔", "王先慎", ()).cut
    assert not finder(kg, most=1)("守株待兔", "五蠹", ()).cut


def test_a_path_over_a_waiting_entity_comes_alone(kg: MemoryGraph) -> None:
    found = finder(kg)("守株待兔", "王先慎", ("五蠹", "吕不韦"))
    assert ([path.nodes[1] for path in found.paths], found.via) == (["五蠹"], "五蠹")
    (first,) = finder(kg, most=1)("守株待兔", "王先慎", ()).paths
    assert not finder(kg, most=1)("守株待兔", "王先慎", first.nodes[1:2]).cut  # no other would have been kept


def test_rows_of_neighbours_are_told_by_relation(kg: MemoryGraph) -> None:
    found = list(rows(["守株待兔", "韩非子"], kg, inverse=False, tails=10))
    assert [(row.entity, row.relation, set(row.ends)) for row in found] == [
        ("守株待兔", "from", {"五蠹"}),
        ("守株待兔", "like", {"守株缘木", "刻舟求剑"}),
        ("守株待兔", "quotes", {"引文"}),
        ("韩非子", "by", {"韩非", "王先慎"}),
    ]
    backwards = list(rows(["韩非子"], kg, inverse=True, tails=1))
    assert [(row.relation, row.sense, len(row.ends), row.ends.total) for row in backwards] == [
        ("by", "out", 1, 2),
        ("from", "in", 1, 1),
        ("partOf", "in", 1, 2),
    ]
    (row,) = rows(["序一"], kg, inverse=False, tails=5)
    assert row.paths == (Path(("序一", "韩非子"), ("partOf",), ("out",)),)


@pytest.mark.parametrize(("few_rows", "kept"), [("all", 4), ("none", 0)])
def test_few_rows_are_all_told_or_lost_as_in_the_code(kg: MemoryGraph, few_rows: str, kept: int) -> None:
    found = list(rows(["守株待兔", "韩非子"], kg, inverse=False, tails=10))
    assert len(told(found, 5, few_rows)) == kept
    assert len(told(found, 3, few_rows)) == 3  # enough to be cut: both alike
