"""Accuracy of the content categories on hand-labelled words.

    python -m benchmarks categories LABELS.jsonl [--margin 2]

One JSON object a line: word, explanation, category, second (another defensible category, or null).
Strict: the label is ``category``.  Lenient: it is either of the two.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clwqa_builders.extract.categorise import MARGIN, SLUGS, Categorisation, categorise_all, load_lexicon
from clwqa_builders.extract.repair import repair


@dataclass(frozen=True, slots=True)
class Labelled:
    """A word with the one or two categories a reader gave it."""

    word: str
    explanation: str
    category: str
    second: str | None


def read(path: Path) -> list[Labelled]:
    """Read the hand-labelled words of a JSON-lines file."""
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    return [Labelled(row["word"], row["explanation"], row["category"], row.get("second")) for row in rows]


def answer(result: Categorisation, margin: float) -> str | None:
    """The label at another margin than the builders' own."""
    return result.ranked[0] if result.ranked and result.margin >= margin else None


def share(part: int, whole: int) -> str:
    """``part`` of ``whole`` in per cent, as text."""
    return f"{100 * part / whole:5.1f} %" if whole else "    –  "


def report(rows: Sequence[Labelled], answers: Sequence[str | None]) -> str:
    """The figures as text: overall, by category, and the confusion matrix (rows: hand label)."""
    given = [(row, label) for row, label in zip(rows, answers, strict=True) if label]
    strict = [row.category for row, label in given if label == row.category]
    lenient = sum(label in (row.category, row.second) for row, label in given)
    lines = [
        f"words {len(rows)}   labelled {len(given)} ({share(len(given), len(rows)).strip()})",
        f"strict {share(len(strict), len(given))}   lenient {share(lenient, len(given))}",
        "",
        f"{'category':24}{'gold':>6}{'given':>7}{'right':>7}{'recall':>9}{'precision':>11}",
    ]
    gold = Counter(row.category for row in rows)
    said = Counter(label for _, label in given)
    right = Counter(strict)
    lines += [
        f"{slug:24}{gold[slug]:>6}{said[slug]:>7}{right[slug]:>7}"
        f"{share(right[slug], gold[slug]):>9}{share(right[slug], said[slug]):>11}"
        for slug in SLUGS
    ]
    cells = Counter((row.category, label) for row, label in given)
    lines += ["", " " * 24 + "".join(f"{slug[:4]:>6}" for slug in SLUGS)]
    lines += [f"{row:24}" + "".join(f"{cells[row, slug]:>6}" for slug in SLUGS) for row in SLUGS]
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Accuracy of the content categories on hand-labelled words.")
    parser.add_argument("labels", type=Path, help="JSON lines: word, explanation, category, second")
    parser.add_argument(
        "--margin", type=float, default=MARGIN, help="lead needed for a label (default: %(default)s)"
    )
    options = parser.parse_args()
    rows = read(options.labels)
    # Whole glosses: telling the component glosses apart takes the other rows of the dictionary.
    results = categorise_all(((row.word, repair(row.explanation), ()) for row in rows), load_lexicon())
    print(report(rows, [answer(result, options.margin) for result in results]))


if __name__ == "__main__":
    main()
