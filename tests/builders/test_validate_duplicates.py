"""Near duplicates: the sketch finds what an exact comparison of all pairs would find."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_builders.validate.rules.duplicates import SIMILAR, _candidates, bare, jaccard, minhash

HAN = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x4E20), max_size=30)


def texts(count: int, seed: int) -> list[str]:
    """Random texts, a tenth of them copies of an earlier one with one character exchanged."""
    rng = random.Random(seed)
    letters = [chr(code) for code in range(0x4E00, 0x5000)]
    made: list[str] = []
    for number in range(count):
        if number % 10 == 9:
            copy = list(made[rng.randrange(number)])
            copy[0] = rng.choice(letters)
            made.append("".join(copy))
        else:
            made.append("".join(rng.choices(letters, k=rng.randrange(30, 60))))
    return made


def test_all_pairs_above_the_threshold_are_found() -> None:
    made = texts(300, seed=5)
    wanted = {(a, b) for a, b in combinations(range(len(made)), 2) if jaccard(made[a], made[b]) >= SIMILAR}
    found = set(_candidates(made, [("gold",)] * len(made)))
    assert len(wanted) >= 25
    assert wanted <= found


def test_questions_with_another_gold_are_never_compared() -> None:
    made = texts(100, seed=6)
    assert _candidates(made, [(f"gold {number}",) for number in range(len(made))]) == []


def test_the_share_of_equal_entries_estimates_the_overlap() -> None:
    one, other = texts(1, seed=7)[0], texts(1, seed=7)[0][:-6] + "四面楚歌"
    signatures = minhash([one, other])
    assert np.mean(signatures[0] == signatures[1]) == pytest.approx(jaccard(one, other), abs=0.15)


@given(HAN, HAN)
def test_overlap_is_symmetric_and_1_only_for_the_same_trigrams(one: str, other: str) -> None:
    assert jaccard(one, other) == jaccard(other, one)
    assert jaccard(one, one) == 1.0
    assert 0.0 <= jaccard(one, other) <= 1.0


@given(st.lists(HAN, min_size=1, max_size=6))
def test_a_signature_does_not_depend_on_the_neighbours(made: list[str]) -> None:
    together = minhash(made)
    for row, text in enumerate(made):
        assert (minhash([text])[0] == together[row]).all()


def test_bare_leaves_letters_and_figures() -> None:
    assert bare("“守株待兔”，出自《韩非子》第1篇？") == "守株待兔出自韩非子第1篇"
