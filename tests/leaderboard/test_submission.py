"""What is inside a bundle: forms, names, predictions; each fault is refused with file, line, field and a fix."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from clwqa_bench.errors import ClwqaError
from clwqa_bench.runs import MAX_LINE
from clwqa_leaderboard.disclosure import blank_form, read_form
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.submission import opened
from tests.leaderboard.scene import FORM, Q5, Q6, Scene, bare, rows, tampered

Files = dict[str, bytes]
B5, B6 = bare(Q5), bare(Q6)


def replaced(name: str, content: bytes) -> Callable[[Files], None]:
    return lambda files: files.update({name: content})


def with_fields(name: str, **changes: Any) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        files[name] = json.dumps({**json.loads(files[name]), **changes}).encode()

    return change


# --- forms --------------------------------------------------------------------------------------------------


def test_a_form_asks_everything_and_an_empty_one_is_not_accepted(scene: Scene) -> None:
    with pytest.raises(SubmissionError, match="the form leaves this open") as error:
        scene.form(blank_form())
    assert error.value.field == "title"


@pytest.mark.parametrize(
    ("old", "new", "field", "what"),
    [
        ('code = "open"', 'code = "maybe"', "code", "'open' or 'closed'"),
        ('test_seen = "no"', "", "test_seen", "the form leaves this open"),
        ('title = "查图"', 'title = "<script>alert(1)</script>"', "title", "not for a name"),
        ('title = "查图"', 'title = "a\u202eb"', "title", "U+202E cannot be seen"),
        ('title = "查图"', 'title = "a\\u0000b"', "title", "U+0000 cannot be seen"),
        ('title = "查图"', f'title = "{"长" * 121}"', "title", "at most 120"),
        ('title = "查图"', 'title = " 　"', "title", "shows nothing"),
        ('title = "查图"', 'title = "\u200b"', "title", "U+200B cannot be seen"),
        ('title = "查图"', 'title = "查图\U000e0041"', "title", "U+E0041 cannot be seen"),
        ('title = "查图"', 'title = "\u3164"', "title", "U+3164 cannot be seen"),
        ('title = "查图"', 'title = "查\u200d图"', "title", "'\\u200d' is not for a name"),
        ('"A. Author"', '"\u200b"', "authors", "U+200B cannot be seen"),
        ('"Reads the graph."', '" "', "description", "shows nothing"),
        ('"Reads the graph."', '"Reads\ufeff the graph."', "description", "U+FEFF cannot be seen"),
        ("2026-11-30", '"yesterday"', "date", "date"),
        ('hardware = "Two cores."', 'hardware = "x"\nurl = "javascript:alert(1)"', "url", "https://"),
        ('hardware = "Two cores."', 'hardware = "x"\nscore = 1', "score", "not permitted"),
        ("schema_version = 1", "schema_version = 2", "schema_version", "1"),
        ("title =", "title", None, "not TOML"),
    ],
)
def test_a_form_that_does_not_say_what_it_should(
    scene: Scene, old: str, new: str, field: str | None, what: str
) -> None:
    with pytest.raises(SubmissionError) as error:
        scene.form(FORM.replace(old, new))
    assert what in error.value.what
    assert error.value.field == field


def test_a_form_that_is_no_text_or_not_there(scene: Scene) -> None:
    path = scene.folder / "gbk.toml"
    path.write_bytes(FORM.encode("gb18030"))
    with pytest.raises(SubmissionError, match="not UTF-8"):
        read_form(path)
    with pytest.raises(SubmissionError, match="no disclosure form"):
        read_form(scene.folder / "none.toml")
    path.write_bytes(b"#" * 100_000)
    with pytest.raises(SubmissionError, match="too long"):
        read_form(path)


def test_prose_may_hold_any_sign_that_can_be_seen(scene: Scene) -> None:
    form = scene.form(FORM.replace("Reads the graph.", "a < b & c > d; <b>守株待兔</b>"))
    assert form.description == "a < b & c > d; <b>守株待兔</b>"  # the page escapes it


def test_prose_may_hold_what_joins_letters_and_emoji(scene: Scene) -> None:
    form = scene.form(FORM.replace("Reads the graph.", "می‌خواند 👩‍🔬"))
    assert form.description == "می‌خواند 👩‍🔬"


# --- names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("system", "<script>alert(1)</script>"),
        ("system", "../../etc"),
        ("system", "系统"),
        ("system", "x" * 121),
        ("system", "a\nb"),
        ("variant", '"><img src=x onerror=alert(1)>'),
        ("backbone", "openai/<b>gpt</b>"),
        ("backbone", "openai/\u202egpt"),
        ("backbone", "x" * 200),
        ("backbone", " "),
        ("code_version", "<script>"),
        ("code_version", "1.0\u202e"),
        ("code_version", "1.0\u0000"),
        ("code_version", "x" * 200_000),
    ],
)
def test_names_that_a_board_does_not_print(scene: Scene, field: str, name: str) -> None:
    with pytest.raises(SubmissionError) as packing:
        scene.bundle(name="bad", **{field: name})
    with (
        pytest.raises(SubmissionError) as reading,
        opened(tampered(scene.bundle(), with_fields("run.json", **{field: name}))),
    ):
        pass
    for error in (packing.value, reading.value):
        assert error.field == field
        assert "run.json" in str(error.file)
        assert "run again" in error.fix


def test_a_variant_is_part_of_the_entrys_name(scene: Scene) -> None:
    with opened(scene.bundle(variant="d_max=4,ranker=none", backbone="local/某模型")) as submission:
        assert submission.id.startswith("demo-d_max=4,ranker=none@")


# --- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "place", "what"),
    [
        (replaced("items.jsonl", rows(B5) + b'{"id": "q6", "sta'), "items.jsonl:2", "cut off"),
        (replaced("items.jsonl", rows(B5) + b'{"id": "q6", "sta\n'), "items.jsonl:2", "JSON"),
        (replaced("items.jsonl", rows(B5, {**B6, "notes": "x"})), "items.jsonl:2: field notes", "not permitted"),
        (replaced("items.jsonl", rows(B5, {**B6, "score": 1.0})), "items.jsonl:2: field score", "not permitted"),
        (replaced("items.jsonl", rows(B5, {**B6, "status": "great"})), "items.jsonl:2: field status", "'ok'"),
        (replaced("items.jsonl", rows(B5, Q5)), "items.jsonl:2: field trace", "traces.jsonl"),
        (replaced("items.jsonl", rows(B5).replace("史记".encode(), "史记".encode("gbk"))), "items.jsonl:1", "GBK"),
        (replaced("items.jsonl", rows({**B5, "raw_answer": "长" * 90_000})), "items.jsonl:1", "264 kB"),
        (replaced("items.jsonl", b"x" * (MAX_LINE + 1)), "items.jsonl:1", "longer than 16 MB"),
        (replaced("items.jsonl", b"[" * 20_000 + b"\n"), "items.jsonl:1", "recursion"),
        (with_fields("run.json", owner="me"), "run.json: field owner", "not permitted"),
        (with_fields("run.json", sample=0), "run.json: field sample", "greater than"),
        (replaced("run.json", b"{}"), "run.json: field system", "required"),
        (replaced("run.json", b"\xff\xfe{}"), "run.json", "not UTF-8"),
        (with_fields("disclosure.json", score=1), "disclosure.json: field score", "not permitted"),
        (with_fields("disclosure.json", authors="<i>me</i>"), "disclosure.json: field authors", "not for a name"),
        (replaced("disclosure.json", b"not json"), "disclosure.json", "JSON"),
        (replaced("scores.json", b'{"suite": "1", "values": {"F1": NaN}}'), "scores.json", ""),
        (replaced("scores.json", b'{"schema_version": 2, "suite": "1", "values": {}}'), "scores.json: field", ""),
        (replaced("scores.json", b'{"suite": "1", "values": {}, "rank": 1}'), "scores.json: field rank", ""),
    ],
)  # fmt: skip
def test_a_file_that_is_not_what_it_should_be(
    scene: Scene, change: Callable[[Files], None], place: str, what: str
) -> None:
    bad = tampered(scene.bundle(), change)
    with pytest.raises(ClwqaError) as error, opened(bad):
        pass
    assert f"{bad}/{place}" in str(error.value)
    assert what in error.value.what
    assert error.value.fix


@pytest.mark.parametrize(
    ("traces", "what"),
    [
        (b'{"id":"q5","trace":[]}\n{"id":"q5","trace":[]}\n', "a second trace of q5"),
        (b'{"id":"q9","trace":[]}\n', "has no prediction"),
        (b'{"id":"q5","trace":[]}', "cut off"),
        (b'{"id":"q5","trace":[{"stage":"guess"}]}\n', "'link'"),
        (b'{"id":"q5"}\n', "required"),
    ],
)
def test_traces_that_are_not_the_runs(scene: Scene, traces: bytes, what: str) -> None:
    with opened(tampered(scene.bundle(), replaced("traces.jsonl", traces))) as submission:
        with pytest.raises(SubmissionError) as error:
            submission.traces()
        assert what in error.value.what
        assert error.value.line == traces.count(b"\n", 0, -1) + 1
