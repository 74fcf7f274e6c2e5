"""The recipe for maintainers: nothing that a pull request brings is executed, installed or pasted into a shell."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from clwqa_bench.cli import as_command
from clwqa_leaderboard.board import check
from clwqa_leaderboard.commands import app
from tests.leaderboard.scene import Q5, Q6, Scene

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
    request, base = (step["with"] for step in steps if step.get("uses", "").startswith("actions/checkout@"))
    assert request["ref"] == "refs/pull/${{ github.event.pull_request.number }}/merge"
    assert request["fetch-depth"] == 2
    assert base["ref"] == "${{ steps.base.outputs.sha }}"
    assert request["sparse-checkout"] == "/leaderboard/submissions/"
    assert request["sparse-checkout-cone-mode"] is False  # or files of the root would come along
    assert (base["path"], request["path"]) == ("base", "request")
    assert base["persist-credentials"] is request["persist-credentials"] is False


def test_commands_run_in_the_base_and_hold_nothing_of_the_request(steps: list[dict[str, Any]]) -> None:
    asking, *commands = [step for step in steps if "run" in step]
    assert asking["run"].count("request") == 1
    assert "git -C request rev-parse" in asking["run"]  # reads the history, runs nothing of it
    assert len(commands) == 3
    for step in commands:
        assert step["working-directory"] == "base"
        assert not re.search(r"pip install.*request", step["run"])
    assert not any("${{" in step["run"] for step in (asking, *commands))


@dataclass(frozen=True)
class Repository:
    """A Git repository with a board, as the recipe finds it."""

    folder: Path

    def git(self, *arguments: str) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(self.folder), *names, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "x")
        return self.git("rev-parse", "HEAD")


def test_what_was_accepted_meanwhile_does_not_turn_a_request_red(
    scene: Scene, steps: list[dict[str, Any]]
) -> None:
    """The step of the recipe, run as it stands, on a request that branched off before another was merged."""
    there = Scene(scene.folder / "request", scene.dataset, scene.judge)
    repository = Repository(there.folder)
    there.folder.mkdir()
    repository.git("init", "--quiet", "--initial-branch", "main")
    there.add(scene.bundle(name="first"))
    repository.commit()
    repository.git("checkout", "--quiet", "-b", "mine")
    mine = there.add(scene.bundle(Q5, {**Q6, "answers": [{"text": "唐"}]}, name="mine"))
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    there.add(scene.bundle(Q5, {**Q6, "answers": [{"text": "宋"}]}, name="meanwhile"))
    base = repository.commit()
    repository.git("checkout", "--quiet", "--detach")
    repository.git("merge", "--quiet", "--no-ff", "-m", "Merge", "mine")  # as refs/pull/N/merge is made

    [step] = (step for step in steps if step.get("id") == "base")
    output = scene.folder / "output"
    environment = {**os.environ, "GITHUB_OUTPUT": str(output)}
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=scene.folder, env=environment, check=True)
    assert output.read_text(encoding="utf-8") == f"sha={base}\n"

    repository.git("worktree", "add", "--quiet", str(scene.folder / "base"), base)
    found = dict(check(there.submissions, scene.judge, scene.folder / "base" / "submissions"))
    assert found == {f"{scene.judge.board.key}/{mine.entry.id}": None}


def test_the_check_is_a_command_that_exists(steps: list[dict[str, Any]]) -> None:
    program, group, command, *options = shlex.split(steps[-1]["run"])
    assert (program, group) == ("clwqa-bench", "leaderboard")
    context = as_command(group, app).commands[command].make_context(command, options)
    assert context.params["against"] == Path("leaderboard/submissions")
    assert context.params["submissions"] == Path("../request/leaderboard/submissions")
