"""Checks of a written question that look at its words alone, and at what kind of thing it asks for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from clwqa_bench.text import comparison_key
from clwqa_builders.generate.reasons import Rejected
from clwqa_builders.validate.rules.wording import LENGTH

ASKS = re.compile(r"[谁何哪几吗呢]|什么|多少|怎[么样]|如何|^请|请问|请[列说指]|想知道|告诉我")
_INTERROGATIVES = re.compile(r"谁|哪|什么|(?<!任)何|多少|怎")
_CLAUSES = re.compile(r"[，。；、\s]")
_NUMBERS = re.compile(r"(?<![A-Za-z\d])[nf]\d+(?![A-Za-z\d])")
_ENDS = re.compile(r"[？?]")

CUES = {
    "Person": ("谁", "何人", "哪位", "哪一位", "什么人", "哪个人", "作者是", "编者是"),
    "Explanation": ("什么意思", "何意", "含义", "意思是", "怎么解释", "作何解", "怎么讲", "怎么理解"),
    "HistoricalPeriod": (
        "朝代", "哪一朝", "哪朝", "什么时代", "哪个时代", "什么时期", "哪个时期", "何时", "年间",
    ),
    "CulturalSource": ("哪部", "哪本", "哪一部", "哪一本", "何书", "什么书", "什么典籍", "哪些书"),
    "ContentUnit": ("哪一篇", "哪篇", "哪一章", "哪章", "哪一回", "哪一卷", "何篇"),
    "CultureLoadedWord": ("哪个成语", "什么成语", "哪些成语", "哪个词", "哪些词", "什么词", "哪个字"),
    "Quotation": ("哪句话", "哪一句", "哪句", "原文是", "原句"),
}  # fmt: skip
"""What asks for a kind of thing in so many words; a question with none of these may ask for anything."""


def check_words(question: str) -> None:
    """Raises Rejected unless the text is one Chinese question of a usual length."""
    letters = [letter for letter in question if letter.isalpha()]
    chinese = sum(unicodedata.name(letter, "").startswith("CJK") for letter in letters)
    if _NUMBERS.search(question):
        raise Rejected("residue", "the number of a node or a fact")
    if 2 * chinese <= len(letters) or not letters:
        raise Rejected("language", f"{chinese} Chinese characters among {len(letters)} letters")
    low, high = LENGTH
    if not low <= len(question) <= high:
        raise Rejected("length", f"{len(question)} characters")
    asked = _outside_quotes(question)
    asking = [clause for clause in _CLAUSES.split(asked) if _INTERROGATIVES.search(clause)]
    if len(_ENDS.findall(asked)) > 1 or len(asking) > 1 or "\n" in question:
        raise Rejected("not-one-question", "several questions")
    if not ASKS.search(asked):
        raise Rejected("not-one-question", "nothing is asked")


def check_script(question: str, mentions: Collection[str]) -> None:
    """Raises Rejected for traditional characters outside the names, where they may be right."""
    for mention in sorted(mentions, key=len, reverse=True):
        question = question.replace(mention, "○")
    if folded := sorted(
        {letter for letter in question if letter.isalpha() and comparison_key(letter) != letter}
    ):
        raise Rejected("language", f"not simplified: {''.join(folded)}")


def check_kind(question: str, types: Collection[str], known: Collection[str]) -> None:
    """Raises Rejected if the question asks for some kind of thing in so many words, and the answers are none.

    `types` are those of the answers with all above them; `known` are the types of the ontology.
    """
    asked = _outside_quotes(question)
    kinds = {kind for kind, cues in CUES.items() if kind in known and any(cue in asked for cue in cues)}
    if kinds and kinds.isdisjoint(types):
        raise Rejected("wrong-kind", f"asks for {', '.join(sorted(kinds))}")


def _outside_quotes(question: str) -> str:
    """The question without what it quotes, which may well be a question itself."""
    return re.sub(r"“[^”]*”|《[^》]*》|‘[^’]*’", "○", question)
