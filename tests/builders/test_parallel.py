"""Work in forked processes: same results in the same order, no error is lost, and no process outlives its build."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clwqa_builders.parallel import beside, parallel_map
from tests.process import SEARCH_PATH


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_order_whatever_the_number_of_workers(workers: int) -> None:
    table = {n: n * n for n in range(50)}  # not sent: the children inherit it
    assert parallel_map(lambda n: table[n], range(50), workers) == [n * n for n in range(50)]


def test_several_workers_are_several_processes() -> None:
    assert os.getpid() not in parallel_map(lambda _: os.getpid(), range(4), 2)
    assert set(parallel_map(lambda _: os.getpid(), range(4), 1)) == {os.getpid()}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_worker_is_raised_here(workers: int) -> None:
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda n: 1 // n, [1, 0], workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_work_beside_a_block_is_done_when_the_block_is_left(tmp_path: Path, workers: int) -> None:
    with beside(lambda: (tmp_path / "aside").write_text("done", encoding="utf-8"), workers):
        (tmp_path / "here").write_text("done", encoding="utf-8")
    assert {p.name for p in tmp_path.iterdir()} == {"aside", "here"}
    with pytest.raises(ZeroDivisionError), beside(lambda: 1 // 0, workers):
        pass


@pytest.mark.slow
def test_workers_end_with_a_build_that_is_killed() -> None:
    script = (
        "import os, time; from clwqa_builders.parallel import parallel_map\n"
        "parallel_map(lambda _: os.write(1, b'at work\\n') and time.sleep(600), [1, 2], workers=2)"
    )
    env = os.environ | {"PYTHONPATH": SEARCH_PATH}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=env) as build:
        assert build.stdout is not None
        assert [build.stdout.readline() for _ in range(2)] == ["at work\n"] * 2
        build.kill()
        # A pipe ends when nobody holds its other end, as the workers do while they live.
        assert build.communicate(timeout=60)[0] == ""
    assert build.returncode == -signal.SIGKILL
