"""The grammar of derivations, examples and glosses, shown on short made-up and shortened entries."""

from __future__ import annotations

import csv
import re
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_builders.extract.derivations import parse_derivation
from clwqa_builders.extract.examples import parse_example
from clwqa_builders.extract.glosses import parse_gloss
from clwqa_builders.extract.lexicon import Lexicon, build_lexicon, period_of
from clwqa_builders.extract.parse import coverage, parse_row, parse_rows
from clwqa_builders.extract.quotes import requote, requote_title
from clwqa_builders.extract.records import CrossRef, RawRow

GOLDEN = Path(__file__).parent / "golden"
CITATION_COLUMNS = (
    "period",
    "author",
    "title",
    "section",
    "locator",
    "genre",
    "via",
    "quotes_work",
    "quotation",
)

# What the parser is told about the world; built from data in the real run, written out here.
LEXICON = Lexicon(
    books=frozenset(
        {
            "史记",
            "汉书",
            "左传",
            "三国志",
            "老子",
            "礼记",
            "易林",
            "四溟诗话",
            "太平广记",
            "五灯会元",
            "红楼梦",
        }
    ),
    periods=frozenset("秦汉魏蜀吴晋宋齐梁陈隋唐金元明清")
    | {"先秦", "战国", "三国", "南朝", "五代", "后蜀", "南唐"},
    dotted_authors=frozenset({("宋", "苏轼"), ("唐", "杜甫"), ("宋", "欧阳修")}),
    authors=frozenset(["苏轼", "杜甫", "欧阳修", "范文澜", "蔡美彪", "周立波", "康有为", "秦牧", "郭象"]),
    surnames=frozenset("苏杜黄刘范蔡周秦曹陆康"),
    numeral_books=frozenset({"子夜", "山乡巨变"}),
    numbered_books=frozenset({"红楼梦", "歧路灯", "西游记", "五灯会元"}),
    split_volumes=frozenset(),
    chapters=frozenset({("唐摭言", "好放孤寒")}),
    works=frozenset({("刘昌", "悬笥琐探")}),
    counting=frozenset({"一句", "三年", "一个", "五言", "一天"}),
    bonds=frozenset({"家家", "重新"}),
    tunes={"念奴娇": "词", "采桑子": "词", "一枝花": "曲", "水调歌头": "词"},
)


def golden(name: str) -> list[dict[str, str]]:
    lines = (GOLDEN / name).read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if not line.startswith("#")]
    return list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE, restval=""))


@pytest.mark.parametrize("case", golden("extract_heads.tsv"), ids=lambda case: case["derivation"][:18])
def test_first_citation_reads_as_a_scholar_reads_it(case: dict[str, str]) -> None:
    citation = parse_derivation(case["derivation"], case["word"], LEXICON).citations[0]
    assert {name: getattr(citation, name) or "" for name in CITATION_COLUMNS} == {
        name: case[name] for name in CITATION_COLUMNS
    }


@pytest.mark.parametrize("case", golden("extract_glosses.tsv"), ids=lambda case: case["word"])
def test_gloss_splits_only_what_shows_itself_a_component(case: dict[str, str]) -> None:
    gloss = parse_gloss(case["explanation"], case["word"], LEXICON)
    assert " ".join(f"{piece}={meaning}" for piece, meaning in gloss.components) == case["components"]
    assert gloss.sense == case["sense"]
    assert " ".join(f"{ref.kind}:{ref.target}" for ref in gloss.crossrefs) == case["crossrefs"]


def test_second_citation_after_the_first_quotation() -> None:
    text = "《庄子·刻意》避世之人。”《晋书·华轶传》确然绝俗。”"
    first, second = parse_derivation(text, "避世绝俗", LEXICON).citations
    assert (first.title, first.quotation) == ("庄子", "避世之人。")
    assert (second.title, second.section, second.quotation) == ("晋书", "华轶传", "确然绝俗。")


def test_same_work_continues_after_you() -> None:
    text = "明·吴承恩《西游记》第四回熯天炽地。”又第四一回真是个熯天炽地。”"
    _, second = parse_derivation(text, "熯天炽地", LEXICON).citations
    assert (second.title, second.author, second.locator) == ("西游记", "吴承恩", "第四十一回")


def test_another_work_after_you_is_by_the_same_author() -> None:
    text = "老舍《赵子曰》第十七如今叫我整本大套的去？”又《文博士》三中国的老事儿有许多合乎科学。”"
    first, second = parse_derivation(text, "整本大套", LEXICON).citations
    assert (first.author, first.locator) == ("老舍", "第十七")
    assert (second.author, second.title, second.locator) == ("老舍", "文博士", "三")


def test_annotation_is_commentary_of_the_citation_before_it() -> None:
    text = "《诗·小雅·小宛》我日斯迈。”郑玄笺迈，行也。”一本作日迈”。"
    (citation,) = parse_derivation(text, "日迈月征", LEXICON).citations
    assert citation.quotation == "我日斯迈。"
    assert citation.commentary == "郑玄笺：迈，行也。 一本作“日迈”。"


def test_phrase_quoted_inside_a_quotation_does_not_end_it() -> None:
    text = "毛泽东《整顿党的作风》就是有的放矢”。”"
    (citation,) = parse_derivation(text, "有的放矢", LEXICON).citations
    assert citation.quotation == "就是“有的放矢”。"


def test_story_before_its_sources() -> None:
    text = "战国时，豫让受知于智伯，吞炭为哑。事见《战国策·赵策一》、《史记·刺客列传》。"
    derivation = parse_derivation(text, "吞炭漆身", LEXICON)
    assert derivation.kind == "narrative"
    assert derivation.allusion == "战国时，豫让受知于智伯，吞炭为哑。"
    assert [(c.title, c.section, c.quotation, c.narrative) for c in derivation.citations] == [
        ("战国策", "赵策一", None, True),
        ("史记", "刺客列传", None, True),
    ]


@pytest.mark.parametrize("lead", ["据汉·刘向《说苑·权谋》载，", "汉·刘向《说苑·权谋》记载"])
def test_story_after_its_source(lead: str) -> None:
    derivation = parse_derivation(f"{lead}有人见邻人烟囱直立，劝其改为弯曲。", "曲突徙薪", LEXICON)
    assert derivation.kind == "narrative"
    assert derivation.allusion == "有人见邻人烟囱直立，劝其改为弯曲。"
    assert derivation.citations[0].author == "刘向"


def test_zai_that_begins_a_quotation_is_no_report() -> None:
    (citation,) = parse_derivation("《诗·鄘风·载驰》载驰载驱，归唁卫侯。”", "载驰载驱", LEXICON).citations
    assert citation.quotation == "载驰载驱，归唁卫侯。"


def test_zai_yue_introduces_the_words_themselves() -> None:
    (citation,) = parse_derivation(
        "《左传·宣公十五年》载曰敝邑易子而食，析骸以爨。", "析骸以爨", LEXICON
    ).citations
    assert citation.quotation == "敝邑易子而食，析骸以爨。"


@pytest.mark.parametrize(("text", "kind"), [("参见板上钉钉”。", "参见"), ("见拔树寻根”。", "见")])
def test_cross_reference_alone(text: str, kind: str) -> None:
    derivation = parse_derivation(text, "板上砸钉", LEXICON)
    assert derivation.kind == "crossref"
    assert derivation.crossrefs[0].kind == kind


@pytest.mark.parametrize("text", ["无", "", "俗谚稳坐钓鱼台。”", "鲁迅《花边文学·小品文的不但唱工。”"])
def test_what_does_not_parse_is_none_not_a_guess(text: str) -> None:
    derivation = parse_derivation(text, "稳坐钓鱼台", LEXICON)
    assert (derivation.kind, derivation.citations, derivation.allusion) == ("none", (), None)


def test_example_with_star() -> None:
    example = parse_example("比亦有人说足下诚～。★唐·韩愈《与崔群书》", "尽善尽美", LEXICON)
    assert example is not None
    assert example.text == "比亦有人说足下诚～。"
    assert example.citation is not None
    assert (example.citation.title, example.citation.author, example.citation.quotation) == (
        "与崔群书",
        "韩愈",
        None,
    )


def test_example_with_brackets() -> None:
    example = parse_example("须信～。（清·曹雪芹《红楼梦》第15回）", "苦尽甘来", LEXICON)
    assert example is not None
    assert example.text == "须信～。"
    assert example.citation is not None
    assert example.citation.locator == "第十五回"


def test_invented_example_has_no_source() -> None:
    example = parse_example("这项任务十分紧迫，～。", "时不我待", LEXICON)
    assert example is not None
    assert example.text == "这项任务十分紧迫，～。"
    assert example.citation is None


def test_no_example() -> None:
    assert parse_example("无", "时不我待", LEXICON) is None


@pytest.mark.parametrize(
    ("text", "word", "readable"),
    [
        ("意译为无间”，即痛苦。", "阿鼻地狱", "意译为“无间”，即痛苦。"),
        ("同养儿防老，积谷防饥”。", "养儿防老", "同“养儿防老，积谷防饥”。"),
        ("说观止矣。”", "叹观止矣", "说“观止矣。”"),
        ("也不过是恨铁不成钢”的意思。", "恨铁不成钢", "也不过是“恨铁不成钢”的意思。"),
    ],
)
def test_lost_opening_quote_returns_before_its_phrase(text: str, word: str, readable: str) -> None:
    assert requote(text, word) == readable


@given(st.text(alphabet="甲乙为曰同。，“”", max_size=30))
def test_requoting_twice_changes_nothing(text: str) -> None:
    once = requote(text)
    assert requote(once) == once
    assert re.sub("[“：]", "", once) == text.replace("“", "")


@given(st.text(alphabet="甲乙丙与。“”", max_size=20))
def test_title_quotes_pair_up(text: str) -> None:
    assert requote_title(text).replace("“", "") == text.replace("“", "")


@pytest.mark.parametrize(
    ("printed", "normal"),
    [
        ("南朝宋", "南朝·宋"),
        ("清朝", "清"),
        ("梁", "梁"),
        ("粱", "梁"),
        ("南朝", "南朝"),
        ("人民", None),
        ("郑", None),
    ],
)
def test_period_as_printed(printed: str, normal: str | None) -> None:
    assert period_of(printed, LEXICON.periods) == normal


# --- the lexicon and whole rows ------------------------------------------------------------------------------


def row(word: str, derivation: str, example: str = "无", explanation: str = "形容。") -> RawRow:
    return RawRow("made-up", word, word, "", derivation, example, explanation)


ROWS = [
    row("甲乙丙丁", "宋·苏轼《子瞻集·石钟山记》一二。”"),
    row("乙丙丁甲", "茅盾《子夜》四可惜。”茅盾《子夜》十六骂几句。”", "～。★茅盾《子夜》七"),
    row(
        "丙丁甲乙",
        "元·汤式《一枝花·赠人》套曲闲情。”《史记》卷一黄帝。”《史记》卷二夏禹。”",
        explanation="同甲乙丙”。",
    ),
]


def test_lexicon_learns_habits_from_the_rows() -> None:
    lexicon = build_lexicon(ROWS, ["史记"], ["宋", "元", "南朝·梁"], {"一枝花": "词"})
    assert ("宋", "苏轼") in lexicon.dotted_authors
    assert ("子瞻集", "石钟山记") in lexicon.chapters
    assert "子夜" in lexicon.numeral_books
    assert "史记" in lexicon.numbered_books
    assert {"南朝", "梁"} <= lexicon.periods
    assert lexicon.tunes["一枝花"] == "曲"


def test_result_does_not_depend_on_the_worker_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clwqa_builders.extract.parse._CHUNK", 100)
    rows = ROWS * 100
    assert parse_rows(rows, LEXICON, workers=2) == parse_rows(rows, LEXICON, workers=1)


def test_parsed_row_keeps_the_raw_one_and_its_order() -> None:
    parsed = parse_rows(ROWS, LEXICON)
    assert [one.raw for one in parsed] == ROWS
    assert parse_row(ROWS[2], LEXICON).gloss.crossrefs == (CrossRef("同", "甲乙丙"),)


def test_coverage_counts_rows_and_fields() -> None:
    counts = coverage(parse_rows(ROWS, LEXICON))
    assert (counts["rows"], counts["rows with a citation"], counts["citations"]) == (3, 3, 6)
    assert (counts["examples"], counts["example citations"], counts["derivation unparsed"]) == (1, 1, 0)


@given(st.text(alphabet="宋·苏轼《史记》卷一第回诗。”引曰载，又见（）〈〉☆A1", max_size=60))
def test_any_text_parses_without_an_error_and_quotes_only_what_is_there(text: str) -> None:
    derivation = parse_derivation(text, "苏轼", LEXICON)
    for citation in derivation.citations:
        assert citation.title
        spoken = (citation.quotation or "").replace("“", "")
        assert spoken in text.replace("“", "")
        assert all(value != "" for value in astuple(citation) if isinstance(value, str))


@given(st.text(alphabet="先难后获艰。；，、指同“”①", max_size=50))
def test_components_are_pieces_of_the_word_and_a_sense_remains(text: str) -> None:
    gloss = parse_gloss(text, "先难后获", LEXICON)
    assert bool(gloss.sense) == bool(gloss.text)
    for piece, meaning in gloss.components:
        assert piece in "先难后获"
        assert meaning
        assert not meaning.startswith("：")
        assert not meaning.endswith("。")
