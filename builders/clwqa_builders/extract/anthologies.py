"""Read the curated anthologies, primers and classics of chinese-poetry: whose text, from where, sentence by sentence.

Every file has a form of its own; each reader below turns one into passages.  What an editor added (notes, comments,
prefaces, abstracts) is not read, text with placeholders is left out, and a poem that two anthologies share is read
once, with the title of the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clwqa_bench.errors import SourceError
from clwqa_builders.extract.records import Citation
from clwqa_builders.extract.script import simplified

_HAN = re.compile(r"[㐀-鿿豈-﫿\U00020000-\U0003ffff〇]")
_QUOTES = re.compile(r"[“”‘’「」『』《》〈〉]")
_TITLE_MARKS = re.compile(r"[《》〈〉]")
ENDS = "。！？"
_OPENING, _CLOSING = "“‘「『", "”’」』"
_MARK = re.compile(f"([{_OPENING}{_CLOSING}])")
_WITHIN = re.compile(
    f"(?<!：)[{_OPENING}]([^{_OPENING}{_CLOSING}{ENDS}：]*)[{_CLOSING}]"
)  # a word, not a speech
_QUOTING = re.compile(  # what leads in words of another book
    "(?:(?:》|[诗书易礼传志记经颂雅誓诰训铭语谚]|有言|老[氏子])[^，。；：！？]{0,3}[曰云]|老[氏子]称)：?$"
)
_DOUBLED = re.compile(f"(?<=[{ENDS}])。")
_UNQUOTED = re.compile("[曰云]：")  # a speech whose end nobody printed
_NOTES = re.compile(r"[（(][^）)]*[）)]")
_DAMAGED = re.compile(r"[?？]{2}|[{}\[\]□■◇�a-zA-Z0-9\ue000-\uf8ff]")
_MARKS = str.maketrans(
    {",": "，", "?": "？", "!": "！", ";": "；", ":": "：", "．": "。", "\u3000": "", " ": "", "・": "·"}
)
NAMELESS = frozenset({"绝句", "七绝", "五绝", "古诗", "律诗", "无题诗"})  # titles that name a form
SHORTEST_NAME = 2  # a shorter one lost a rare character
SHORTEST, LONGEST = 6, 60  # han characters of a sentence


@dataclass(frozen=True, slots=True)
class Passage:
    """One poem, chapter or essay: where it stands, as a citation, and all its lines in order.

    ``by`` names its own author where the work it stands in has none or another (九歌 in 楚辞).
    """

    at: Citation
    row: str
    lines: tuple[str, ...]
    by: str | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The lines that can stand alone: neither too short nor too long, and whole."""
        return tuple(line for line in self.lines if _stands(line))

    @property
    def text(self) -> str:
        """All han characters in order."""
        return "".join(map(han, self.lines))


def at(
    title: str,
    section: str | None = None,
    author: str | None = None,
    period: str | None = None,
    genre: str | None = None,
) -> Citation:
    """A citation that says where a passage stands and quotes nothing."""
    return Citation(title, section, None, author, None, period, genre, None, None, None, None)


# --- sentences ----------------------------------------------------------------------------------------------


def han(text: str) -> str:
    """The han characters of a text."""
    return "".join(_HAN.findall(text))


def verses(lines: Iterable[str]) -> tuple[str, ...]:
    """Each line of a poem, simplified, without quotes and notes."""
    return tuple(line for line in map(_tidy, lines) if line)


def prose(paragraphs: Iterable[str]) -> tuple[str, ...]:
    """The sentences of prose, told and spoken apart; what is cut stands without its full stop.

    What a speech is led in with (子曰：) is no sentence, and neither is what is told right after a speech (舍而止),
    whose subject stands before it.  A sentence too short to stand alone is read with the next.

    >>> prose(["子曰：“学而时习之，不亦说乎？有朋自远方来，不亦乐乎？”"])
    ('子曰：', '学而时习之，不亦说乎？', '有朋自远方来，不亦乐乎？')
    """
    return tuple(line for paragraph in paragraphs for line in _sentences(_clean(paragraph)))


def _sentences(paragraph: str) -> Iterator[str]:
    pieces = _MARK.split(_WITHIN.sub(r"〔\1〕", paragraph))  # text, mark, text, mark, … text
    before = ""
    for number in range(0, len(pieces), 2):
        text, after = pieces[number].strip(), "".join(pieces[number + 1 : number + 2])
        spoken = _joined_up(
            _TITLE_MARKS.sub("", text), headless=before != "" and before in _CLOSING, closed=after in _CLOSING
        )
        quoted = number > 1 and before in _OPENING and _QUOTING.search(pieces[number - 2])
        for line in spoken:
            whole = line.rstrip(ENDS) if quoted else line
            yield whole.replace("〔", "‘").replace("〕", "’")
        before = after


def _joined_up(text: str, *, headless: bool, closed: bool) -> Iterator[str]:
    """The sentences of a text without speech; its first is cut if ``headless``, its last unless ``closed``."""
    open_sentence = ""
    for sentence in re.findall(r"[^。！？]+[。！？]*", text):
        if headless:
            yield sentence.rstrip(ENDS)
            headless = False
            continue
        open_sentence += sentence
        if sentence[-1] in ENDS and len(han(open_sentence)) >= SHORTEST + 2:
            yield open_sentence
            open_sentence = ""
    if open_sentence and open_sentence[-1] not in ENDS and closed:
        open_sentence = _stopped(open_sentence)
    if open_sentence:
        yield open_sentence


def _tidy(text: str) -> str:
    text = _stopped(_QUOTES.sub("", _clean(text)).strip())
    return text if text != "。" else ""


def _clean(text: str) -> str:
    return _DOUBLED.sub("", _NOTES.sub("", simplified(text).translate(_MARKS)))


def _stopped(text: str) -> str:
    text = text.rstrip("；，、：")
    return text if text and text[-1] in ENDS else text + "。"


def _stands(sentence: str) -> bool:
    whole = sentence.endswith(tuple(ENDS)) and not _UNQUOTED.search(sentence)
    return whole and SHORTEST <= len(han(sentence)) <= LONGEST and not _DAMAGED.search(sentence)


def first_clause(sentences: Iterable[str]) -> str:
    """The opening words, by which a poem to a tune is told from the others."""
    return re.split(r"[，。！？；、]", next(iter(sentences), ""))[0]


# --- one reader per form ------------------------------------------------------------------------------------


def _songs(data: Any) -> Iterator[Passage]:
    for number, song in enumerate(data):
        part = song["section"] if song["chapter"] == "国风" else song["chapter"]
        yield Passage(at("诗经", f"{part}·{song['title']}"), str(number), prose(song["content"]))


_SURE = {
    "离骚",
    "九歌",
    "天问",
    "九章",
    "九辩",
    "九怀",
    "九叹",
    "九思",
    "七谏",
}  # whose author is not disputed


def _elegies(data: Any) -> Iterator[Passage]:
    for number, song in enumerate(data):
        name = song["title"] if song["title"] == song["section"] else f"{song['section']}·{song['title']}"
        by = song["author"] if song["section"] in _SURE else None
        yield Passage(at("楚辞", name), str(number), verses(song["content"]), by)


def _chapters(title: str) -> Callable[[Any], Iterator[Passage]]:
    def read(data: Any) -> Iterator[Passage]:
        for number, chapter in enumerate(data):
            name = simplified(chapter["chapter"]).removesuffix("篇")
            yield Passage(at(title, name), str(number), prose(chapter["paragraphs"]))

    return read


def _whole(
    title: str, split: Callable[[Iterable[str]], tuple[str, ...]]
) -> Callable[[Any], Iterator[Passage]]:
    def read(data: Any) -> Iterator[Passage]:
        yield Passage(at(title), "0", split(data["paragraphs"]))

    return read


def _pairs(lines: Iterable[str]) -> tuple[str, ...]:
    """Lines of four characters, two to a sentence: 天地玄黄，宇宙洪荒。"""
    lines = list(lines)
    return verses(f"{one}，{two}。" for one, two in zip(lines[::2], lines[1::2], strict=False))


def _joined(lines: Iterable[str]) -> tuple[str, ...]:
    return verses(re.findall(r"[^。！？]+[。！？]", "".join(lines)))


def _threes(data: Any) -> Iterator[Passage]:
    for number, chapter in enumerate(data["content"]):
        lines = (
            re.sub(r"(\S+) (\S+) (\S+) (\S+)", r"\1，\2；\3，\4。", line) for line in chapter["paragraphs"]
        )
        yield Passage(at("弟子规", simplified(chapter["chapter"])), str(number), verses(lines))


def _primer(title: str) -> Callable[[Any], Iterator[Passage]]:
    def read(data: Any) -> Iterator[Passage]:
        for volume, part in enumerate(data["content"]):
            for number, chapter in enumerate(part["content"]):
                name = simplified(chapter["chapter"]).replace(" ", "")
                yield Passage(at(title, name), f"{volume}.{number}", prose(chapter["paragraphs"]))

    return read


def _sayings(data: Any) -> Iterator[Passage]:
    for number, part in enumerate(data["content"]):
        yield Passage(at("增广贤文"), str(number), verses(part["paragraphs"]))


_PERIOD = {"唐代": "唐", "宋代": "宋", "明代": "明"}


def _essays(data: Any) -> Iterator[Passage]:
    for volume, part in enumerate(data["content"]):
        for number, essay in enumerate(part["content"]):
            title = _NOTES.sub("", simplified(essay["chapter"])).strip()
            book = re.fullmatch(r"《([^》·]+)(?:·([^》]+))?》", simplified(essay.get("source") or "").strip())
            period, _, author = simplified(essay["author"]).strip().partition("：")
            if book:
                place = at(book[1], f"{book[2]}·{title}" if book[2] else title)
            else:
                place = at(title, None, author.rpartition("·")[2].strip(), _PERIOD.get(period))
            yield Passage(place, f"{volume}.{number}", prose(essay["paragraphs"]))


def _poems(period: str | None) -> Callable[[Any], Iterator[Passage]]:
    """Poems in one list, or in a list of lists by form."""

    def read(data: Any) -> Iterator[Passage]:
        listed = (
            data if isinstance(data, list) else [poem for form in data["content"] for poem in form["content"]]
        )
        for number, poem in enumerate(listed):
            title = simplified(poem.get("chapter") or poem["title"]).translate(_MARKS)
            named = re.fullmatch(
                r"(?:（(.)）)?(.+)", simplified(poem.get("author") or "曹操").translate(_MARKS)
            )
            if not named or _DAMAGED.search(title) or "/" in title:
                continue
            when = named[1] or period
            lines = poem["paragraphs"]
            cycle = [part for part in lines if isinstance(part, dict)]  # 清平调, three poems under one title
            for part in cycle:
                name = f"{title}·{simplified(part['subchapter'])}"
                yield Passage(at(name, None, named[2], when, "诗"), str(number), verses(part["paragraphs"]))
            if not cycle:
                yield Passage(at(title, None, named[2], when, "诗"), str(number), verses(lines))

    return read


def _lyrics(period: str | None) -> Callable[[Any], Iterator[Passage]]:
    """Poems to a tune, told apart by their opening words."""

    def read(data: Any) -> Iterator[Passage]:
        for number, poem in enumerate(data):
            lines = verses(poem.get("paragraphs") or poem["para"])
            named = simplified(poem.get("rhythmic") or poem["title"]).translate(_MARKS)
            tune = re.split(r"[·其]", named)[0]
            opening = first_clause(map(_tidy, poem.get("paragraphs") or poem["para"]))
            if opening and not _DAMAGED.search(opening + tune):
                yield Passage(at(tune, opening, simplified(poem["author"]), period, "词"), str(number), lines)

    return read


READERS: dict[str, Callable[[Any], Iterator[Passage]]] = {
    "shijing/shijing.json": _songs,
    "chuci/chuci.json": _elegies,
    "lunyu/lunyu.json": _chapters("论语"),
    "sishuwujing/mengzi.json": _chapters("孟子"),
    "sishuwujing/daxue.json": _whole("大学", prose),
    "sishuwujing/zhongyong.json": _whole("中庸", prose),
    "mengxue/sanzijing-traditional.json": _whole("三字经", verses),
    "mengxue/qianziwen.json": _whole("千字文", _pairs),
    "mengxue/zhuzijiaxun.json": _whole("治家格言", _joined),
    "mengxue/dizigui.json": _threes,
    "mengxue/shenglvqimeng.json": _primer("声律启蒙"),
    "mengxue/zengguangxianwen.json": _sayings,
    "mengxue/guwenguanzhi.json": _essays,
    "caocaoshiji/caocao.json": _poems("三国·魏"),
    "mengxue/tangshisanbaishou.json": _poems("唐"),
    "quantangshi/唐诗三百首.json": _poems("唐"),
    "shuimotangshi/shuimotangshi.json": _poems("唐"),
    "mengxue/qianjiashi.json": _poems(None),
    "songci/宋词三百首.json": _lyrics("宋"),
    "wudaishici/nantang/poetrys.json": _lyrics("五代"),
    **{f"wudaishici/huajianji/huajianji-{n}-juan.json": _lyrics(None) for n in (*range(1, 10), "x")},
    "nalanxingde/纳兰性德诗集.json": _lyrics("清"),
}


def read_anthologies(files: Mapping[str, Path]) -> list[Passage]:
    """All passages of the files (by their path below dist/), in the order of READERS, each text once.

    Raises SourceError naming a file that has another form than its reader expects.
    """
    found: list[Passage] = []
    seen: set[tuple[str | None, str]] = set()
    told: set[str] = set()
    for name, reader in READERS.items():
        keys, sentences = set[tuple[str | None, str]](), set[str]()
        for passage in _read(files[name], reader):
            signed = passage.at.author is not None
            lines = {han(sentence) for sentence in passage.sentences}
            own = {(passage.at.author, line) for line in lines}
            titled = {(passage.at.author, f"{passage.at.title}/{passage.at.section}")} if signed else set()
            unfit = passage.at.title in NAMELESS or len(passage.at.author or "") < SHORTEST_NAME
            known = (own | titled) & seen or 2 * len(lines & told) >= max(len(lines), 1)
            if not own or (signed and (unfit or known)):
                continue
            keys |= own | titled
            sentences |= lines
            row = f"{name.rpartition('/')[2].removesuffix('.json')}-{passage.row}"
            found.append(replace(passage, row=row))
        seen |= keys  # poems of one file may share a title, 无题, or a line
        told |= sentences  # half of a poem's lines under another name: it is that poem
    return _without_borrowed(found)


def _without_borrowed(passages: Iterable[Passage]) -> list[Passage]:
    """The passages; a line that an earlier work holds, cut elsewhere, is quoted from there and is cut here.

    A line that both works have as a whole stands in both.
    """
    found, texts, lines = list[Passage](), dict[str, str](), set[str]()
    for passage in passages:
        earlier = "/".join(text for title, text in texts.items() if title != passage.at.title)
        kept = [
            line.rstrip(ENDS) if han(line) in earlier and han(line) not in lines else line
            for line in passage.lines
        ]
        found.append(replace(passage, lines=tuple(kept)))
        texts[passage.at.title] = f"{texts.get(passage.at.title, '')}/{passage.text}"
        lines |= {han(line) for line in passage.sentences}
    return found


def _read(path: Path, reader: Callable[[Any], Iterator[Passage]]) -> list[Passage]:
    try:
        return list(reader(json.loads(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(
            f"the file does not have the form expected ({type(error).__name__}: {error})",
            file=path,
            fix="clwqa-bench sources fetch --profile full",
        ) from error
