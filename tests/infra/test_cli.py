"""The program as its users meet it: help, errors, exit codes, encodings, broken plug-ins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from clwqa_bench import __version__
from clwqa_bench import cli as program
from clwqa_bench.errors import ClwqaError, SourceError, ValidationFailed
from clwqa_bench.registry import COMMANDS, Registry

EACH = pytest.mark.parametrize("name", COMMANDS.names())


def leaves(name: str) -> Iterator[tuple[str, Any]]:
    """Every command below entry point ``name`` that does something, with the words that call it."""
    command = program.as_command(name, COMMANDS.load(name))
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
    else:
        yield from ((f"{name} {word}", leaf) for word, leaf in inner.items())


def described(command: Any) -> dict[str, Any]:
    """What ``--help`` says, without the frame that the installed release of the renderer draws around it."""
    return {
        "help": command.help,
        "parameters": {", ".join(parameter.opts): parameter.help for parameter in command.params},
    }


@EACH
def test_what_each_command_says_of_itself(name: str, snapshot: SnapshotAssertion) -> None:
    assert {words: described(command) for words, command in leaves(name)} == snapshot


@EACH
def test_each_command_shows_an_example_and_speaks_json(name: str, cli: Callable[..., Any]) -> None:
    for words, _ in leaves(name):
        result = cli(*words.split(), "--help")
        assert result.code == 0
        assert f"Example: clwqa-bench {words}" in " ".join(result.out.split())
        assert "--json" in result.out


def test_help_lists_every_command_with_its_first_line(cli: Callable[..., Any]) -> None:
    result = cli("--help")
    assert result.code == 0
    assert all(f" {name} " in result.out for name in COMMANDS.names())
    assert COMMANDS.summary("doctor").text in result.out


def test_version(cli: Callable[..., Any]) -> None:
    assert cli("--version").out == f"clwqa-bench {__version__}\n"


@pytest.mark.parametrize("typed", ["biuld", "zzz"])
def test_an_unknown_command(typed: str, cli: Callable[..., Any], snapshot: SnapshotAssertion) -> None:
    result = cli(typed)
    assert (result.code, result.out) == (2, "")
    assert result.err == snapshot


def test_an_unknown_option_is_bad_usage(cli: Callable[..., Any]) -> None:
    assert cli("sources", "list", "--colour").code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SourceError("the file is damaged", fix="fetch it again", file="书.csv", line=7, field="word"), 2),
        (ClwqaError("no good", fix="do better"), 2),
        (ValidationFailed("3 rules found errors", fix="see above"), 1),
        (FileNotFoundError(2, "No such file or directory", "missing.parquet"), 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_of_commands(
    error: Exception, code: int, cli: Callable[..., Any], monkeypatch: Any, snapshot: SnapshotAssertion
) -> None:
    def fails(json: bool = False) -> None:
        raise error

    real = program.as_command
    monkeypatch.setattr(program, "as_command", lambda name, _: real(name, fails))
    for_people, for_programs = cli("doctor"), cli("doctor", "--json")
    assert (for_people.code, for_programs.code) == (code, code)
    assert for_people.out == ""
    assert for_people.err == snapshot
    assert json.loads(for_programs.out) == snapshot


def start(code: str, **environment: str) -> subprocess.Popen[str]:
    """Python code in a process of its own that finds the same packages as this one."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


@pytest.mark.parametrize(
    "environment", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}]
)
def test_output_is_utf8_whatever_the_locale(environment: dict[str, str]) -> None:
    process = start(f"from clwqa_bench.cli import main; main([{'守株待兔'!a}])", **environment)
    assert "守株待兔" in process.communicate()[1]


def test_a_closed_pipe_is_no_news() -> None:
    process = start("from clwqa_bench.cli import main; main(['sources', 'list', '--json'])")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait()


def test_ctrl_c_leaves_with_130() -> None:
    process = start(
        "import os, signal; from clwqa_bench import cli; real = cli.as_command\n"
        "cli.as_command = lambda name, _: real(name, lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "cli.main(['doctor'])"
    )
    assert process.communicate() == ("", "")
    assert process.returncode == 130


HEAVY = {"datasets", "numpy", "pandas", "pyarrow", "rdflib", "scipy"}


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import clwqa_bench", HEAVY | {"pydantic", "rich", "typer"}),
        ("from clwqa_bench.cli import main; main(['--help'])", HEAVY | {"clwqa_builders.stages"}),
    ],
    ids=["import", "--help"],
)
def test_nothing_is_imported_before_it_is_needed(code: str, unwanted: set[str]) -> None:
    tell = (
        "import sys, atexit; atexit.register(lambda: print('', *sys.modules, sep='\\n', file=sys.stderr))\n"
    )
    loaded = start(tell + code).communicate()[1].splitlines()
    assert "clwqa_bench" in loaded
    assert not unwanted & set(loaded)


@pytest.fixture
def with_broken(install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A third party's package whose command needs something that is not there."""
    files = {"madeup_command.py": '"""Fly."""\nimport madeup_wings\n'}
    install("madeup-plugin", "1.0", files, "[clwqa_bench.commands]\nfly = madeup_command:fly\n")
    fresh = Registry(COMMANDS.group, COMMANDS.noun)
    monkeypatch.setattr(program, "COMMANDS", fresh)
    monkeypatch.setattr("clwqa_bench.commands.doctor.COMMANDS", fresh)


@pytest.mark.usefixtures("with_broken")
def test_a_broken_plugin_is_a_warning_until_it_is_asked_for(cli: Callable[..., Any]) -> None:
    listing, other, asked = cli("--help"), cli("sources", "list"), cli("fly")
    assert (listing.code, other.code, asked.code) == (0, 0, 2)
    assert "the command 'fly' is broken: it needs the package 'madeup_wings'" in listing.err
    assert other.err == ""
    assert "command 'fly' (madeup_command:fly) cannot be loaded" in asked.err
    assert "madeup-plugin" in asked.err


@pytest.mark.usefixtures("with_broken")
def test_doctor_names_a_broken_plugin(cli: Callable[..., Any], tmp_path: Path) -> None:
    result = cli("doctor", "--json", "--data", str(tmp_path / "none"))
    assert result.code == 1
    failed = [check for check in json.loads(result.out) if check["state"] == "failed"]
    assert [check["name"] for check in failed] == ["command fly"]
