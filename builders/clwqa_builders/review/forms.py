"""What readers are asked: criteria, verdicts, and what a verdict counts for.  Data, in Chinese and English."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from clwqa_bench.records import BAND_LABELS
from clwqa_builders.pairs.rubric import Rubric

Kind = Literal["questions", "pairs"]

UNSURE: Final = "unsure"
"""No judgement: it counts neither for nor against."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A verdict that can be given: its code, the key that gives it, its names."""

    code: str
    key: str
    zh: str
    en: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is judged, and the question a reader answers."""

    id: str
    zh: str
    en: str
    ask_zh: str
    ask_en: str


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of review.  ``order`` lists the codes from worst to best, for ordinal agreement."""

    kind: Kind
    criteria: tuple[Criterion, ...]
    choices: tuple[Choice, ...]

    @property
    def order(self) -> tuple[str, ...]:
        return tuple(choice.code for choice in reversed(self.choices) if choice.code != UNSURE)

    def code(self, written: str) -> str | None:
        """The code that a reader wrote as such, by its key or by its name; None for anything else."""
        text = written.strip().casefold()
        return self._written().get(text.removesuffix(".0"))  # a spreadsheet may give 1 back as 1.0

    def _written(self) -> dict[str, str]:
        return {
            name.casefold(): choice.code
            for choice in self.choices
            for name in (choice.code, choice.key, choice.zh, choice.en)
        }

    def strict(self, verdict: str, expected: str | None) -> float | None:
        """1 for a verdict without reserve (for a pair: the band its rule gives), 0 for any other."""
        if verdict == UNSURE:
            return None
        return float(verdict == (expected or self.choices[0].code))

    def lenient(self, verdict: str, expected: str | None) -> float | None:
        """1 also for a blemish that leaves the item usable (for a pair: for the next band)."""
        if verdict == UNSURE:
            return None
        codes = self.order
        return float(abs(codes.index(verdict) - codes.index(expected or codes[-1])) <= 1)


QUESTIONS: Final = Form(
    "questions",
    criteria=(
        Criterion(
            "evidence", "证据忠实", "Evidence faithfulness",
            "答案能由所示路径和文段得出，且没有证据之外的内容吗？",
            "Do the path and passages shown lead to the answer, with nothing that is not in them?",
        ),
        Criterion(
            "connotation", "文化内涵一致", "Cultural-connotation consistency",
            "问句对词语含义和文化背景的说法与释义相符吗？",
            "Does the question speak of the word's meaning and background as its explanation does?",
        ),
        Criterion(
            "provenance", "出处语境准确", "Provenance and context accuracy",
            "所涉的书名、篇目、作者、朝代和引文都对吗？",
            "Are the works, chapters, authors, periods and quotations involved right?",
        ),
        Criterion(
            "validity", "问题有效", "Question validity",
            "问句通顺，只有一种理解，不泄露答案，答案也齐全吗？",
            "Is the question natural, clear in one way, without its answer in it, and is the answer complete?",
        ),
    ),
    choices=(
        Choice("pass", "1", "通过", "Pass"),
        Choice("minor", "2", "小疵", "Blemish"),
        Choice("fail", "3", "不通过", "Fail"),
        Choice(UNSURE, "4", "无法判断", "Cannot tell"),
    ),
)  # fmt: skip

BAND_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "L5": ("L5 直接含答案", "L5 bears the answer"),
    "L4": ("L4 语义相近", "L4 close in meaning"),
    "L3": ("L3 关键出处", "L3 supports the provenance"),
    "L2": ("L2 辅助定位", "L2 localises"),
    "L1": ("L1 无关", "L1 irrelevant"),
}

PAIRS: Final = Form(
    "pairs",
    criteria=(
        Criterion(
            "band", "证据等级", "Band of evidential strength",
            "要回答这个问题，这个节点有多大帮助？取适用的最高一级。",
            "How much does this node help to answer the question? Take the highest band that applies.",
        ),
    ),
    choices=(
        *(Choice(band, band[1:], *BAND_NAMES[band]) for band in BAND_LABELS),
        Choice(UNSURE, "0", "无法判断", "Cannot tell"),
    ),
)  # fmt: skip

FORMS: Final[Mapping[Kind, Form]] = {form.kind: form for form in (QUESTIONS, PAIRS)}


def rubric_rows(rubric: Rubric | None) -> list[tuple[str, str, str, str]]:
    """Band, rule and what the rule claims, in Chinese and English; nothing where there is no rubric."""
    if rubric is None:
        return []
    chinese = tomllib.loads(Path(__file__).with_name("rubric_zh.toml").read_text(encoding="utf-8"))
    return [(rule.band, rule.id, chinese[rule.id], rule.entry.description) for rule in rubric.rules]
