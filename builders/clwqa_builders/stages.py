"""A small engine for builds made of named stages: killed anywhere it continues, unchanged it does nothing.

A stage writes files into an empty folder.  The folder is named by a fingerprint of everything they depend on
(settings, code, the fingerprints of the stages it reads) and becomes visible by one rename: a folder that
exists is complete and belongs to exactly these inputs.  The finished dataset is put in place the same way.

    with build_folder(target) as work:
        finished = run_stages(stages, work)
        publish(tree(finished["dataset"].folder), target)
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any
from zlib import ZLIB_RUNTIME_VERSION

from filelock import FileLock, Timeout

from clwqa_bench.console import Progress, progress, say
from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import BuildError

RECORD = "stage.json"
MANIFEST = "manifest.json"
PARTIAL = ".partial"
CODE_PACKAGES = ("clwqa_bench", "clwqa_builders")
CODE_SUFFIXES = frozenset({".j2", ".py", ".toml", ".tsv", ".ttl"})
# Libraries that decide the bytes of a file: an upgrade may not reuse what the earlier release wrote.
WRITING_LIBRARIES = ("jinja2", "numpy", "orjson", "pyarrow", "pydantic", "rdflib", "scipy")
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True)
class Context:
    """What a running stage is given: a folder to fill, the folders it declared as inputs, its settings."""

    out: Path
    inputs: Mapping[str, Path]
    config: Mapping[str, Any]
    progress: Progress


@dataclass(frozen=True)
class Stage:
    """One step of a build.

    ``inputs`` names earlier stages; ``config`` holds every setting the output depends on, as plain JSON
    values (not the number of workers, which must not matter).  ``run`` writes into ``Context.out`` only.
    """

    name: str
    run: Callable[[Context], None]
    inputs: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """A stage's complete output: its folder, the fingerprint that names it, whether it was there already."""

    folder: Path
    fingerprint: str
    reused: bool
    seconds: float


def code_fingerprint(packages: Iterable[str] = CODE_PACKAGES) -> str:
    """sha256 over Python, the source and tables of ``packages`` and the versions of the writing libraries."""
    digest = hashlib.sha256(f"python {sys.version} zlib {ZLIB_RUNTIME_VERSION}\n".encode())
    for library in WRITING_LIBRARIES:
        digest.update(f"{library}=={version(library)}\n".encode())
    for package in packages:
        root = Path(str(files(package)))
        for path in sorted(root.rglob("*")):
            if path.suffix in CODE_SUFFIXES:
                digest.update(f"{package}/{path.relative_to(root).as_posix()} {file_sha256(path)}\n".encode())
    return digest.hexdigest()


def tree(folder: Path, prefix: str = "") -> dict[str, Path]:
    """Every file under ``folder`` by its path inside it (after ``prefix``), sorted; no stage record."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path != folder / RECORD)
    return {prefix + path.relative_to(folder).as_posix(): path for path in found}


def run_stages(
    stages: Sequence[Stage], work: Path, code: str | None = None, *, prune: bool = True
) -> dict[str, Finished]:
    """Run ``stages`` in the order given, reusing every finished one, and return them by name.

    ``work`` is the folder ``build_folder`` yields.  With ``prune``, outputs that no stage of this build will use
    are removed first, so that the work folder never holds more than one build.  Raises BuildError when the disk
    is full or cannot be written; a stage's own errors pass through.  Nothing half-written stays behind.
    """
    prints = fingerprints(stages, code_fingerprint() if code is None else code)
    folders = {name: work / "stages" / f"{name}-{fingerprint[:16]}" for name, fingerprint in prints.items()}
    if prune:
        for stale in (path for path in (work / "stages").iterdir() if path not in folders.values()):
            shutil.rmtree(stale)
    finished = {}
    for number, stage in enumerate(stages, start=1):
        label, folder = f"[{number}/{len(stages)}] {stage.name}", folders[stage.name]
        started = time.perf_counter()
        reused = _is_complete(folder)
        if reused:
            say(f"{label}: up to date")
        else:
            _run(stage, folder, {name: folders[name] for name in stage.inputs}, label)
        seconds = 0.0 if reused else time.perf_counter() - started
        finished[stage.name] = Finished(folder, prints[stage.name], reused, seconds)
    return finished


def fingerprints(stages: Sequence[Stage], code: str) -> dict[str, str]:
    """sha256 of everything each stage's output depends on, by stage name; nothing is run to know it."""
    prints: dict[str, str] = {}
    for stage in stages:
        if stage.name in prints or not prints.keys() >= set(stage.inputs):
            raise ValueError(f"stage {stage.name!r} comes twice or before a stage that it reads")
        inputs = {name: prints[name] for name in stage.inputs}
        parts = {"name": stage.name, "config": stage.config, "inputs": inputs, "code": code}
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        prints[stage.name] = hashlib.sha256(text.encode()).hexdigest()
    return prints


def _run(stage: Stage, folder: Path, inputs: Mapping[str, Path], label: str) -> None:
    """Fill a folder under another name, record what is in it, and give it its name last."""
    partial = folder.with_name(f".{folder.name}{PARTIAL}")
    with _clean_failure(partial), progress(label) as report:
        for leftover in (folder, partial):
            shutil.rmtree(leftover, ignore_errors=True)
        partial.mkdir(parents=True)
        stage.run(Context(out=partial, inputs=inputs, config=stage.config, progress=report))
        record = {"stage": stage.name, "files": _sizes(partial)}
        (partial / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
        partial.rename(folder)


def _sizes(folder: Path) -> dict[str, int]:
    return {name: path.stat().st_size for name, path in tree(folder).items()}


def _is_complete(folder: Path) -> bool:
    """Whether a stage folder holds what its record says; sizes catch what a power cut truncated."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return bool(record["files"] == _sizes(folder))
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def _clean_failure(partial: Path) -> Iterator[None]:
    """Leave no ``partial`` behind, and say plainly what an operating-system error means."""
    try:
        yield
    except OSError as error:
        raise _write_error(error, partial.parent) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_error(error: OSError, folder: Path) -> BuildError:
    reason = error.strerror or str(error)
    if error.errno in FULL:
        return BuildError(
            f"no room left to write ({reason}); finished stages and the earlier output are intact",
            file=folder,
            fix="free some space and run the same command again, it continues where it stopped",
        )
    return BuildError(
        f"cannot read or write a file of the build: {reason}",
        file=error.filename or folder,
        fix="choose a folder you may write with --out, or change this one's permissions",
    )


@contextmanager
def build_folder(target: Path, need_bytes: int = 0) -> Iterator[Path]:
    """Reserve ``target`` for this build and yield the work folder beside it (``.NAME.work``).

    Before anything is computed this makes sure that the folder can be written, that ``need_bytes`` are free,
    that no other build is at work on it and that nothing but an earlier dataset would be replaced; otherwise
    it raises BuildError.  An earlier output whose replacement was interrupted is put back first.
    """
    target = target.resolve()
    work = target.parent / f".{target.name}.work"
    _make_writable(work)
    with _locked(work):
        _recover(target)
        _refuse_foreign(target)
        _require_room(work, need_bytes)
        yield work


def _make_writable(work: Path) -> None:
    probe = work / f".probe-{os.getpid()}"
    try:
        (work / "stages").mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"0" * 4096)
        probe.unlink()
    except OSError as error:
        raise _write_error(error, work) from error


def _require_room(work: Path, need_bytes: int) -> None:
    free = shutil.disk_usage(work).free
    if free < need_bytes:
        raise BuildError(
            f"the build needs about {need_bytes >> 20} MB and {free >> 20} MB are free",
            file=work.parent,
            fix="free some space, or choose a folder on another disk with --out",
        )


@contextmanager
def _locked(work: Path) -> Iterator[None]:
    """Hold the work folder's lock; the operating system lets go of it however the process ends."""
    owner = work / "owner"
    lock = FileLock(work / "lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        pid = owner.read_text(encoding="utf-8").strip() if owner.exists() else "unknown"
        raise BuildError(
            f"another build (process {pid}) is working on this folder",
            file=work,
            fix="wait until it has finished, or build into another folder with --out",
        ) from error
    try:
        owner.write_text(f"{os.getpid()}\n", encoding="utf-8")
        yield
    finally:
        lock.release()


def _refuse_foreign(target: Path) -> None:
    """Never replace a folder that is not a dataset: ``--out`` may have been mistyped."""
    if target.is_dir() and not (target / MANIFEST).is_file() and any(target.iterdir()):
        raise BuildError(
            "this folder holds other files than an earlier dataset, and the build would replace all of it",
            file=target,
            fix="name an empty or new folder with --out, or empty this one yourself",
        )
    if target.exists() and not target.is_dir():
        raise BuildError("the output must be a folder", file=target, fix="name another place with --out")


def publish(contents: Mapping[str, Path], target: Path) -> bool:
    """Make ``target`` hold exactly ``contents`` (path inside the folder -> file to copy); True if it changed.

    The new folder is written and synced beside the old one and then takes its name; until that moment the old
    one is whole.  If the process dies between the two renames, the next ``build_folder`` puts the old one
    back.  Raises BuildError when the disk is full or cannot be written; the old folder is then in place.
    """
    target = target.resolve()
    if _holds(target, contents):
        return False
    fresh, old = _beside(target)
    with _clean_failure(fresh):
        fresh.mkdir(parents=True)
        for name, source in contents.items():
            destination = fresh / name
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, destination)
        _sync(fresh)
        try:
            if target.exists():
                target.rename(old)
            fresh.rename(target)
            _sync_folder(target.parent)
        finally:
            _recover(target)
    return True


def _holds(target: Path, contents: Mapping[str, Path]) -> bool:
    present = tree(target)
    return present.keys() == contents.keys() and all(
        file_sha256(present[n]) == file_sha256(contents[n]) for n in present
    )


def _beside(target: Path) -> tuple[Path, Path]:
    return target.parent / f".{target.name}.new", target.parent / f".{target.name}.old"


def _recover(target: Path) -> None:
    """Undo an interrupted replacement: the old folder returns unless the new one is in its place."""
    fresh, old = _beside(target)
    if old.exists() and not target.exists():
        old.rename(target)
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)


def _sync(folder: Path) -> None:
    for path in tree(folder).values():
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
    for path in (folder, *(entry for entry in folder.rglob("*") if entry.is_dir())):
        _sync_folder(path)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
