"""Sense markers: what readers would call clear cases, what must stay unmarked, and tables that point at a bad line."""

from __future__ import annotations

from pathlib import Path

import pytest

from clwqa_bench.errors import SourceError
from clwqa_builders.extract.markers import (
    COLUMNS,
    FEWEST_RIGHT,
    FEWEST_WORDS,
    SenseMarkers,
    load_sense_markers,
)
from clwqa_builders.tables.loader import DOMAINS

BUILTIN = load_sense_markers()

CLEAR_CASES = """
arts_literature
    词牌名。上下两片，押平韵。
    古琴曲名。相传是隐士所作。
    古代一种吹奏乐器。用竹子做成。
    文体的一种。用来送别友人。
    戏曲角色名。专演老年妇女。
    书法用语。指收笔的方法。
    《诗·秦风》篇名。写君子的车马。
customs_practices
    酒名。用秋天的菊花酿成。
    古代妇女的一种发髻。
    用竹篾编成的席子。
    旧俗，新娘进门要跨过火盆。
    端午节挂在门上的香草。
    丈夫的祖母。
    古代丧礼，孝子住在草棚里。
    对他人来信的敬称。
    死的婉辞。
history_geography
    山名。在今陕西省境内。
    古国名。为楚所灭。
    春秋时晋国大夫，以直谏著称。
    汉张良和陈平的并称。
    唐代诗人李白的别号。
    指诸葛亮。
    《晋书·某某传》载，他少时家贫，借雪光读书。后因以指苦读。
    鸟名。喙长，能捕鱼。
    牡丹的别名。
language_dialects
    方言。吵架。
    詈词。骂人懒惰。
    黑话。指银子。
    对邻居小孩的昵称。
    契丹语。意为帐篷。
    音韵学术语。指发音的部位。
religion_beliefs
    佛教语。谓断绝一切烦恼。
    梵语的音译。意为智慧。
    道家谓修炼时所守的穴位。
    传说中的仙山。
    指寺院。
    古代祭祀时盛酒的器具。
    占卜用的蓍草。
    旧时星命家谓人一生的运数。
    据《神仙传·某某》，他乘鹤而去。后因以指成仙。
social_institutions
    官名。掌管仓库。
    唐宋时掌管漕运的官署。
    明清科举，第二次考试称此。
    古代按户征收的一种赋税。
    古代酷刑之一。
    皇帝的车驾。
    谓皇帝亲自耕田。
    清制，官员离任须交接账目。
    复姓。汉代有人以此为姓。
    旧时衙门里传递公文的差役。
technical_specialized
    中医病名。由受寒引起。
    星名。在北斗旁。
    古代历法名词。一年的余日。
    古代一种铠甲。用牛皮做成。
    两匹马拉的车子。
    插秧用的农具。
    细密的麻布。
    古代攻城用的器械。
    织布机上卷布的横轴。
"""

UNMARKED = [
    "形容山势高大。",  # describes
    "比喻像酒器一样容量有限的人。",  # a figure of speech
    "谓精神集中。",  # a spirit that is no god: 神
    "传布；发布。",  # to announce, no cloth: 布
    "没有官职。",  # denies
    "用铁皮制成的汽车部件。",  # of today
    "工厂里管理机器的工具。",
    "1950年成立的机构。",
    "明了事理。",  # no word of the Ming
    "高兴；快乐。",
    "",
]


def clear_cases() -> list[tuple[str, str]]:
    cases, category = list[tuple[str, str]](), ""
    for line in CLEAR_CASES.strip().splitlines():
        if line.startswith(" "):
            cases.append((line.strip(), category))
        else:
            category = line
    return cases


@pytest.mark.parametrize(("sense", "category"), clear_cases())
def test_clear_cases(sense: str, category: str) -> None:
    marker = BUILTIN.mark(sense)
    assert marker is not None
    assert marker.category == category


@pytest.mark.parametrize("sense", UNMARKED)
def test_what_is_no_strict_form_or_of_today_stays_unmarked(sense: str) -> None:
    assert BUILTIN.mark(sense) is None


@pytest.mark.parametrize(
    ("sense", "name"),
    [
        ("皇帝的礼服。", "social.throne"),
        ("祭祀时穿的礼服。", "religion.sacrifice-when"),
        ("贵族的礼服。", "customs.dress"),
    ],
)
def test_the_first_line_that_fits_decides(sense: str, name: str) -> None:
    """A robe of the emperor is the court, one for sacrifices is worship, any other is dress."""
    marker = BUILTIN.mark(sense)
    assert marker is not None
    assert marker.name == name


def test_every_line_keeps_what_the_table_promises() -> None:
    assert {marker.category for marker in BUILTIN.markers} == DOMAINS - {"emotions_values"}
    for marker in BUILTIN.markers:
        assert marker.words >= FEWEST_WORDS, marker.name
        assert marker.read >= min(50, marker.words) or marker.read == marker.words, marker.name
        assert marker.right >= FEWEST_RIGHT * marker.read, marker.name


def test_a_line_stands_once_and_hides_no_earlier_one() -> None:
    forms = [(marker.form.pattern, marker.unless and marker.unless.pattern) for marker in BUILTIN.markers]
    assert len(set(forms)) == len(forms)


def table(folder: Path, *lines: str) -> Path:
    path = folder / "forms.tsv"
    path.write_text("\n".join(["# remarks", "\t".join(COLUMNS), *lines]) + "\n", encoding="utf-8")
    return path


def modern(folder: Path, *lines: str) -> Path:
    path = folder / "modern.tsv"
    path.write_text("\n".join(["term\twhy", *lines]) + "\n", encoding="utf-8")
    return path


GOOD = "boat\ttechnical_specialized\t{lead}{heads}{end}\t船;舟\t比喻;佛\t20\t20\t19\t"


def small(folder: Path, *lines: str) -> SenseMarkers:
    return load_sense_markers(table(folder, *lines), modern(folder, "轮船\ttoday"))


def test_heads_slots_and_exclusions(tmp_path: Path) -> None:
    markers = small(tmp_path, GOOD)
    fits = {"江上的小舟。": True, "船工。": False, "渡人的船，佛家的话。": False, "烧煤的轮船。": False}
    assert {sense: markers.mark(sense) is not None for sense in fits} == fits


@pytest.mark.parametrize(
    ("line", "field", "what"),
    [
        (GOOD.replace("technical_specialized", "boats"), "category", "unknown value 'boats'"),
        (GOOD.replace("{lead}", "{led}"), "form", "unknown slot {led}"),
        (GOOD.replace("船;舟", ""), "form", "unknown slot {heads}"),
        (GOOD.replace("船;舟", "船;(舟"), "form", "no regular expression"),
        (GOOD.replace("比喻;佛", "比喻;*"), "unless", "no regular expression"),
        (GOOD.replace("比喻;佛", "比喻;;佛"), "unless", "empty or a repeated value"),
        (GOOD.replace("\t20\t20\t19", "\t14\t14\t14"), "words", "only 14 words"),
        (GOOD.replace("\t20\t20\t19", "\t20\t21\t21"), "read", "21 right of 21 read"),
        (GOOD.replace("\t20\t20\t19", "\t20\t20\t18"), "right", "only 18 of 20 right"),
        (GOOD.replace("\t20\t20\t19", "\tmany\t20\t19"), "words", "not a whole number"),
    ],
)
def test_a_line_that_does_not_fit_is_pointed_at(tmp_path: Path, line: str, field: str, what: str) -> None:
    with pytest.raises(SourceError, match=r".") as caught:
        small(tmp_path, line)
    assert what in str(caught.value)
    assert caught.value.field == field
    assert caught.value.line == 3


def test_a_name_stands_once(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="stands twice"):
        small(tmp_path, GOOD, GOOD)


def test_a_modern_term_that_is_no_expression(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no regular expression"):
        load_sense_markers(table(tmp_path, GOOD), modern(tmp_path, "(\ttoday"))
