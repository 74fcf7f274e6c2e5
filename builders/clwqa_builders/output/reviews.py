"""The card's section on what people found: written into a built dataset without touching anything else of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from clwqa_bench.dataset import FileEntry, Manifest, read_manifest
from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import BuildError
from clwqa_bench.run_folder import write_whole
from clwqa_builders.output import writers
from clwqa_builders.output.manifest import MANIFEST, write_manifest
from clwqa_builders.output.templates import environment

CARD, FOLDER = "README.md", "review"
BEGIN, END = "<!-- review -->", "<!-- /review -->"
SECTION = re.compile(f"{BEGIN}\n.*?{END}\n", re.DOTALL)
GENERATED = "generated"
"""Digest of generated questions: a review of them is about the graph, whether or not the dataset holds them."""
BEFORE = "## Sources and licences\n"


def add_review(root: Path, report: Mapping[str, Any]) -> Manifest:
    """Put a review's report into the dataset it was made on: a file in `review/`, the card's section, the manifest.

    One report each is kept for questions, generated questions and pairs; a newer one
    takes the place of an older. Raises BuildError when the report is about other content.
    """
    manifest = read_manifest(root)
    _refuse_other_content(manifest, report, root)
    (root / FOLDER).mkdir(exist_ok=True)
    name = "generated" if GENERATED in report["dataset"] else report["kind"]
    write_whole(root / FOLDER / f"{name}.json", writers.json_bytes(report))
    reports = [orjson.loads(path.read_bytes()) for path in sorted((root / FOLDER).glob("*.json"))]
    card = (root / CARD).read_text(encoding="utf-8")
    write_whole(root / CARD, with_section(card, section(reports)).encode("utf-8"))
    names = [CARD, *(path.relative_to(root).as_posix() for path in sorted((root / FOLDER).glob("*.json")))]
    entries = {n: FileEntry(sha256=file_sha256(root / n), bytes=(root / n).stat().st_size) for n in names}
    files = dict(sorted({**manifest.files, **entries}.items()))
    changed = manifest.model_copy(update={"files": files})
    write_manifest(changed, root)
    return changed


def section(reports: list[dict[str, Any]]) -> str:
    """The text between the marks, for the reports of all kinds."""
    return environment().get_template("review.md.j2").render(reports=reports)


def with_section(card: str, text: str) -> str:
    """The card with its section on reviews replaced, or added where an older card has none."""
    marked = f"{BEGIN}\n{text}{END}\n"
    if SECTION.search(card):
        return SECTION.sub(lambda _: marked, card, count=1)
    head, heading, rest = card.partition(BEFORE)
    return f"{head}## Read by people\n\n{marked}\n{heading}{rest}"


def _refuse_other_content(manifest: Manifest, report: Mapping[str, Any], root: Path) -> None:
    for key, digest in report["dataset"].items():
        if key in ("name", "version", GENERATED):
            continue
        if manifest.content.get(key) != digest:
            raise BuildError(
                f"the review was made on other content: {key} is {digest[:12]} there, "
                f"{manifest.content.get(key, 'missing')[:12]} here",
                fix="name the dataset that was reviewed, or review this one",
                file=root / MANIFEST,
                field=f"content.{key}",
            )
