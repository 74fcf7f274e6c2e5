"""docs/differences.md: every result in its tables is what the evaluators give for the row it stands in."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from clwqa_bench.legacy import (
    LEGACY,
    LegacyCrash,
    LegacyRow,
    LegacyScore,
    gcr,
    gretriever,
    pog,
    rog,
    row_for,
    tog,
)
from clwqa_bench.matching import Policy, match_answers
from clwqa_bench.predictions import PredictedAnswer
from clwqa_bench.records import Answer

PAGE = Path(__file__).resolve().parents[3] / "docs" / "differences.md"
TEXT = PAGE.read_text(encoding="utf-8")
SOURCES = {
    "PoG": pog.evaluate,
    "ToG": tog.evaluate,
    "RoG": rog.evaluate,
    "GCR": gcr.evaluate,
    "G-Retriever": gretriever.webqsp,
}


def table(first_column: str) -> list[list[str]]:
    """The cells of the table whose head begins so, without the head."""
    lines = TEXT[TEXT.index(f"| {first_column} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def named(rows: Sequence[Sequence[str]]) -> Callable[..., object]:
    return pytest.mark.parametrize("cells", rows, ids=[" - ".join(row[:3]) for row in rows])


def verdict(score: LegacyScore) -> str:
    return "hit" if score.hit else "miss"


def strict_f1(texts: Sequence[str], golds: Sequence[Sequence[str]]) -> float:
    answers = [PredictedAnswer(text=text) for text in texts]
    gold = [Answer(entity_id=label, label=label, aliases=tuple(aliases)) for label, *aliases in golds]
    match = match_answers(Policy("alias"), answers, gold)
    return 2 * match.right / (len(match.items) + match.golds)


def example(answer: str, gold: str) -> list[str]:
    """The computed cells of a worked example."""
    texts = [] if answer in ("empty text", "no answer") else answer.split(" / ")
    alone = answer == "empty text" or len(texts) == 1
    raw = "".join(texts) if alone else None
    golds = [re.findall(r"[^ ()]+", one) for one in gold.split(" / ")]
    scores = {name: LEGACY[name]([row_for(name, texts, raw, golds)])[0] for name in LEGACY}
    return [
        f"{strict_f1(texts, golds):.2f}",
        *(
            verdict(score) if score.f1 is None else f"{verdict(score)}, {score.f1:.2f}"
            for score in scores.values()
        ),
        scores["legacy-pog"].note.partition(": ")[2],
    ]


def vector(evaluator: str, prediction: str | list[str], golds: list[str]) -> str:
    """The computed cell of a test vector."""
    row = LegacyRow(prediction if isinstance(prediction, str) else tuple(prediction), tuple(golds))
    try:
        (score,) = SOURCES[evaluator]([row])
    except LegacyCrash:
        return "crash"
    if score.precision is None:
        return f"{verdict(score)} ({score.note})"
    return f"{verdict(score)}, P {score.precision:.2f}, R {score.recall:.2f}, F1 {score.f1:.2f}"


@named(table("answer"))
def test_worked_example(cells: list[str]) -> None:
    assert cells[2:] == example(*cells[:2])


@named(table("evaluator"))
def test_vector(cells: list[str]) -> None:
    evaluator, prediction, golds, result = cells
    assert result == vector(
        evaluator, ast.literal_eval(prediction.strip("`")), ast.literal_eval(golds.strip("`"))
    )


def test_the_sessions_print_what_the_page_shows() -> None:
    blocks = re.findall(r"^```pycon\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    assert session.examples
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(session).failed == 0


def test_the_normaliser_is_shown_as_it_is() -> None:
    made, given = re.findall(r"normaliser makes `(.*?)` of `(.*?)`", TEXT)[0]
    assert rog.normalize(given) == made
