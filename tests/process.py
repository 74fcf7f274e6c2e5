"""The program as its users start it: in a process of its own, here with any environment, limit or end."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from clwqa_bench.digests import file_sha256
from tests.conftest import REPOSITORY, Result

PROGRAM = (sys.executable, "-c", "from clwqa_bench.cli import main; main()")
SEARCH_PATH = os.pathsep.join(filter(None, sys.path))
# What Python does by itself to be able to write Chinese in this locale is switched off.
PLAIN_C = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Asia/Shanghai"}
DROP_CAPABILITY, IGNORE_PERMISSIONS = 24, 1  # PR_CAPBSET_DROP of prctl(2), CAP_DAC_OVERRIDE


def start(
    *arguments: str | Path,
    cwd: Path = REPOSITORY,
    env: Mapping[str, str] | None = None,
    before: Callable[[], object] | None = None,
    program: tuple[str, ...] = PROGRAM,
) -> subprocess.Popen[str]:
    """Start ``clwqa-bench ARGUMENTS``; ``before`` runs in the new process just before the program."""
    return subprocess.Popen(
        [*program, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": SEARCH_PATH} | dict(env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=before,  # noqa: PLW1509 - it makes one system call and takes no lock
    )


def run(
    *arguments: str | Path,
    cwd: Path = REPOSITORY,
    env: Mapping[str, str] | None = None,
    before: Callable[[], object] | None = None,
    program: tuple[str, ...] = PROGRAM,
) -> Result:
    """Run ``clwqa-bench ARGUMENTS`` to its end."""
    return finish(start(*arguments, cwd=cwd, env=env, before=before, program=program))


def finish(process: subprocess.Popen[str]) -> Result:
    """Wait for a process and tell how it ended."""
    with process:
        out, err = process.communicate()
    return Result(process.returncode, out, err)


def limit_files(size: int) -> Callable[[], object]:
    """For ``before``: writing fails as on a full disk once a file has ``size`` bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def obey_permissions() -> None:
    """For ``before``: root, too, may only write where the permissions allow it."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(DROP_CAPABILITY, IGNORE_PERMISSIONS)


def digests(folder: Path) -> dict[str, str]:
    """sha256 of every file below ``folder``."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in files}
