"""Traditional characters to simplified ones, by the repository's own folding table, character by character.

The table folds no character that is also a simplified one, so 乾, 徵 and 著 stay where a conversion by words would
decide: a wrong 干坤 is worse than an unsimplified 乾坤.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def _table() -> dict[int, str]:
    rows = (files("clwqa_bench") / "data" / "fold.tsv").read_text(encoding="utf-8").splitlines()[1:]
    cells = (row.split("\t") for row in rows)
    pairs = (pair for kind, pairs, _ in cells if kind != "kept" for pair in pairs.split())
    return str.maketrans({pair[0]: pair[1] for pair in pairs})


def simplified(text: str) -> str:
    """The text in simplified characters.

    >>> simplified("春眠不覺曉，處處聞啼鳥。")
    '春眠不觉晓，处处闻啼鸟。'
    """
    return text.translate(_table())
