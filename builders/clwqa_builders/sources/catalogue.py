"""The catalogue of sources: a TOML file read into checked, immutable values."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from clwqa_bench.errors import SourceError

CATALOGUE = Path(__file__).with_name("catalogue.toml")

Profile = Literal["core", "full"]
Kind = Literal["pip", "npm", "file", "repo"]
FORMS = "pip:NAME==VERSION, npm:NAME@VERSION, file:FOLDER, repo:tables"


@dataclass(frozen=True, slots=True)
class Locator:
    """Where a source is: which client knows the way (``kind``), what it calls the source, which version."""

    kind: Kind
    target: str
    version: str | None = None

    @classmethod
    def parse(cls, text: str) -> Locator:
        """Read one of the four forms of ``FORMS``; raises ValueError for anything else."""
        kind, _, rest = text.partition(":")
        target, version = rest, ""
        if kind == "pip":
            target, _, version = rest.partition("==")
        elif kind == "npm":
            target, _, version = rest.rpartition("@")
        if kind not in get_args(Kind) or not target or (kind in ("pip", "npm") and not version):
            raise ValueError(f"{text!r} is none of {FORMS}")
        return cls(cast(Kind, kind), target, version or None)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class SourceFile(_Frozen):
    """One file a build reads: path inside the package's install folder, size in bytes, hexadecimal sha256.

    A path that ends in / is a folder of files: ``size`` counts them all, ``sha256`` is that of one line
    ``HASH  NAME`` per file, in the order of the names (what ``sha256sum`` prints in a C locale).
    """

    path: str
    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Source(_Frozen):
    """One source: what it is, whose it is, where it is and exactly which bytes are meant.

    ``licence`` is what the package states; ``provenance`` what is known of where its content comes from;
    ``importer`` the dotted name (``module:function``) of what reads it, ``integrity`` the checksum of an npm tarball.
    """

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str
    version: str
    what: str
    licence: str
    provenance: str
    locator: str
    importer: str = Field(pattern=r"^[\w.]+:\w+$")
    profile: Profile
    integrity: str | None = Field(default=None, pattern=r"^sha512-[A-Za-z0-9+/]{86}==$")
    files: tuple[SourceFile, ...] = ()

    @model_validator(mode="after")
    def _one_version(self) -> Self:
        located = self.where.version
        if located is not None and located != self.version:
            raise ValueError(f"version is {self.version!r} but the locator names {located!r}")
        if (self.where.kind == "npm") != (self.integrity is not None):
            raise ValueError("an npm source, and no other, has an integrity")
        return self

    @property
    def where(self) -> Locator:
        """The locator, parsed."""
        return Locator.parse(self.locator)


class Catalogue(_Frozen):
    """All sources, in the order of the file; ids are unique."""

    source: tuple[Source, ...]

    @model_validator(mode="after")
    def _unique_ids(self) -> Self:
        ids = [source.id for source in self.source]
        if double := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"the same id twice: {', '.join(double)}")
        return self

    def profile(self, name: Profile) -> tuple[Source, ...]:
        """The sources a profile reads: ``full`` is ``core`` and more."""
        return tuple(source for source in self.source if name == "full" or source.profile == "core")


def load_catalogue(path: Path = CATALOGUE) -> Catalogue:
    """Read and check a catalogue; raises SourceError naming the file and the first wrong field."""
    fix = "correct the catalogue; its first lines describe every field"
    try:
        return Catalogue.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, FileNotFoundError) as error:
        raise SourceError(f"the catalogue of sources cannot be read: {error}", file=path, fix=fix) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = f"the catalogue of sources is wrong: {first['msg']}"
        raise SourceError(what, file=path, field=".".join(map(str, first["loc"])) or None, fix=fix) from error
