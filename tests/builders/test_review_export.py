"""What readers get: the draw, whose questions, and requests that cannot be met."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.errors import ClwqaError
from clwqa_bench.records import Generator
from clwqa_builders.generate.folder import Identity
from clwqa_builders.output.reviews import add_review
from clwqa_builders.review import incoming, results
from clwqa_builders.review.folder import SHEETS, open_review
from clwqa_builders.review.records import ReviewError
from clwqa_builders.review.sample import allocate, assign, draw
from clwqa_builders.validate.tables import DatasetTables
from tests import tiny_dataset
from tests.builders.review_folder import (
    column,
    made,
    table,
    tiny,
)

# --- the draw ---------------------------------------------------------------------------------------------------

cells = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 40), min_size=1)


@given(cells, st.integers(1, 100))
def test_seats_are_proportional_and_none_is_left_out(counts: dict[str, int], size: int) -> None:
    seats = allocate(counts, size)
    total = sum(counts.values())
    assert sum(seats.values()) == min(size, total)
    assert all(0 <= seats[cell] <= counts[cell] for cell in counts)
    if size >= len(counts):
        assert min(seats.values()) >= 1
    if size >= total:
        assert seats == counts


def test_a_large_stratum_gets_its_share() -> None:
    assert allocate({"template": 900, "llm": 100}, 50) == {"llm": 5, "template": 45}


@given(cells, st.integers(1, 60), st.integers(0, 9), st.randoms())
def test_the_draw_depends_on_the_seed_and_not_on_the_order(
    counts: dict[str, int], size: int, seed: int, chance: Any
) -> None:
    cell_of = {f"{cell}{n}": cell for cell, count in counts.items() for n in range(count)}
    mixed = list(cell_of.items())
    chance.shuffle(mixed)
    drawn = draw(cell_of, size, seed)
    assert drawn == draw(dict(mixed), size, seed)
    assert Counter(cell_of[id] for id in drawn) == Counter(allocate(counts, size))


@given(st.integers(1, 60), st.integers(1, 5), st.floats(0, 1))
def test_everything_is_read_and_the_overlap_by_all(items: int, readers: int, overlap: float) -> None:
    ids, people = [f"q{n}" for n in range(items)], [f"r{n}" for n in range(readers)]
    assigned = assign(ids, people, overlap, seed=3)
    readings = Counter(id for own in assigned.values() for id in own)
    common = round(overlap * items)
    assert [readings[id] for id in ids] == [readers] * common + [1] * (items - common)
    assert max(map(len, assigned.values())) - min(map(len, assigned.values())) <= 1


def test_a_sample_can_be_of_one_making_one_split_or_named(tmp_path: Path) -> None:
    llm = [
        q.model_copy(update={"generator": Generator(method="llm", model="m", prompt_id="p")}) if q.id == "q5" else q
        for q in tiny_dataset.QUESTIONS
    ]  # fmt: skip
    tiny_dataset.write(tmp_path / "data", questions=llm)
    (tmp_path / "ids.txt").write_text("q7\n\nq2\n", encoding="utf-8-sig")  # as some editors write it
    for options, expected in (
        ({"method": "llm"}, {"q5"}),
        ({"split": "test"}, {"q5", "q6"}),
        ({"number": None, "ids": tmp_path / "ids.txt"}, {"q7", "q2"}),
        ({"number": None, "rate": 0.3}, None),
    ):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        (folder / "data").symlink_to(tmp_path / "data")
        review = made(folder, people=["甲"], **options)
        assert set(review.items) == expected if expected else len(review.items) == 2


@pytest.fixture
def generation(tmp_path: Path) -> Path:
    """A folder as `clwqa-bench generate` leaves it, with one question on the graph of the tiny dataset."""
    asked = tiny_dataset.QUESTIONS[0].model_copy(
        update={"id": "g1", "generator": Generator(method="llm", model="m", prompt_id="p")}
    )
    made_from = {"kg": DatasetTables.open(tiny()).manifest.content["kg"]}
    identity = Identity(model="m", prompt="p", llm={}, dataset=made_from, seed=0, wanted=1, limits={})
    folder = tmp_path / "generated"
    folder.mkdir()
    (folder / "questions.jsonl").write_text(asked.model_dump_json() + "\n", encoding="utf-8")
    (folder / "generate.json").write_text(identity.model_dump_json(), encoding="utf-8")
    return folder


def test_generated_questions_are_read_on_the_graph_of_the_dataset(tmp_path: Path, generation: Path) -> None:
    review = made(tmp_path, people=["甲"], generated=generation)
    assert list(review.items) == ["g1"]
    assert review.items["g1"].strata["generator"] == "m"
    mixed = tmp_path / "mixed"  # the same graph, other questions
    tiny_dataset.write(mixed, questions=tiny_dataset.QUESTIONS[:-1])
    report = results.report(results.Findings.of(review))
    for data in (tmp_path / "data", mixed):
        add_review(data, report)
        assert "0 of 1 sampled generated questions" in (data / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "what"),
    [
        ("generate.json", '"kg":"', '"kg":"0', "generated on another graph"),
        ("questions.jsonl", '"hops":', '"hop":', "questions.jsonl:1: field hops: Field required"),
    ],
)
def test_generated_questions_that_do_not_belong_here(
    name: str, old: str, new: str, what: str, tmp_path: Path, generation: Path
) -> None:
    text = (generation / name).read_text(encoding="utf-8")
    (generation / name).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ReviewError, match=what):
        made(tmp_path, people=["甲"], generated=generation)


def test_pairs_that_several_bands_claim_can_be_settled_alone(tmp_path: Path) -> None:
    review = made(tmp_path, "pairs", people=["甲"], disputed=True)
    [item] = review.items.values()
    assert (item.id, item.expected, item.claims) == ("q4/expl:2", "L5", "L5 answer; L2 ...")


def test_a_reader_sees_path_passages_and_meaning_but_not_the_band(tmp_path: Path) -> None:
    item = made(tmp_path, "pairs").items["q4/expl:2"]
    assert item.paths == ("买椟还珠 —释义为→ 比喻取舍不当。",)
    assert item.passages == ("买椟还珠 — 释义：比喻没有眼光，取舍不当。",)
    assert item.node == "释义：比喻没有眼光，取舍不当。"
    exported = "".join(
        path.read_text(encoding="utf-8") for path in (tmp_path / "review" / SHEETS).glob("*.csv")
    )
    assert "L5" not in exported
    assert "answer;" not in exported


# --- requests and folders ---------------------------------------------------------------------------------------


def test_requests_that_cannot_be_met(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("q1\nq99\n", encoding="utf-8")
    (tmp_path / "none.txt").write_text("\n", encoding="utf-8")
    (tmp_path / "twice.txt").write_text("q1\nq2\nq1\n", encoding="utf-8")
    (tmp_path / "wide.txt").write_text("q1\nq2\n", encoding="utf-16")
    for options, what in (
        ({"people": []}, "a name of their own"),
        ({"people": ["甲", "甲"]}, "a name of their own"),
        ({"people": ["../甲"]}, "cannot be a reader's name"),
        ({"number": 1}, "1 items for 2 readers"),
        ({"method": "llm"}, "nothing fits"),
        ({"ids": tmp_path / "ids.txt"}, "ids.txt:2: 'q99' is none of what can be reviewed"),
        ({"ids": tmp_path / "twice.txt"}, "twice.txt:3: 'q1' is there twice"),
        ({"ids": tmp_path / "wide.txt"}, "not UTF-8"),
        ({"ids": tmp_path / "none.txt"}, "lists no id"),
        ({"ids": tmp_path / "away.txt"}, "the file is missing"),
        ({"generated": tmp_path}, "no generation here"),
    ):
        with pytest.raises(ClwqaError, match=what):
            made(tmp_path, **options)


def test_a_folder_belongs_to_one_review_and_filled_in_sheets_stay(tmp_path: Path) -> None:
    review = made(tmp_path)
    mine = review.folder / SHEETS / "甲.csv"
    mine.write_text("filled in", encoding="utf-8")
    (review.folder / SHEETS / "乙.csv").unlink()
    made(tmp_path)
    assert mine.read_text(encoding="utf-8") == "filled in"
    assert (review.folder / SHEETS / "乙.csv").exists()
    with pytest.raises(ReviewError, match="belongs to another review, with other assigned, items, seed"):
        made(tmp_path, seed=1)
    items = review.folder / "items.jsonl"
    items.write_bytes(items.read_bytes().replace("成语".encode(), "词语".encode()))
    with pytest.raises(ReviewError, match="not the items of the plan"):
        _ = open_review(review.folder).items
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "a.txt").touch()
    with pytest.raises(ReviewError, match="no review here"):
        open_review(tmp_path / "else")


def test_a_cell_is_no_formula(tmp_path: Path) -> None:
    formula = tiny_dataset.QUESTIONS[0].model_copy(update={"question": '=HYPERLINK("x")？'})
    tiny_dataset.write(tmp_path / "data", questions=[formula, *tiny_dataset.QUESTIONS[1:]])
    review = made(tmp_path)
    rows = table(review.folder / SHEETS / "甲.csv")
    cells = [row[column(rows, "question")] for row in rows]
    assert '\'=HYPERLINK("x")？' in cells
    assert not any(cell.startswith("=") for cell in cells)
    assert incoming.read([review.folder / SHEETS / "甲.csv"], review) == ([], 7)
