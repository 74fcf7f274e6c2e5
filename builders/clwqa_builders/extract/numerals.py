"""Chinese numerals as they number volumes, chapters and acts.

Three notations occur side by side: with units (一百零五), positional (一○五, 三六) and Arabic (105).
"""

from __future__ import annotations

import re

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"○": 0, "〇": 0, "０": 0, "Ｏ": 0, "两": 2}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_SMALL = "零一二三四五六七八九"

# A numeral with units reads greedily but stops where the notation forbids going on: 十三|一簧, 二十|十年.
_D = "[一二三四五六七八九]"
_ZERO = "[零○〇０]"
_WITH_UNITS = re.compile(
    rf"{_D}?千(?:{_ZERO}?{_D}百)?(?:{_ZERO}?{_D}?十)?(?:{_ZERO}?{_D})?"
    rf"|{_D}?百(?:{_ZERO}?{_D}?十{_D}?|{_ZERO}{_D}|{_D})?"
    rf"|{_D}?十{_D}?"
    rf"|廿{_D}?|卅{_D}?"
)
_POSITIONAL = re.compile(rf"{_D}[零○〇０一二三四五六七八九]{{0,2}}")
_ARABIC = re.compile(r"[0-9]{1,4}|[１-９][０-９]{0,3}")


def match_numeral(text: str, at: int) -> str:
    """The longest numeral starting at ``at``; the empty string when there is none."""
    for pattern in (_ARABIC, _WITH_UNITS, _POSITIONAL):
        found = pattern.match(text, at)
        if found:
            return found[0]
    return ""


def value(numeral: str) -> int:
    """The number a numeral stands for, in any of the three notations."""
    if numeral.isdigit() and not any(c in _DIGITS for c in numeral if not c.isascii() and c != "０"):
        return int(numeral)
    numeral = numeral.replace("廿", "二十").replace("卅", "三十")
    if not any(c in _UNITS for c in numeral):
        return int("".join(str(_DIGITS[c]) for c in numeral))
    total, digit = 0, 0
    for c in numeral:
        if c in _UNITS:
            total += (digit or 1) * _UNITS[c]
            digit = 0
        else:
            digit = _DIGITS[c]
    # Counting chapters, 一百五 is 105; the 150 of everyday speech does not occur.
    return total + digit


def canonical(numeral: str) -> str:
    """The numeral with units, the form all locators are normalised to (一○五, 105 -> 一百零五)."""
    number = value(numeral)
    if not 0 < number < 10000:
        return numeral
    out = ""
    pending_zero = False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // unit % 10
        if digit:
            out += ("零" if pending_zero else "") + _SMALL[digit] + name
            pending_zero = False
        elif out:
            pending_zero = True
    return out.removeprefix("一") if out.startswith("一十") else out
