"""Packages of the npm client: fetched once, checked to the byte, and kept in the user's cache folder.

Only the files the catalogue lists are taken out of a package; nothing in it is ever executed.  The client is asked
for the tarball alone (``npm pack``), so it installs nothing and runs no script.  A folder in the cache is complete:
it gets its name when everything in it has been checked, so an interrupted fetch leaves nothing behind.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from clwqa_bench.errors import SourceError
from clwqa_builders.sources.catalogue import Source

OFFLINE = "or put the tarball into a folder and name it with --npm-dir; the core profile needs neither"
CHUNK = 1 << 20


def cache_folder() -> Path:
    """Where packages are kept: $CLWQA_SOURCES, or below the user's cache folder."""
    if path := os.environ.get("CLWQA_SOURCES"):
        return Path(path)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "clwqa-bench" / "sources"


def tarball_name(source: Source) -> str:
    """The file name the client gives a package: @scope/name at 1.0.0 is scope-name-1.0.0.tgz."""
    return f"{source.where.target.lstrip('@').replace('/', '-')}-{source.version}.tgz"


def package_folder(source: Source) -> Path:
    """Where the files of a package are once they have been fetched."""
    return cache_folder() / tarball_name(source).removesuffix(".tgz")


def fetch(source: Source, npm_dir: Path | None = None) -> None:
    """Put the files of an npm source into the cache, from a tarball in ``npm_dir`` or through the npm client.

    Raises SourceError when there is no client or no tarball, when the client fails, or when the tarball is not the
    one whose checksum the catalogue has.
    """
    folder = package_folder(source)
    with _work_folder(folder) as work:
        tarball = _local(source, npm_dir) if npm_dir else _packed(source, work)
        check_integrity(source, tarball)
        partial = work / "files"
        unpack(
            tarball, [item.path for item in source.files], sum(item.size for item in source.files), partial
        )
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)


def check_integrity(source: Source, tarball: Path) -> None:
    """Raise SourceError unless a tarball has the catalogue's ``integrity`` (npm's form: sha512 in base64)."""
    with tarball.open("rb") as stream:
        found = "sha512-" + base64.b64encode(hashlib.file_digest(stream, "sha512").digest()).decode("ascii")
    if found != source.integrity:
        raise SourceError(
            f"source {source.id}: the tarball is damaged or not the published one: "
            f"expected {source.integrity}, found {found}",
            file=tarball,
            fix=f"delete it and run `npm pack {source.where.target}@{source.version}` again",
        )


def unpack(tarball: Path, wanted: Iterable[str], limit: int, folder: Path) -> None:
    """Write the wanted files of a tarball into ``folder``; a wanted path ending in / means all files right in it.

    Everything else is passed over: links, devices, and names that would leave the folder never become files.
    Raises SourceError when the wanted files are larger than ``limit`` bytes or the archive cannot be read.
    """
    paths = set(wanted)
    left = limit
    folder.mkdir(parents=True)
    try:
        with tarfile.open(tarball, "r:gz") as archive:
            for member in archive:
                name = member.name.partition("/")[2]  # everything is in one folder, mostly called package/
                if not member.isreg() or not _is_wanted(name, paths):
                    continue
                left -= member.size
                stream = archive.extractfile(member)
                if left < 0 or stream is None:
                    raise SourceError(
                        f"{name} makes the files larger than the {limit:,} bytes the catalogue lists",
                        file=tarball,
                        fix="fetch the package again",
                    )
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    shutil.copyfileobj(stream, file, CHUNK)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise SourceError(
            f"the tarball cannot be read: {error}", file=tarball, fix="fetch it again"
        ) from error


def _is_wanted(name: str, paths: set[str]) -> bool:
    if ".." in PurePosixPath(name).parts or "\\" in name or "\0" in name:
        return False
    return name in paths or f"{name.rpartition('/')[0]}/" in paths


def _local(source: Source, npm_dir: Path) -> Path:
    tarball = npm_dir.expanduser() / tarball_name(source)
    if not tarball.is_file():
        raise SourceError(
            f"source {source.id}: the tarball is not in the folder given with --npm-dir",
            file=tarball,
            fix=f"make it with `npm pack {source.where.target}@{source.version}` where npm works, and copy it here",
        )
    return tarball


def _packed(source: Source, folder: Path) -> Path:
    """Have the npm client write the tarball into ``folder``."""
    package = f"{source.where.target}@{source.version}"
    npm = shutil.which("npm")
    if npm is None:
        raise SourceError(
            f"source {source.id} is an npm package, and there is no npm here",
            fix=f"install Node.js with npm, {OFFLINE}",
        )
    command = [npm, "pack", "--ignore-scripts", "--pack-destination", str(folder), package]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=False, cwd=folder
    )
    tarball = folder / tarball_name(source)
    if done.returncode or not tarball.is_file():
        raise SourceError(
            f"source {source.id}: npm could not fetch {package}: {_last_words(done.stderr, done.returncode)}",
            fix=f"check that `npm pack {package}` works, {OFFLINE}",
        )
    return tarball


def _last_words(stderr: str, code: int) -> str:
    """What npm says went wrong: its first lines that tell more than a code and a log file."""
    lines = [
        line.partition(" ")[2].removeprefix("error ").strip()
        for line in stderr.splitlines()
        if "err" in line[:10].lower()
    ]
    told = [line for line in lines if line and "log" not in line]
    return "; ".join(told[:2]) or f"exit code {code}"


@contextmanager
def _work_folder(folder: Path) -> Iterator[Path]:
    """A folder beside ``folder`` that is gone afterwards; SourceError where nothing can be written."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent) as work:
            yield Path(work)
    except OSError as error:
        raise SourceError(
            f"the folder for fetched packages cannot be written: {error.strerror or error}",
            file=error.filename or folder.parent,
            fix="free some space or name another folder in the environment variable CLWQA_SOURCES",
        ) from error
