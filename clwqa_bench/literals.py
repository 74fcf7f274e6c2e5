"""Answers that are no entities: a number, or yes or no.

A literal is an ordinary gold answer of kind ``literal``: its id says the value (``number:12``, ``truth:yes``), its
label is the value as a reader would write it, and its aliases are the other ways to write it.  So it is matched like
a name, by equality of comparison keys: 12, １２, 十二 and 十二个 are the same answer, 约12 and 12或13 are none.
"""

from __future__ import annotations

from clwqa_bench.records import Answer

_DIGITS = "零一二三四五六七八九"
_UNITS = ("", "十", "百", "千")
_TRUTHS = {
    True: ("yes", "是", ("是的", "对", "yes", "true")),
    False: ("no", "否", ("不是", "不对", "no", "false")),
}


def number(value: float, unit: str = "") -> Answer:
    """The answer to "how many"; ``unit`` is the measure word that may follow.

    >>> number(12, "个").label, number(12, "个").aliases
    ('12', ('十二', '12个', '十二个'))
    """
    label = literal_id(value).partition(":")[2]
    spellings = [label, chinese(value)]
    if unit and label == "2":
        spellings.append("两")
    names = [*spellings, *(f"{name}{unit}" for name in spellings if unit)]
    return Answer(
        entity_id=literal_id(value), label=label, aliases=tuple(dict.fromkeys(names))[1:], kind="literal"
    )


def truth(value: bool) -> Answer:
    """The answer to "is it so"."""
    _, label, aliases = _TRUTHS[value]
    return Answer(entity_id=literal_id(value), label=label, aliases=aliases, kind="literal")


def literal_id(value: float | bool) -> str:
    """The pseudo id of a value as Python, Cypher and SPARQL engines give it; halves and tenths are exact.

    >>> literal_id(3.0), literal_id(2.5), literal_id(True)
    ('number:3', 'number:2.5', 'truth:yes')
    """
    if isinstance(value, bool):
        return f"truth:{_TRUTHS[value][0]}"
    return f"number:{f'{value:.6f}'.rstrip('0').rstrip('.')}"


def chinese(value: float) -> str:
    """A number below a hundred million in Chinese numerals, with at most six decimals.

    >>> chinese(10), chinese(205), chinese(2.5), chinese(30_010)
    ('十', '二百零五', '二点五', '三万零一十')
    """
    if value < 0:
        return f"负{chinese(-value)}"
    whole, _, decimals = literal_id(value).removeprefix("number:").partition(".")
    text = _numeral(int(whole)) or _DIGITS[0]
    text = text.removeprefix("一") if text.startswith("一十") else text
    return f"{text}点{''.join(_DIGITS[int(d)] for d in decimals)}" if decimals else text


def _numeral(number: int) -> str:
    """Every place with its unit (一十, not 十); nothing for 0.  Raises ValueError from a hundred million on."""
    if number >= 10**8:
        raise ValueError(f"{number:,} has no numeral here: it is a hundred million or more")
    high, low = divmod(number, 10_000)
    text, zero = (f"{_numeral(high)}万", low < 1000) if high else ("", False)
    for place, digit in zip((3, 2, 1, 0), map(int, f"{low:04}"), strict=True):
        if digit:
            text += ("零" if zero else "") + _DIGITS[digit] + _UNITS[place]
        zero = bool(text) and not digit
    return text
