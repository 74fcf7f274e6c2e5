"""Ranking with a trained scorer: scores that do not depend on company or cache, the cascade, what is refused."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import pytest

from clwqa_baselines.ceaf.config import CeafConfig
from clwqa_baselines.ceaf.ranking import MeanOfNodes, open_ranker, select
from clwqa_baselines.ceaf.scorer import folder
from clwqa_baselines.ceaf.scorer.cache import ScoreCache, key
from clwqa_baselines.ceaf.scorer.encoders import open_encoder
from clwqa_baselines.ceaf.scorer.errors import ScorerError
from clwqa_baselines.ceaf.scorer.ranking import Cascade, Scorer, scorer_of
from clwqa_baselines.ceaf.system import Ceaf
from clwqa_bench.kg import protocol as kg
from clwqa_bench.ontology import Ontology
from clwqa_bench.runner import Pace, run
from tests.baselines.scorer.conftest import Made
from tests.core.scripted import content

QUESTION = "“四面楚歌”出自哪部典籍？"


@pytest.fixture
def scorer(made: Made, tmp_path: Path) -> Scorer:
    return scorer_of(str(made.folder), made.resources(tmp_path))


def nodes_of(made: Made) -> list[str]:
    return list(made.dataset.kg().entities())


def test_scores_are_between_0_and_1_and_each_node_has_its_own(made: Made, scorer: Scorer) -> None:
    scores = scorer.scores(QUESTION, nodes_of(made))
    assert all(0 <= score <= 1 for score in scores)
    assert len(set(scores)) > 3


def test_a_score_does_not_depend_on_what_is_scored_with_it(
    made: Made, tmp_path: Path, scorer: Scorer
) -> None:
    nodes = nodes_of(made)
    together = scorer.scores(QUESTION, nodes)
    alone = scorer_of(str(made.folder), made.resources(tmp_path / "other"))
    assert [alone.scores(QUESTION, [node])[0] for node in nodes] == pytest.approx(together, abs=1e-4)
    assert scorer.scores(QUESTION, [nodes[0], nodes[3], nodes[0]]) == [together[0], together[3], together[0]]


@dataclass
class Counting:
    """A trained scorer that writes down what it is asked."""

    inner: object
    asked: list[str] = field(default_factory=list)

    def scores(self, pairs: Sequence[object]) -> object:
        self.asked += [pair.node for pair in pairs]  # type: ignore[attr-defined]
        return self.inner.scores(pairs)  # type: ignore[attr-defined]


def test_each_pair_is_scored_once_even_by_another_run(made: Made, tmp_path: Path, scorer: Scorer) -> None:
    nodes = nodes_of(made)
    first = Counting(scorer.trained)
    counted = replace(scorer, trained=first)  # type: ignore[arg-type]
    scores = counted.scores(QUESTION, [*nodes, *nodes])
    assert len(first.asked) == len(set(first.asked)) == len(nodes)
    later = scorer_of(str(made.folder), made.resources(tmp_path))
    second = Counting(later.trained)
    again = replace(later, trained=second)  # type: ignore[arg-type]
    assert again.scores(QUESTION, nodes) == scores[: len(nodes)]
    assert second.asked == []
    again.scores("另一个问题？", nodes[:2])
    assert len(second.asked) == 2


def test_no_nodes_no_scores(scorer: Scorer) -> None:
    assert scorer.scores(QUESTION, []) == []


# ---------------------------------------------------------------------- the cache


def test_a_key_tells_question_node_and_element_apart() -> None:
    keys = {key("a", "b", "c"), key("ab", "", "c"), key("a", "bc", ""), key("b", "a", "c")}
    assert len(keys) == 4


def test_more_keys_than_one_query_takes(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path / "scores.sqlite")
    scores = {key(str(number), "", ""): number / 2000 for number in range(1200)}
    cache.keep(scores)
    assert cache.known([*scores, key("unknown", "", "")]) == scores


def test_a_damaged_cache_is_moved_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file := tmp_path / "scores.sqlite").write_bytes(b"no database" * 1000)
    cache = ScoreCache(file)
    cache.keep({b"k": 0.5})
    assert cache.known([b"k"]) == {b"k": 0.5}
    assert (tmp_path / "scores.damaged").is_file()
    assert "damaged" in capsys.readouterr().err


def test_a_cache_damaged_behind_its_first_page_is_moved_aside(tmp_path: Path) -> None:
    scores = {key(str(number), "", ""): number / 2000 for number in range(1200)}
    before = ScoreCache(file := tmp_path / "scores.sqlite")
    before.keep(scores)
    before.close()
    first, rest = file.read_bytes()[:4096], file.stat().st_size - 4096
    file.write_bytes(first + b"\xff" * rest)
    cache = ScoreCache(file)
    assert cache.known(list(scores)) == {}
    cache.keep(scores)
    assert cache.known(list(scores)) == scores
    assert (tmp_path / "scores.damaged").is_file()


@pytest.mark.parametrize("error", [FileExistsError, PermissionError])
def test_a_cache_that_cannot_be_made_is_done_without(
    tmp_path: Path, error: type[OSError], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error("no folder here")

    monkeypatch.setattr(Path, "mkdir", refuse)
    cache = ScoreCache(tmp_path / "folder" / "scores.sqlite")
    cache.keep({b"k": 0.5})
    assert cache.known([b"k"]) == {}
    assert "not kept" in capsys.readouterr().err


def test_a_locked_cache_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("clwqa_baselines.ceaf.scorer.cache.PATIENCE", 0.01)
    cache = ScoreCache(tmp_path / "scores.sqlite")
    other = sqlite3.connect(cache.file)
    other.execute("BEGIN EXCLUSIVE")
    cache.keep({b"k": 0.5})
    assert cache.known([b"k"]) == {}
    assert "not kept" in capsys.readouterr().err
    other.close()


# ---------------------------------------------------------------------- rankers


def walk(*nodes: str) -> kg.Path:
    return kg.Path(nodes, ("r",) * (len(nodes) - 1), ("out",) * (len(nodes) - 1))


@pytest.mark.parametrize(
    ("keep", "asked", "order"), [(1, "56", "56342"), (2, "3456", "34562"), (9, "23456", "23456")]
)
def test_the_cascade_asks_the_scorer_about_the_best_shapes_of_the_cheap_ranker_only(
    keep: int, asked: str, order: str
) -> None:
    class Cheap:
        def rank(self, question: str, candidates: Sequence[kg.Path]) -> list[float]:
            return [float((int(path.nodes[-1]) + 1) // 2) for path in candidates]  # 5 and 6, 3 and 4, 2

    class Nodes:
        asked: Sequence[str] = ()

        def scores(self, question: str, nodes: Sequence[str]) -> list[float]:
            self.asked = nodes
            return [1 / int(node) for node in nodes]

    nodes, paths = Nodes(), [walk("0", end) for end in "63524"]
    scores = Cascade(Cheap(), MeanOfNodes(nodes), keep).rank("?", paths)
    assert sorted(nodes.asked) == list(asked)
    assert [one.path.nodes[-1] for one in select(paths, scores, 5)] == list(order)


@pytest.mark.parametrize("name", ["neural", "cascade"])
def test_it_opens_by_name_and_ranks_paths(made: Made, tmp_path: Path, name: str) -> None:
    ranker = open_ranker(CeafConfig(ranker=name, scorer=str(made.folder)), made.resources(tmp_path))
    paths = list(made.dataset.kg().paths(["word:四面楚歌"], 2))
    scores = ranker.rank(QUESTION, paths)
    assert scores is not None
    assert len(scores) == len(paths) > 3
    assert all(0 <= score <= 1 for path, score in zip(paths, scores, strict=True)) is (name == "neural")


@pytest.mark.parametrize("name", ["neural", "cascade"])
def test_it_ranks_beside_the_questions_one_after_another(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    threads, rank = set[threading.Thread](), MeanOfNodes.rank

    def noticed(ranker: MeanOfNodes, question: str, paths: Sequence[kg.Path]) -> Sequence[float]:
        threads.add(threading.current_thread())
        return rank(ranker, question, paths)

    monkeypatch.setattr(MeanOfNodes, "rank", noticed)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    system = Ceaf(CeafConfig(ranker=name, scorer=str(made.folder)))
    for at_a_time in (1, 8):
        pace = Pace(concurrency=at_a_time)
        run(system, made.dataset, "train", tmp_path / str(at_a_time), oracle=("stage1",), pace=pace)
    assert content(tmp_path / "1") == content(tmp_path / "8")
    assert len(threads) == 2  # one for each run
    assert threading.current_thread() not in threads


# ---------------------------------------------------------------------- identity and refusals


def test_the_scorer_is_part_of_a_runs_identity_wherever_it_lies(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made.folder, tmp_path / "moved")
    configs = [CeafConfig(ranker="neural", scorer=str(at)) for at in (made.folder, tmp_path / "moved")]
    one, moved = (config.model_dump(mode="json") for config in configs)
    assert one == moved
    assert one["scorer"] == made.description.digest[:12]
    assert f"scorer={one['scorer']}" in Ceaf(configs[0]).variant
    assert CeafConfig().model_dump(mode="json")["scorer"] == ""


@pytest.fixture
def copy(made: Made, tmp_path: Path) -> Path:
    shutil.copytree(made.folder, tmp_path / "copy")
    return tmp_path / "copy"


def test_a_missing_scorer_says_how_to_make_one(made: Made, tmp_path: Path) -> None:
    with pytest.raises(ScorerError, match="train scorer"):
        scorer_of("", made.resources(tmp_path))
    with pytest.raises(ScorerError, match="no trained scorer here"):
        CeafConfig(scorer=str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("content", "problem"), [("{", "not JSON"), ("{}", "format 1"), ('{"format": 1}', "digest")]
)
def test_a_description_that_cannot_be_read(copy: Path, content: str, problem: str) -> None:
    (copy / folder.DESCRIPTION).write_text(content, encoding="utf-8")
    with pytest.raises(ScorerError, match=problem):
        folder.read_description(copy)


def test_damaged_weights_are_refused(copy: Path) -> None:
    weights = bytearray((copy / folder.WEIGHTS).read_bytes())
    weights[-1] ^= 1
    (copy / folder.WEIGHTS).write_bytes(weights)
    with pytest.raises(ScorerError, match=r"weights\.safetensors: the file is damaged"):
        folder.open_scorer(copy)
    (copy / folder.WEIGHTS).unlink()
    with pytest.raises(ScorerError, match="weights are missing"):
        folder.open_scorer(copy)


def test_an_edited_description_is_refused(copy: Path) -> None:
    file = copy / folder.DESCRIPTION
    said = orjson.loads(file.read_bytes())
    said["elements"] = said["elements"][::-1]
    file.write_bytes(orjson.dumps(said))
    with pytest.raises(ScorerError, match="does not belong"):
        folder.open_scorer(copy)


def test_another_encoder_is_refused(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = open_encoder("char", texts=("另一个", "另一个"))
    monkeypatch.setattr(folder, "open_encoder", lambda *_, **__: other)
    with pytest.raises(ScorerError, match="another encoder 'char'"):
        folder.open_scorer(copy)


def test_another_dataset_or_ontology_is_refused(made: Made, tmp_path: Path) -> None:
    resources = made.resources(tmp_path)
    with pytest.raises(ScorerError, match="another dataset") as failed:
        scorer_of(str(made.folder), replace(resources, cache=tmp_path / "elsewhere"))
    assert failed.value.field == "dataset"
    types = dict(list(resources.ontology.type_terms.items())[1:])
    other = Ontology(types, resources.ontology.relation_terms)
    with pytest.raises(ScorerError, match="another ontology"):
        scorer_of(str(made.folder), replace(resources, ontology=other))
