"""Sayings, passages and dictionary words as they are read and as they stand in the graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.errors import SourceError
from clwqa_bench.ontology import Ontology
from clwqa_builders.extract.anthologies import READERS, Passage, at, prose, read_anthologies, verses
from clwqa_builders.extract.canonical import Canonicaliser
from clwqa_builders.extract.headwords import Headword
from clwqa_builders.extract.metre import cut_damaged
from clwqa_builders.extract.records import CrossRef
from clwqa_builders.extract.script import simplified
from clwqa_builders.extract.senses import Sense
from clwqa_builders.extract.xiehouyu import Saying, read_sayings
from clwqa_builders.graph.assemble import Supplement, add_categories
from clwqa_builders.graph.history import add_periods
from clwqa_builders.graph.tables import GraphTables
from clwqa_builders.graph.verify import Texts, agreement, corrected
from clwqa_builders.pipeline import hand_checked_tables
from clwqa_builders.questions.columns import GraphColumns
from clwqa_builders.questions.select import fact_groups
from clwqa_builders.questions.templates import load_templates

VERSIONS = {"cnchar-data": "1", "cnchar-xhy": "2", "chinese-poetry": "3"}


# --- two-part sayings ---------------------------------------------------------------------------------------


def module(pairs: Any) -> str:
    return "!function(){e.exports=JSON.parse('" + json.dumps({"a": pairs}, ensure_ascii=False) + "')}()"


def sayings(tmp_path: Path, pairs: Any) -> list[Saying]:
    path = tmp_path / "xhy.js"
    path.write_text(module(pairs), encoding="utf-8")
    return read_sayings(path)


def test_answers_are_split_and_riddles_merged(tmp_path: Path) -> None:
    pairs = [
        ["泥菩萨过江", "自身难保；保不住自己"],
        ["擀面杖吹火", "一窍不通"],
        ["泥菩萨过江", "自身难保；保不住"],
    ]
    first, second = sayings(tmp_path, pairs)
    assert (first.riddle, first.answers, first.row) == (
        "泥菩萨过江",
        ("自身难保", "保不住自己", "保不住"),
        "0",
    )
    assert second == Saying("擀面杖吹火", ("一窍不通",), "1")


@pytest.mark.parametrize(
    ("riddle", "answer"),
    [
        ("祖传的皮袄", "里外孬（n"),  # a pun whose bracket lost its half
        ("新褡裢（d", "一条心"),
        ("竹林里栽柏树", "亲"),  # what is left of 亲（青）上加亲
        ("咸菜缸里的秤砣", "一言"),  # what is left of 一言（盐）难尽（进）
        ("康熙替父还债", "碗了"),
        ("杆子上挂灯笼", "一窍不"),  # its last character was lost: 一窍不通 is another's answer
        ("盐罐", ""),
    ],
)
def test_what_lost_a_part_is_left_out(tmp_path: Path, riddle: str, answer: str) -> None:
    assert [s.riddle for s in sayings(tmp_path, [[riddle, answer], ["擀面杖吹火", "一窍不通"]])] == [
        "擀面杖吹火"
    ]


@pytest.mark.parametrize(
    "text", ["", "JSON.parse('{}')", module([["只有谜面"]]), module([]), module([[1, 2]])]
)
def test_a_module_without_the_array_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "xhy.js"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        read_sayings(path)
    assert caught.value.file == str(path)


# --- passages -----------------------------------------------------------------------------------------------


def test_traditional_characters_and_what_stays() -> None:
    assert simplified("處處聞啼鳥，乾坤") == "处处闻啼鸟，乾坤"


def test_verses_lose_notes_and_quotes_and_gain_a_full_stop() -> None:
    assert verses(["雨來(一作雪)沾席上，風急打船頭；", "「歸去來兮」"]) == (
        "雨来沾席上，风急打船头。",
        "归去来兮。",
    )


@pytest.mark.parametrize(
    ("paragraph", "standing"),
    [
        pytest.param(
            "孟子曰：“然。人皆有不忍人之心。先王有之。”",
            ["然。人皆有不忍人之心。"],
            id="a short sentence is read with the next",
        ),
        pytest.param(
            "对曰：“小惠未徧，民弗从也。”公曰：“牺牲玉帛，弗敢加也，必以信。”",
            ["小惠未遍，民弗从也。", "牺牲玉帛，弗敢加也，必以信。"],
            id="who speaks is not part of the line",
        ),
        pytest.param(
            "庄王曰：“诺，舍而止。虽然，吾犹取此，然后归尔。”引师而去之，遂归于楚国。",
            ["诺，舍而止。虽然，吾犹取此，然后归尔。"],
            id="what is told after a speech lacks its subject",
        ),
        pytest.param(
            "「王曰『何以利吾國』？大夫曰『何以利吾家』？」",
            ["王曰‘何以利吾国’？大夫曰‘何以利吾家’？"],
            id="words within a sentence keep their marks",
        ),
        pytest.param(
            "其母曰：「往之女家，必敬必戒，毋違夫子！』以順為正者，妾婦之道也。",
            ["往之女家，必敬必戒，毋违夫子！"],
            id="marks that do not match",
        ),
        pytest.param(
            "《易》曰：“王臣蹇蹇，匪躬之故。”夫不以所居之时不一。",
            [],
            id="words quoted from another book are not this one's",
        ),
        pytest.param("老氏稱：“上德不德，是以有德。”", [], id="nor are those of 老子"),
        pytest.param("或问之曰：此可为乎？曰：不可为也，吾不敢。", [], id="a speech without marks"),
    ],
)
def test_prose_is_split_with_its_quotation_marks_in_sight(paragraph: str, standing: list[str]) -> None:
    assert list(Passage(at("某篇"), "0", prose([paragraph])).sentences) == standing


def test_a_text_is_whole_even_where_its_lines_are_not() -> None:
    passage = Passage(at("某篇"), "0", prose(["公曰：“可矣！”命子封帅车二百乘以伐京。"]))
    assert passage.text == "公曰可矣命子封帅车二百乘以伐京"
    assert passage.sentences == ()


def lost(genre: str, *poems: Sequence[str]) -> list[str]:
    """The lines that are cut, of poems under one title."""
    passages = [
        Passage(at("某题", str(number), genre=genre), str(number), verses(lines))
        for number, lines in enumerate(poems)
    ]
    found = cut_damaged(passages)
    return [
        line
        for old, new in zip(passages, found, strict=True)
        for line in set(old.sentences) - set(new.sentences)
    ]


SEVENS = ["独在异乡为异客，每逢佳节倍思亲。", "遥知兄弟登高处，遍插茱萸少一人。"]


def test_a_line_that_lost_a_character_shows_in_a_regular_poem() -> None:
    assert lost("诗", SEVENS) == []
    assert lost("诗", [SEVENS[0], "遥知弟登高处，遍插茱萸少一人。"]) == ["遥知弟登高处，遍插茱萸少一人。"]
    assert lost("诗", ["君不见黄河之水天上来，奔流到海不复回。", "古来圣贤皆寂寞，惟有饮者留其名。"]) == []


def test_a_line_that_lost_a_character_shows_beside_others_to_the_tune() -> None:
    tune = ["东城渐觉风光好，縠皱波纹迎客棹。", "绿杨烟外晓寒轻，红杏枝头春意闹。", "浮生长恨欢娱少。"]
    damaged = [tune[0].replace("縠", ""), *tune[1:]]
    assert lost("词", tune, tune, damaged) == [damaged[0]]
    assert lost("词", tune, damaged) == []  # one other poem may be of another form
    assert lost("词", tune, tune, damaged, damaged) == []  # and this is a form of its own


def test_only_whole_lines_stand_alone() -> None:
    lines = verses(["短句。", "此处{上雨下田}字缺，难以卒读。", "春眠不覺曉，處處聞啼鳥。"])
    assert Passage(at("春晓", None, "孟浩然"), "0", lines).sentences == ("春眠不觉晓，处处闻啼鸟。",)


@pytest.fixture
def files(tmp_path: Path) -> Callable[[Mapping[str, Any]], dict[str, Path]]:
    """Files of all anthologies: empty but for those given."""
    empty = {"content": [], "paragraphs": []}

    def write(given: Mapping[str, Any]) -> dict[str, Path]:
        paths = {}
        for number, name in enumerate(READERS):
            paths[name] = tmp_path / f"{number}.json"
            lists = name.startswith(
                ("shijing", "chuci", "lunyu", "caocao", "quan", "shui", "songci", "wudai", "nalan")
            )
            data = given.get(name, [] if lists or name.endswith("mengzi.json") else empty)
            paths[name].write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
        return paths

    return write


DAWN = ["春眠不覺曉，處處聞啼鳥。", "夜來風雨聲，花落知多少。"]


def test_a_poem_in_two_anthologies_is_read_once_under_its_first_title(
    files: Callable[..., dict[str, Path]],
) -> None:
    first = {"chapter": "春曉", "author": "孟浩然", "paragraphs": DAWN}
    second = {"chapter": "春眠", "author": "（唐）孟浩然", "paragraphs": DAWN}
    third = {
        "title": "春晓",
        "author": "孟浩然",
        "paragraphs": ["春眠不知晓，处处闻啼鸟。"],
    }  # another edition
    found = read_anthologies(
        files(
            {
                "mengxue/tangshisanbaishou.json": {"content": [{"content": [first]}]},
                "mengxue/qianjiashi.json": {"content": [{"content": [second]}]},
                "shuimotangshi/shuimotangshi.json": [third],
            }
        )
    )
    assert [(p.at.title, p.at.author, p.at.period) for p in found] == [("春晓", "孟浩然", "唐")]
    assert len(found[0].sentences) == 2


def test_poems_to_one_tune_are_told_apart_by_their_opening(files: Callable[..., dict[str, Path]]) -> None:
    poems = [
        {"rhythmic": "浣溪沙", "author": "晏殊", "paragraphs": ["一曲新詞酒一杯，去年天氣舊亭臺。"]},
        {"rhythmic": "浣溪沙・其二", "author": "晏殊", "paragraphs": ["一向年光有限身，等閑離別易消魂。"]},
    ]
    found = read_anthologies(files({"songci/宋词三百首.json": poems}))
    assert [(p.at.title, p.at.section) for p in found] == [
        ("浣溪沙", "一曲新词酒一杯"),
        ("浣溪沙", "一向年光有限身"),
    ]


def test_an_essay_stands_in_its_book_or_under_its_author(files: Callable[..., dict[str, Path]]) -> None:
    essays = [
        {
            "chapter": "曹劌論戰",
            "source": "《左傳》",
            "author": "先秦：左丘明",
            "paragraphs": ["十年春，齊師伐我。"],
        },
        {
            "chapter": "師說",
            "source": "(韓愈)",
            "author": "唐代：韓愈 ",
            "paragraphs": ["古之學者必有師。師者，所以傳道也。"],
        },
    ]
    found = read_anthologies(files({"mengxue/guwenguanzhi.json": {"content": [{"content": essays}]}}))
    assert [(p.at.title, p.at.section, p.at.author, p.at.period) for p in found] == [
        ("左传", "曹刿论战", None, None),
        ("师说", None, "韩愈", "唐"),
    ]


def test_a_poem_under_another_name_is_read_once(files: Callable[..., dict[str, Path]]) -> None:
    """The collection of songs calls 李益's poem 婆罗门 and names the governor who handed it in."""
    lines = ["回乐峰前沙似雪，受降城外月如霜。", "不知何处吹芦管，一夜征人尽望乡。"]
    known = {"chapter": "夜上受降城闻笛", "author": "李益", "paragraphs": lines}
    song = {"title": "杂曲歌辞 婆罗门", "author": "盖嘉运", "paragraphs": lines}
    found = read_anthologies(
        files(
            {
                "mengxue/tangshisanbaishou.json": {"content": [{"content": [known]}]},
                "quantangshi/唐诗三百首.json": [song],
            }
        )
    )
    assert [p.at.author for p in found] == ["李益"]


def test_a_line_borrowed_from_an_earlier_work_is_only_its(files: Callable[..., dict[str, Path]]) -> None:
    song = {
        "title": "思齐",
        "chapter": "大雅",
        "section": "文王之什",
        "content": ["刑于寡妻，至于兄弟，以御于家邦。"],
    }
    chapter = {"chapter": "梁惠王上", "paragraphs": ["刑于寡妻，至于兄弟。老吾老，以及人之老。"]}
    found = read_anthologies(files({"shijing/shijing.json": [song], "sishuwujing/mengzi.json": [chapter]}))
    assert [list(p.sentences) for p in found] == [
        ["刑于寡妻，至于兄弟，以御于家邦。"],
        ["老吾老，以及人之老。"],
    ]


def test_an_author_whose_name_lost_a_character_is_left_out(files: Callable[..., dict[str, Path]]) -> None:
    poem = {"rhythmic": "满庭芳", "author": "张", "paragraphs": ["月洗高梧，露漙幽草，宝钗楼外秋深。"]}
    assert read_anthologies(files({"songci/宋词三百首.json": [poem]})) == []


def test_a_title_that_names_only_a_form_is_left_out(files: Callable[..., dict[str, Path]]) -> None:
    poem = {"title": "绝句", "author": "志南", "paragraphs": ["古木阴中系短篷，杖藜扶我过桥东。"]}
    assert read_anthologies(files({"shuimotangshi/shuimotangshi.json": [poem]})) == []


def test_a_file_of_another_form_is_named(files: Callable[..., dict[str, Path]]) -> None:
    paths = files({"shijing/shijing.json": [{"title": "关雎"}]})
    with pytest.raises(SourceError, match="KeyError") as caught:
        read_anthologies(paths)
    assert caught.value.file == str(paths["shijing/shijing.json"])


# --- quotations against full text ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quotation", "state"),
    [
        ("學而時習之，不亦說乎？", "exact"),
        ("学而时习之……不亦乐乎？", "clauses"),
        ("学而时习之，不亦悦乎？", "partial"),
        ("温故而知新，可以为师矣。", "none"),
    ],
)
def test_agreement_with_the_text(quotation: str, state: str) -> None:
    assert agreement(quotation, "子曰学而时习之不亦说乎有朋自远方来不亦乐乎") == state


def test_what_a_classic_contradicts_is_not_taken_from_a_dictionary() -> None:
    """角弓 begins 骍骍角弓; printers without 骍 took its neighbour, and 小昮 for 小毖."""

    def word(section: str, quotation: str) -> Headword:
        place = at("诗经", section)
        fields = {name: getattr(place, name) for name in place.__slots__}
        return Headword(
            Sense("某词", "0", "某义。", type(place)(**{**fields, "quotation": quotation}), None, ())
        )

    canon = Canonicaliser([], hand_checked_tables())
    texts = Texts.of([Passage(at("诗经", "小雅·角弓"), "0", ("骍骍角弓，翩其反矣。",))], canon)
    words = [
        word("小雅·角弓", "骍骍角弓，翩其反矣。"),
        word("小雅·角弓", "髐髐角弓，翩其反矣。"),
        word("小雅·小昮", "翩其反矣。"),
    ]
    found = [w.sense.citation for w in corrected(words, texts, canon)]
    assert [(c.section, c.quotation) for c in found if c] == [
        ("小雅·角弓", "骍骍角弓，翩其反矣。"),
        ("小雅·角弓", None),
        (None, "翩其反矣。"),
    ]


# --- the graph ----------------------------------------------------------------------------------------------


def supplement() -> Supplement:
    cited = at("论语", "学而")
    quoting = type(cited)(
        **{**{f: getattr(cited, f) for f in cited.__slots__}, "quotation": "学而时习之，不亦说乎？"}
    )
    return Supplement(
        words=(
            Headword(Sense("时习", "时习", "时时温习。", quoting, None, (CrossRef("亦作", "时学"),))),
            Headword(
                Sense("山虞", "山虞", "古官名。掌山林之政。", None, None, ()), "social_institutions", "官名"
            ),
            Headword(
                Sense("一窍不通", "一窍不通", "方言。谓全然不懂。", None, None, ()),
                "language_dialects",
                "俗语方言",
            ),
        ),
        sayings=(Saying("擀面杖吹火", ("一窍不通", "不通气"), "7"),),
        passages=(Passage(cited, "lunyu-0", prose(["子曰：“学而时习之，不亦说乎？”"])),),
    )


@pytest.fixture(scope="module")
def graph() -> GraphTables:
    more = supplement()
    graph = GraphTables()
    graph.node("word:一窍不通", "一窍不通", "Idiom", "idioms@0#1")
    more.add_to(graph, Canonicaliser(more.citations(), hand_checked_tables()), VERSIONS)
    return graph


def test_an_answer_that_is_an_idiom_is_a_part_of_the_saying(graph: GraphTables) -> None:
    assert ("xiehouyu:擀面杖吹火", "word:一窍不通") in graph.pairs("hasComponent")
    assert len([h for h, _ in graph.pairs("hasExplanation") if h == "xiehouyu:擀面杖吹火"]) == 2


def test_a_word_of_the_idiom_tables_keeps_what_they_say(graph: GraphTables) -> None:
    assert graph.type_of("word:一窍不通") == "Idiom"
    assert "word:一窍不通" not in {head for head, _ in graph.pairs("hasExplanation")}


def test_categories_come_from_markers_only(graph: GraphTables) -> None:
    heads = {head: tail for head, tail in graph.pairs("belongsToCategory") if head.startswith("word:")}
    assert heads == {"word:山虞": "category:social_institutions"}


def test_a_cross_reference_adds_no_bare_word(graph: GraphTables) -> None:
    assert not graph.has("word:时学")


def test_lines_and_quotations_stand_in_the_same_chapter(graph: GraphTables) -> None:
    [(line, place)] = [(h, t) for h, t in graph.pairs("hasSource") if h.startswith("line:")]
    assert graph.type_of(line) == "Sentence"
    assert {t for _, t in graph.pairs("inContentUnit")} == {place} == {"chapter:论语#学而"}


def test_a_poem_that_bears_the_name_of_a_play_is_no_chapter_of_it() -> None:
    tune = [
        Passage(at("后庭花", "石城依旧空江国", "孙光宪", genre="词"), "0", ("石城依旧空江国，故宫春色。",)),
        Passage(
            at("浣溪沙", "一曲新词酒一杯", "晏殊", genre="词"), "1", ("一曲新词酒一杯，去年天气旧亭台。",)
        ),
    ]
    tables = GraphTables()
    more = Supplement((), (), tuple(tune))
    more.add_to(tables, Canonicaliser(more.citations(), hand_checked_tables()), VERSIONS)
    assert [label for _, label, _ in tables.nodes_of("Sentence")] == ["一曲新词酒一杯，去年天气旧亭台"]


def test_a_line_and_the_quotation_in_it_are_one_fact_group() -> None:
    more = supplement()
    tables = GraphTables()
    add_categories(tables, Ontology.load(), "0")
    add_periods(tables, hand_checked_tables().periods, "0")
    whole = Passage(at("论语", "学而"), "0", ("学而时习之，不亦说乎？",))
    wider = Supplement(more.words, (), (whole,))
    wider.add_to(tables, Canonicaliser(wider.citations(), hand_checked_tables()), VERSIONS)
    columns = GraphColumns.of_tables(tables.entities(), tables.triples())
    groups = dict(zip(columns.ids, fact_groups(columns).tolist(), strict=True))
    line = next(id for id in columns.ids if id.startswith("line:"))
    assert groups[line] == groups["word:时习"] != groups["word:山虞"]


def test_every_quotation_says_how_it_agrees_with_the_text(graph: GraphTables) -> None:
    entities = graph.entities().to_pylist()
    states = {a["value"] for e in entities for a in e["attributes"] if a["key"] == "verified"}
    assert states == {"exact"}


# --- templates ----------------------------------------------------------------------------------------------


def test_core_draws_from_no_template_of_the_full_profile() -> None:
    ontology = Ontology.load()
    core = {t.id for t in load_templates(ontology, profile="core")}
    full = {t.id for t in load_templates(ontology)}
    assert core < full
    assert {id.partition(".")[0] for id in full - core} == {"dictionary", "riddle", "line"}


def test_no_line_is_called_famous() -> None:
    """Most lines of a classic are not; what makes one famous is in no source."""
    lines = [t for t in load_templates(Ontology.load()) if t.id.startswith(("sentence.", "line."))]
    assert len(lines) > 5
    assert not [phrasing for t in lines for phrasing in t.phrasings if "名句" in phrasing]
