"""What all tests share: the program run in this process, a built dataset, packages made up on the spot."""

from __future__ import annotations

import importlib
import os
import signal
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

from clwqa_bench import cli as program
from clwqa_bench import console

REPOSITORY = Path(__file__).resolve().parents[1]

# No test is timed: a busy machine is no fault of the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Tests run side by side, one to a core: a library that takes all cores for itself only makes them wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tables are as wide as in a pipe, whatever COLUMNS was when this was imported.
console.out_console.width = console.PIPED_WIDTH

# A shell without job control lets what it starts in the background ignore Ctrl-C, and that would be inherited here.
signal.signal(signal.SIGINT, signal.default_int_handler)


LONGEST = {"test_build_real.py", "test_docs.py", "test_full_real.py", "test_own_board.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take longest come first, so that no worker of pytest-xdist is left alone with one at the end.

    `make test` asks for just this order; by itself the plug-in takes files with few tests last, as these are.
    """
    items.sort(key=lambda item: item.path.name not in LONGEST)


@contextmanager
def building() -> Iterator[None]:
    """Nobody else builds in `data` meanwhile: a build refuses a folder in which another one is at work."""
    (REPOSITORY / "data").mkdir(exist_ok=True)
    with FileLock(REPOSITORY / "data" / ".tests.lock"):
        yield


@dataclass(frozen=True)
class Result:
    """How a command line ended: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run ``clwqa-bench ARGUMENTS`` in this process: ``cli("sources", "list", "--json").code``."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            program.main(arguments)
        out, err = capsys.readouterr()
        return Result(int(leaving.value.code or 0), out, err)

    return run


@pytest.fixture(scope="session")
def built() -> Path:
    """The dataset folder `make build` makes; a test that uses it is marked slow."""
    folder = REPOSITORY / "data" / "clwqa-100k"
    if not (folder / "manifest.json").is_file():
        pytest.fail(f"{folder} is not built: run `make build`, or leave these tests out with -m 'not slow'")
    return folder


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make up an installed distribution: ``install("acme", "1.0", {"acme/data.csv": b"a"})``."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def make(name: str, version: str, files: dict[str, bytes | str], entry_points: str = "") -> Path:
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        contents = {
            f"{info.name}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info.name}/entry_points.txt": textwrap.dedent(entry_points),
            **files,
        }
        for path, content in contents.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        importlib.invalidate_caches()
        return site

    return make
