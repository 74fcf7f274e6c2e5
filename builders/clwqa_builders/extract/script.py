"""Traditional characters to simplified ones, by the repository's own folding table, character by character.

The table folds no character that is also a simplified one, so 乾, 徵 and 著 stay where a conversion by words would
decide: a wrong 干坤 is worse than an unsimplified 乾坤.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

UNSIMPLIFIED = frozenset(
    "絶緑録羣鋭奬謡凈藴峯儁僥闇寶殻繞遶踰"
)  # forms the dictionary prints for 绝绿录群 ...


@cache
def _pairs(*kinds: str) -> dict[str, str]:
    """The table's folds of these kinds."""
    rows = (files("clwqa_bench") / "data" / "fold.tsv").read_text(encoding="utf-8").splitlines()[1:]
    cells = (row.split("\t") for row in rows)
    return {pair[0]: pair[1] for kind, pairs, _ in cells if kind in kinds for pair in pairs.split()}


@cache
def _table() -> dict[int, str]:
    return str.maketrans(_pairs("traditional", "variant", "radical"))


@cache
def _traditional() -> frozenset[str]:
    return frozenset(_pairs("traditional")) - UNSIMPLIFIED


def suspects(text: str) -> set[str]:
    """Traditional characters a simplified dictionary would not print: its printers took them for rarer ones they
    lacked (兰鈍 is 兰釭), so folding them makes another word.

    >>> suspects("兰鈍"), suspects("録要")
    ({'鈍'}, set())
    """
    return set(text) & _traditional()


def simplified(text: str) -> str:
    """The text in simplified characters.

    >>> simplified("春眠不覺曉，處處聞啼鳥。")
    '春眠不觉晓，处处闻啼鸟。'
    """
    return text.translate(_table())


@cache
def _is_rare(char: str) -> bool:
    try:
        char.encode("gb2312")
    except UnicodeEncodeError:
        return "\u3400" <= char <= "\u9fff" or char > "\uffff"
    return False


def has_rare(text: str) -> bool:
    """Whether a simplified text holds a character outside GB 2312.

    Where the dictionary's printers lacked a character they took another rare one (榡 for 楯, 秂 for 禾): about half of
    what is outside the set is such a misprint.

    >>> has_rare("榡矛"), has_rare("矛盾"), has_rare("乾坤")
    (True, False, False)
    """
    return any(map(_is_rare, text))
