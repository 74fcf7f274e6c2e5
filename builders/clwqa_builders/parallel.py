"""Work shared among processes that see the parent's memory, so that large inputs need not be sent to them.

Only systems where forking is safe take part (Linux); elsewhere, and with one worker, the same work runs in this
process.  Results come in the order of the items, so they never depend on the number of workers.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

PR_SET_PDEATHSIG = 1  # prctl(2)

# What the children of the pool being started run: they inherit it, so it may close over anything.
_inherited: Callable[[Any], Any] | None = None


def parallel_map(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int,
    after_each: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """``[work(item) for item in items]``; ``after_each`` is told every result, in order.

    Items and results must be picklable, what ``work`` refers to need not.
    """
    results = []
    with _mapped(work, items, workers) as coming:
        for result in coming:
            results.append(result)
            after_each(result)
    return results


@contextmanager
def _mapped(
    work: Callable[[Item], Result], items: Sequence[Item], workers: int
) -> Iterator[Iterator[Result]]:
    if not _may_fork(workers) or len(items) < 2:
        yield map(work, items)
        return
    with _pool(work, min(workers, len(items))) as pool:
        yield pool.map(_call, items)


@contextmanager
def beside(work: Callable[[], None], workers: int) -> Iterator[None]:
    """Run ``work`` while the block runs; both are done, and an error of either raised, when the block is left."""
    if not _may_fork(workers):
        yield
        work()
        return
    with _pool(lambda _: work(), 1) as pool:
        pending = pool.submit(_call, None)
        yield
        pending.result()


def _may_fork(workers: int) -> bool:
    return workers > 1 and sys.platform == "linux"


@contextmanager
def _pool(work: Callable[[Any], Any], size: int) -> Iterator[ProcessPoolExecutor]:
    global _inherited  # noqa: PLW0603 - the only way to hand a closure to forked children
    before, _inherited = _inherited, work
    try:
        with ProcessPoolExecutor(
            size, mp_context=get_context("fork"), initializer=_end_with, initargs=(os.getpid(),)
        ) as pool:
            yield pool
    finally:
        _inherited = before


def _end_with(parent: int) -> None:
    """Let the kernel end this process together with ``parent``.

    When a build is killed, its children would go on writing into the folder that the next build clears, and then
    wait for more work for ever.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed before the call
        os._exit(1)


def _call(item: Any) -> Any:
    assert _inherited is not None
    return _inherited(item)
