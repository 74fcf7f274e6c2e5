"""Mentions, and what the enumerator asks of the hand-made graph and what it refuses to ask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from clwqa_bench.errors import GraphError
from clwqa_bench.ontology import Ontology
from clwqa_builders.questions.columns import GraphColumns, Ragged
from clwqa_builders.questions.instances import BASES, Enumerator, Instances
from clwqa_builders.questions.mention import (
    Mentions,
    begins_torn,
    bracketed,
    has_paired_marks,
    passage,
    period_name,
)
from clwqa_builders.questions.templates import Template, parse_template
from tests.builders.question_graph import mini_tables, triple_table

ONTO = Ontology.load()
GRAPH = GraphColumns.of_tables(*mini_tables())
MENTIONS = Mentions(GRAPH, ONTO)
ENUMERATOR = Enumerator(GRAPH, ONTO)


def template_of(pattern: str | list[str], anchors: str, answer: str, target: str, **more: Any) -> Template:
    lines = [pattern] if isinstance(pattern, str) else pattern
    slots = "、".join(f"{{{a}}}" for a in anchors)
    entry = {
        "id": "test.template", "family": "test", "pattern": lines, "anchors": list(anchors), "answer": answer,
        "target_element": target, "hops": 1, "category": ["fixed:history_geography"],
        "phrasings": [f"问{i}：{slots}？" for i in "一二三四"], **more,
    }  # fmt: skip
    return parse_template(entry, ONTO)


def ask(pattern: str | list[str], anchors: str, answer: str, target: str, **more: Any) -> Instances:
    return ENUMERATOR.enumerate(template_of(pattern, anchors, answer, target, **more))


def read(instances: Instances) -> dict[tuple[str, ...], list[str]]:
    """Mentions -> answer ids."""
    names = zip(*instances.mentions.values(), strict=True)
    return {name: [GRAPH.ids[a] for a in instances.answers[i]] for i, name in enumerate(names)}


# --- mentions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "part", "expected"),
    [
        ("史记", "", "《史记》"),
        ("史记", "项羽本纪", "《史记·项羽本纪》"),
        ("红楼梦", "第七回", "《红楼梦》第七回"),
        ("初刻拍案惊奇", "卷十二", "《初刻拍案惊奇》卷十二"),
        ("西厢记", "第二本·第三折", "《西厢记·第二本》第三折"),
        ("真州杂赋·序", "", "《真州杂赋·序》"),
        ("读《史记》", "", "《读〈史记〉》"),
    ],
)
def test_titles_in_brackets(title: str, part: str, expected: str) -> None:
    assert bracketed(title, part) == expected


@pytest.mark.parametrize(
    ("label", "expected"), [("清", "清代"), ("南朝·宋", "南朝宋"), ("近现代", "近现代"), ("先秦", "先秦")]
)
def test_periods(label: str, expected: str) -> None:
    assert period_name(label) == expected


def test_a_passage_is_quoted_cleanly() -> None:
    assert passage("出我胯下!或曰:善") == "出我胯下！或曰：善"
    assert passage("子曰：“是也，”") == "子曰：‘是也，’"
    assert passage("皆沉船，") == "皆沉船"


@pytest.mark.parametrize(
    ("text", "paired"),
    [
        ("子曰‘是也’", True),
        ("（注）是也", True),
        ("是也。’", False),
        ("‘是也", False),
        ("‘（是’）", False),
        ("‘’注", False),
    ],
)
def test_marks_are_paired_and_enclose_something(text: str, paired: bool) -> None:
    assert has_paired_marks(text) is paired


@pytest.mark.parametrize(
    ("entity", "expected"),
    [
        ("word:破釜沉舟", "破釜沉舟"),
        ("chapter:1", "《史记·项羽本纪》"),
        ("chapter:4", "《红楼梦》第七回"),
        ("piece:苏轼/江城子", "苏轼《江城子》"),  # two pieces share the title
        ("piece:苏轼/赤壁赋", "《赤壁赋》"),
        ("person:苏轼", "苏轼"),
        ("period:清", "清代"),
        ("era:1", None),  # two eras of this name, and nothing to tell them apart
        ("expl:4", None),
        ("quot:1", "项羽乃悉引兵渡河，皆沉船，破釜甑，烧庐舍"),
        ("quot:4", None),  # a second citation has run into it
        ("category:arts_literature", "文学艺术"),
    ],
)
def test_a_name_is_clear_or_qualified_or_absent(entity: str, expected: str | None) -> None:
    assert MENTIONS.name(GRAPH.index_of[entity]) == expected


def test_a_dynasty_of_one_character_is_guarded_in_its_longer_forms() -> None:
    assert set(MENTIONS.names(GRAPH.index_of["period:汉"])) == {"汉代", "汉朝", "汉国"}


# --- instances ------------------------------------------------------------------------------------------------


def test_gold_is_complete_and_names_are_qualified_where_needed() -> None:
    found = read(ask("u:Piece <-hasSource- w:Idiom", "u", "w", "Word"))
    assert found == {("苏轼《江城子》",): ["word:十年生死"], ("《赤壁赋》",): ["word:背水一战"]}


def test_closed_sets_keep_only_the_asked_sizes() -> None:
    pattern = "u:Chapter <-hasSource- w:Idiom"
    assert set(read(ask(pattern, "u", "w", "Word"))) == {
        ("《史记·项羽本纪》",), ("《史记·淮阴侯列传》",), ("《韩非子·五蠹》",),
    }  # fmt: skip
    assert read(ask(pattern, "u", "w", "Word", filters={"min_answers": 2})) == {
        ("《史记·项羽本纪》",): ["word:四面楚歌", "word:破釜沉舟", "word:霸王别姬"]
    }
    assert len(ask(pattern, "u", "w", "Word", filters={"min_answers": 2, "max_answers": 2})) == 0


def test_a_question_that_names_its_answer_is_dropped() -> None:
    """《史记·项羽本纪》 gives the book away, and 苏轼《江城子》 its author."""
    assert len(ask("u:Chapter -partOf-> b:CulturalSource", "u", "b", "CulturalSource")) == 0
    assert set(read(ask("u:Piece -authoredBy-> a:Person", "u", "a", "Person"))) == {("《赤壁赋》",)}


def test_a_word_in_its_quotation_is_masked_or_the_instance_dropped() -> None:
    pattern = "w:Idiom -hasQuotation-> q:Quotation"
    masked = ask(pattern, "q", "w", "Word", filters={"mask": {"q": "w"}})
    assert read(masked) == {("项王军壁垓下，夜闻汉军～，乃大惊",): ["word:四面楚歌"]}
    plain = ask(pattern, "q", "w", "Word")
    assert list(read(plain).values()) == [["word:破釜沉舟"], ["word:守株待兔"]]


def test_lengths_forbidden_parts_and_shared_characters() -> None:
    pattern = "w:Idiom -hasExplanation-> e:Explanation"
    everything = ask(pattern, "e", "w", "Word")
    assert len(everything) == 2  # the two words with one and the same gloss cannot be told apart
    assert len(ask(pattern, "e", "w", "Word", filters={"min_chars": {"e": 17}})) == 1
    assert len(ask(pattern, "e", "w", "Word", filters={"without": {"e": ["决心"]}})) == 1
    assert len(ask(pattern, "e", "w", "Word", filters={"max_shared": 1})) == 1  # 四 and 面 are in the gloss


def test_passages_that_read_alike_once_masked_are_dropped() -> None:
    rows = [
        ("q1", "他终于一败涂地了", "一败涂地"),
        ("q2", "他终于一落千丈了", "一落千丈"),
        ("q3", "他早已一落千丈", "一落千丈"),
    ]
    words = sorted({word for _, _, word in rows})
    entities = pa.table({
        "id": ["category:history_geography", *words, *(q for q, _, _ in rows)],
        "label": ["历史地理", *words, *(text for _, text, _ in rows)],
        "type": ["SubCategory", *("Idiom" for _ in words), *("Quotation" for _ in rows)],
        "aliases": pa.array([[]] * 6, pa.list_(pa.string())),
        "text": ["", "", "", *(text for _, text, _ in rows)],
    })  # fmt: skip
    graph = GraphColumns.of_tables(entities, triple_table((word, "hasQuotation", q) for q, _, word in rows))
    pattern = "w:Idiom -hasQuotation-> q:Quotation"
    template = template_of(pattern, "q", "w", "Word", filters={"mask": {"q": "w"}})
    assert Enumerator(graph, ONTO).enumerate(template).mentions == {"q": ("他早已～",)}


def test_only_refuses_words_with_several_sources() -> None:
    pattern = "w:Idiom -hasSource-> u:Chapter"
    every = set(read(ask(pattern, "w", "u", "Chapter")))
    single = set(read(ask(pattern, "w", "u", "Chapter", filters={"only": {"w": "hasSource"}})))
    assert every - single == {("背水一战",)}


def test_only_counts_against_the_arrow_and_several_needs_three() -> None:
    pattern, many = "u:Chapter <-hasSource- w:Idiom", {"u": "<hasSource"}
    alone = set(read(ask(pattern, "u", "w", "Word", filters={"only": many})))
    assert alone == {("《史记·淮阴侯列传》",), ("《韩非子·五蠹》",)}
    assert set(read(ask(pattern, "u", "w", "Word", filters={"several": many}))) == {("《史记·项羽本纪》",)}


def test_a_tune_is_no_answer_and_no_name_without_its_author() -> None:
    assert len(ask("w:Idiom -hasSource-> u:Piece", "w", "u", "Piece")) == 1  # 十年生死 is in an 江城子
    tune = GRAPH.index_of["piece:苏轼/江城子"]
    assert not MENTIONS.is_telling(tune)
    assert MENTIONS.name(tune) == "苏轼《江城子》"


def test_a_triple_to_nowhere_is_an_error() -> None:
    entities, _ = mini_tables()
    with pytest.raises(GraphError, match="book:nowhere"):
        GraphColumns.of_tables(entities, triple_table([("word:破釜沉舟", "hasSource", "book:nowhere")]))


def test_the_first_rule_that_gives_a_category_decides() -> None:
    found = ask("w:Idiom -hasSource-> u:Chapter", "w", "u", "Chapter", category=["source:u", "content:w"])
    by_word = {
        name[0]: (GRAPH.ids[c], BASES[b])
        for name, c, b in zip(read(found), found.category, found.basis, strict=True)
    }
    assert by_word["破釜沉舟"] == ("category:history_geography", "source")  # inherited from 史记
    assert by_word["守株待兔"] == ("category:language_dialects", "content")  # 韩非子 has no domain here
    assert "刻舟求剑" not in by_word


def test_pairs_form_a_ring_and_their_gold_is_complete() -> None:
    lines = ["w:Idiom -hasSource-> u:Chapter -partOf-> b:Book", "v:Idiom -hasSource-> t:Chapter -partOf-> b"]
    found = read(ask(lines, "wv", "b", "CulturalSource", hops=2, filters={"pair": "b"}))
    assert found
    for (one, other), golds in found.items():
        assert golds == ["book:史记"]
        assert "背水一战" in (one, other)  # the others share one chapter, and u and t must differ
        assert one != other


def test_words_and_works_on_the_way_are_listed() -> None:
    found = ask("w:Idiom -hasSource-> u:Chapter -partOf-> b:Book", "w", "b", "Book", hops=2)
    row = list(read(found)).index(("守株待兔",))
    assert [GRAPH.ids[w] for w in found.words[row]] == ["word:守株待兔"]
    assert [GRAPH.ids[s] for s in found.sources[row]] == ["book:韩非子", "chapter:3"]


def test_phrasings_are_counted_round() -> None:
    found = ask("w:Idiom -hasSource-> u:Piece", "w", "u", "Piece")
    assert found.question(0, 0) == "问一：背水一战？"
    assert found.question(0, 6) == "问三：背水一战？"


def test_ragged_rows_are_grouped_sorted_and_taken() -> None:
    ragged = Ragged.group(np.array([2, 0, 2, 2]), np.array([5, 7, 4, 5]), 3)
    assert [ragged[i].tolist() for i in range(3)] == [[7], [], [4, 5]]
    assert [r.tolist() for r in map(ragged.take(np.array([2, 2, 1])).__getitem__, range(3))] == [
        [4, 5],
        [4, 5],
        [],
    ]


@pytest.mark.parametrize(
    ("quotation", "torn"),
    [
        ("？3章她不等他说真心话", True),
        ("，子曰是也", True),
        ("1983.1.6他说", True),
        ("‘子曰’是也", False),
        ("三人行", False),
    ],
)
def test_a_quotation_that_opens_with_the_end_of_something_else_is_torn(quotation: str, torn: bool) -> None:
    assert begins_torn(quotation) is torn
