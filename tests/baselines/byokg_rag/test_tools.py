"""The graph tools of BYOKG-RAG on a graph worked out by hand, and the safety of queries."""

from __future__ import annotations

import asyncio
import gc
import weakref
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from clwqa_baselines.byokg_rag.config import ByokgConfig
from clwqa_baselines.byokg_rag.graph import Relations, Tools
from clwqa_baselines.byokg_rag.query import LONGEST, Result, Runner, refusal, runs_cypher
from clwqa_baselines.byokg_rag.scoring import Ranker
from clwqa_baselines.shared.mentions import open_mentions
from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Path
from clwqa_bench.kg.remote import QueryError, ServerGoneError
from clwqa_bench.linking import open_linker
from clwqa_bench.systems import Resources
from tests import tiny_dataset as tiny
from tests.baselines import culture, odd_graph
from tests.baselines.worlds import world


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


def tools(kg: MemoryGraph, *, inverse: bool = False, tails: int = 100, most: int = 100) -> Tools:
    return Tools(kg, Relations(kg, kg.ontology, inverse), kg.label, tails, most, max_distance=4)


def texts(facts: Any) -> list[str]:
    return [fact.text for fact in facts]


def test_triples_with_one_head_and_relation_are_one_line(kg: MemoryGraph) -> None:
    assert texts(tools(kg).triples(Path(("韩非子",)))) == ["韩非子 -> by -> 王先慎 | 韩非"]
    (fact,) = tools(kg, tails=1).triples(Path(("韩非子",)))
    assert (fact.text, fact.cut) == ("韩非子 -> by -> 王先慎", True)


def test_relations_backwards_are_marked_and_there_only_if_wanted(kg: MemoryGraph) -> None:
    assert list(tools(kg).triples(Path(("王先慎",)))) == []
    assert texts(tools(kg, inverse=True).triples(Path(("王先慎",)))) == ["王先慎 -> ^by -> 庄子集解 | 韩非子"]
    assert list(tools(kg).relations.moves) == ["by", "from", "like", "partOf", "quotes"]
    assert len(tools(kg, inverse=True).relations.moves) == 10


def test_relations_of_one_label_are_told_apart_by_their_names(tmp_path: FilePath) -> None:
    words = {"r1": "出自", "r2": "出自", "r3": "源出引文"}
    kg = world(
        tmp_path, [("甲甲", "r1", "乙乙"), ("甲甲", "r2", "丙丙"), ("丙丙", "r3", "丁丁")], words=words
    )
    both = tools(kg, inverse=True)
    assert list(both.relations.moves) == [
        *("出自（r1）", "出自（r2）", "源出引文"),
        *("^出自（r1）", "^出自（r2）", "^源出引文"),
    ]
    assert texts(both.follow(["甲甲"], ["出自（r2）", "源出引文"])) == [
        "甲甲 -> 出自（r2） > 丙丙 > 源出引文 -> 丁丁"
    ]


def test_paths_follow_exactly_the_relations_and_forwards_alone(kg: MemoryGraph) -> None:
    follow = tools(kg).follow
    assert texts(follow(["守株待兔"], ["from", "partOf", "by"])) == [
        "守株待兔 -> from > 五蠹 > partOf > 韩非子 > by -> 王先慎 | 韩非"
    ]
    assert texts(follow(["守株待兔", "刻舟求剑"], ["from", "partOf"])) == [
        "刻舟求剑 -> from > 察今 > partOf -> 吕氏春秋",
        "守株待兔 -> from > 五蠹 > partOf -> 韩非子",
    ]
    assert follow(["守株待兔"], ["from", "wrote"]) == []
    assert follow(["守株待兔"], []) == []
    assert follow(["五蠹"], ["from"]) == []
    assert texts(tools(kg, inverse=True).follow(["韩非"], ["^by", "^partOf"])) == [
        "韩非 -> ^by > 韩非子 > ^partOf -> 五蠹 | 序"
    ]


def test_a_path_over_a_loop_is_passed_over(tmp_path_factory: pytest.TempPathFactory) -> None:
    odd = odd_graph.graph(tmp_path_factory.mktemp("odd"))
    assert tools(odd).follow(["圆圈"], ["rel"]) == []
    (fact,) = tools(odd, most=7).follow(["中心"], ["rel"])
    assert (len(fact.walks), fact.cut) == (7, True)
    assert texts(tools(odd).follow([odd_graph.ODD], ["rel"])) == [
        f"{odd_graph.ODD} -> rel -> {odd_graph.END}"
    ]


def test_one_shortest_path_to_each_target(kg: MemoryGraph) -> None:
    shortest = tools(kg).shortest
    assert texts(shortest(["守株待兔", "五蠹"], ["吕不韦", "韩非"])) == [
        "守株待兔 -> like > 刻舟求剑 > from > 察今 > partOf > 吕氏春秋 > by -> 吕不韦",
        "五蠹 -> partOf > 韩非子 > by -> 韩非",
    ]
    near = replace(tools(kg), max_distance=3)
    assert near.shortest(["守株待兔"], ["吕不韦"]) == []
    assert texts(shortest(["五蠹"], ["韩非"])) == ["五蠹 -> partOf > 韩非子 > by -> 韩非"]
    assert shortest(["韩非"], ["韩非"]) == []
    assert shortest([], ["韩非"]) == []


def test_scoring_takes_the_best_lines_within_two_steps(kg: MemoryGraph) -> None:
    config = ByokgConfig(retriever="scoring", scored_top=2)
    found = Ranker.open(config).score("五蠹属于哪部书？partOf", ["守株待兔"], tools(kg))
    assert texts(found)[0] == "五蠹 -> partOf -> 韩非子"
    assert len(found) == 2
    pruned = ByokgConfig(retriever="scoring", reranker="tfidf", scored_relations=1)
    assert texts(Ranker.open(pruned).score("partOf", ["守株待兔"], tools(kg))) == ["五蠹 -> partOf -> 韩非子"]


def test_what_is_left_out_around_too_many_entities_is_said(kg: MemoryGraph) -> None:
    nodes = ["守株待兔", "刻舟求剑"]
    whole = list(tools(kg).around(nodes, 1))
    assert not any(fact.cut for fact in whole)
    some = list(tools(kg).around(nodes, 1, most=1))
    assert texts(some) == [fact.text for fact in whole if fact.text.startswith("守株待兔")]
    assert all(fact.cut for fact in some)


def test_what_looks_mentions_up_keeps_the_linker(tmp_path: FilePath) -> None:
    """Else the next to open one would read all passages again, which takes a minute over Bolt."""
    tiny.write(tmp_path / "tiny")
    dataset = Dataset.open(tmp_path / "tiny")
    kg = dataset.kg()
    resources = Resources(kg, kg.ontology, lambda: dataset.questions("train"), cache=tmp_path / "cache")
    search = open_mentions("names", resources)
    linker = weakref.ref(open_linker(resources))
    gc.collect()
    assert linker() is not None
    assert search("四面楚歌", 1) == [("word:四面楚歌", 1.0)]


# ---------------------------------------------------------------------- queries


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("MATCH (n) RETURN n.label", None),
        ("match (n) detach delete n", "DETACH"),
        ("MATCH (n) /* harmless */ SET n.a = 1", "SET"),
        (
            "MATCH (n) // SET n.a = 1\nRETURN n",
            "SET",
        ),  # blocked as well: what is a comment is not ours to say
        ("MATCH (n {a: '//'}) DELETE n", "DELETE"),
        ("MATCH (n) DEL/**/ETE n", None),  # no keyword to Cypher either
        ("ＤＲＯＰ INDEX x", "DROP"),
        ("MATCH (n:Asset) RETURN n.offset", None),
        ("CALL db.labels()", "CALL"),
        ("MERGE (n)", "MERGE"),
        ("CREATE (n)", "CREATE"),
        ("MATCH (n) REMOVE n.x", "REMOVE"),
        ("INSERT (n:Entity)", "INSERT"),
        ("LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line", "LOAD"),
        ("MATCH (n) FOREACH (x IN [n] | RETURN x)", "FOREACH"),
        (r"\u0043REATE (n)", "CREATE"),
        ("// first\noptional match (n) return n", None),
        ("TERMINATE TRANSACTIONS 'neo4j-1'", "TERMINATE"),  # no reading clause
        ("", None),  # for the server to say
    ],
)
def test_only_reading_queries_are_run(query: str, word: str | None) -> None:
    assert refusal(query) == word


class Queried:
    """A store that answers every query alike."""

    def __init__(self, result: Any) -> None:
        self.result, self.asked = result, list[str]()

    async def peek(self, text: str, *, rows: int, seconds: float) -> Any:
        self.asked.append(text)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result[:rows]


def run(store: Queried, query: str) -> Result:
    return asyncio.run(Runner(store, 2, 1.0, lambda path: "→".join(path.nodes)).run(query))


WAY, OTHER = Path(("a", "b"), ("r",), ("out",)), Path(("b", "c"), ("r",), ("in",))


@pytest.mark.parametrize(
    ("result", "line", "walks"),
    [
        ([{"n.label": "韩非"}], '[{"n.label":"韩非"}]', ()),
        ([{"a": 1}, {"a": 2}, {"a": 3}], '[{"a":1},{"a":2}]\n(more rows)', ()),
        ([{"p": WAY, "all": [WAY, OTHER]}], '[{"p":"a→b","all":["a→b","b→c"]}]', (WAY, OTHER)),
        ([{"f": float("inf"), "b": b"1", "d": {1: None}}], """[{"f":null,"b":"b'1'","d":{"1":null}}]""", ()),
        ([], "(no rows)", ()),
        (QueryError("syntax", fix="mend it"), "(error: syntax)", ()),
    ],
)
def test_whatever_a_query_gives_is_a_line(result: Any, line: str, walks: tuple[Path, ...]) -> None:
    found = run(Queried(result), "RETURN")
    assert (found.fact.text, found.fact.walks) == (f"RETURN\n{line}", walks)
    assert found.fact.cut == ("more" in line)
    assert found.fact.kind == ("note" if line.startswith("(") else "query")


def test_as_many_rows_are_shown_as_fit() -> None:
    rows = [{"p": WAY, "text": "长" * (LONGEST - 100)}, {"p": OTHER, "text": "长" * 100}]
    found = run(Queried(rows), "RETURN")
    assert (found.fact.walks, found.rows, found.fact.cut) == ((WAY,), 1, True)
    assert found.fact.text.endswith('长"}]\n(more rows)')
    alone = run(Queried([{"text": "长" * LONGEST}]), "RETURN")
    assert (alone.fact.text[-1], alone.fact.cut) == ("…", True)


def test_a_query_that_writes_never_reaches_the_store() -> None:
    store = Queried([])
    found = run(store, "MERGE (n)")
    assert found.fact.text == "MERGE (n)\n(not run: MERGE is not allowed in a query that reads)"
    assert (found.outcome, store.asked) == ("not run", [])


def test_what_is_no_fault_of_the_query_is_raised() -> None:
    with pytest.raises(ServerGoneError):
        run(Queried(ServerGoneError("gone", fix="start it")), "RETURN 1")


def test_half_a_character_in_a_query_is_replaced() -> None:
    store = Queried([])
    assert (run(store, "RETURN '\ud800'").query, store.asked) == ("RETURN '?'", ["RETURN '?'"])


def test_the_embedded_store_runs_no_cypher(kg: MemoryGraph) -> None:
    assert runs_cypher(kg) is None
