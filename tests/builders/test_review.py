"""Reviews: the draw, sheets that people fill in, what comes back, and what it says."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from clwqa_bench import cli as program
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import BuildError, ClwqaError
from clwqa_bench.records import Generator
from clwqa_builders.generate.folder import Identity
from clwqa_builders.output.reviews import add_review
from clwqa_builders.pairs.rubric import load_rubric
from clwqa_builders.review import forms, incoming, results, sheets, workbook
from clwqa_builders.review.commands import app
from clwqa_builders.review.folder import SHEETS, Review, open_review
from clwqa_builders.review.forms import FORMS, QUESTIONS, Kind, rubric_rows
from clwqa_builders.review.records import ReviewError
from clwqa_builders.review.sample import allocate, assign, draw
from clwqa_builders.validate.rules.files import files_match_manifest
from clwqa_builders.validate.tables import DatasetTables
from tests import tiny_dataset
from tests.builders.review_folder import (
    ENTRY,
    READERS,
    Table,
    as_csv,
    column,
    filled,
    lines,
    made,
    table,
    tiny,
)

CRITERIA = [criterion.id for criterion in QUESTIONS.criteria]
Run = Callable[..., Any]


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
    (tmp_path / "ids.txt").write_text("q7\n\nq2\n", encoding="utf-8")
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


# --- there and back ---------------------------------------------------------------------------------------------

verdicts = st.sampled_from([choice.code for choice in QUESTIONS.choices])
opinions = st.dictionaries(
    st.tuples(st.sampled_from([f"q{n}" for n in range(1, 8)]), st.sampled_from(CRITERIA)), verdicts
)


@settings(max_examples=25, deadline=None)
@given(st.tuples(opinions, opinions), st.sampled_from(["csv", "jsonl"]))
def test_what_readers_say_is_what_the_review_holds(
    said: tuple[dict[tuple[str, str], str], ...], ending: str
) -> None:
    with TemporaryDirectory() as name:
        review = made(Path(name))
        for sheet, opinion in zip(sheets.annotator_sheets(review), said, strict=True):
            review.add(incoming.read([sent(review, sheet, opinion, ending)], review)[0])
        found = results.Findings.of(open_review(review.folder))
        for item in review.items:
            for criterion in CRITERIA:
                expected = {
                    reader: opinion[item, criterion]
                    for reader, opinion in zip(READERS, said, strict=True)
                    if (item, criterion) in opinion
                }
                assert found.given(item, criterion) == expected
        report = results.report(found)
        assert json.loads(orjson.dumps(report)) == report
        assert report["read"] == len({item for opinion in said for item, _ in opinion})


def sent(review: Review, sheet: sheets.Sheet, opinion: dict[tuple[str, str], str], ending: str) -> Path:
    """The file a reader of this opinion sends back."""
    path = review.folder / f"back-{sheet.person}.{ending}"
    if ending == "csv":
        rows = table(review.folder / SHEETS / f"{sheet.person}.csv")
        path.write_text(as_csv(filled(rows, lambda *cell: opinion.get(cell, ""), CRITERIA)), encoding="utf-8")
    else:
        own: dict[str, dict[str, str]] = {}
        for (item, criterion), verdict in opinion.items():
            own.setdefault(item, {})[criterion] = verdict
        path.write_bytes(lines(sheet, own))
    return path


def test_a_workbook_goes_there_and_back(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    review = made(tmp_path)
    path = review.folder / SHEETS / "甲.xlsx"
    book = openpyxl.load_workbook(path)
    page = book.active
    titles = [cell.value for cell in page[1]]
    assert page.data_validations.dataValidation[0].formula1 == '"通过,小疵,不通过,无法判断"'
    page.cell(2, titles.index("validity 问题有效") + 1).value = "小疵"
    page.cell(3, titles.index("validity 问题有效") + 1).value = 3
    book.save(path)
    rulings, empty = incoming.read([path], review)
    assert [dict(ruling.verdicts) for ruling in rulings] == [{"validity": "minor"}, {"validity": "fail"}]
    assert empty == 5


# --- history ----------------------------------------------------------------------------------------------------


def ruled(review: Review, person: str, number: int, verdict: str, comment: str = "") -> Path:
    """A verdict file of one person who says the same of every criterion of an item."""
    sheet = next(sheet for sheet in sheets.annotator_sheets(review) if sheet.person == person)
    path = review.folder / f"{person}-{number}-{verdict}-{comment}.jsonl"
    path.write_bytes(lines(sheet, {f"q{number}": dict.fromkeys(CRITERIA, verdict)}, comment))
    return path


def test_the_last_ruling_counts_and_the_earlier_ones_stay(tmp_path: Path) -> None:
    review = made(tmp_path)
    first, second = ruled(review, "甲", 1, "fail"), ruled(review, "甲", 1, "pass", "再读之后")
    for file, outcome in ((first, (1, 0)), (first, (0, 0)), (second, (0, 1)), (first, (0, 0))):
        assert review.add(incoming.read([file], review)[0]) == outcome
    assert [ruling.verdicts["validity"] for ruling in review.rulings()] == ["fail", "pass"]
    assert results.Findings.of(review).given("q1", "validity") == {"甲": "pass"}


def test_two_rulings_of_one_person_in_one_import(tmp_path: Path) -> None:
    review = made(tmp_path)
    files = [ruled(review, "甲", 1, "fail"), ruled(review, "甲", 1, "pass")]
    assert review.add(incoming.read(files, review)[0]) == (1, 1)
    assert results.Findings.of(review).given("q1", "validity") == {"甲": "pass"}


def test_either_all_files_are_taken_or_none(tmp_path: Path, cli: Run, install: Run) -> None:
    install("review-command", "1.0", {}, ENTRY)
    review = made(tmp_path)
    (tmp_path / "bad.jsonl").write_text("{}\n", encoding="utf-8")
    good = ruled(review, "甲", 1, "pass")
    done = cli("review", "import", str(review.folder), str(good), str(tmp_path / "bad.jsonl"))
    assert done.code == 2
    assert "bad.jsonl:1: field" in done.err
    assert review.rulings() == []


def test_a_torn_line_of_a_killed_import_is_cut_off(tmp_path: Path) -> None:
    review = made(tmp_path)
    review.add(incoming.read([ruled(review, "甲", 1, "pass")], review)[0])
    with (review.folder / "rulings.jsonl").open("ab") as stream:
        stream.write(b'{"annotator": "')
    review.add(incoming.read([ruled(review, "乙", 1, "pass")], review)[0])
    assert [ruling.annotator for ruling in review.rulings()] == ["甲", "乙"]


# --- results ----------------------------------------------------------------------------------------------------


def judged(tmp_path: Path) -> Review:
    """甲 passes all; 乙 fails q1 and cannot tell of q2."""
    review = made(tmp_path)
    for number in range(1, 8):
        other = {1: "fail", 2: "unsure"}.get(number, "pass")
        for person, verdict in (("甲", "pass"), ("乙", other)):
            review.add(incoming.read([ruled(review, person, number, verdict)], review)[0])
    return review


def test_rates_agreement_and_disagreements(tmp_path: Path) -> None:
    report = results.report(results.Findings.of(judged(tmp_path)))
    rate = report["rates"]["validity"]["overall"]["strict"]
    assert (rate["value"], rate["n"]) == (pytest.approx(6.5 / 7, abs=1e-4), 7)
    assert report["rates"]["all"]["by"]["hops"]["1"]["strict"]["value"] == 0.75
    assert report["rates"]["validity"]["verdicts"] == {
        "pass": 5,
        "minor": 0,
        "fail": 0,
        "unsure": 0,
        "open": 2,
    }
    assert report["agreement"]["validity"]["observed"] == pytest.approx(5 / 7)
    assert report["agreement"]["validity"]["cohen"]["甲 / 乙"]["n"] == 7
    assert report["disagreements"]["items"] == 2
    assert sorted(report["disagreements"]["open"]) == ["q1", "q2"]
    assert report["failed"] == []


@pytest.mark.parametrize("kind", FORMS)
def test_a_review_nobody_has_begun(kind: Kind, tmp_path: Path) -> None:
    review = made(tmp_path, kind)
    report = results.report(results.Findings.of(review))
    assert report["read"] == 0
    assert {rate["overall"]["strict"] for rate in report["rates"].values()} == {None}
    add_review(tmp_path / "data", report)
    assert "| 0 | - | - |" in (tmp_path / "data" / "README.md").read_text(encoding="utf-8")


def test_an_adjudicator_decides(tmp_path: Path) -> None:
    review = judged(tmp_path)
    [sheet] = results.open_sheet(results.Findings.of(review), review, "丙")
    assert {item.id for item in sheet.items} == {"q1", "q2"}
    rows = [sheet.titles(), *sheet.rows()]
    said = next(row for row in rows if "q1" in row)[column(rows, "said")]
    assert said.splitlines()[1].startswith("乙：证据忠实 不通过")
    path = tmp_path / "丙.csv"
    ruling = filled(rows, lambda item, _: {"q1": "不通过", "q2": "1"}[item], CRITERIA)
    path.write_text(as_csv(ruling), encoding="utf-8")
    review.add(incoming.read([path], review)[0])
    found = results.Findings.of(review)
    report = results.report(found)
    assert report["disagreements"] == {"items": 2, "open": []}
    assert [(failed["id"], failed["verdicts"]["validity"]) for failed in report["failed"]] == [("q1", "fail")]
    assert report["rates"]["validity"]["overall"]["strict"]["value"] == pytest.approx(6 / 7, abs=1e-4)
    assert report["adjudicators"] == ["丙"]
    assert results.open_sheet(found, review, "丙") == []


def test_pairs_are_held_against_the_rubric(tmp_path: Path) -> None:
    review = made(tmp_path, "pairs", people=["甲"])
    [sheet] = sheets.annotator_sheets(review)
    bands = {item.id: {"band": item.expected or ""} for item in review.items.values()}
    bands["q4/book:史记"] = {"band": "L2"}  # the rubric says L1
    bands["q3/person:韩非"] = {"band": "L2"}  # the rubric says L5
    (tmp_path / "back.jsonl").write_bytes(lines(sheet, bands))
    review.add(incoming.read([tmp_path / "back.jsonl"], review)[0])
    report = results.report(results.Findings.of(review))
    rates = report["rates"]["band"]["overall"]
    assert (rates["strict"]["value"], rates["lenient"]["value"]) == (0.75, 0.875)
    assert report["bands"]["rubric_by_reader"]["L1"] == {"L5": 0, "L4": 0, "L3": 0, "L2": 1, "L1": 1}
    assert report["bands"]["mean_label_difference"] == pytest.approx((0.2 + 0.6) / 8)
    assert [(failed["id"], failed["expected"]) for failed in report["failed"]] == [("q3/person:韩非", "L5")]
    assert report["bands"]["differing"] == {
        "q3/person:韩非": {"rubric": "L5", "reader": "L2"},
        "q4/book:史记": {"rubric": "L1", "reader": "L2"},
    }


def test_every_rule_of_the_rubric_is_told_in_both_languages() -> None:
    rubric = load_rubric(tiny_dataset.ONTOLOGY)
    rows = rubric_rows(rubric)
    chinese = tomllib.loads((Path(forms.__file__).with_name("rubric_zh.toml")).read_text(encoding="utf-8"))
    assert [rule for _, rule, _, _ in rows] == [rule.id for rule in rubric.rules] == list(chinese)
    assert all(zh.endswith("。") and en.endswith(".") for _, _, zh, en in rows)


def test_an_item_weighs_what_it_stands_for(tmp_path: Path) -> None:
    review = made(tmp_path, people=["甲"], number=5)
    weights = {cell: review.plan.cells[cell] for cell in review.plan.cells}
    assert set(weights.values()) == {1, 2}
    wrong = next(item for item in review.items.values() if weights[item.cell] == 2)
    for id in review.items:
        verdict = "fail" if id == wrong.id else "pass"
        review.add(incoming.read([ruled(review, "甲", int(id[1:]), verdict)], review)[0])
    rate = results.report(results.Findings.of(review))["rates"]["all"]["overall"]["strict"]
    assert rate["value"] == pytest.approx(5 / 7, abs=1e-4)


# --- into the card ----------------------------------------------------------------------------------------------


def test_the_rates_enter_the_card_and_the_manifest_stays_true(tmp_path: Path) -> None:
    review = judged(tmp_path)
    data = tmp_path / "data"
    before = Dataset.open(data).manifest
    assert "No person's reading" in (data / "README.md").read_text(encoding="utf-8")
    report = results.report(results.Findings.of(review))
    add_review(data, report)
    add_review(data, report)  # again: the section is replaced
    after = Dataset.open(data).manifest  # checks every file
    assert after.content == before.content
    changed = {name for name in after.files if after.files[name] != before.files.get(name)}
    assert changed == {"README.md", "review/questions.json"}
    assert list(files_match_manifest.check(DatasetTables.open(data))) == []
    card = (data / "README.md").read_text(encoding="utf-8")
    assert card.count("7 of 7 sampled questions were read by 2 people") == 1
    assert "| validity | 7 | 92.9 % [" in card
    assert "No person's reading" not in card
    add_review(data, results.report(results.Findings.of(_pairs_beside(tmp_path))))
    both = (data / "README.md").read_text(encoding="utf-8")
    assert "sampled questions" in both
    assert "sampled pairs" in both


def _pairs_beside(tmp_path: Path) -> Review:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "data").symlink_to(tmp_path / "data")
    return made(tmp_path / "other", "pairs", people=["甲"])


def test_a_card_without_the_section_gets_one(tmp_path: Path) -> None:
    review = judged(tmp_path)
    card = tmp_path / "data" / "README.md"
    text = card.read_text(encoding="utf-8")
    old = text[: text.index("## Read by people")] + text[text.index("## Sources and licences") :]
    card.write_text(old, encoding="utf-8")
    add_review(tmp_path / "data", results.report(results.Findings.of(review)))
    text = card.read_text(encoding="utf-8")
    assert text.index("## Read by people") < text.index("sampled questions") < text.index("## Sources and")


def test_a_review_of_other_content_is_refused(tmp_path: Path) -> None:
    report = results.report(results.Findings.of(judged(tmp_path)))
    tiny_dataset.write(tmp_path / "other", questions=tiny_dataset.QUESTIONS[:-1])
    with pytest.raises(BuildError, match=r"field content\.qa: the review was made on other content"):
        add_review(tmp_path / "other", report)
    assert not (tmp_path / "other" / "review").exists()


# --- bad input --------------------------------------------------------------------------------------------------


def change(name: str, value: str, row: int = 1) -> Callable[[Table], Table]:
    def changed(rows: Table) -> Table:
        rows[row][column(rows, name)] = value
        return rows

    return changed


def without(name: str) -> Callable[[Table], Table]:
    return lambda rows: [[cell for n, cell in enumerate(row) if n != column(rows, name)] for row in rows]


@pytest.mark.parametrize(
    ("spoil", "place", "what"),
    [
        (change("item", "q99"), "2: field item", "'q99' is no item of this review"),
        (change("item", ""), "2: field item", "the item's id is missing"),
        (change("annotator", ""), "2: field annotator", "the annotator is missing"),
        (change("annotator", "丁"), "2: field annotator", "'丁' is not an annotator"),
        (change("role", "boss"), "2: field role", "'boss' is no role"),
        (change("dataset", "clwqa-tiny 1.0.0 #000000000000"), "2: field dataset", "belongs to another dataset"),
        (change("review", "000000000000"), "2: field review", "belongs to another review"),
        (change("validity", "maybe"), "2: field validity", "unknown verdict 'maybe'"),
        (change("question", "成语“守株待兔”出自哪一篇？"), "2: field question", "the text was changed"),
        (change("answers", "??"), "2: field answers", "characters were lost"),
        (lambda rows: [*rows, rows[1]], "9: field item", "is ruled on in line 2 already"),
        (lambda rows: rows[1:], "1: field review", "column 'review' is missing"),
        (without("validity"), "1: field validity", "column 'validity' is missing"),
        (lambda rows: [[*row, "我的看法"] for row in rows], "1: field 我的看法", "unknown column"),
        (lambda rows: [[*row, row[-1]] for row in rows], "1: field comment", "'comment' is there twice"),
        (lambda rows: [rows[0], [*rows[1], "溢出"]], "2", "15 cells under 14 titles"),
    ],
)  # fmt: skip
def test_a_sheet_that_is_not_as_exported(
    spoil: Callable[[Table], Table], place: str, what: str, tmp_path: Path
) -> None:
    review = made(tmp_path)
    path = tmp_path / "回.csv"
    path.write_text(as_csv(spoil(table(review.folder / SHEETS / "甲.csv"))), encoding="utf-8")
    with pytest.raises(ReviewError) as caught:
        incoming.read([path], review)
    assert str(caught.value).startswith(f"{path}:{place}: ")
    assert what in caught.value.what
    assert caught.value.fix


def test_an_item_of_another_reader(tmp_path: Path) -> None:
    review = made(tmp_path, overlap=0.0)
    own = review.plan.assigned["乙"][0]
    rows = change("annotator", "甲")(table(review.folder / SHEETS / "乙.csv"))
    (tmp_path / "回.csv").write_text(as_csv(rows), encoding="utf-8")
    with pytest.raises(ReviewError, match=f"{own} was not given to 甲"):
        incoming.read([tmp_path / "回.csv"], review)


@pytest.mark.parametrize(
    ("encoding", "delimiter"),
    [("utf-8", ","), ("utf-8-sig", ";"), ("gb18030", ";"), ("gbk", ","), ("utf-16", "\t")],
)
def test_what_spreadsheet_programs_save_is_read(encoding: str, delimiter: str, tmp_path: Path) -> None:
    review = made(tmp_path)
    rows = filled(table(review.folder / SHEETS / "甲.csv"), lambda *_: "小疵", CRITERIA)
    if encoding == "gbk":  # the program saves a question mark for what the code page lacks
        rows = [[cell.encode("gbk", "replace").decode("gbk") for cell in row] for row in rows]
    (tmp_path / "回.csv").write_bytes(as_csv(rows, delimiter).encode(encoding))
    rulings, empty = incoming.read([tmp_path / "回.csv"], review)
    assert (len(rulings), empty) == (7, 0)
    assert {verdict for ruling in rulings for verdict in ruling.verdicts.values()} == {"minor"}


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("回.csv", b"\x81\xff\xff\x80", "neither UTF-8 nor GBK"),
        ("回.csv", b"", "column 'review' is missing"),
        ("回.csv", b'review,"dataset', "not a complete table"),
        ("回.docx", b"PK", ".docx is not read"),
        ("回.jsonl", b"not json\n", "Invalid JSON"),
        ("回.jsonl", b'{"review": "x"}\n', "Field required"),
        ("回.xlsx", b"PK", "not an XLSX workbook" if workbook.available() else "needs openpyxl"),
    ],
)
def test_a_file_that_is_no_sheet(name: str, content: bytes, what: str, tmp_path: Path) -> None:
    review = made(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReviewError, match=what) as caught:
        incoming.read([tmp_path / name], review)
    assert caught.value.file == str(tmp_path / name)


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("shown", "0" * 16, "was shown in other words"),
        ("verdicts", {"validity": "good"}, "unknown verdict"),
        ("verdicts", {"beauty": "pass"}, "no criterion 'beauty'"),
        ("annotator", "../甲", "String should match pattern"),
    ],
)
def test_a_verdict_file_that_somebody_edited(field: str, value: Any, what: str, tmp_path: Path) -> None:
    review = made(tmp_path)
    path = ruled(review, "甲", 1, "pass")
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | {field: value}))
    with pytest.raises(ReviewError, match=what) as caught:
        incoming.read([path], review)
    assert caught.value.line == 1


def test_requests_that_cannot_be_met(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("q1\nq99\n", encoding="utf-8")
    (tmp_path / "none.txt").write_text("\n", encoding="utf-8")
    for options, what in (
        ({"people": []}, "a name of their own"),
        ({"people": ["甲", "甲"]}, "a name of their own"),
        ({"people": ["../甲"]}, "cannot be a reader's name"),
        ({"number": 1}, "1 items for 2 readers"),
        ({"method": "llm"}, "nothing fits"),
        ({"ids": tmp_path / "ids.txt"}, "ids.txt:2: q99 is not among"),
        ({"ids": tmp_path / "none.txt"}, "lists no id"),
        ({"ids": tmp_path / "away.txt"}, "no such file"),
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


# --- the command ------------------------------------------------------------------------------------------------


def test_what_the_command_says_of_itself(snapshot: SnapshotAssertion) -> None:
    command = program.as_command("review", app)
    assert {
        name: {
            "help": leaf.help,
            "parameters": {", ".join(p.opts): getattr(p, "help", None) for p in leaf.params},
        }
        for name, leaf in command.commands.items()
    } == snapshot


@pytest.mark.parametrize("kind", FORMS)
def test_from_the_command_line(kind: Kind, tmp_path: Path, cli: Run, install: Run) -> None:
    install("review-command", "1.0", {}, ENTRY)
    tiny_dataset.write(tmp_path / "data")
    folder, data = str(tmp_path / "review"), str(tmp_path / "data")
    options = ("--n", "6", "--overlap", "0.5", "--annotator", "甲", "--annotator", "乙", "--out", folder)
    done = cli("review", "export", "--dataset", data, "--what", kind, *options, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["items"] == 6
    assert "甲.html" in done.out
    names = [criterion.id for criterion in FORMS[kind].criteria]
    for reader, verdict in (("甲", "1"), ("乙", "2")):
        path = tmp_path / "review" / "sheets" / f"{reader}.csv"
        rows = filled(table(path), lambda *_, verdict=verdict: verdict, names)  # type: ignore[misc]
        path.write_text(as_csv(rows), encoding="utf-8-sig")
    done = cli("review", "import", folder, *(f"{folder}/sheets/{reader}.csv" for reader in READERS), "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["new"] == 9
    done = cli("review", "report", folder, "--adjudicator", "丙", "--into", data, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert len(told["disagreements"]["open"]) == 3
    assert json.loads((tmp_path / "review" / "review.json").read_bytes()) == told
    assert len(list((tmp_path / "review" / "adjudication").glob("丙-*.html"))) == 1
    shown = cli("review", "report", folder, "--failed", str(tmp_path / "failed.txt"))
    ids = (tmp_path / "failed.txt").read_text(encoding="utf-8").split()
    assert ids == [item["id"] for item in told["failed"]]
    assert "3 items disputed, 0 of them settled" in shown.out


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--n", "3", "--rate", "0.5"), "in one way"),
        (("--what", "pairs", "--method", "llm"), "for questions"),
        (("--disputed",), "for pairs"),
    ],
)
def test_options_that_exclude_each_other(options: tuple[str, ...], what: str, cli: Run, install: Run) -> None:
    install("review-command", "1.0", {}, ENTRY)
    done = cli("review", "export", "--annotator", "甲", "--out", "x", *options)
    assert done.code == 2
    assert what in " ".join(done.err.split())
