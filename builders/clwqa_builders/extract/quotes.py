"""Quotation marks: every “ was deleted, every ” kept.

:func:`requote` writes the missing “ where the quoted phrase most plausibly begins; it never touches other text.
"""

from __future__ import annotations

import re

_HARD = "。；！？"
_SOFT = _HARD + "，、（(：“”"
# A clause that begins so quotes what follows it.
_LEADS = re.compile(
    r"(?:[亦也又后今现]?(?:多|常|省|或)?(?:作|称|叫|说|写作|称作|叫做|叫作|省作|转为|转作|变作|引作|称为)|通|同|义同|意同|义近|犹言|犹如|犹|即|参见|详见|见"
    r"|语本|语出|一本作|本作|古同|谓之|称之为|名曰|名为|号曰|号为|号|意即|一作|俗称|简称|旧称|古称|意思是|意思是说|原作)(?=.)"
)
# Otherwise the phrase begins after the last of these in its clause.
_INTRODUCERS = re.compile(
    r"叫做|叫作|称作|称为|称之为|译为|译作|释作|所谓|意思是|就是|念作|读作|作|为|曰|云|称|叫|谓|是|通|同|说|道|名|号|念|把|以|用|与|有|的|“"
)
_SPEECH = re.compile(r"曰|云|答道|说道|问道|叫道|道(?=[^路德理士家教义])|书曰|诗曰|说(?=[^客法明服])")
# ： was deleted everywhere; between a verb of saying and the words said it is certain.
_SAID = re.compile(r"(?<=[曰云道问])(?=[‘“])")
_TITLE_LEADS = re.compile(r".{0,6}?[与和从论赞的]")


def _phrase_start(clause: str, word: str) -> int:
    """Where in ``clause`` (the text up to a ”) the quoted phrase begins."""
    if word and clause.endswith(word):
        return len(clause) - len(word)
    if clause.endswith(tuple(_HARD)):
        # A whole sentence is quoted: somebody's words, from the first 曰, or the last sentence.
        spoken = _SPEECH.search(clause)
        ending = max((clause[:-1].rfind(c) for c in _HARD), default=-1) + 1
        return spoken.end() if spoken and spoken.end() < len(clause) - 1 else ending
    hard = max((clause.rfind(c) for c in _HARD), default=-1) + 1
    if lead := _LEADS.match(clause, hard):
        return lead.end()
    soft = max((clause.rfind(c) for c in _SOFT), default=-1) + 1
    if lead := _LEADS.match(clause, soft):
        return lead.end()
    introducers = [found.end() for found in _INTRODUCERS.finditer(clause, soft) if found.end() < len(clause)]
    return introducers[-1] if introducers else soft


def requote(text: str, word: str = "") -> str:
    """Put “ before the phrase of every ” that lacks it (意译为无间” -> 意译为“无间”), and ： between 曰 and speech.

    ``word`` is the headword: when it stands right before the ” it is the quoted phrase.
    """
    out, start, depth = "", 0, 0
    for i, c in enumerate(text):
        if c == "“":
            depth += 1
        elif c == "”" and depth:
            depth -= 1
        elif c == "”":
            clause = text[start:i]
            cut = _phrase_start(clause, word)
            out += f"{clause[:cut]}“{clause[cut:]}”"
            start = i + 1
    return _SAID.sub("：", out + text[start:])


def requote_title(text: str) -> str:
    """The same for a title, whose quoted phrase opens it or follows 与 (硬译”与… -> “硬译”与…)."""
    out, start, opened = "", 0, False
    for i, c in enumerate(text):
        if c == "“":
            opened = True
        elif c == "”":
            phrase = text[start:i]
            if not opened:
                lead = _TITLE_LEADS.match(phrase) if start or len(phrase) > 4 else None
                cut = lead.end() if lead and lead.end() < len(phrase) else 0
                cut = cut or int(len(phrase) > 2 and phrase[0] in "颂记论谈评说驳答释")
                phrase = f"{phrase[:cut]}“{phrase[cut:]}"
            out += phrase + "”"
            start, opened = i + 1, False
    return out + text[start:]
