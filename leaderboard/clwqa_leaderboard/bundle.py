"""A bundle: one zip file that cannot be changed unnoticed, written the same to the byte and read with suspicion.

Its identity is the digest of SHA256SUMS, the list of its files' digests; how they are compressed is no part of it.
A reader never trusts a name, a size or a link from within: only the files below are written, to a folder of its own.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clwqa_bench.errors import ClwqaError
from clwqa_bench.runs import ITEMS, MANIFEST, RETRIES
from clwqa_leaderboard.disclosure import DISCLOSURE, LARGEST
from clwqa_leaderboard.errors import SubmissionError

SCORES, TRACES, SUMS, SIGNATURE = "scores.json", "traces.jsonl", "SHA256SUMS", "SHA256SUMS.sig"
THIN = "thin.jsonl"  # in place of predictions and traces
MB = 1 << 20
LIMITS: Mapping[str, int] = {
    MANIFEST: 256 << 10,
    DISCLOSURE: LARGEST,
    SCORES: 64 << 10,
    ITEMS: 64 * MB,
    THIN: 16 * MB,
    RETRIES: 64 * MB,
    TRACES: 256 * MB,
    SUMS: 4 << 10,
    SIGNATURE: 16 << 10,
}
"""The files a bundle may hold, in the order they are written, and the bytes each may have when unpacked."""
REQUIRED = (MANIFEST, DISCLOSURE, SUMS)
MOST = len(LIMITS) - 1  # a bundle is whole or thin
LARGEST_BUNDLE = 48 * MB
PACK = "make the bundle with `clwqa-bench leaderboard pack`, and do not edit it"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file can tell
LOCAL, CENTRAL, END = 30, 46, 22  # bytes of a zip file's three kinds of record, without names
LOCATOR = 20  # bytes of the record that, before the end, leads to a second end for larger files
LARGEST_DIRECTORY = 1_000  # bytes; eight names are far below
SMALLEST = 9  # level of compression where size counts
CHUNK = 1 << 20


@dataclass(frozen=True)
class Bundle:
    """An unpacked bundle: its files are in `folder`, each has the digest that SHA256SUMS lists."""

    path: Path
    folder: Path
    digest: str

    def read(self, name: str) -> bytes | None:
        """The bytes of one file, None if the bundle has no such file."""
        file = self.folder / name
        return file.read_bytes() if file.exists() else None


# ---------------------------------------------------------------------- writing


def sums(files: Mapping[str, bytes]) -> bytes:
    """SHA256SUMS of some files, as `sha256sum --check` reads it."""
    return _sums({name: hashlib.sha256(content).hexdigest() for name, content in files.items()})


def write_bundle(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a bundle, whole or not at all; the same files give the same bytes.

    Raises SubmissionError if there is something at `path`, or if a file is larger than a bundle may hold.
    """
    for name, content in files.items():
        if len(content) > LIMITS[name]:
            raise _too_large(path, name, len(content))
    if path.exists():
        raise SubmissionError(
            "there is a file already, and bundles are not changed", fix="name another --out", file=path
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as stream:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                for name in sorted(files, key=list(LIMITS).index):
                    level = SMALLEST if name == THIN else None
                    archive.writestr(_member(name), files[name], compresslevel=level)
            stream.flush()
            os.fsync(stream.fileno())
        if (size := partial.stat().st_size) > LARGEST_BUNDLE:
            raise SubmissionError(
                f"the bundle has {size / MB:.0f} MB, a board takes {LARGEST_BUNDLE // MB}",
                fix="leave the traces out (--no-traces)",
                file=path,
            )
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, EPOCH)
    info.create_system = 3  # Unix, whatever this system is
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _sums(digests: Mapping[str, str]) -> bytes:
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode("ascii")


# ---------------------------------------------------------------------- reading


@contextmanager
def opened(path: str | Path) -> Iterator[Bundle]:
    """Unpack a bundle into a folder that is removed afterwards, and check every digest.

    Errors about the files inside name them as BUNDLE/NAME.  Raises SubmissionError for whatever is not exactly what
    `write_bundle` makes; nothing is written outside of the folder.
    """
    path = Path(path)
    with tempfile.TemporaryDirectory(prefix="clwqa-bundle-") as folder:
        try:
            yield _unpack(path, Path(folder))
        except ClwqaError as error:
            if error.file is not None:
                error.file = error.file.replace(folder, str(path))
            raise


def _unpack(path: Path, folder: Path) -> Bundle:
    _look_at(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _judge(path, members)
            digests = {member.filename: _extract(path, archive, member, folder) for member in members}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise SubmissionError(f"a damaged zip file: {error}", fix=PACK, file=path) from None
    return Bundle(path, folder, _compared(path, folder, digests))


def _look_at(path: Path) -> None:
    """What can be said of the file before a zip reader sees it: a list of a million members is not even read."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        raise SubmissionError(
            "there is no such bundle", fix="name a file that `pack` made", file=path
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise SubmissionError(
            "not a regular file (a link, or a folder)", fix="name the bundle itself", file=path
        )
    if status.st_size > LARGEST_BUNDLE:
        raise SubmissionError(
            f"the bundle has {status.st_size / MB:.0f} MB, a board takes {LARGEST_BUNDLE // MB}",
            fix="leave the traces out (`pack --no-traces`), or shorten the evidence",
            file=path,
        )
    with path.open("rb") as stream:
        stream.seek(max(0, status.st_size - END - LOCATOR))
        tail = stream.read()
    if len(tail) != LOCATOR + END or not tail.startswith(b"PK\x05\x06", LOCATOR):
        raise SubmissionError("not a zip file, or one with more behind its end", fix=PACK, file=path)
    members, directory, offset = struct.unpack_from("<H2L", tail, LOCATOR + 10)
    if members > MOST or directory > LARGEST_DIRECTORY or tail.startswith(b"PK\x06\x07"):
        raise SubmissionError(
            f"{members:,} files in it, listed in {directory:,} bytes; a bundle has {MOST} at most",
            fix=PACK,
            file=path,
        )
    if offset + directory + END != status.st_size:
        raise SubmissionError("there is something before its files", fix=PACK, file=path)


def _judge(path: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    """Raises SubmissionError for a member that a bundle does not have, or for bytes that belong to none."""
    names = [member.filename for member in members]
    for member in members:
        name = member.filename
        what = None
        if name not in LIMITS:
            outside = name.startswith("/") or ".." in name or "\\" in name or ":" in name
            what = f"{name[:80]!r} " + ("leads out of the bundle" if outside else "is no file of a bundle")
        elif names.count(name) > 1:
            what = f"{name} is there {names.count(name)} times"
        elif stat.S_ISLNK(member.external_attr >> 16):
            what = f"{name} is a symbolic link"
        elif member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            what = f"{name} is encrypted, or compressed in a way that a bundle is not"
        if what:
            raise SubmissionError(what, fix=PACK, file=path)
        if member.file_size > LIMITS[name]:
            raise _too_large(path, name, member.file_size)
    _require(path, names)
    offset = 0
    for member in members:  # one behind the other, from the first byte on
        if member.header_offset != offset:
            raise SubmissionError(f"there is something before {member.filename}", fix=PACK, file=path)
        offset += LOCAL + len(member.filename) + member.compress_size
    if (size := offset + sum(CENTRAL + len(name) for name in names) + END) != path.stat().st_size:
        raise SubmissionError(
            f"its files account for {size:,} bytes of {path.stat().st_size:,}", fix=PACK, file=path
        )


def _require(path: Path, names: Sequence[str]) -> None:
    """Raises SubmissionError unless everything is there that a bundle has, the predictions either whole or thin."""
    required = (*REQUIRED, ITEMS) if THIN not in names else REQUIRED
    if missing := [name for name in required if name not in names]:
        raise SubmissionError(f"{missing[0]} is missing", fix=PACK, file=path)
    if THIN in names and (beside := {ITEMS, TRACES}.intersection(names)):
        raise SubmissionError(f"{THIN} stands in place of {min(beside)}, both are there", fix=PACK, file=path)


def _extract(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> str:
    """Write one member, whose name is one of ours; returns its sha256.  A size that lies ends at what it says."""
    digest, left = hashlib.sha256(), member.file_size
    with archive.open(member) as source, (folder / member.filename).open("xb") as target:
        while chunk := source.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                raise _too_large(path, member.filename, member.file_size - left)
            digest.update(chunk)
            target.write(chunk)
    return digest.hexdigest()


def _compared(path: Path, folder: Path, digests: Mapping[str, str]) -> str:
    """The digest of SHA256SUMS.  Raises SubmissionError, naming file and line, unless it lists just these digests."""
    listed = (folder / SUMS).read_bytes()
    expected = _sums({name: digest for name, digest in digests.items() if name not in (SUMS, SIGNATURE)})
    if listed == expected:
        return hashlib.sha256(listed).hexdigest()
    lines = listed.split(b"\n")
    for number, line in enumerate(expected.split(b"\n"), start=1):
        if number > len(lines) or lines[number - 1] != line:
            break
    name = line.decode("ascii")[66:] or "a file that is not there"
    raise SubmissionError(
        f"the digest of {name} is not the one listed: the bundle was changed",
        fix=PACK,
        file=path / SUMS,
        line=number,
    )


def _too_large(path: Path, name: str, size: int) -> SubmissionError:
    fix = {
        TRACES: "leave the traces out (`pack --no-traces`)",
        ITEMS: "keep as evidence what the model was shown, not what was looked at",
    }.get(name, "shorten it")
    return SubmissionError(
        f"{name} has {size / MB:.1f} MB unpacked, a board takes {LIMITS[name] / MB:g}", fix=fix, file=path
    )
