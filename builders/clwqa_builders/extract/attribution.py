"""What stands before a title: 语出 | 南朝·宋·刘义庆 | 裴松之注引 | 郭沫若主编.

``attribution := intro* (annotator "注引")? genre? period? author? role?``
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clwqa_builders.extract.lexicon import PARENT_PERIODS, Lexicon, period_of

_INTROS = (
    "语出自", "语出", "典自", "语自", "源自", "语本", "语见", "典出", "典见", "源出", "源于", "出自", "出于",
    "本自", "本于", "事见", "事出", "事本", "参阅", "参见", "详见", "又见", "亦见", "也见", "见于", "例如", "见",
    "又如", "又据", "又", "据", "如",
)  # fmt: skip
_STORY_INTROS = frozenset({"据", "又据", "事见", "事出", "事本", "典出", "典见"})
_GENRES = re.compile(
    r"^(?:元?杂剧|京剧|昆曲|昆剧|粤剧|川剧|越剧|湘剧|吕剧|豫剧|评剧|桂剧|汉剧|晋剧|淮剧|沪剧|锡剧|楚剧|闽剧|赣剧|黄梅戏|柳琴戏|花鼓戏|河北梆子|舞剧|话剧|歌剧|电影|秦腔|弹词|古诗|乐府诗?|民歌)"
)
_ROLES = re.compile(
    r"(总主编|主编|改编|编著|编译|编纂|编辑|选编|编|等著|等撰|等编|等|口述|原著|合著|所著|遗著|著|撰|所作|作|辑|译|述|修|的)$"
)
_VIA = re.compile(
    r"^(.{1,12}?(?:集解|集注|集释|索隐|正义|补注|笺注|音义|自注|注释|注|疏|笺|传))[转所]?引(?:用)?"
)
# An annotator's own words, not an author: 陆德明释文《韩诗》云 …
_ANNOTATION = re.compile(
    r"(?:注|疏|笺|传|集解|正义|索隐|释文|校)$|^[\u4e00-\u9fff]{2,3}(?:注|疏|集解|索隐|正义|释文)(?=.)"
)
_NOT_A_NAME = re.compile(
    r"丛刊|丛书|资料|名剧|大革命|歌曲|故事|所写|汉墓|乐府|全集|选集|日报|月刊|时曾|时人$|曾制|民间|敦煌|俗语|谚语|古谚|同上|"
    r"之《|[0-9①-⑩\[\]［］（）()]|第.回|的"
)
_DESCRIPTION = re.compile(r"^.{0,8}国?(?:寓言)?(?:诗人|作家|小说家|剧作家|哲学家|思想家|科学家)")
_COUNTRY = re.compile(r"^(?:英|法|美|俄|德|日|苏联|印度|意|希腊)·(?=.)")
_EMPEROR = re.compile(
    r"^(?:[太高世烈成圣][祖宗]|[中玄肃代德顺宪穆敬文武宣懿僖昭真仁英神哲徽钦孝光宁理度睿]宗|[\u4e00-\u9fff]{1,2}帝|后主)"
)
# Surnames that do not begin given names: 宋张栻 is 张栻 of 宋, where 宋文骢 may be a man named 宋.
_PURE_SURNAMES = frozenset(
    "张王李赵刘吴徐孙朱胡郭罗郑谢冯邓曹彭萧蔡潘袁董吕魏蒋卢崔谭陆范姚邹邵薛贾阎柳韩欧杨陈"
)
_LEADING_PIECE = re.compile(r"^(?P<piece>[^，”]{2,6})[”]?，(?=语出|语本|典出|出自|见)")
_HAS_WORK = re.compile(r"(?:[著作撰写]有[^·]{0,4}|有(?:拟话本|诗|词|文|句|曲))$")
_STOPS = frozenset("，。；！？：‘’“”★…")
_MAX_PREFIX = 26


@dataclass(frozen=True, slots=True)
class Attribution:
    """Period, author and the like of one work; ``story`` if the lead-in announces a told story (据, 事见)."""

    period: str | None = None
    author: str | None = None
    role: str | None = None
    genre: str | None = None
    via: str | None = None
    story: bool = False


def _undotted_period(text: str, lexicon: Lexicon) -> tuple[str, str] | None:
    """Split 宋苏轼 or 南朝梁刘勰; None where the first character may be a surname (宋振庭, 唐弢)."""
    for length in (4, 3, 2, 1):
        head, name = text[:length], text[length:]
        period = period_of(head, lexicon.periods)
        if not period or len(name) < 2:
            continue
        if _EMPEROR.match(name) and length <= 2 and head not in ("金", "秦"):
            emperor = _EMPEROR.match(name)
            personal = name[emperor.end() :] if emperor else ""
            return period, personal if len(personal) >= 2 else text
        if length >= 2 and len(name) <= 5:
            return period, name
        if (period, name) in lexicon.dotted_authors:
            return period, name
        is_name = len(name) in (2, 3) and name[0] in lexicon.surnames
        if head in "明清" and len(name) >= 3 and text not in lexicon.authors:
            return period, name
        # 明, 清, 晋, 汉, 隋 are hardly ever surnames; 唐, 宋, 元 often are, so a two-character rest stays with them.
        certain = len(name) == 3 or name in lexicon.authors or name[0] in _PURE_SURNAMES
        if is_name and (head in "明清晋汉隋" or (head in "唐宋元" and certain)):
            return period, name
    return None


def _split_period(text: str, lexicon: Lexicon) -> tuple[str | None, str]:
    """(period, rest) of 南朝·宋·刘义庆, 南朝宋·刘义庆, 三国（魏）·曹操 or 宋苏轼."""
    parts = (
        re.sub(rf"^({'|'.join(PARENT_PERIODS)})（(.{{1,2}})）·?", r"\1·\2·", text)
        .replace("╞", "·")
        .split("·")
    )
    parts = [part.strip() for part in parts]
    found: list[str] = []
    while len(parts) > 1 or (parts and found and not parts[-1]):
        inside_parent = bool(found) and found[0] in PARENT_PERIODS
        period = period_of(parts[0], lexicon.periods, state=inside_parent)
        if not period or (found and not inside_parent):
            break
        found.extend(period.split("·"))
        parts.pop(0)
    rest = "·".join(part for part in parts if part)
    if not found or found[-1] in PARENT_PERIODS:
        undotted = _undotted_period(rest, lexicon)
        if undotted:
            found.extend(undotted[0].split("·"))
            rest = undotted[1]
    return ("·".join(found) or None), rest


def _coauthors(name: str, lexicon: Lexicon) -> str:
    """Join several authors by 、: 罗广斌 杨益言, and 范文澜蔡美彪 when a known name stands first."""
    name = re.sub(r"\s*[、，,]\s*|\s+(?=\S)", "、", name.strip())
    if "、" in name or "·" in name:
        # 朱可 若丁 and the like: a name never has a single character.
        return name if all(len(part) > 1 for part in name.split("、")) else name.replace("、", "")
    if 4 <= len(name) <= 6:
        for cut in (2, 3):
            first, second = name[:cut], name[cut:]
            if first in lexicon.authors and second in lexicon.authors and second[0] in lexicon.surnames:
                return f"{first}、{second}"
    return name


def _split_role(text: str, lexicon: Lexicon) -> tuple[str, str | None]:
    text = _HAS_WORK.sub("", text)
    found = _ROLES.search(text)
    # A name may end in such a character: 欧阳修.
    if found and text not in lexicon.authors and len(text) - len(found[0]) >= 2:
        return text[: found.start()].rstrip("、"), found[0] if found[0] != "的" else None
    return text, None


def parse_attribution(prefix: str, lexicon: Lexicon, word: str = "") -> Attribution | None:
    """Read the text between the previous citation and a 《.

    None if it cannot be an attribution, that is, if it is running text.  ``word`` is the headword: a piece of it may be
    printed before its own source (鸿案《后汉书·梁鸿传》).
    """
    text = prefix.strip().lstrip("①②③④⑤。，；、：“.[［").rstrip("“：， ").strip()
    if (lead := _LEADING_PIECE.match(text)) and lead["piece"] in word:
        text = text[lead.end() :]
    intros = []
    while intro := next((intro for intro in _INTROS if text.startswith(intro)), None):
        intros.append(intro)
        text = text[len(intro) :].lstrip("，：于 ")
    ascribed = text.startswith(("旧题", "旧传", "相传"))
    text = text[2:] if ascribed else text
    story = any(intro in _STORY_INTROS for intro in intros)
    if len(text) >= 2 and text in word:
        text = ""
    if text[1:2] == "，" and text[:1] in lexicon.periods:
        text = text.replace("，", "·", 1)
    if len(text) > _MAX_PREFIX or any(c in _STOPS for c in text):
        return None
    via_match = _VIA.match(text)
    via = via_match[1].rpartition("·")[2] if via_match else None
    text = text[via_match.end() :] if via_match else text
    if (
        text == "按"
        or text.endswith("曰")
        or (via and text.endswith("云"))
        or (via is None and len(text) > 2 and _ANNOTATION.search(text))
    ):
        return None
    genre_match = _GENRES.match(text)
    genre = genre_match[0] if genre_match else None
    text = _DESCRIPTION.sub("", text[genre_match.end() :] if genre_match else text)
    text = re.sub(r"^元本·?(?=..)", "元·", text)
    period, rest = _split_period(text, lexicon)
    if period is None and (alone := period_of(rest, lexicon.periods)):
        period, rest = alone, ""
    name, role = _split_role(_COUNTRY.sub("", re.sub(r"（.*?）$", "", rest)), lexicon)
    if _NOT_A_NAME.search(name) or len(name) > 16:
        name, role = "", None
    return Attribution(
        period=period,
        author=_coauthors(name, lexicon) or None,
        role="旧题" if ascribed and name else role,
        genre=genre,
        via=via,
        story=story,
    )
