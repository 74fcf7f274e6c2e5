"""Results go to stdout, everything else to stderr, and both are UTF-8."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from clwqa_bench import console
from clwqa_bench.errors import SourceError


def test_emit_draws_for_people_and_writes_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    data = {"word": "守株待兔", "path": Path("a/b")}
    console.emit(data, False, lambda shown: f"{shown['word']}!")
    assert capsys.readouterr().out == "守株待兔!\n"
    console.emit(data, True, lambda _: pytest.fail("JSON needs no drawing"))
    assert json.loads(capsys.readouterr().out) == {"word": "守株待兔", "path": "a/b"}


def test_what_json_cannot_hold_is_a_programming_error() -> None:
    with pytest.raises(TypeError):
        console.to_json({1, 2})


def test_an_error_goes_to_stderr_or_as_json_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    error = SourceError("it is gone", fix="bring it back", file="书.csv", line=3)
    console.emit_error(error, json_mode=False)
    assert capsys.readouterr() == ("", "error: 书.csv:3: it is gone. Fix: bring it back.\n")
    console.emit_error(error, json_mode=True)
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out)["what"] == "it is gone"


def test_progress_is_a_few_plain_lines_when_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress("reading") as report:
        report.expect(1000)
        for _ in range(1000):
            report.advance()
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "reading ...\nreading: 25 %\nreading: 50 %\nreading: 75 %\nreading: done\n"


def test_progress_that_fails_does_not_say_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), console.progress("reading", 2):
        raise RuntimeError
    assert "done" not in capsys.readouterr().err


def test_progress_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "err_console", Console(file=screen, force_terminal=True, width=80))
    with console.progress("reading", 2) as report:
        report.note("half way")
        report.advance(2)
    assert "100%" in screen.getvalue()
    assert "half way" in screen.getvalue()
