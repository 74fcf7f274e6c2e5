"""The recipe for maintainers: nothing that a pull request brings is executed, installed or pasted into a shell."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from clwqa_bench.cli import as_command
from clwqa_leaderboard.commands import app

RECIPE = Path(__file__).parents[2] / "docs" / "examples" / "ci" / "verify-submissions.yml"


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    return yaml.safe_load(RECIPE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    [job] = workflow["jobs"].values()
    return job["steps"]


def test_it_runs_without_secrets_and_with_a_token_that_reads(workflow: dict[str, Any]) -> None:
    assert set(workflow[True]) == {"pull_request"}  # YAML reads `on` as true
    assert workflow["permissions"] == {"contents": "read"}
    assert "secrets." not in RECIPE.read_text(encoding="utf-8")


def test_the_code_is_the_bases_and_the_request_is_submissions_alone(steps: list[dict[str, Any]]) -> None:
    base, request = (step["with"] for step in steps if step.get("uses", "").startswith("actions/checkout@"))
    assert base["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert request["ref"] == "${{ github.event.pull_request.head.sha }}"
    assert request["sparse-checkout"] == "/leaderboard/submissions/"
    assert request["sparse-checkout-cone-mode"] is False  # or files of the root would come along
    assert (base["path"], request["path"]) == ("base", "request")
    assert base["persist-credentials"] is request["persist-credentials"] is False


def test_commands_run_in_the_base_and_hold_nothing_of_the_request(steps: list[dict[str, Any]]) -> None:
    commands = [step for step in steps if "run" in step]
    assert len(commands) == 3
    for step in commands:
        assert step["working-directory"] == "base"
        assert "${{" not in step["run"]
        assert not re.search(r"pip install.*request", step["run"])


def test_the_check_is_a_command_that_exists(steps: list[dict[str, Any]]) -> None:
    program, group, command, *options = shlex.split(steps[-1]["run"])
    assert (program, group) == ("clwqa-bench", "leaderboard")
    context = as_command(group, app).commands[command].make_context(command, options)
    assert context.params["against"] == Path("leaderboard/submissions")
    assert context.params["submissions"] == Path("../request/leaderboard/submissions")
