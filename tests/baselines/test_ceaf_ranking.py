"""Stage 3 of CEAF: scores by several rankers, and what is kept of the paths they score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from clwqa_baselines.ceaf import ranking
from clwqa_baselines.ceaf.config import RANKERS, CeafConfig, RankerError
from clwqa_baselines.ceaf.ranking import (
    Cheap,
    MeanOfNodes,
    Similarity,
    Unranked,
    open_ranker,
    select,
)
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Path
from clwqa_bench.systems import Resources, load_system
from tests.baselines import culture


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


def path(walk: str) -> Path:
    """A walk written "a relation b relation c"."""
    words = walk.split()
    relations = tuple(words[1::2])
    return Path(tuple(words[::2]), relations, ("out",) * len(relations))


TO_UNIT, TO_OTHER = path("守株待兔 from 五蠹"), path("守株待兔 like 刻舟求剑")
TO_WORK = path("守株待兔 from 五蠹 partOf 韩非子")


@dataclass
class Scorer:
    """Scores nodes as told; writes down which it was asked about."""

    by_node: dict[str, float]
    asked: list[str] = field(default_factory=list)

    def scores(self, question: str, nodes: Sequence[str]) -> Sequence[float]:
        self.asked += nodes
        return [self.by_node[node] for node in nodes]


@pytest.mark.parametrize(
    ("include_anchor", "scores"),
    [(False, [0.9, 0.2, (0.9 + 0.3) / 2]), (True, [0.5, 0.15, (0.1 + 0.9 + 0.3) / 3])],
)
def test_a_path_scores_the_mean_of_its_nodes(include_anchor: bool, scores: list[float]) -> None:
    scorer = Scorer({"守株待兔": 0.1, "五蠹": 0.9, "韩非子": 0.3, "刻舟求剑": 0.2})
    ranked = MeanOfNodes(scorer, include_anchor).rank("?", [TO_UNIT, TO_OTHER, TO_WORK])
    assert ranked == pytest.approx(scores)
    assert len(scorer.asked) == len(set(scorer.asked))  # each node once, whatever paths share it


def test_the_cheap_ranker_scores_shapes_and_each_shape_once(kg: MemoryGraph) -> None:
    class Linker:
        asked: Any = None

        def scores(self, question: str, signatures: Sequence[Any]) -> list[float]:
            self.asked = signatures
            return [float(len(signature)) for signature in signatures]

    linker = Linker()
    both = [TO_UNIT, path("刻舟求剑 from 察今"), TO_WORK]
    assert Cheap(linker, kg).rank("?", both) == [1.0, 1.0, 2.0]  # type: ignore[arg-type]
    shape = ("from", "out", "Unit")
    assert linker.asked == ((shape,), (shape, ("partOf", "out", "Work")))


def test_similarity_compares_the_question_with_the_whole_path(kg: MemoryGraph) -> None:
    ranker = Similarity(kg, kg.ontology)
    unit, other = ranker.rank("五蠹里的守株待兔", [TO_UNIT, TO_OTHER])
    assert 0 < other < unit < 1
    assert ranker.rank("甲乙", [TO_UNIT]) == [0.0]


def test_no_ranking_keeps_the_canonical_order() -> None:
    assert Unranked().rank("?", [TO_UNIT]) is None
    kept = select([TO_WORK, TO_OTHER, TO_UNIT], None, 2)
    assert [(item.path, item.score) for item in kept] == [(TO_UNIT, None), (TO_OTHER, None)]


def test_the_best_k_are_kept_and_equal_ones_go_by_length_then_by_ids() -> None:
    candidates = [TO_WORK, TO_OTHER, TO_UNIT]
    assert [item.path for item in select(candidates, [0.5, 0.5, 0.5], 3)] == [TO_UNIT, TO_OTHER, TO_WORK]
    assert [item.path for item in select(candidates, [0.9, 0.5, 0.7], 2)] == [TO_WORK, TO_UNIT]


def test_all_paths_of_the_best_ways_are_kept_if_ways_are_counted() -> None:
    authors = [path(f"韩非子 by {name}") for name in ("王先慎", "韩非", "韩非弟子")]
    candidates = [*authors, TO_UNIT, TO_OTHER]
    scores = [0.9, 0.4, 0.9, 0.8, 0.1]
    kept = select(candidates, scores, 2, group_by_signature=True)
    assert [(item.path.nodes[-1], item.score) for item in kept] == [
        ("王先慎", 0.9), ("韩非弟子", 0.9), ("韩非", 0.4), ("五蠹", 0.8),
    ]  # fmt: skip


# ---------------------------------------------------------------------- by name


def opened(name: str, kg: MemoryGraph) -> object:
    return open_ranker(CeafConfig(ranker=name), Resources(kg, kg.ontology, train=lambda: iter(())))


@pytest.mark.parametrize(("name", "kind"), [("none", Unranked), ("similarity", Similarity)])
def test_rankers_are_opened_by_name(name: str, kind: type, kg: MemoryGraph) -> None:
    assert isinstance(opened(name, kg), kind)


def test_an_unknown_ranker_is_refused_with_the_nearest_before_anything_is_opened() -> None:
    with pytest.raises(RankerError, match=r"no ranker 'chaep'.*did you mean 'cheap'") as caught:
        load_system("ceaf", {"ranker": "chaep"})
    assert caught.value.field == "ranker"
    with pytest.raises(RankerError, match="use one of cascade, cheap, neural, none, similarity"):
        load_system("ceaf", {"ranker": "?"})


@pytest.mark.parametrize("ranker", ["neural", "cascade"])
def test_a_ranker_that_learns_needs_its_scorer_before_anything_is_opened(ranker: str) -> None:
    with pytest.raises(RankerError, match=f"'{ranker}' needs a trained node scorer.*scorer=FOLDER") as caught:
        load_system("ceaf", {"ranker": ranker})
    assert caught.value.field == "scorer"


def test_a_ranker_that_is_not_installed_is_said_to_be_so(
    kg: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RANKERS, "acme", "acme_ranking:open_ranker")
    with pytest.raises(RankerError, match=r"'acme' is not installed \(no module 'acme_ranking'\)"):
        opened("acme", kg)


def test_a_ranker_from_elsewhere_plugs_in(kg: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "by_length", lambda config, resources: config, raising=False)
    monkeypatch.setitem(RANKERS, "length", f"{ranking.__name__}:by_length")
    assert opened("length", kg) == CeafConfig(ranker="length")
