"""Indexes of texts: scores by hand, the same from an index and on the fly, and what a killed build leaves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clwqa_baselines.shared.vectors import Hit, Retriever, TextIndex, dense, open_index, open_similarity
from clwqa_baselines.shared.vectors.base import Floats, best
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.ontology import Ontology
from clwqa_bench.systems import Resources

TEXTS = {"a": "守株待兔", "b": "待兔", "c": "买椟还珠", "d": "待兔", "e": ""}
SPARSE: tuple[Retriever, ...] = ("bm25", "tfidf")


def resources(folder: Path) -> Resources:
    return Resources(cast(GraphStore, None), Ontology({}, {}), lambda: iter(()), cache=folder)


def index(
    kind: Retriever, folder: Path, texts: Iterable[tuple[str, str]] = tuple(TEXTS.items())
) -> TextIndex:
    return open_index(kind, "test", lambda: texts, resources(folder))


@pytest.mark.parametrize("kind", SPARSE)
def test_the_best_come_first_and_equal_ones_in_order(kind: Retriever, tmp_path: Path) -> None:
    found = index(kind, tmp_path)
    assert [hit.id for hit in found.search("“待兔”？", 9)] == ["b", "d", "a"]
    assert [hit.id for hit in found.search("待兔", 1)] == ["b"]
    assert found.search("", 3) == found.search("龙", 3) == []
    assert (len(found), found.id(2)) == (5, "c")


def test_tfidf_by_hand(tmp_path: Path) -> None:
    """Two texts: 甲乙 holds 甲, 乙, 甲乙; 甲 holds 甲.  ln(1 + 2/2) for 甲, ln(1 + 2/1) for the others."""
    common, rare = math.log(2), math.log(3)
    norm = math.sqrt(common**2 + 2 * rare**2)
    found = index("tfidf", tmp_path, [("x", "甲乙"), ("y", "甲")])
    assert found.search("甲", 2) == [Hit("y", pytest.approx(1.0)), Hit("x", pytest.approx(common / norm))]
    assert found.search("甲乙", 1) == [Hit("x", pytest.approx(1.0))]


def test_bm25_by_hand(tmp_path: Path) -> None:
    """乙 is in one of two texts, once, in one of three grams where the mean is two; k1 = 1.2, b = 0.75."""
    rarity = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    weight = rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 3 / 2))
    found = index("bm25", tmp_path, [("x", "甲乙"), ("y", "甲")])
    assert found.search("乙", 2) == [Hit("x", pytest.approx(weight, rel=1e-5))]
    assert found.search("乙和乙", 2) == [Hit("x", pytest.approx(2 * weight, rel=1e-5))]  # said twice


@given(texts=st.lists(st.text("甲乙丙 a", max_size=6), max_size=8), question=st.text("甲乙丙 a", max_size=6))
@settings(max_examples=25)
@pytest.mark.parametrize("kind", SPARSE)
def test_an_index_and_a_comparison_on_the_fly_agree(
    kind: Retriever, texts: list[str], question: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ids = [str(place) for place in range(len(texts))]
    found = index(kind, tmp_path_factory.mktemp("i"), list(zip(ids, texts, strict=True)))
    scores = open_similarity(kind)(question, texts)
    alike = {id: score for id, score in zip(ids, scores, strict=True) if score > 0}
    assert dict(found.search(question, 100)) == pytest.approx(alike, abs=1e-5)


def test_an_index_is_built_once(tmp_path: Path) -> None:
    first = index("bm25", tmp_path)
    again = index("bm25", tmp_path, iter(()))  # not read
    assert again.search("兔", 3) == first.search("兔", 3)
    other = open_index("bm25", "test", lambda: [("z", "兔")], resources(tmp_path), {"chunk": 9})
    assert [hit.id for hit in other.search("兔", 3)] == ["z"]


def test_what_a_killed_build_left_is_no_index(tmp_path: Path) -> None:
    def killed() -> Iterable[tuple[str, str]]:
        yield "a", "兔"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_index("bm25", "test", killed, resources(tmp_path))
    assert len(index("bm25", tmp_path)) == len(TEXTS)
    assert not list(tmp_path.glob("*.partial"))


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 40))
def test_best_is_a_stable_sort(scores: list[int], k: int) -> None:
    wanted = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:k]
    assert best(np.array(scores, np.float32), k).tolist() == wanted


# ---------------------------------------------------------------------- dense


class Letters:
    """An encoder that counts letters, and how often it was asked."""

    digest = "letters"
    width = 3

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        self.encoded += [text for text in texts if role == "passage"]
        found = np.array([[text.count(c) for c in "abc"] for text in texts], np.float32).reshape(-1, 3)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    encoder = Letters()
    monkeypatch.setattr(dense.Encoder, "open", lambda: encoder)
    monkeypatch.setattr(dense, "BLOCK", 2)
    return encoder


def test_dense_search(letters: Letters, tmp_path: Path) -> None:
    texts = [("x", "aab"), ("y", "b"), ("z", "bbb"), ("w", "c")]
    found = index("dense", tmp_path, texts)
    assert [hit.id for hit in found.search("b", 3)] == ["y", "z", "x"]
    assert found.search("a", 1) == [Hit("x", pytest.approx(2 / math.sqrt(5), abs=1e-3))]
    assert found.search("c", 1) == [Hit("w", pytest.approx(1, abs=1e-3))]
    assert index("dense", tmp_path / "none", []).search("a", 1) == []


def test_a_killed_dense_build_goes_on(letters: Letters, tmp_path: Path) -> None:
    texts = [("x", "a"), ("y", "b"), ("z", "c")]

    def killed() -> Iterable[tuple[str, str]]:
        yield from texts
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_index("dense", "test", killed, resources(tmp_path))
    assert [hit.id for hit in index("dense", tmp_path, texts).search("c", 1)] == ["z"]
    assert letters.encoded == ["a", "b", "c"]  # the first block was kept
    assert not list(tmp_path.glob("*.blocks"))
