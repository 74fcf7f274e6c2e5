"""Measures of free text: how close the wording of an answer is to the gold passage.

They apply to questions whose golds are all passages.  The text measured is the first answer ("" if there is none),
the references are labels and aliases of all golds, and the best reference counts.  All of them work on the
characters of the comparison key, so no word segmenter is involved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_

import numpy as np

from clwqa_bench.errors import MetricError
from clwqa_bench.grid import Grid
from clwqa_bench.matching import character_f1, key_of
from clwqa_bench.metrics.measure import Columns, Floats, Form, Mask, Measure, Settings, once_per_grid, ratio

ORDERS = 4  # BLEU counts n-grams of 1 to 4 characters


@dataclass(frozen=True, eq=False)
class Passages:
    """The questions with passages: `applies` of shape (questions,), and per such question its texts as keys."""

    applies: Mask
    texts: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]

    def spread(self, values: Floats) -> Columns:
        """Values per passage, shape (passages, c), as columns over all questions."""
        spread = np.zeros((len(self.applies), values.shape[1]))
        spread[self.applies] = values
        return Columns(spread, self.applies)

    def best(self, scores: Callable[[list[str], list[str]], Sequence[float] | Floats]) -> Columns:
        """For each text its best score over its references; a text that shows nothing has 0."""
        sizes = [len(of_one) for of_one in self.references]
        texts = [text for text, size in zip(self.texts, sizes, strict=True) for _ in range(size)]
        found = np.asarray(scores(texts, list(chain.from_iterable(self.references))), np.float64)
        best = np.maximum.reduceat(found, np.cumsum([0, *sizes[:-1]])) if sizes else np.zeros(0)
        return self.spread(np.where([bool(text) for text in self.texts], best, 0)[:, None])


@once_per_grid
def passages(grid: Grid) -> Passages:
    """Raises MetricError if the order of several answers to such a question means nothing."""
    questions = grid.gold.questions
    applies = np.array([all(gold.kind == "passage" for gold in q.answers) for q in questions], bool)
    rows = np.flatnonzero(applies).tolist()
    if unranked := set(grid.unranked).intersection(questions[row].id for row in rows):
        raise MetricError(
            f"{len(unranked)} predictions ({min(unranked)}, ...) list several passages in no order",
            fix="give one passage, or declare `ranked: true` if the order is the system's own",
        )
    return Passages(
        applies,
        tuple(key_of(grid.answers[row][0].text) if grid.answers[row] else "" for row in rows),
        tuple(
            tuple(
                {
                    key_of(name): None
                    for gold in questions[row].answers
                    for name in (gold.label, *gold.aliases)
                }
            )
            for row in rows
        ),
    )


def _character_f1(grid: Grid, _: Settings) -> Columns:
    """F1 of two bags of characters; the same function that `text>=` of a matching policy compares with."""
    return passages(grid).best(lambda texts, golds: list(map(character_f1, texts, golds)))


def _rouge_l(grid: Grid, _: Settings) -> Columns:
    """F1 of the longest common subsequence, 2 lcs / (length + length): the similarity of insertions and deletions."""
    from rapidfuzz.distance import Indel
    from rapidfuzz.process import cpdist

    return passages(grid).best(
        lambda texts, golds: cpdist(texts, golds, scorer=Indel.normalized_similarity, dtype=np.float64)
    )


# --- BLEU ---------------------------------------------------------------------------------------------------


@once_per_grid
def bleu_statistics(grid: Grid) -> Floats:
    """Per passage: length, length of the closest reference, matching n-grams and n-grams of order 1 to 4.

    Shape (passages, 10).  Tokens are characters, so the numbers are those of sacrebleu with tokenize="char".
    """
    given = passages(grid)
    found = [_statistics(text, golds) for text, golds in zip(given.texts, given.references, strict=True)]
    return np.array(found, np.float64).reshape(-1, 2 + 2 * ORDERS)


def _statistics(text: str, references: Sequence[str]) -> list[int]:
    text = "".join(text.split())
    golds = ["".join(reference.split()) for reference in references]
    nearest = min(map(len, golds), key=lambda length: (abs(length - len(text)), length))
    known = reduce(or_, map(_ngrams, golds))  # of several references the one with the most counts, per n-gram
    matches = [0] * ORDERS
    for ngram, count in _ngrams(text).items():
        if ngram in known:
            matches[len(ngram) - 1] += min(count, known[ngram])
    return [len(text), nearest, *matches, *(max(len(text) - before, 0) for before in range(ORDERS))]


def _ngrams(text: str) -> Counter[str]:
    return Counter([text[i : i + n] for n in range(1, ORDERS + 1) for i in range(len(text) - n + 1)])


def sentence_bleu(statistics: Floats) -> Floats:
    """BLEU of single texts, with no order beyond the text's length and with exponential smoothing: the k-th order
    without a match counts as 2**-k matches (Chen and Cherry 2014, method 3).  Shape (n, 10) to (n,)."""
    matches, totals = statistics[:, 2 : 2 + ORDERS], statistics[:, 2 + ORDERS :]
    smoothed = np.where(matches > 0, matches, 0.5 ** np.cumsum(matches == 0, axis=1))
    logs = np.log(np.where(totals > 0, ratio(smoothed, totals), 1)).sum(axis=1)
    mean = ratio(logs, np.count_nonzero(totals, axis=1))
    return np.where(matches.any(axis=1), np.exp(mean) * _brevity(statistics), 0)


def corpus_bleu(means: Floats) -> Floats:
    """Reduce of the statistics: brevity penalty times the geometric mean of the precisions (Papineni et al. 2002).

    Not smoothed: 0 if some order has no match.  Orders that no text is long enough for are left out.
    """
    matches, totals = means[..., 2 : 2 + ORDERS], means[..., 2 + ORDERS :]
    precision = ratio(matches, totals)
    logs = np.log(np.where(precision > 0, precision, 1)).sum(axis=-1)
    mean = ratio(logs, np.count_nonzero(totals, axis=-1))
    complete = ((matches > 0) | (totals == 0)).all(axis=-1)
    return np.where(complete, np.exp(mean) * _brevity(means), 0)


def _brevity(statistics: Floats) -> Floats:
    """What a text loses that is shorter than its reference."""
    length, reference = statistics[..., 0], statistics[..., 1]
    return np.where(length > 0, np.exp(np.minimum(0, 1 - ratio(reference, length))), 0)


def _sentence_bleu(grid: Grid, _: Settings) -> Columns:
    return passages(grid).spread(sentence_bleu(bleu_statistics(grid))[:, None])


def _corpus_bleu(grid: Grid, _: Settings) -> Columns:
    return passages(grid).spread(bleu_statistics(grid))


MEASURES = (
    Measure.mean("charF1", "text", _character_f1, title="char-F1"),
    Measure.mean("ROUGE-L", "text", _rouge_l),
    Measure("BLEU", "text", {"macro": Form(_sentence_bleu), "corpus": Form(_corpus_bleu, corpus_bleu)}),
)
