"""A made-up library as a graph of one's own, and folders with whatever tables a test wants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Folder = Callable[..., Path]

NAMES = [
    f"{first}{last}"
    for last in ("bert", "ric", "mund")
    for first in ("Al", "Ed", "Her", "Jo", "Mar", "Nor", "Os", "Phil", "Rod", "Wil")
]
PLACES = ["Ashford", "Brampton", "Calder", "Dunmore", "Eastleigh", "Farnham", "Glossop", "Helmsley"]
LANDS = ["Northland", "Southland"]
COLOURS = ["Amber", "Birch", "Copper", "Dusk", "Ember", "Flint"]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """`folder({"entities.tsv": "id\\tlabel\\n..."})`: a folder with these files."""

    def make(files: Mapping[str, str | bytes], name: str = "graph") -> Path:
        made = tmp_path / name
        made.mkdir(exist_ok=True)
        for file, content in files.items():
            (made / file).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return made

    return make


def library(*, types: bool = True) -> dict[str, str]:
    """Thirty authors, their ninety books, their towns, two lands: no ontology, and no words but the relations'."""
    entities, triples = [(land, land, "Land") for land in LANDS], []
    for number, place in enumerate(PLACES):
        entities.append((place, place, "Town"))
        triples.append((place, "located in", LANDS[number % 2]))
    for number, name in enumerate(NAMES):
        entities.append((name, f"{name} Smith", "Author"))
        triples.append((name, "home town", PLACES[number % len(PLACES)]))
        for colour in range(3):
            book = f"{COLOURS[(number + colour) % len(COLOURS)]} {name}"
            entities.append((f"b{number}.{colour}", f"The {book} Papers", "Book"))
            triples.append((f"b{number}.{colour}", "was written by", name))
    header = ("id", "label", "type")[: 3 if types else 2]
    rows = [header, *(row[: len(header)] for row in entities)]
    return {
        "entities.tsv": "".join("\t".join(row) + "\n" for row in rows),
        "triples.tsv": "".join("\t".join(row) + "\n" for row in [("head", "relation", "tail"), *triples]),
    }
