"""Numbers and lists that no run has: refused with their place before anything is made of them, the board untouched."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from clwqa_bench.errors import ClwqaError
from clwqa_bench.predictions import PredictedAnswer, Prediction, StageUsage
from clwqa_leaderboard import parsing
from clwqa_leaderboard.board import ENTRY, read_entries
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.packing import pack
from clwqa_leaderboard.parsing import Bounds
from clwqa_leaderboard.submission import opened
from clwqa_leaderboard.usage import MOST, doubtful
from tests.leaderboard.scene import Q5, Q6, USAGE, Scene, bare, contents, rows, tampered

Files = dict[str, bytes]
B5, B6 = bare(Q5), bare(Q6)


def spent(**changes: Any) -> dict[str, Any]:
    return {"answer": {**USAGE["answer"], **changes}}


def refused(scene: Scene, bad: Any, place: str, what: str) -> None:
    with pytest.raises(ClwqaError) as error:
        scene.add(bad)
    assert f"{bad}/{place}" in str(error.value)
    assert what in error.value.what
    assert error.value.fix
    assert scene.board() == {}


def lines(name: str, content: bytes) -> Callable[[Files], None]:
    return lambda files: files.update({name: content})


def thin(scene: Scene) -> Any:
    return pack(
        scene.run("run-thin"), scene.form(), scene.folder / "thin.zip", gold=scene.judge.gold, thin=True
    )


def row(**fields: Any) -> Callable[[Files], None]:
    """A change of the first row of a thin bundle."""

    def change(files: Files) -> None:
        first, *rest = map(json.loads, files["thin.jsonl"].splitlines())
        files["thin.jsonl"] = rows({**first, **fields}, *rest)

    return change


# --- usage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "figure", "what"),
    [
        ("calls", 10**30, "more than 100,000"),
        ("calls", 10**400, "more than 100,000"),
        ("attempts", 10**400, "more than 100,000"),
        ("tokens_in", 10**400, "more than 100,000,000"),
        ("tokens_out", 10**9, "more than 100,000,000"),
        ("seconds", 1e300, "more than 10,000,000"),
        ("cost", 1.7e308, "more than 100,000"),  # finite, and the sum of two is not
        ("cached", 5, "5 of 1 calls"),
    ],
)
def test_usage_that_cannot_be_true(scene: Scene, field: str, figure: float, what: str) -> None:
    usage = spent(**{field: figure})
    items = rows({**B5, "usage": usage}, {**B6, "usage": usage})
    bad = tampered(scene.bundle(), lines("items.jsonl", items))
    refused(scene, bad, f"items.jsonl:1: field usage.answer.{field}", what)
    bad = tampered(thin(scene), row(usage=usage))
    refused(scene, bad, f"thin.jsonl:1: field usage.answer.{field}", what)


def test_the_most_that_is_taken_can_be_added_up(scene: Scene) -> None:
    usage = {"answer": {**MOST, "seconds": 1.0, "cost": 100_000.0}}  # a day is too long for an answer
    items = rows({**B5, "usage": usage}, {**B6, "usage": usage})
    stored = scene.add(tampered(scene.bundle(), lines("items.jsonl", items)))
    assert stored.entry.cost.tokens_in == MOST["tokens_in"]
    assert stored.entry.cost.cost == MOST["cost"]
    assert [one.entry for one in read_entries(stored.folder.parent)] == [stored.entry]


def prediction(**changes: Any) -> Prediction:
    usage = {"answer": StageUsage(**changes)}
    return Prediction(id="q1", status="ok", answers=(PredictedAnswer(text="a"),), usage=usage)


@pytest.mark.parametrize(
    ("changes", "asks_a_model", "odd"),
    [
        ({"calls": 40, "tokens_in": 130_000, "seconds": 0.001}, False, ["tokens, though no model is named"]),
        ({"calls": 40, "seconds": 0.001}, False, []),  # rules count calls, and take no tokens
        ({"calls": 2, "tokens_out": 900}, True, ["tokens and no time"]),
        ({"tokens_out": 900}, True, ["tokens and no time"]),
        ({"calls": 2, "cached": 1, "tokens_out": 900}, True, ["tokens and no time"]),
        ({"calls": 2, "cached": 2, "tokens_out": 900}, True, []),
        ({"calls": 2, "tokens_out": 900, "seconds": 1.0}, True, []),
    ],
)
def test_usage_that_does_not_fit_together(changes: Any, asks_a_model: bool, odd: list[str]) -> None:
    found = [what for what, ids in doubtful([prediction(**changes)], asks_a_model=asks_a_model) if ids]
    assert [what.removeprefix("{} took ") for what in found] == odd


# --- run.json -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", "1" + "0" * 30),
        ("seed", "-1" + "0" * 400),
        ("seed", str(2**63)),
        ("config", '{"depth": 1' + "0" * 30 + "}"),
        ("config", '{"weights": [1.0, {"last": NaN}]}'),
        ("config", '{"temperature": 1e999}'),
    ],
)
def test_a_number_of_the_run_that_no_board_can_write_down(scene: Scene, field: str, value: str) -> None:
    def change(files: Files) -> None:
        run = json.loads(files["run.json"])
        run.pop(field, None)
        files["run.json"] = json.dumps(run).encode()[:-1] + f', "{field}": {value}}}'.encode()

    refused(scene, tampered(scene.bundle(), change), f"run.json: field {field}", "64 bits")


def test_numbers_of_64_bits_are_fine(scene: Scene) -> None:
    config = {
        "least": -(2**63) + 1,
        "most": 2**63 - 1,
        "share": sys.float_info.max,
        "flag": True,
        "deep": [[[1]]],
    }
    stored = scene.add(scene.bundle(seed=2**63 - 1, config=config))
    assert [one.entry for one in read_entries(stored.folder.parent)] == [stored.entry]


# --- an entry that was edited ---------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["value", "cost", "seconds", "low", "percent"])
@pytest.mark.parametrize("figure", ["1e999", "-1e999", "NaN"])
def test_an_entry_without_finite_numbers_is_not_read(scene: Scene, field: str, figure: str) -> None:
    stored = scene.add(scene.bundle())
    text = (stored.folder / ENTRY).read_text(encoding="utf-8")
    edited, changes = re.subn(rf'("{field}": )(?:[\d.-]+|null)', rf"\g<1>{figure}", text, count=1)
    assert changes
    (stored.folder / ENTRY).write_text(edited, encoding="utf-8")
    with pytest.raises(SubmissionError, match="finite number") as error:
        list(read_entries(stored.folder.parent))
    assert error.value.file == str(stored.folder / ENTRY)
    assert field in str(error.value.field)


# --- retries and traces -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [b"{}", b"[]", b"junk", b"[" * 15_000, b'{"id":[]}', b"[" * 200_000])
def test_retries_that_are_none(scene: Scene, bad: bytes) -> None:
    for bundle in (scene.bundle(), thin(scene)):
        refused(scene, tampered(bundle, lines("retries.jsonl", bad + b"\n")), "retries.jsonl:1", "")


@pytest.mark.parametrize("total", [-5, 10**400])
def test_a_trace_that_counts_what_nobody_can_count(scene: Scene, total: int) -> None:
    trace = rows({"id": "q5", "trace": [{"stage": "retrieve", "total": total}]})
    refused(
        scene, tampered(scene.bundle(), lines("traces.jsonl", trace)), "traces.jsonl:1: field trace.total", ""
    )
    bad = tampered(thin(scene), row(trace=[{"stage": "retrieve", "total": total}]))
    refused(scene, bad, "thin.jsonl:1: field trace", "")


# --- lists ------------------------------------------------------------------------------------------------------


def answers(number: int) -> dict[str, Any]:
    return {**B5, "answers": [{"text": "a"}] * number}


def traced(id: str, number: int) -> dict[str, Any]:
    return {"id": id, "trace": [{"stage": "link"}] * number}


@pytest.mark.parametrize(
    ("name", "content", "place", "what"),
    [
        (
            "items.jsonl",
            rows(answers(101), B6),
            "items.jsonl:1: field answers",
            "101 answers, a board takes 100",
        ),
        ("items.jsonl", rows(answers(10_000), B6), "items.jsonl:1", "values, a board takes 20,000"),
        (
            "traces.jsonl",
            rows(traced("q5", 1), traced("q6", 301)),
            "traces.jsonl:2: field trace",
            "301 steps",
        ),
        ("traces.jsonl", rows(traced("q5", 100_000)), "traces.jsonl:1", "values, a board takes 200,000"),
        (
            "traces.jsonl",
            rows({"id": "q5", "trace": [], "x": "长" * 1_400_000}),
            "traces.jsonl:1",
            "takes 4,096",
        ),
        ("retries.jsonl", rows({"id": "q5", "flags": [0] * 20_000}), "retries.jsonl:1", "takes 20,000"),
    ],
)
def test_more_than_any_system_hands_in(
    scene: Scene, name: str, content: bytes, place: str, what: str
) -> None:
    refused(scene, tampered(scene.bundle(), lines(name, content)), place, what)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"answers": [{"text": "a"}] * 101}, "101 answers, a board takes 100"),
        ({"trace": [{"stage": "rank"}] * 4}, "4 steps, a board takes 3"),
        ({"evidence": {"triples": [0] * 50_000}}, "values, a board takes 50,000"),
        ({"evidence": {"texts": [None], "words": {"x1": [{"of": 9}] * 30_000}}}, "kB, a board takes 256"),
    ],
)
def test_more_than_any_system_refers_to(scene: Scene, fields: dict[str, Any], what: str) -> None:
    refused(scene, tampered(thin(scene), row(**fields)), "thin.jsonl:1", what)


@pytest.mark.parametrize("name", ["items.jsonl", "traces.jsonl", "thin.jsonl"])
def test_all_lines_together_hold_no_more_than_is_taken(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    bundle = thin(scene) if name == "thin.jsonl" else scene.bundle({**Q5}, {**Q6, "trace": Q5["trace"]})
    each = [sum(map(line.count, (b"{", b"[", b","))) for line in contents(bundle)[name].splitlines()]
    monkeypatch.setitem(parsing.BOUNDS, name, Bounds(1 << 20, max(each), sum(each) - 1))  # type: ignore[attr-defined]
    refused(scene, bundle, f"{name}:2", "the lines up to here hold")
    monkeypatch.setitem(parsing.BOUNDS, name, Bounds(1 << 20, max(each), sum(each)))  # type: ignore[attr-defined]
    scene.add(bundle)


def test_a_file_of_lines_without_end(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = scene.bundle()
    monkeypatch.setattr(parsing, "LINES", 1)
    with pytest.raises(SubmissionError, match="more than 1 lines") as error, opened(bundle):
        pass
    assert error.value.line == 2
