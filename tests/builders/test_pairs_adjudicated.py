"""Bands that people decided: from a review into a table, and from the table into the next build."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import BuildError
from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.records import Band, ScoringPair
from clwqa_builders.output.manifest import ADJUDICATED
from clwqa_builders.output.writers import write_sheet
from clwqa_builders.pairs.adjudicated import COLUMNS, RULE, TABLE, Decision, digest, plain, read_decisions
from clwqa_builders.pairs.make import Made, make_pairs
from clwqa_builders.pairs.nodes import Nodes
from clwqa_builders.pairs.rubric import load_rubric
from clwqa_builders.pipeline import Plan, stages
from clwqa_builders.questions.columns import GraphColumns
from tests import tiny_dataset as tiny
from tests.builders.question_graph import mini_tables
from tests.builders.review_folder import ENTRY, READERS, as_csv, filled, made, table
from tests.builders.test_pairs import AUTHOR, MEANING, QUESTIONS, SEED, rows
from tests.conftest import Result

Run = Callable[..., Result]


def decision(pair: ScoringPair, band: Band, **changes: str) -> Decision:
    told = {
        "decided_by": "the adjudicator",
        "review": "r1",
        "question": pair.question,
        "node_text": pair.node_text,
    }
    return Decision.model_validate({"pair_id": pair.id, "band": band, **told, **changes})


def written(path: Path, *decisions: Decision) -> Path:
    write_sheet(COLUMNS, [one.row for one in decisions], path)
    return path


# ---------------------------------------------------------------------- into the next build


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Nodes:
    folder = tmp_path_factory.mktemp("kg")
    write_index(*mini_tables(), folder, tiny.ONTOLOGY)
    columns = GraphColumns.of_tables(*mini_tables())
    return Nodes.of(MemoryGraph.open(folder), columns, np.full(len(columns), -1))


def draw(nodes: Nodes, *decisions: Decision, size: int = 4) -> Made:
    by_pair = {one.pair_id: one for one in decisions}
    rubric, part = load_rubric(tiny.ONTOLOGY), np.array([0, 0, 2])
    return make_pairs(
        rows(*QUESTIONS), part, nodes, rubric, SEED, {"train": size, "test": 3}, decisions=by_pair
    )


def test_a_pair_has_the_band_that_people_gave_it(nodes: Nodes) -> None:
    before = {pair.id: pair for pair in draw(nodes).pairs}
    answer = next(pair for pair in before.values() if pair.question_id == MEANING.id and pair.band == "L5")
    made = draw(nodes, decision(answer, "L4"))
    after = {pair.id: pair for pair in made.pairs}[answer.id]
    assert (after.band, after.label, after.rule) == ("L4", 0.7, RULE)
    assert [row[:2] for row in made.adjudicated] == [(answer.id, "L4")]
    [claims] = [row[5] for row in made.disputed if row[0] == answer.id]
    assert claims.startswith("L4 adjudicated; L5 answer")
    assert Made.from_json(made.to_json()) == made


def test_a_band_that_people_confirm_keeps_its_rule(nodes: Nodes) -> None:
    before = draw(nodes)
    made = draw(nodes, decision(before.pairs[0], before.pairs[0].band))
    assert made.pairs == before.pairs
    assert len(made.adjudicated) == 1


def test_a_decision_on_a_pair_that_is_not_drawn_is_left_aside(nodes: Nodes) -> None:
    elsewhere = decision(draw(nodes).pairs[0], "L2").model_copy(update={"pair_id": "pair-000000000000"})
    assert draw(nodes, elsewhere) == draw(nodes)


@pytest.mark.parametrize("field", ["question", "node_text"])
def test_a_decision_on_other_words_stops_the_build(nodes: Nodes, field: str) -> None:
    pair = next(pair for pair in draw(nodes).pairs if pair.question_id == AUTHOR.id)
    with pytest.raises(
        BuildError, match=f"{pair.id} was decided by the adjudicator of review r1 on other words"
    ):
        draw(nodes, decision(pair, "L2", **{field: "别的话"}))


def test_other_decisions_make_the_pairs_anew() -> None:
    def configured(*decisions: Decision) -> object:
        plan = Plan({}, 7, decisions={one.pair_id: one for one in decisions})
        return next(stage for stage in stages(plan) if stage.name == "pairs").config

    one = decision(tiny.pair(*tiny.PAIRED[0]), "L2")
    assert (
        configured() == configured() != configured(one) != configured(one.model_copy(update={"band": "L3"}))
    )


# ---------------------------------------------------------------------- in the dataset


def test_a_dataset_says_what_people_decided(tmp_path: Path) -> None:
    told = decision(tiny.pair(*tiny.PAIRED[0]), "L2")
    manifest = tiny.write(tmp_path, pairs=[adjudicated(told)], adjudicated=[told.row])
    assert manifest.counts["adjudicated"] == 1
    assert ADJUDICATED in manifest.files
    assert list(read_decisions([tmp_path / ADJUDICATED]).values()) == [told]
    assert [pair.rule for pair in Dataset.open(tmp_path).pairs()] == [RULE]


def adjudicated(told: Decision) -> ScoringPair:
    label = {"L2": 0.3}[told.band]
    return tiny.pair(*tiny.PAIRED[0]).model_copy(update={"band": told.band, "label": label, "rule": RULE})


# ---------------------------------------------------------------------- the table


def test_the_table_of_the_repository_is_in_order() -> None:
    decisions = read_decisions()
    assert TABLE.is_file()
    assert digest(decisions) == digest(dict(reversed(decisions.items())))


def test_a_table_in_another_encoding_is_told(tmp_path: Path) -> None:
    (tmp_path / "bands.tsv").write_bytes(HEADER.encode() + "\n成语".encode("gb18030"))
    with pytest.raises(BuildError, match="not UTF-8"):
        read_decisions((tmp_path / "bands.tsv",))


HEADER = "\t".join(COLUMNS)
LINE = "pair-0\tL2\tthe adjudicator\tr1\t谁？\t人物：司马迁。"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "not a table of decisions"),
        ("id\tband", 1, "not a table of decisions"),
        (f"{HEADER}\n{LINE}\tmore", 2, "7 cells where the header has 6"),
        (f"{HEADER}\n{LINE.replace('L2', 'L6')}", 2, "field band: Input should be 'L5'"),
        (f"{HEADER}\n{LINE}\n{LINE}", 3, "pair-0 is decided twice"),
    ],
    ids=["empty", "header", "cells", "band", "twice"],
)
def test_a_table_that_does_not_fit_is_named(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = tmp_path / "bands.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BuildError) as caught:
        read_decisions([path])
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert what in str(caught.value)


def test_a_build_with_a_bad_table_does_not_begin(tmp_path: Path, cli: Run) -> None:
    result = cli("build", "--out", str(tmp_path / "data"), "--adjudicated", str(tmp_path / "away.tsv"))
    assert (result.code, "the table of decisions is missing" in result.err) == (2, True)
    one = decision(tiny.pair(*tiny.PAIRED[0]), "L2")
    tables = written(tmp_path / "one.tsv", one), written(tmp_path / "two.tsv", one)
    result = cli("build", "--out", str(tmp_path / "data"), *(f"--adjudicated={path}" for path in tables))
    assert (result.code, "is decided twice" in result.err) == (2, True)
    assert not (tmp_path / "data").exists()


# ---------------------------------------------------------------------- out of a review


def test_a_review_writes_what_was_decided(tmp_path: Path, cli: Run, install: Run) -> None:
    """Both readers say L3 of the first pair; on the second they differ, and so far nobody has settled it."""
    install("review-command", "1.0", {}, ENTRY)
    review = made(tmp_path, "pairs")
    first, second, *_ = review.items
    for reader, band in zip(READERS, ("L2", "L5"), strict=True):
        path = review.folder / "sheets" / f"{reader}.csv"
        verdicts = {first: "L3", second: band}
        path.write_text(
            as_csv(filled(table(path), lambda id, _, v=verdicts: v.get(id, ""), ["band"])), encoding="utf-8"
        )  # type: ignore[misc]
        assert cli("review", "import", str(review.folder), str(path)).code == 0
    result = cli("review", "report", str(review.folder), "--bands", str(tmp_path / "bands.tsv"), "--json")
    assert "1 bands decided" in result.err
    assert json.loads(result.out)["disagreements"]["open"] == [second]
    [told] = read_decisions([tmp_path / "bands.tsv"]).values()
    item = review.items[first]
    assert (told.pair_id, told.band, told.decided_by, told.review) == (
        first,
        "L3",
        "2 annotators",
        review.plan.id,
    )
    assert (told.question, told.node_text) == (plain(item.question), plain(item.node))


def test_bands_are_of_pairs(tmp_path: Path, cli: Run, install: Run) -> None:
    install("review-command", "1.0", {}, ENTRY)
    result = cli("review", "report", str(made(tmp_path).folder), "--bands", str(tmp_path / "bands.tsv"))
    assert (result.code, "for a review of pairs" in result.err) == (2, True)
