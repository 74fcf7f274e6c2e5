"""The text of the questions."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from clwqa_bench.text import comparison_key
from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables

RESIDUE = (
    r"[{}]|\b(?:None|nan|NaN|null|undefined)\b|\s\s|^\s|\s$|“”|‘’|《》|〈〉|「」|（）|\(\)|《《|》》"
    r"|[，。；：、？！]{2}|[“《（][，。；：、？！]|^[，。；：、？！]"
)
FOREIGN = r"[^\P{L}\p{Han}]"  # a letter, but not a Chinese character
BROKEN = r"[\p{C}\x{FFFD}□■◇◆‖]"
LENGTH = (6, 200)


@rule(
    "answer-in-question",
    "error",
    "No label or alias of a gold answer (two characters or more) stands in the question.",
)
def answer_in_question(tables: DatasetTables) -> Iterator[Fault]:
    labels, aliases = tables.members("answers", "label"), tables.members("answers", "aliases")
    for row, key in enumerate(tables.keys):
        for label, others in zip(labels[row], aliases[row], strict=True):
            for name in (label, *others):
                needle = comparison_key(name)
                if len(needle) > 1 and needle in key:
                    yield Fault(tables.ids[row], "question", f"contains the answer {name}")


@rule("template-residue", "error", "No slot, None, doubled blank or punctuation, empty quotes or brackets.")
def template_residue(tables: DatasetTables) -> Iterator[Fault]:
    yield from _matching(tables, RESIDUE, "left over from a template")


@rule(
    "script",
    "error",
    "Questions are Chinese: no foreign letters, no control, replacement or damage characters.",
)
def script(tables: DatasetTables) -> Iterator[Fault]:
    yield from _matching(tables, FOREIGN, "a letter of another script")
    yield from _matching(tables, BROKEN, "a damaged or invisible character")


def _matching(tables: DatasetTables, regex: str, message: str) -> Iterator[Fault]:
    texts = tables.questions["question"]
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
    letters = {letter for text in tables.column("question") for letter in text if letter.isalpha()}
    folded = {letter for letter in letters if comparison_key(letter) != letter}
    if not folded:
        return
    for question, text in zip(tables.ids, tables.column("question"), strict=True):
        if not folded.isdisjoint(text):
            yield Fault(question, "question", f"contains {''.join(sorted(folded.intersection(text)))}")


@rule("length-outlier", "warning", f"Questions have {LENGTH[0]} to {LENGTH[1]} characters.")
def length_outlier(tables: DatasetTables) -> Iterator[Fault]:
    low, high = LENGTH
    for question, text in zip(tables.ids, tables.column("question"), strict=True):
        if not low <= len(text) <= high:
            yield Fault(question, "question", f"{len(text)} characters")
