"""On the real dataset: neither a thin bundle nor its entry holds a passage of the sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clwqa_baselines.rag.system import Rag
from clwqa_baselines.trivial.kg_lookup import KgLookup
from clwqa_bench import runner
from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.protocol import GraphStore
from clwqa_leaderboard.board import Judge, add
from clwqa_leaderboard.packing import pack
from clwqa_leaderboard.submission import opened
from tests.leaderboard.scene import Scene, contents

PASSAGES = ("Explanation", "Quotation", "Allusion")
LONG = 12  # signs; what is shorter is also said by chance
SAMPLE = 1_000


@pytest.fixture(scope="module")
def judge(built: Path) -> Judge:
    return Judge.of(Dataset.open(built, verify=False), "test")


@pytest.fixture(scope="module")
def passages(judge: Judge) -> dict[str, list[str]]:
    """Labels and texts of passages, by their first signs."""
    graph = judge.gold.graph
    assert graph is not None
    found: dict[str, list[str]] = {}
    for text in said(graph):
        if len(text) >= LONG:
            found.setdefault(text[:LONG], []).append(text)
    assert sum(map(len, found.values())) > 50_000
    return found


def said(graph: GraphStore) -> Iterator[str]:
    for type in PASSAGES:
        for id in graph.by_type(type):
            entity = graph.entity(id)
            yield from (entity.label, entity.text)


def quoted(content: bytes, passages: dict[str, list[str]]) -> list[str]:
    text = content.decode("utf-8")
    heads = ((at, passages.get(text[at : at + LONG], ())) for at in range(len(text)))
    return [passage for at, found in heads for passage in found if text.startswith(passage, at)]


def test_a_passage_is_found_where_there_is_one(passages: dict[str, list[str]]) -> None:
    one = max(next(iter(passages.values())), key=len)
    assert one in quoted(f'{{"text": "{one}"}}'.encode(), passages)


@pytest.mark.parametrize("system", [KgLookup, Rag])
def test_no_passage_of_the_sources_is_published(
    judge: Judge, built: Path, tmp_path: Path, passages: dict[str, list[str]], system: Any
) -> None:
    run = tmp_path / "run"
    runner.run(system(), Dataset.open(built, verify=False), "test", run, sample=SAMPLE)
    form = Scene(tmp_path, Dataset.open(built, verify=False), judge).form()
    whole = pack(run, form, tmp_path / "whole.zip", gold=judge.gold)
    assert quoted(contents(whole)["items.jsonl"], passages)  # as it is handed in, it quotes
    thin = pack(run, form, tmp_path / "thin.zip", gold=judge.gold, thin=True)
    with opened(thin) as submission:
        stored = add(submission, judge, tmp_path / "boards", "sample")
    files = contents(thin) | {path.name: path.read_bytes() for path in stored.folder.glob("*.json")}
    files["board.json"] = (stored.folder.parent / "board.json").read_bytes()
    assert {name: found for name, content in files.items() if (found := quoted(content, passages))} == {}
    assert len(stored.entry.misses) == 20
    assert thin.stat().st_size < whole.stat().st_size / 3


pytestmark = pytest.mark.slow
