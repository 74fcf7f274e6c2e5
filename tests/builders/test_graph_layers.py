"""The layers of the graph that are not words: history, calendar, order variants, mentions; and the accumulator."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.errors import SourceError
from clwqa_builders.graph.calendar import add_calendar, class_names
from clwqa_builders.graph.history import agreed_eras, historical_year
from clwqa_builders.graph.links import name_index, named_persons, order_variants
from clwqa_builders.graph.tables import GraphTables, short
from clwqa_builders.graph.words import cjk_only, word_type
from clwqa_builders.tables import DynastyPair, EraCorrection, load_era_corrections, load_false_variants

HAN = DynastyPair(first_id="43", second_name="汉", begin=-206, end=8, period="西汉")


@pytest.mark.parametrize(("astronomical", "historical"), [(-139.0, -140), (0.0, -1), (1.0, 1), (713.0, 713)])
def test_there_is_no_year_zero(astronomical: float, historical: int) -> None:
    assert historical_year(astronomical) == historical


def era(name: str, begin: str, end: str, dynasty: str = "43") -> dict[str, str]:
    return {"dyn_id": dynasty, "era_name_simp": name, "era_start_year": begin, "era_end_year": end}


def reign(
    name: str, begin: str, dynasty: str = "汉", monarch: str = "武帝", person: str = "刘彻"
) -> dict[str, str]:
    return {
        "reignTitle": name,
        "dynasty": dynasty,
        "monarch": monarch,
        "monarchName": person,
        "beginYear": begin,
        "endYear": begin,
    }


def test_an_era_enters_when_both_chronologies_agree() -> None:
    (found,) = agreed_eras([era("建元", "-139", "-134.0")], [reign("建元", "-140")], [HAN], {})
    assert (found.name, found.period, found.begin, found.ruler) == ("建元", "西汉", -140, "刘彻")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (era("建元", "-139", "-134"), reign("建元", "-137")),  # years too far apart
        (era("建元", "-139", "-134"), reign("建元", "-140", dynasty="前秦")),  # under another dynasty
        (era("建元", "-139", "-134", dynasty="133"), reign("建元", "-140")),  # a dynasty that is not paired
        (era("元光", "-133", "-128"), reign("建元", "-140")),  # another name
        (era("建元", "", ""), reign("建元", "-140")),  # no years
    ],
)
def test_an_era_on_which_they_differ_stays_out(first: dict[str, str], second: dict[str, str]) -> None:
    assert agreed_eras([first], [second], [HAN], {}) == []


def test_slips_of_the_chronologies_are_corrected() -> None:
    wrong = reign("建元", "-140", monarch="武王", person="刘撤")
    right = {("西汉", "建元", -140): EraCorrection(-135, "刘彻", "武帝")}
    (found,) = agreed_eras([era("建元", "-139", "-134.0")], [wrong], [HAN], right)
    assert (found.ruler, found.ruler_title, found.end) == ("刘彻", "武帝", -135)


def test_no_corrected_era_ends_before_it_begins() -> None:
    corrections = load_era_corrections()
    assert corrections["唐", "天祐", 904].ruler == "李晔"
    assert [key for key, right in corrections.items() if right.end < key[2]] == []


@pytest.mark.parametrize(("printed", "known"), [("爱新觉罗玄烨", "玄烨"), ("孛儿只斤忽必烈", "忽必烈")])
def test_rulers_are_called_without_their_clan(printed: str, known: str) -> None:
    (found,) = agreed_eras(
        [era("建元", "-139", "-134.0")], [reign("建元", "-140", person=printed)], [HAN], {}
    )
    assert found.ruler == known


def test_a_name_that_another_court_used_in_other_years_is_told_with_its_period() -> None:
    rival = era("建元", "343", "344", dynasty="51")
    (found,) = agreed_eras([era("建元", "-139", "-134"), rival], [reign("建元", "-140")], [HAN], {})
    assert found.label == "西汉·建元"
    abroad = era("建元", "540", "551", dynasty="136")
    (alone,) = agreed_eras([era("建元", "-139", "-134"), abroad], [reign("建元", "-140")], [HAN], {})
    assert alone.label == "建元"


def test_names_are_read_from_source_without_running_it(tmp_path: Path) -> None:
    file = tmp_path / "terms.py"
    source = "raise SystemExit('never run')\nclass Term:\n    NAMES: list = ['冬至', '小寒']\n"
    file.write_text(source, encoding="utf-8")
    assert class_names(file, "Term") == ["冬至", "小寒"]
    with pytest.raises(SourceError, match="no literal list"):
        class_names(file, "Festival")


def test_three_signs_belong_to_a_term_in_order() -> None:
    graph = GraphTables()
    add_calendar(
        graph, ["冬至", "小寒"], ["蚯蚓结", "麋角解", "水泉动", "雁北乡", "鹊始巢", "雉始雊"], ["春节"], "t@1"
    )
    rows = graph.triples().to_pylist()
    pairs = {(r["head"], r["tail"]) for r in rows if r["relation"] == "inSolarTerm"}
    assert ("word:水泉动", "word:冬至") in pairs
    assert ("word:雁北乡", "word:小寒") in pairs
    assert len(pairs) == 6
    with pytest.raises(SourceError, match="do not divide"):
        add_calendar(graph, ["冬至", "小寒"], ["蚯蚓结"], [], "t@1")


def test_order_variants_chain_the_rearrangements() -> None:
    assert order_variants(["飘摇风雨", "风雨飘摇", "守株待兔", "东西", "西东"]) == [("风雨飘摇", "飘摇风雨")]


def test_opposites_are_no_variants_but_their_common_variant_stays() -> None:
    opposites = [frozenset(("凫短鹤长", "鹤短凫长")), frozenset(("鹤短凫长", "鹤长凫短"))]
    assert order_variants(["凫短鹤长", "鹤短凫长", "鹤长凫短"], opposites) == [("凫短鹤长", "鹤长凫短")]
    assert frozenset(("事半功倍", "事倍功半")) in load_false_variants()
    assert all(sorted(one) == sorted(other) for one, other in map(tuple, load_false_variants()))


def test_only_long_names_are_recognised_and_the_longest_wins() -> None:
    index = name_index(["诸葛亮", "王维", "爱新觉罗·玄烨", "爱新觉"])
    assert named_persons("王维谈到诸葛亮和爱新觉罗·玄烨，又说诸葛亮。", index) == ["诸葛亮", "爱新觉罗·玄烨"]


@given(st.text(max_size=30))
def test_mentions_are_substrings(text: str) -> None:
    assert all(name in text for name in named_persons(text, name_index(["司马迁", "欧阳修"])))


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("守株待兔", "Idiom"),
        ("拒人于千里之外", "Idiom"),
        ("八仙过海，各显神通", "Proverb"),
        ("知之为知之不知为不知", "Proverb"),
    ],
)
def test_sayings_that_are_sentences_are_proverbs(word: str, kind: str) -> None:
    assert word_type(word) == kind


def test_a_quotation_is_known_by_its_characters() -> None:
    assert cjk_only("“学而时习之，不亦说乎？”") == cjk_only("学而时习之不亦说乎") == "学而时习之不亦说乎"


def test_the_first_label_and_text_stay_and_facts_add_up() -> None:
    graph = GraphTables()
    for row in range(5):
        graph.node(
            "person:司马迁", "司马迁", "Person", f"s@1#{row}", aliases=["子长"], attributes={"n": str(row)}
        )
    graph.edge("person:司马迁", "livedIn", "person:司马迁", "s@1#0")
    (entity,) = graph.entities().to_pylist()
    assert entity["aliases"] == ["子长"]
    assert [a["value"] for a in entity["attributes"]] == ["0", "1", "2", "3", "4"]
    assert entity["provenance"] == "s@1#0 | s@1#1 | s@1#2 | +2 more"
    assert graph.triples().num_rows == 0, "a node never points to itself"


def test_tables_are_sorted_and_each_triple_is_there_once() -> None:
    graph = GraphTables()
    for id in ("b", "a"):
        graph.node(id, id, "Word", "s@1#0")
    graph.symmetric("b", "variantOf", "a", "s@1#0")
    graph.symmetric("a", "variantOf", "b", "s@1#1")
    assert graph.entities()["id"].to_pylist() == ["a", "b"]
    assert graph.triples().to_pylist() == [
        {"head": "a", "relation": "variantOf", "tail": "b", "provenance": "s@1#0"}
    ]


def test_a_long_passage_is_labelled_by_its_beginning() -> None:
    assert short("一" * 24) == "一" * 24
    assert short("一" * 25) == "一" * 24 + "…"
