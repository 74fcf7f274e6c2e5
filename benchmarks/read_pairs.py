"""Print random scoring pairs of a built dataset, for a reader to judge the bands.

    python -m benchmarks.read_pairs data/clwqa-100k                        # 50 pairs, ten of each band, seed 7
    python -m benchmarks.read_pairs data/clwqa-100k --n 100 --seed 11
    python -m benchmarks.read_pairs data/clwqa-100k --rule sibling-word

The same dataset, number and seed print the same pairs. A pair is good when a demanding reader who knows the rubric
(docs/scoring-pairs.md) would put the node into the same band for this question.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clwqa_bench.dataset import Dataset
from clwqa_bench.records import BAND_LABELS, Band, Question, ScoringPair

ANSWERS = 3  # gold answers printed of a question with many


def sample(pairs: Iterable[ScoringPair], n: int, seed: int) -> list[ScoringPair]:
    """The same number of pairs of each band (the highest bands give what is left over), highest band first."""
    by_band: defaultdict[Band, list[ScoringPair]] = defaultdict(list)
    for pair in sorted(pairs, key=lambda pair: pair.id):
        by_band[pair.band].append(pair)
    share, over = divmod(n, len(BAND_LABELS))
    chance = random.Random(seed)
    return [
        pair
        for number, band in enumerate(BAND_LABELS)
        for pair in chance.sample(by_band[band], min(len(by_band[band]), share + (number < over)))
    ]


def sheet(pair: ScoringPair, question: Question, number: int) -> str:
    """What the reader sees of a pair: the band and its rule, the question with its gold, the node."""
    gold = "；".join(answer.label for answer in question.answers[:ANSWERS])
    more = f" (and {rest} more)" if (rest := len(question.answers) - ANSWERS) > 0 else ""
    return "\n".join(
        (
            f"{number}. [{pair.band} {pair.label}, {pair.rule}, {pair.id}]",
            f"{pair.question}   = {gold}{more}",
            f"   {pair.node_text}",
        )
    )


def questions_of(dataset: Dataset, pairs: Iterable[ScoringPair]) -> Mapping[str, Question]:
    """The questions of some pairs, by id."""
    wanted = {pair.question_id for pair in pairs}
    return {question.id: question for question in dataset.questions() if question.id in wanted}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Print random scoring pairs to be read and judged.")
    parser.add_argument("dataset", type=Path, help="folder of a built dataset")
    parser.add_argument("--n", type=int, default=50, help="how many pairs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="of the random choice (default: %(default)s)")
    parser.add_argument("--rule", help="only pairs of this rule of the rubric")
    options = parser.parse_args(arguments)
    dataset = Dataset.open(options.dataset)
    pairs = (pair for pair in dataset.pairs() if options.rule in (None, pair.rule))
    chosen = sample(pairs, options.n, options.seed)
    questions = questions_of(dataset, chosen)
    for number, pair in enumerate(chosen, start=1):
        print(sheet(pair, questions[pair.question_id], number), end="\n\n")


if __name__ == "__main__":
    main()
