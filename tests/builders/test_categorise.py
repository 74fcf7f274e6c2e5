"""Content categories: what readers would call clear cases, and what the scores promise."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.errors import SourceError
from clwqa_builders.extract.categorise import (
    LEXICON,
    MARGIN,
    REPEAT,
    SLUGS,
    Entry,
    Lexicon,
    categorise,
    categorise_all,
    load_lexicon,
)

BUILTIN = load_lexicon()

CLEAR_CASES = """
arts_literature
    下笔成章    一动笔就写成文章。形容文思敏捷。
    余音绕梁    歌声停了，余音还绕着屋梁回旋。形容歌声优美动听。
    挥毫泼墨    指写字作画。
    曲高和寡    曲调高深，能跟着唱的人就少。
    落笔成诗    形容诗人才思敏捷，写诗很快。
    学富五车    形容读书很多，学问渊博。
    湖光山色    指有水有山的优美风景。
    国色天香    形容牡丹，也形容女子容貌美丽。
    能歌善舞    擅长唱歌和跳舞。
    桃李满门    比喻老师教出来的学生很多。
customs_practices
    粗茶淡饭    指简单的饮食。形容生活俭朴。
    衣不蔽体    衣服破烂，遮不住身子。形容生活贫困。
    门当户对    指结婚双方的家庭情况相当。
    白头偕老    夫妻和睦地一起过到老。
    披麻戴孝    指子女为父母服丧。
    张灯结彩    形容节日喜庆的景象。
    三茶六饭    形容招待客人十分周到，饮食丰盛。
    风餐露宿    形容旅途的辛苦。
    入乡随俗    到了一个地方就按那里的风俗习惯生活。
    四世同堂    祖孙四代同住在一个家庭里。
    家徒四壁    家里只有四面墙。形容十分贫穷。
history_geography
    纸上谈兵    战国时赵国的赵括只会空谈兵书，长平一战全军覆没。
    围魏救赵    战国时齐国孙膑围攻魏国，解了赵国的围。
    毛遂堕井    比喻传闻失实。
    负荆请罪    战国时赵国廉颇背着荆条向蔺相如请罪。
    东施效颦    西施病了皱眉，东施学她，反而更丑。
    完璧归赵    蔺相如把和氏璧完好地送回赵国。
    指鹿为马    秦朝赵高牵来一只鹿，硬说是马。
    崇山峻岭    高大险峻的山岭。
    背水列阵    汉代韩信背靠河水布阵。
religion_beliefs
    因果报应    佛教语。前世种因，今世得报应。
    装神弄鬼    装扮成鬼神来骗人。也比喻故弄玄虚。
    羽化登仙    道教称人死为飞升成仙。
    在劫难逃    迷信的人说命中注定的灾祸无法逃脱。
    六根清净    佛家语。指没有任何欲念。
    鬼使神差    好像有鬼神在支使一样。
    顶礼膜拜    佛教徒跪在菩萨面前叩拜。
    牛头马面    迷信传说中阎王手下的鬼卒。
    吉星高照    迷信的人指好运降临。
    求神拜佛    向神灵和菩萨祈祷，请求保佑。
social_institutions
    贪赃枉法    官吏受贿并且破坏法律。
    官官相护    官吏之间互相包庇。
    金榜题名    科举考试考中进士。
    改朝换代    旧王朝被新的政权代替。
    治国安民    治理国家，安定百姓。
    苛捐杂税    反动统治下名目繁多的捐税。
    严刑拷打    用残酷的刑罚逼供。
    告老还乡    官员年老辞官，回到家乡。
    荣登帝位    指登基做皇帝。
    打家劫舍    强盗成群结伙抢劫财物。
    罢官免职    官员被免去官职。
technical_specialized
    冲锋陷阵    向敌军进攻，攻破阵地。
    招兵买马    扩充军队，准备作战。
    药到病除    药物一用，疾病就好了。形容医术高明。
    能工巧匠    工艺技术高明的工匠。
    五谷丰登    指粮食丰收。
    精耕细作    指农业上细致地耕作。
    讨价还价    买卖双方商议价钱。
    奇货可居    商人把稀罕的货物囤积起来，等高价出售。
    弹尽粮绝    作战中弹药用完，军粮断绝。
    斗转参横    北斗转向，参星打横。指天快亮的时候。
    刀枪入库    收起武器，不再打仗。
language_dialects
    口若悬河    形容能说会道，说起来滔滔不绝。
    胡说八道    没有根据地乱说。
    三言两语    几句话。形容话很少。
    转弯抹角    形容说话不直截了当。
    众说纷纭    人多嘴杂，各有各的说法，议论纷纷。
    冷嘲热讽    用尖刻的言语嘲笑和讽刺。
    千千万万    形容数量极多。
    瞬息之间    形容时间极短。
    接二连三    一个接着一个，接连不断。
    七零八落    形容零散凌乱。
    千差万别    形容种类多，差别很大。
emotions_values
    胆战心惊    形容非常害怕。
    欣喜若狂    形容高兴到了极点。
    大公无私    一心为公，没有私心。
    忘恩负义    忘记别人的恩情，做出违背道义的事。
    坚持不懈    坚持到底，毫不松懈。
    趾高气扬    形容骄傲自满，得意忘形。
    光明磊落    心地坦白，胸怀坦荡。
    优柔寡断    做事犹豫，不果断。
    勤勤恳恳    形容勤劳踏实，认真负责。
    悲痛欲绝    悲伤到了极点。
    足智多谋    富有智慧，善于谋划。
"""


def clear_cases() -> list[tuple[str, str, str]]:
    """(category, word, gloss) of the table above."""
    cases, category = [], ""
    for line in CLEAR_CASES.strip().splitlines():
        if line.startswith(" "):
            word, gloss = line.split()
            cases.append((category, word, gloss))
        else:
            category = line
    return cases


@pytest.mark.parametrize(("category", "word", "gloss"), clear_cases())
def test_clear_cases_get_their_category(category: str, word: str, gloss: str) -> None:
    result = categorise(word, gloss, (), BUILTIN)
    assert result.label == category, result


@pytest.mark.parametrize(
    ("word", "gloss"),
    [
        ("狗急跳墙", ""),  # nothing known of it
        ("将门虎子", "将军的儿子。"),  # war or kinship
        ("以礼相待", "用礼节和诚意对待别人。"),  # etiquette or conduct
    ],
)
def test_words_a_reader_could_put_in_several_categories_stay_unset(word: str, gloss: str) -> None:
    assert categorise(word, gloss, (), BUILTIN).label is None


# --- the rules, on a lexicon small enough to check by hand --------------------------------------------------

SMALL = Lexicon(
    [
        Entry("酒", "customs_practices", 2, "word"),
        Entry("酒旗", "technical_specialized", 3, "word"),
        Entry("神", "religion_beliefs", 3, "both"),
        Entry("精神", "-", 0, "both"),
        Entry("军队", "technical_specialized", 4, "gloss"),
        Entry("打仗", "technical_specialized", 2, "gloss"),
        Entry("害怕", "emotions_values", 3, "gloss"),
        Entry("勇敢", "emotions_values", 1, "gloss"),
    ]
)


def test_the_longest_term_wins_and_nothing_counts_inside_it() -> None:
    assert categorise("酒旗", "", (), SMALL).scores == {"technical_specialized": 3}


def test_a_term_without_category_only_claims_its_text() -> None:
    assert categorise("精神", "精神很好。", (), SMALL).scores == {}
    assert categorise("精神", "神。", (), SMALL).label == "religion_beliefs"


def test_a_term_counts_only_in_its_field() -> None:
    assert categorise("军队", "酒。", (), SMALL).scores == {}


def test_further_terms_count_by_their_category_and_a_repeated_one_not_at_all() -> None:
    slug = "technical_specialized"
    assert categorise("", "军队打仗。", (), SMALL).scores == {slug: 4 + REPEAT[slug] * 2}
    assert categorise("", "军队。军队。军队。", (), SMALL).scores == {"technical_specialized": 4}


def test_a_feeling_counts_only_where_the_gloss_tells_the_meaning() -> None:
    split = categorise("", "军队害怕。形容勇敢。", (), SMALL)
    assert split.scores == {"technical_specialized": 4, "emotions_values": 1}
    assert (
        categorise("", "军队勇敢，害怕。", (), SMALL).scores["emotions_values"]
        == 3 + REPEAT["emotions_values"]
    )


def test_component_glosses_show_the_image_but_not_the_meaning() -> None:
    assert categorise("", "", (("师", "军队"), ("惧", "害怕")), SMALL).scores == {"technical_specialized": 4}


def test_a_term_may_weigh_more_in_a_word_than_in_a_gloss() -> None:
    lexicon = Lexicon(
        [Entry("山河", slug := "history_geography", 4, "word"), Entry("山河", slug, 2, "gloss")]
    )
    assert categorise("山河", "", (), lexicon).scores == {slug: 4}
    assert categorise("", "山河。", (), lexicon).scores == {slug: 2}


def test_matched_terms_tell_where_they_were_found() -> None:
    assert categorise("酒", "打仗", (), SMALL).matched == (
        ("酒", "customs_practices", 2, "word"),
        ("打仗", "technical_specialized", 2, "gloss"),
    )


@pytest.mark.parametrize(("weight", "labelled"), [(MARGIN, True), (MARGIN - 0.1, False)])
def test_a_label_needs_the_margin(weight: float, labelled: bool) -> None:
    lexicon = Lexicon(
        [Entry("甲", "arts_literature", 2 + weight, "word"), Entry("乙", "customs_practices", 2, "word")]
    )
    result = categorise("甲乙", "", (), lexicon)
    assert result.margin == pytest.approx(weight)
    assert (result.label is not None) is labelled
    assert result.second == "customs_practices"


CHARACTERS = st.sampled_from("酒旗神精军队打仗害怕勇敢形容比喻佛官诗家兵心言，。；：◇“”") | st.characters()
TEXTS = st.text(CHARACTERS, max_size=30)
COMPONENTS = st.lists(st.tuples(TEXTS, TEXTS), max_size=3)


@given(TEXTS, TEXTS, COMPONENTS)
def test_scores_ranking_margin_and_label_agree(
    word: str, sense: str, components: list[tuple[str, str]]
) -> None:
    result = categorise(word, sense, components, BUILTIN)
    assert set(result.ranked) == set(result.scores) <= set(SLUGS)
    scores = [result.scores[slug] for slug in result.ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    padded = [*scores, 0, 0]
    assert result.margin == padded[0] - padded[1]
    assert result.label == (result.ranked[0] if scores and result.margin >= MARGIN else None)
    assert result.second == (result.ranked[1] if len(scores) > 1 else None)
    assert {match.slug for match in result.matched} == set(result.scores)
    for match in result.matched:
        text = word if match.field == "word" else sense + "\n".join(gloss for _, gloss in components)
        assert match.term in text


@given(TEXTS, TEXTS)
def test_text_without_terms_changes_nothing(word: str, sense: str) -> None:
    foreign = " unrelated text 0123"
    assert categorise(word, sense + foreign, (), BUILTIN) == categorise(word, sense, (), BUILTIN)


@given(st.lists(st.tuples(TEXTS, TEXTS, COMPONENTS), max_size=4))
def test_many_words_are_categorised_like_each_alone(
    rows: list[tuple[str, str, list[tuple[str, str]]]],
) -> None:
    assert categorise_all(rows, BUILTIN) == [categorise(*row, BUILTIN) for row in rows]


# --- the table ----------------------------------------------------------------------------------------------


def test_the_lexicon_is_large_enough_in_every_category() -> None:
    lines = [line for line in LEXICON.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    sizes = {slug: sum(line.split("\t")[1] == slug for line in lines) for slug in SLUGS}
    assert sum(sizes.values()) >= 1_500
    assert min(sizes.values()) >= 300


HEADER = "term\tcategory\tweight\tfield\tnote"


@pytest.mark.parametrize(
    ("line", "field", "hint"),
    [
        ("诗人\tarts_literature\t4", "line", "cells"),
        ("\tarts_literature\t4\tboth\t", "term", "without spaces"),
        ("诗人\tpoetry\t4\tboth\t", "category", "arts_literature"),
        ("诗人\tarts_literature\tfour\tboth\t", "weight", "number"),
        ("诗人\tarts_literature\t0\tboth\t", "weight", "0 < weight"),
        ("精神\t-\t1\tboth\t", "weight", "0 for -"),
        ("诗人\tarts_literature\t4\ttitle\t", "field", "word, gloss, both"),
        ("心\temotions_values\t2\tgloss\t", "field", "reviewed"),
        ("酒\tcustoms_practices\t2\tword\t", "term", "keep one"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, line: str, field: str, hint: str) -> None:
    table = tmp_path / "lexicon.tsv"
    table.write_text(f"# comment\n{HEADER}\n酒\tcustoms_practices\t2\tword\t\n{line}\n", encoding="utf-8")
    with pytest.raises(SourceError) as error:
        load_lexicon(table)
    assert (error.value.file, error.value.line, error.value.field) == (str(table), 4, field)
    assert hint in error.value.fix


def test_a_table_with_another_header_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "lexicon.tsv"
    table.write_text("word\tslug\n", encoding="utf-8")
    with pytest.raises(SourceError, match="header"):
        load_lexicon(table)


def test_a_reviewed_character_may_be_searched_in_glosses(tmp_path: Path) -> None:
    table = tmp_path / "lexicon.tsv"
    table.write_text(f"{HEADER}\n佛\treligion_beliefs\t3\tboth\treviewed\n", encoding="utf-8")
    assert categorise("", "拜佛。", (), load_lexicon(table)).label == "religion_beliefs"
