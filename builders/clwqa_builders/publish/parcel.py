"""The folder that is published: the dataset as its manifest lists it, with a card for whoever finds it on the Hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import TypeAdapter

from clwqa_bench.dataset import Dataset, FileEntry, Manifest
from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import DatasetError
from clwqa_bench.hub import refuse_name
from clwqa_builders.output import croissant
from clwqa_builders.output.manifest import MANIFEST, Release, write_manifest
from clwqa_builders.output.statistics import Statistics
from clwqa_builders.output.writers import json_bytes
from clwqa_builders.publish.errors import PublishError
from clwqa_builders.publish.gold import refuse_gold, withheld
from clwqa_builders.publish.rows import stored_content
from clwqa_builders.stages import publish as put_in_place
from clwqa_builders.stages import tree

CARD, CROISSANT, STATISTICS = "README.md", "croissant.json", "statistics.json"
BROUGHT = "induction.json"  # what only the dataset of a graph that somebody brought has
BEGIN, END = "<!-- hub -->", "<!-- /hub -->"
SECTION = re.compile(f"{BEGIN}\n.*?{END}\n\n", re.DOTALL)
BEFORE = "## Files\n"
CONFIG = re.compile(r"^- config_name: (\S+)$", re.MULTILINE)
REBUILD = "build the dataset again, or download it again; see also `clwqa-bench validate`"


@dataclass(frozen=True)
class Parcel:
    """What is published: files by their path in the repository, and digests of the rows in them."""

    repo: str
    manifest: Manifest
    content: Mapping[str, str]
    files: Mapping[str, Path]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.files.values())

    def sha256(self, name: str) -> str:
        """Digest of a file as the manifest promises it."""
        return file_sha256(self.files[name]) if name == MANIFEST else self.manifest.files[name].sha256

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.manifest.name} {self.manifest.version}"

    def write(self, folder: Path) -> bool:
        """Make `folder` hold exactly these files; False if it does already.

        Raises PublishError if something else is there, BuildError if the disk is full; nothing half-written stays.
        """
        if folder.exists() and not _is_same(folder, self.files):
            raise PublishError(
                "there is something else already", fix="remove it, or name another --out", file=folder
            )
        return put_in_place(self.files, folder)


@contextmanager
def packed(root: Path, repo: str) -> Iterator[Parcel]:
    """The parcel of a dataset folder; what is not in that folder as it is lies in a temporary one.

    Same folder and name, same bytes.  Raises HubError for a name that cannot be one, PublishError for a folder that
    must not be published, DatasetError for a damaged one.
    """
    refuse_name(repo)
    listed = Dataset.open(root, verify=False).manifest
    _refuse_strange_files(root, listed)
    dataset = Dataset.open(root)  # every file is verified
    refuse_gold(dataset, made_again={CROISSANT})
    content = _checked_content(dataset)
    with TemporaryDirectory(prefix="clwqa-publish-") as folder:
        made = Path(folder)
        _make(dataset, repo, made)
        manifest = Dataset.open(made, verify=False).manifest
        files = {name: root / name for name in manifest.files} | tree(made)
        yield Parcel(repo, manifest, content, dict(sorted(files.items())))


def _refuse_strange_files(root: Path, manifest: Manifest) -> None:
    """Nothing from elsewhere is published, whatever a manifest says."""
    for name in manifest.files:
        parts = PurePosixPath(name).parts
        inside = (root / name).resolve().is_relative_to(root.resolve())
        if not inside or ".." in parts or any(part.startswith(".") for part in parts) or name == MANIFEST:
            raise PublishError(
                f"the manifest lists {name!r}, which is no file of a dataset",
                fix=REBUILD,
                file=root / MANIFEST,
            )


def _checked_content(dataset: Dataset) -> dict[str, str]:
    """Digests of the rows.  Raises DatasetError if they are not those of the manifest (but for withheld gold)."""
    found = stored_content(dataset.root)
    committed = {"qa"} if withheld(dataset) else set()
    for name in found.keys() - committed:
        if found[name] != dataset.manifest.content.get(name):
            raise DatasetError(
                f"the rows have digest {found[name]}, the manifest says {dataset.manifest.content.get(name)}",
                fix=REBUILD,
                file=dataset.root / MANIFEST,
                field=f"content.{name}",
            )
    return found


def _make(dataset: Dataset, repo: str, made: Path) -> None:
    """Write what is made for the Hub: the card, Croissant where it or gold is missing, the manifest that lists them."""
    listed = dict(dataset.manifest.files)
    if CARD not in listed:
        raise PublishError("the dataset has no card", fix=REBUILD, file=dataset.root / CARD)
    card = (dataset.root / CARD).read_text(encoding="utf-8")
    (made / CARD).write_text(with_section(card, dataset.manifest, repo), encoding="utf-8", newline="\n")
    if withheld(dataset):
        listed.pop(CROISSANT, None)  # it may be that of the complete dataset, with digests of the gold
    if CROISSANT not in listed and STATISTICS in listed:
        (made / CROISSANT).write_bytes(json_bytes(_croissant(dataset)))
    fresh = {
        name: FileEntry(sha256=file_sha256(path), bytes=path.stat().st_size)
        for name, path in tree(made).items()
    }
    files = dict(sorted({**listed, **fresh}.items()))
    write_manifest(dataset.manifest.model_copy(update={"files": files}), made)


def with_section(card: str, manifest: Manifest, repo: str) -> str:
    """The card with the section on how to load it from the Hub.  Raises PublishError if it names no configurations."""
    head = card[: card.find("\n---\n", 4)] if card.startswith("---\n") else ""
    configs = list(dict.fromkeys(CONFIG.findall(head)))
    if not configs:
        raise PublishError("the card has no `configs`", fix=REBUILD, file=CARD)
    template = Environment(
        loader=PackageLoader("clwqa_builders.publish", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    ).get_template("hub.md.j2")
    text = template.render(repo=repo, configs=configs, content=manifest.content)
    head, before, rest = SECTION.sub("", card).partition(BEFORE)
    return f"{head.rstrip()}\n\n{BEGIN}\n{text}{END}\n\n{before}{rest}"


def _croissant(dataset: Dataset) -> dict[str, object]:
    """The description of a folder whose own was left out, because it told of files that are not there."""
    manifest = dataset.manifest
    release = Release(
        manifest.name,
        manifest.version,
        manifest.seed,
        manifest.code_version,
        manifest.sources,
        manifest.config,
        card="own.md.j2" if BROUGHT in manifest.files else "card.md.j2",
    )
    counted = orjson.loads((dataset.root / STATISTICS).read_bytes())
    return croissant.describe(dataset.root, release, TypeAdapter(Statistics).validate_python(counted))


def _is_same(folder: Path, files: Mapping[str, Path]) -> bool:
    present = tree(folder) if folder.is_dir() else {}
    return present.keys() == files.keys() and all(
        file_sha256(present[name]) == file_sha256(path) for name, path in files.items()
    )
