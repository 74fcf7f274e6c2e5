"""Fetching npm packages: through the client or from a folder, checked to the byte, and never further than the cache."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.errors import SourceError
from clwqa_builders.sources import commands, npm
from clwqa_builders.sources.catalogue import Source, SourceFile, load_catalogue
from clwqa_builders.sources.locate import verify

WORDS = '{"重阳":"1.节名。"}'.encode()
SAYINGS = '[["泥菩萨过江","自身难保"]]'.encode()
FILES = {"package/words/重.json": WORDS, "package/words.js": SAYINGS, "package/package.json": b"{}"}


def tarball(files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    """A gzipped tar archive with these files, and symbolic links."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return out.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def source(archive: bytes) -> Source:
    """The package acme-words 1.0.0 whose tarball is ``archive``: one folder of files and one file."""
    listing = f"{sha256(WORDS)}  重.json\n".encode()
    return Source(
        id="acme-words",
        title="Acme words",
        version="1.0.0",
        what="One word, one saying",
        licence="MIT",
        provenance="Made up for this test.",
        locator="npm:acme-words@1.0.0",
        importer="acme:read",
        profile="full",
        integrity="sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode(),
        files=(
            SourceFile(path="words/", size=len(WORDS), sha256=sha256(listing)),
            SourceFile(path="words.js", size=len(SAYINGS), sha256=sha256(SAYINGS)),
        ),
    )


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of fetched packages."""
    monkeypatch.setenv("CLWQA_SOURCES", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for tarballs."""
    (tmp_path / "tarballs").mkdir()
    return tmp_path / "tarballs"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a program named npm, a shell script, alone on the search path."""

    def put(script: str) -> None:
        program = tmp_path / "bin" / "npm"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")

    return put


def leftovers(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir()} if cache.is_dir() else set()


def test_the_client_is_asked_for_the_exact_version_and_runs_no_script(
    cache: Path, folder: Path, client: Callable[[str], None]
) -> None:
    archive = tarball(FILES)
    (folder / "published.tgz").write_bytes(archive)
    client(f'echo "$@" > {folder}/called; cp {folder}/published.tgz acme-words-1.0.0.tgz')
    npm.fetch(source(archive))
    asked = (folder / "called").read_text(encoding="utf-8").split()
    assert asked[0] == "pack"
    assert asked[-1] == "acme-words@1.0.0"
    assert "--ignore-scripts" in asked
    verified = verify(source(archive))
    assert verified["words.js"].read_bytes() == SAYINGS
    assert verified["words/"].is_dir()
    assert {path.name for path in verified["words/"].iterdir()} == {"重.json"}
    assert leftovers(cache) == {"acme-words-1.0.0"}
    assert not (cache / "acme-words-1.0.0" / "package.json").exists()


def test_a_tarball_in_a_folder_needs_no_client(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tarball(FILES)
    (folder / "acme-words-1.0.0.tgz").write_bytes(archive)
    monkeypatch.setenv("PATH", "")
    npm.fetch(source(archive), folder)
    assert verify(source(archive)).digest


def test_what_is_in_the_cache_is_used_without_client_or_network(
    cli: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tarball(FILES)
    (folder / "acme-words-1.0.0.tgz").write_bytes(archive)
    catalogue = load_catalogue().model_copy(update={"source": (source(archive),)})
    monkeypatch.setattr(commands, "load_catalogue", lambda: catalogue)
    first = cli("sources", "fetch", "--profile", "full", "--npm-dir", str(folder))
    assert (first.code, "fetched" in first.out) == (0, True)
    monkeypatch.setenv("PATH", "")
    again = cli("sources", "fetch", "--profile", "full")
    assert (again.code, "intact" in again.out) == (0, True)
    assert cli("sources", "verify", "--profile", "full").code == 0


def test_without_npm_the_error_says_what_to_do_and_that_core_works(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SourceError, match="acme-words is an npm package, and there is no npm here") as caught:
        npm.fetch(source(tarball(FILES)))
    assert "install Node.js" in caught.value.fix
    assert "--npm-dir" in caught.value.fix
    assert "the core profile needs neither" in caught.value.fix
    assert leftovers(cache) == set()


def test_what_npm_said_is_passed_on(cache: Path, client: Callable[[str], None]) -> None:
    client('echo "npm error code E404" >&2; echo "npm error 404 Not Found - acme-words" >&2; exit 1')
    with pytest.raises(SourceError, match="code E404; 404 Not Found - acme-words"):
        npm.fetch(source(tarball(FILES)))
    assert leftovers(cache) == set()


def test_a_damaged_tarball_is_named_with_both_checksums(cache: Path, folder: Path) -> None:
    archive = tarball(FILES)
    path = folder / "acme-words-1.0.0.tgz"
    path.write_bytes(archive[:-9] + b"?" + archive[-8:])
    with pytest.raises(SourceError, match="damaged or not the published one") as caught:
        npm.fetch(source(archive), folder)
    assert caught.value.file == str(path)
    assert caught.value.what.count("sha512-") == 2
    assert leftovers(cache) == set()


def test_a_tarball_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(SourceError, match="not in the folder given with --npm-dir") as caught:
        npm.fetch(source(tarball(FILES)), folder)
    assert caught.value.file == str(folder / "acme-words-1.0.0.tgz")


@pytest.mark.parametrize(
    "name",
    ["package/../../escaped.json", "/etc/escaped.json", "package/words/../escaped.json", "words/../../escaped.json",
     "package/words/deeper/escaped.json", "package/words/..\\escaped.json"],
)  # fmt: skip
def test_no_name_in_a_tarball_leads_out_of_the_cache(tmp_path: Path, folder: Path, name: str) -> None:
    archive = tarball({**FILES, name: b"!"})
    (folder / "acme-words-1.0.0.tgz").write_bytes(archive)
    npm.fetch(source(archive), folder)
    assert verify(source(archive)).digest
    assert not list(tmp_path.rglob("*escaped*"))


def test_a_link_in_place_of_a_file_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(SAYINGS)
    archive = tarball({"package/words/重.json": WORDS}, {"package/words.js": str(tmp_path / "secret")})
    (folder / "acme-words-1.0.0.tgz").write_bytes(archive)
    npm.fetch(source(archive), folder)
    with pytest.raises(SourceError, match=r"words\.js is missing"):
        verify(source(archive))


def test_a_tarball_that_unpacks_to_more_than_is_listed_is_refused(cache: Path, folder: Path) -> None:
    archive = tarball({**FILES, "package/words/bomb.json": b"0" * 1_000_000})
    (folder / "acme-words-1.0.0.tgz").write_bytes(archive)
    with pytest.raises(SourceError, match="larger than the"):
        npm.fetch(source(archive), folder)
    assert leftovers(cache) == set()


def test_what_is_no_archive_at_all_is_refused(cache: Path, folder: Path) -> None:
    (folder / "acme-words-1.0.0.tgz").write_bytes(b"not a tarball")
    with pytest.raises(SourceError, match="cannot be read"):
        npm.fetch(source(b"not a tarball"), folder)
    assert leftovers(cache) == set()


@pytest.mark.parametrize("change", ["touch words/extra.json", "rm words/*", "printf x >> words.js"])
def test_a_changed_cache_is_noticed_and_fetched_again(
    cli: Callable[..., Any], cache: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    archive = tarball(FILES)
    (folder / "acme-words-1.0.0.tgz").write_bytes(archive)
    npm.fetch(source(archive), folder)
    os.system(f"cd {cache / 'acme-words-1.0.0'} && {change}")
    with pytest.raises(SourceError, match="damaged or was changed") as caught:
        verify(source(archive))
    assert "sources fetch --profile full" in caught.value.fix
    npm.fetch(source(archive), folder)
    assert verify(source(archive)).digest


def test_a_package_that_was_not_fetched_is_told_apart(cache: Path) -> None:
    with pytest.raises(SourceError, match="the npm package acme-words has not been fetched"):
        verify(source(tarball(FILES)))


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("CLWQA_SOURCES", str(tmp_path / "file" / "cache"))
    with pytest.raises(SourceError, match="folder for fetched packages cannot be written"):
        npm.fetch(source(tarball(FILES)))


def test_an_npm_source_without_checksum_is_no_source() -> None:
    entry = source(tarball(FILES)).model_dump() | {"integrity": None}
    with pytest.raises(ValueError, match="has an integrity"):
        Source.model_validate(entry)


def test_the_three_packages_of_the_full_profile_are_pinned() -> None:
    packages = [s for s in load_catalogue().profile("full") if s.where.kind == "npm"]
    assert [s.id for s in packages] == ["cnchar-data", "cnchar-xhy", "chinese-poetry"]
    assert all(s.integrity and s.files for s in packages)


def test_a_full_build_without_npm_stops_before_anything_is_made(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    result = cli("build", "--profile", "full", "--out", str(tmp_path / "out"))
    assert result.code == 2
    assert "cnchar-data is an npm package, and there is no npm here" in " ".join(result.err.split())
    assert not (tmp_path / "out").exists()
