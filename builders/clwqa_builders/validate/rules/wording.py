"""The text of the questions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from clwqa_bench.text import comparison_key, holds
from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables

# Arrow's regular expressions (RE2) search whole columns; Python's look again at the few that match.
EMPTY = r"[{}]|\b(?:None|nan|NaN|null|undefined)\b|\s\s|^\s|\s$|“”|‘’|《》|〈〉|「」|（）|\(\)"
DOUBLED = r"[，。；：、？！]{2}|[“‘《（][，。；：、？！]|^[，。；：、？！]|《《|》》"
UNTIDY = r"[，。；：、]{2}|[？！][，。；：、]|^[，。；：、？！]"
FOREIGN = r"[^\P{L}\p{Han}]"  # a letter, but not a Chinese character
DAMAGED = "\ufffd□■◇◆‖"
BROKEN = rf"[\p{{C}}{DAMAGED}]"
LATIN = "A-Za-zＡ-Ｚａ-ｚ"
INITIAL = re.compile(f"(?<![{LATIN}])[A-ZＡ-Ｚ](?![{LATIN}])")  # 阿Q: a capital by itself is part of a name
PAIRS = (("“", "”"), ("‘", "’"), ("《", "》"), ("〈", "〉"), ("（", "）"))
LENGTH = (6, 200)


@rule(
    "answer-in-question",
    "error",
    "No label or alias of a gold answer (two characters or more) stands in the question, unless it is one of those "
    "to choose from.",
)
def answer_in_question(tables: DatasetTables) -> Iterator[Fault]:
    keys: dict[str, str] = {}
    names = [tables.members("answers", name) for name in ("entity_id", "label", "aliases", "kind")]
    anchors = tables.members("anchors", "entity_id")
    for row, text in enumerate(tables.keys):
        for id, label, others, kind in zip(*(column[row] for column in names), strict=True):
            if id in anchors[row] or kind == "literal":
                continue
            for name in (label, *others):
                if (key := keys.get(name)) is None:
                    key = keys[name] = comparison_key(name)
                if len(key) > 1 and key in text and holds(text, key):
                    yield Fault(tables.ids[row], "question", f"contains the answer {name}")


@rule(
    "template-residue",
    "error",
    "No slot, None, doubled blank or empty quotes; no doubled marks outside the mentions.",
)
def template_residue(tables: DatasetTables) -> Iterator[Fault]:
    yield from _matching(tables, tables.questions["question"], EMPTY, "left over from a template")
    yield from _matching(
        tables, pa.array(_frames(tables), pa.string()), DOUBLED, "doubled or misplaced punctuation"
    )


def _frames(tables: DatasetTables) -> list[str]:
    """The questions with each mention replaced by ○: what the template itself contributes."""
    frames = []
    for text, mentions in zip(tables.column("question"), tables.members("anchors", "mention"), strict=True):
        for mention in sorted(filter(None, mentions), key=len, reverse=True):
            text = text.replace(mention, "○")
        frames.append(text)
    return frames


@rule(
    "untidy-mention",
    "warning",
    "Quoted names and passages have no doubled marks; their quotes and brackets are paired.",
)
def untidy_mention(tables: DatasetTables) -> Iterator[Fault]:
    rows, mentions = tables.exploded("anchors", "mention")
    for i in pc.indices_nonzero(pc.match_substring_regex(mentions, UNTIDY)).to_pylist():
        yield Fault(
            tables.ids[rows[i]],
            "anchors.mention",
            f"doubled or misplaced punctuation in {mentions[i].as_py()}",
        )
    for row, mention in zip(rows.tolist(), mentions.to_pylist(), strict=True):
        if any(mention.count(left) != mention.count(right) for left, right in PAIRS):
            yield Fault(
                tables.ids[row], "anchors.mention", f"a quote or bracket without its partner in {mention}"
            )


@rule(
    "script",
    "error",
    "Chinese questions have no foreign letters; none has control, replacement or damage characters.",
)
def script(tables: DatasetTables) -> Iterator[Fault]:
    texts = tables.questions["question"]
    rows = (
        [] if tables.is_brought else pc.indices_nonzero(pc.match_substring_regex(texts, FOREIGN)).to_pylist()
    )
    for row in rows:
        if foreign := [letter for letter in INITIAL.sub("", texts[row].as_py()) if _is_foreign(letter)]:
            yield Fault(tables.ids[row], "question", f"letters of another script: {''.join(foreign[:20])!r}")
    yield from _matching(tables, texts, BROKEN, "a damaged or invisible character")


def _is_foreign(letter: str) -> bool:
    return letter.isalpha() and not unicodedata.name(letter, "").startswith("CJK")


def _matching(tables: DatasetTables, texts: Any, regex: str, message: str) -> Iterator[Fault]:
    hits = pc.indices_nonzero(pc.match_substring_regex(texts, regex))
    found = pc.struct_field(pc.extract_regex(texts.take(hits), f"(?P<hit>{regex})"), "hit")
    for row, hit in zip(hits.to_pylist(), found.to_pylist(), strict=True):
        yield Fault(tables.ids[row], "question", f"{message}: {hit!r}")


@rule(
    "traditional",
    "warning",
    "Questions are in simplified characters (a folded character may be right in a name).",
)
def traditional(tables: DatasetTables) -> Iterator[Fault]:
    if tables.is_brought:
        return
    letters = {letter for text in tables.column("question") for letter in text if letter.isalpha()}
    folded = {letter for letter in letters if comparison_key(letter) != letter}
    for question, text in zip(tables.ids, tables.column("question"), strict=True):
        if not folded.isdisjoint(text):
            yield Fault(question, "question", f"contains {''.join(sorted(folded.intersection(text)))}")


@rule("length-outlier", "warning", f"Questions have {LENGTH[0]} to {LENGTH[1]} characters.")
def length_outlier(tables: DatasetTables) -> Iterator[Fault]:
    low, high = LENGTH
    for question, text in zip(tables.ids, tables.column("question"), strict=True):
        if not low <= len(text) <= high:
            yield Fault(question, "question", f"{len(text)} characters")
