"""Read the large dictionary: one JSON object per first character, headword -> gloss.

The glosses went through the same damage as the idiom tables (``repair``), and print their punctuation in half-width and
small forms: ``1.指节日。 2.…`` with ．﹐﹑ and straight quotes.  Here they get the punctuation of the other sources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clwqa_bench.errors import SourceError
from clwqa_builders.extract.repair import repair
from clwqa_builders.extract.script import has_rare, simplified, suspects

_REFETCH = "clwqa-bench sources fetch --profile full"
_MARKS = str.maketrans(
    {"﹐": "，", "﹑": "、", "﹕": "：", "﹔": "；", ";": "；", "．": "·", "(": "（", ")": "）", "!": "！"}
)
_SENSE = re.compile(r"(?:^|\s+)(\d{1,2})[.．](?=\D)")
_HAN = re.compile(r"[㐀-鿿豈-﫿\U00020000-\U0003ffff〇]")
_HEADWORD = re.compile(r"[㐀-鿿〇]{2,12}")
_ASKED = re.compile(r"(?<=[\u4e00-\u9fff])\?(?=[\"'”’》\s）]|$)")
_QIAN = re.compile(
    "干[坤端符象嘉健刚龙九化断造陀]|竺干|[日夕昼朝]干(?=夕)|惕朝干|式干"
)  # 乾, simplified by mistake
_WRITTEN = re.compile("着(?=[称书录]|有?《)")  # 著, simplified by mistake
# What the printers lacked, letters of formulas and pinyin, marks of damage, an opening “ that is gone.
_UNCLEAN = re.compile(r"[?□■◇◆‖\ufffd\ue000-\uf8ff|｜①-⑳a-zA-Zà-ɏ\u0370-\u04ff\u3041-\u312f]|^[^“]*”")


@dataclass(frozen=True, slots=True)
class Entry:
    """A headword and its senses, repaired, in printed order; ``row`` is the headword as printed."""

    word: str
    row: str
    senses: tuple[str, ...]


def read_dictionary(folder: Path) -> list[Entry]:
    """All entries of the folder of JSON files, in the order of file names and headwords.

    Raises SourceError naming the file that is no JSON object of texts.
    """
    return [entry for path in sorted(folder.glob("*.json")) for entry in _entries(path)]


def _entries(path: Path) -> Iterator[Entry]:
    try:
        glosses = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(f"not a readable JSON file ({error})", file=path, fix=_REFETCH) from error
    if not isinstance(glosses, dict) or not all(isinstance(gloss, str) for gloss in glosses.values()):
        raise SourceError("the file is not an object of headwords and glosses", file=path, fix=_REFETCH)
    for printed, gloss in sorted(glosses.items()):
        word = simplified(printed)  # 録要 is 录要, unless that is an entry of its own
        sound = not suspects(printed) and not has_rare(word) and not _QIAN.search(word)
        if _HEADWORD.fullmatch(word) and sound and (word == printed or word not in glosses):
            yield Entry(word, printed, split_senses(gloss))


def split_senses(gloss: str) -> tuple[str, ...]:
    """The numbered senses of a gloss, cleaned; numbers must count up from 1, others are text.

    A gloss without numbers comes from another, modern dictionary whose examples run into the meaning: no sense is
    taken from it.

    >>> split_senses('1.节名。 \\n2.指酒﹐菊花酒。')
    ('节名。', '指酒，菊花酒。')
    """
    text = gloss.strip()
    cuts: list[re.Match[str]] = []
    for found in _SENSE.finditer(text):
        if int(found[1]) == len(cuts) + 1:
            cuts.append(found)
    if not cuts or cuts[0].start() > 0:
        return ()
    ends = [cut.start() for cut in cuts[1:]] + [len(text)]
    return tuple(clean(text[cut.end() : end]) for cut, end in zip(cuts, ends, strict=True))


def clean(text: str) -> str:
    """One sense repaired, in simplified characters and full-width punctuation, straight quotes paired.

    >>> clean('《楚辞．九歌》"若有人兮﹐山之阿。"王逸注"山鬼。"')
    '《楚辞·九歌》“若有人兮，山之阿。”王逸注“山鬼。”'
    """
    text = repair(" ".join(text.split()))
    text = text.translate(
        dict.fromkeys(map(ord, suspects(text)), "□")
    )  # a sense with a wrong character is not read
    text = _WRITTEN.sub("著", _ASKED.sub("？", simplified(text).translate(_MARKS)))
    text = re.sub(r"(?<=[\u4e00-\u9fff”》）]),(?=[\u4e00-\u9fff“《（])", "，", text)
    text = re.sub(r"(?<=[\u4e00-\u9fff”》）]):", "：", text)
    for straight, paired in (('"', ("“", "”")), ("'", ("‘", "’"))):
        parts = text.split(straight)
        marks = [paired[number % 2] for number in range(len(parts) - 1)]
        text = "".join(part + mark for part, mark in zip(parts, [*marks, ""], strict=True))
    return text.strip()


def is_clean(text: str) -> bool:
    """Whether a sense can be shown: no placeholder, no letters, no mark without its partner."""
    return _UNCLEAN.search(text) is None and text.count("“") == text.count("”") and bool(_HAN.search(text))
