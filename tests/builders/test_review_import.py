"""What readers send back: sheets and verdict files, in what order, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clwqa_builders.review import incoming, results, sheets, workbook
from clwqa_builders.review.folder import SHEETS, Review, open_review
from clwqa_builders.review.forms import QUESTIONS
from clwqa_builders.review.records import ReviewError
from tests.builders.review_folder import (
    CRITERIA,
    ENTRY,
    READERS,
    Table,
    as_csv,
    column,
    filled,
    lines,
    made,
    ruled,
    table,
)

Run = Callable[..., Any]


# --- there and back ---------------------------------------------------------------------------------------------

verdicts = st.sampled_from([choice.code for choice in QUESTIONS.choices])
opinions = st.dictionaries(
    st.tuples(st.sampled_from([f"q{n}" for n in range(1, 8)]), st.sampled_from(CRITERIA)), verdicts
)


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Review:
    return made(tmp_path_factory.mktemp("blank"))


@settings(max_examples=25, deadline=None)
@given(st.tuples(opinions, opinions), st.sampled_from(["csv", "jsonl"]))
def test_what_readers_say_is_what_the_review_holds(
    blank: Review, said: tuple[dict[tuple[str, str], str], ...], ending: str
) -> None:
    with TemporaryDirectory() as name:
        review = replace(blank, folder=Path(shutil.copytree(blank.folder, name, dirs_exist_ok=True)))
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
