"""What a review says, what of it enters a dataset's card, and the command."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from clwqa_bench import cli as program
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import BuildError
from clwqa_builders.output.reviews import add_review
from clwqa_builders.pairs.rubric import load_rubric
from clwqa_builders.review import forms, incoming, results, sheets
from clwqa_builders.review.commands import app
from clwqa_builders.review.folder import Review
from clwqa_builders.review.forms import FORMS, Kind, rubric_rows
from clwqa_builders.validate.rules.files import files_match_manifest
from clwqa_builders.validate.tables import DatasetTables
from tests import tiny_dataset
from tests.builders.review_folder import (
    CRITERIA,
    ENTRY,
    READERS,
    as_csv,
    column,
    filled,
    lines,
    made,
    ruled,
    table,
)

Run = Callable[..., Any]


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


def test_a_card_tells_only_of_what_was_read(tmp_path: Path, cli: Run, install: Run) -> None:
    install("review-command", "1.0", {}, ENTRY)
    review = made(tmp_path)
    into = ("review", "report", str(review.folder), "--into", str(tmp_path / "data"))
    card = (tmp_path / "data" / "README.md").read_bytes()
    done = cli(*into)
    assert done.code == 2
    assert "no verdict is there" in done.err
    assert (tmp_path / "data" / "README.md").read_bytes() == card
    review.add(incoming.read([ruled(review, "甲", 1, "pass"), ruled(review, "乙", 1, "fail")], review)[0])
    done = cli(*into)
    assert done.code == 0, done.err
    assert "1 items are disputed and not settled" in done.err


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
