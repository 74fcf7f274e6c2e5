"""The large dictionary: senses, what stands in them, and which words enter the graph.  All entries are made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clwqa_bench.errors import SourceError
from clwqa_builders.extract.dictionary import Entry, clean, is_clean, read_dictionary, split_senses
from clwqa_builders.extract.headwords import (
    Headword,
    dump_headwords,
    headword,
    load_headwords,
    marker_of,
    read_headwords,
)
from clwqa_builders.extract.lexicon import Lexicon, build_lexicon
from clwqa_builders.extract.markers import load_sense_markers
from clwqa_builders.extract.records import CrossRef
from clwqa_builders.extract.senses import Sense, later_meaning, read_sense, sentences
from clwqa_builders.tables import load_books, load_periods

MARKERS = load_sense_markers()


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    titles = [title for book in load_books() for title in (book.title, *book.aliases)]
    names = [name for period in load_periods() for name in (period.label, *period.aliases)]
    return build_lexicon([], titles, names, {})


def entry(word: str, *senses: str) -> Entry:
    return Entry(word, word, senses)


# --- reading ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gloss", "senses"),
    [
        ("1.节名。 \n2.指酒。", ("节名。", "指酒。")),
        ("1.节名。", ("节名。",)),
        ("1.旧节名。3.是数字。", ("旧节名。3.是数字。",)),
        (
            "强硬的手段铁腕人物｜此事必须以铁腕处理。",
            (),
        ),  # the modern dictionary: examples run into the meaning
    ],
)
def test_numbered_senses(gloss: str, senses: tuple[str, ...]) -> None:
    assert split_senses(gloss) == senses


@pytest.mark.parametrize(
    ("raw", "readable"),
    [
        ('语出《论语．子罕》﹕"何陋之有?"', "语出《论语·子罕》：“何陋之有？”"),
        ("成语﹐典出《庄子》◇用为典。", "成语，典出《庄子》。后用为典。"),
        ("复姓『有东闾氏。", "复姓。汉有东闾氏。"),
        ("子曰\"善哉'是'也。\"", "子曰“善哉‘是’也。”"),
    ],
)
def test_punctuation_and_damage(raw: str, readable: str) -> None:
    assert clean(raw) == readable


@pytest.mark.parametrize(
    "text", ['亦作"?蜡"。', "又名cakra。", "注音作ㄜ。", "①指人②指物", "思想”的飞跃。", "□□之谓。"]
)
def test_what_cannot_be_shown(text: str) -> None:
    assert not is_clean(clean(text))


def test_a_file_of_another_form_is_named(tmp_path: Path) -> None:
    (tmp_path / "重.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(SourceError, match="not an object of headwords") as caught:
        read_dictionary(tmp_path)
    assert caught.value.file == str(tmp_path / "重.json")
    (tmp_path / "重.json").write_text("{", encoding="utf-8")
    with pytest.raises(SourceError, match="not a readable JSON file"):
        read_dictionary(tmp_path)


def test_headwords_are_simplified_unless_that_is_another_entry(tmp_path: Path) -> None:
    glosses = {"録要": "1.曲名。", "緑酒": "1.美酒。", "绿酒": "1.清酒。"}
    (tmp_path / "录.json").write_text(json.dumps(glosses), "utf-8")
    assert [(e.word, e.row) for e in read_dictionary(tmp_path)] == [("绿酒", "绿酒"), ("录要", "録要")]


def test_a_character_taken_for_one_the_printers_lacked(tmp_path: Path) -> None:
    """兰釭 is a lamp, printed 兰鈍: folding it would make 兰钝, another word."""
    glosses = {"兰鈍": "1.精致的灯。", "兰榡": "1.栏杆。", "兰灯": "1.犹兰鈍。 2.灯。"}
    (tmp_path / "兰.json").write_text(json.dumps(glosses), "utf-8")
    [found] = read_dictionary(tmp_path)
    assert found.word == "兰灯"
    assert not is_clean(found.senses[0])


def test_what_was_simplified_by_mistake(tmp_path: Path) -> None:
    glosses = {
        "干符": "1.旧指帝王受命于天的吉祥征兆。",  # 乾符
        "干粮": "1.预先做好的供外出食用的干的主食。",
        "茶山": "1.产茶的山。当地以茶着称，有人着《茶谱》，看着它长大。",
    }
    (tmp_path / "a.json").write_text(json.dumps(glosses, ensure_ascii=False), encoding="utf-8")
    assert {entry.word: entry.senses for entry in read_dictionary(tmp_path)} == {
        "干粮": ("预先做好的供外出食用的干的主食。",),
        "茶山": ("产茶的山。当地以茶著称，有人著《茶谱》，看着它长大。",),
    }


def test_only_words_of_han_characters_are_read(tmp_path: Path) -> None:
    (tmp_path / "重.json").write_text(
        json.dumps({"重阳": "1.节名。", "重": "1.厚。", "重A": "1.无。"}), "utf-8"
    )
    assert [e.word for e in read_dictionary(tmp_path)] == ["重阳"]


# --- senses -------------------------------------------------------------------------------------------------


def test_a_full_stop_inside_a_quotation_ends_no_sentence() -> None:
    text = "老人。语本《礼记》“百年曰期。颐。”郑玄注“要也。”后指寿星。"
    assert sentences(text) == ["老人。", "语本《礼记》“百年曰期。颐。”郑玄注“要也。”", "后指寿星。"]


@pytest.mark.parametrize(
    ("sentence", "meaning"),
    [
        ("后因以“江鲤”借指书信。", "借指书信。"),
        ("后以“江鲤”为远信之典。", "用为远信之典。"),
        ("后用为感怀之典。", "用为感怀之典。"),
        ("后泛指书信。", "指书信。"),
        ("后因称远来之信为“江鲤”。", "指远来之信。"),
        ("后因以“双鲤”借指书信。", None),  # another word
        ("后遂以产鱼著名。", None),
        ("后谓书信为“江鲤”也。", None),  # the meaning would name the word
    ],
)
def test_the_meaning_a_word_came_to_have(sentence: str, meaning: str | None) -> None:
    assert later_meaning(sentence, "江鲤") == meaning


def told(text: str, lexicon: Lexicon, word: str = "江鲤") -> Sense:
    sense = read_sense(entry(word, text), lexicon)
    assert sense is not None
    return sense


def test_meaning_then_evidence(lexicon: Lexicon) -> None:
    sense = told("一百岁。语本《礼记·曲礼上》“百年曰期颐。”郑玄注“要也。”", lexicon)
    assert sense.meaning == "一百岁。"
    assert sense.citation is not None
    assert (sense.citation.title, sense.citation.section) == ("礼记", "曲礼上")
    assert sense.citation.quotation == "百年曰期颐。"
    assert sense.citation.commentary is None


def test_evidence_then_meaning(lexicon: Lexicon) -> None:
    sense = told("《庄子·秋水》“秋水时至，百川灌河。”后因以“江鲤”指大水。", lexicon)
    assert sense.meaning == "指大水。"
    assert sense.citation is not None
    assert sense.citation.quotation == "秋水时至，百川灌河。"


def test_an_undotted_attribution(lexicon: Lexicon) -> None:
    citation = told("捕鱼人。见明李时珍《本草纲目·谷二》。", lexicon).citation
    assert citation is not None
    assert (citation.period, citation.author, citation.title) == ("明", "李时珍", "本草纲目")
    assert citation.quotation is None


def test_a_genre_before_a_colon_is_not_quoted(lexicon: Lexicon) -> None:
    citation = told("喻老人。语本晋陶潜《饮酒》诗：“采菊东篱下，悠然见南山。”", lexicon).citation
    assert citation is not None
    assert (citation.genre, citation.quotation) == ("诗", "采菊东篱下，悠然见南山。")


def test_a_story_with_its_place(lexicon: Lexicon) -> None:
    story = "汉某人少有高名，与人同游，后隐于江上，终身钓鱼不出。"
    sense = told(f"{story}见《后汉书·逸民传》。后以“江鲤”指隐者。", lexicon)
    assert (sense.story, sense.meaning) == (story, "指隐者。")
    assert sense.citation is not None
    assert sense.citation.narrative


def test_a_story_that_begins_with_its_place(lexicon: Lexicon) -> None:
    sense = told("《后汉书·逸民传》载，某人少有高名，隐于江上。终身钓鱼不出。后以“江鲤”指隐者。", lexicon)
    assert sense.story == "某人少有高名，隐于江上。终身钓鱼不出。"


@pytest.mark.parametrize(
    ("text", "story"),
    [
        (
            "以熊胆制成的药丸。唐某人幼时嗜学，其母曾和熊胆为丸，使夜咀咽，以苦志提神。",
            "唐某人幼时嗜学，其母曾和熊胆为丸，使夜咀咽，以苦志提神。",
        ),
        ("有伏熊形横轼的车。汉时为公，列侯所用。", None),
        ("西周初辅佐文王的大臣泰颠和闳夭的并称。", None),
        ("指秦末一老父于圯上授予张良的《太公兵法》。", None),
    ],
)
def test_what_a_word_names_is_no_story(text: str, story: str | None, lexicon: Lexicon) -> None:
    sense = told(f"{text}事见《后汉书·逸民传》。", lexicon)
    assert sense.story == story
    assert sense.story or sense.meaning


@pytest.mark.parametrize(
    "text",
    [
        "指《春秋》一书。",  # a sentence about a work
        "某人着有《丁卯集》，故称。",
        "周代设官，《周礼》之属，掌车马。",
        "水草名。参阅《本草纲目·草五》。",  # further reading
    ],
)
def test_what_is_no_evidence(text: str, lexicon: Lexicon) -> None:
    assert told(text, lexicon).citation is None


def test_a_meaning_that_is_not_whole_is_not_told(lexicon: Lexicon) -> None:
    sense = told("有几种说法。（1）谓父、子、孙。《后汉书·逸民传》：“游于江上。”", lexicon)
    assert sense.meaning is None
    assert sense.citation is not None
    assert read_sense(entry("都了", "昆虫名‘蝉的别称。"), lexicon) is None


def test_the_hexagram_qian_is_not_simplified(lexicon: Lexicon) -> None:
    citation = told("谓存诚。《易·干》“闲邪存其诚。”", lexicon).citation
    assert citation is not None
    assert citation.section == "乾"


def test_a_rare_character_is_not_quoted(lexicon: Lexicon) -> None:
    """骍骍角弓 is printed 髐髐角弓: outside GB 2312 half of what this dictionary prints is a misprint."""
    sense = told("弓名。《诗·小雅·小昮》“髐髐角弓，翩其反矣。”", lexicon)
    assert sense.citation is not None
    assert (sense.citation.title, sense.citation.section, sense.citation.quotation) == ("诗", None, None)


def test_a_sense_that_only_names_a_variant_is_passed_over(lexicon: Lexicon) -> None:
    sense = read_sense(entry("江鲤", "亦作“江里”。", "谓书信往来。"), lexicon)
    assert sense is not None
    assert sense.meaning == "谓书信往来。"
    assert sense.crossrefs == (CrossRef("亦作", "江里"),)


def test_a_sense_that_points_elsewhere_says_nothing_itself(lexicon: Lexicon) -> None:
    assert read_sense(entry("江鲤", "见“双鲤”。", "指鱼。"), lexicon) is None


# --- markers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meaning", "category"),
    [
        ("古官名。掌山林川泽之政令。", "social_institutions"),
        ("佛教语。谓心无所著，不生烦恼。", "religion_beliefs"),
        ("旧俗，除夕合家守岁至于天明。", "customs_practices"),
        ("词牌名。双调五十字，前后段各四句。", "arts_literature"),
        ("山名。在今江西省境内，相传有仙。", "history_geography"),
        ("擦拭地板的工具。用布条系在木棒上做成。", None),
        ("鸟名。", None),  # nothing told beyond the marker
    ],
)
def test_a_marker_settles_the_category(meaning: str, category: str | None) -> None:
    marker = marker_of(Sense("某词", "0", meaning, None, None, ()), meaning, MARKERS)
    assert (marker.category if marker else None) == category


def test_words_enter_with_a_marker_or_a_citation_only(lexicon: Lexicon) -> None:
    assert headword(entry("上路", "走到路途上去，出发远行。"), lexicon, MARKERS) is None
    marked = headword(entry("山虞", "古官名。掌山林川泽之政令。"), lexicon, MARKERS)
    cited = headword(entry("期颐", "一百岁。语本《礼记·曲礼上》“百年曰期颐。”"), lexicon, MARKERS)
    assert marked is not None
    assert cited is not None
    assert (marked.category, bool(marked.marker)) == ("social_institutions", True)
    assert (cited.category, cited.marker) == (None, None)


def test_headwords_survive_the_file_and_the_number_of_processes(tmp_path: Path, lexicon: Lexicon) -> None:
    entries = [
        entry("山虞", "古官名。掌山林川泽之政令。"),
        entry("期颐", "亦作“期熙”。", "一百岁。语本《礼记·曲礼上》“百年曰期颐。”"),
    ]
    words = read_headwords(entries, lexicon, MARKERS)
    dump_headwords(words, tmp_path / "words.jsonl")
    assert load_headwords(tmp_path / "words.jsonl") == words
    assert all(isinstance(word, Headword) for word in words)
    assert read_headwords(entries, lexicon, MARKERS, workers=2) == words
