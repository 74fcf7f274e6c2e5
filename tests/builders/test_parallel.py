"""Work in forked processes: same results in the same order, and errors are not lost."""

import os
from pathlib import Path

import pytest

from clwqa_builders.parallel import beside, parallel_map


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
