"""Countries of the world as a graph: two tables, an ontology and better words, from an installed data package.

    python docs/examples/own-graph/adapter.py FOLDER
    python docs/examples/own-graph/adapter.py FOLDER --without types      (leaves the types out, to have them found)
    python docs/examples/own-graph/adapter.py FOLDER --without ontology

Reads the files of `countryinfo` 1.0.1 (MIT, collected from Wikipedia) where pip put them, and the English names of
languages and currencies from Babel (CLDR).
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from babel import Locale

HERE = Path(__file__).parent
ENGLISH = Locale("en")
ARTICLE = re.compile(
    r"The |United |.*\bRepublic\b|.* (Islands|Emirates|Territory|Lands|Territories)$"
    r"|(Bahamas|Comoros|Gambia|Maldives|Netherlands|Philippines|Seychelles|Vatican City|Isle of Man)$"
)
Row = tuple[str, ...]


def countries() -> Iterator[dict[str, Any]]:
    """The sovereign states and territories that have a capital and a three-letter code, by name."""
    files = distribution("countryinfo").files or []
    found = {}
    for file in files:
        if file.match("countryinfo/data/*.json"):
            data = json.loads(file.locate().read_text(encoding="utf-8"))
            if data.get("capital") and data.get("borders") is not None and data.get("currencies"):
                found[data["ISO"]["alpha3"]] = data
    yield from sorted(found.values(), key=lambda data: data["name"])


def tables() -> tuple[dict[str, Row], dict[Row, None]]:
    """Entities by id, and triples; both in a fixed order, without repeats."""
    entities: dict[str, Row] = {}
    triples: dict[Row, None] = {}
    code = {data["ISO"]["alpha3"]: f"country:{data['ISO']['alpha3']}" for data in countries()}

    def node(kind: str, key: str, label: str, aliases: str = "") -> str:
        id = f"{kind.lower()}:{key}"
        entities.setdefault(id, (id, label, kind, aliases))
        return id

    for data in countries():
        here = node("Country", data["ISO"]["alpha3"], in_sentence(data["name"]), "|".join(long_names(data)))
        capital = node("City", f"{data['ISO']['alpha3']}/{data['capital']}", data["capital"])
        triples[here, "capital", capital] = None
        if data["subregion"]:
            subregion = node("Subregion", data["subregion"], data["subregion"])
            region = node("Region", data["region"], data["region"])
            triples[here, "locatedIn", subregion] = None
            triples[subregion, "locatedIn", region] = None
        for currency in data["currencies"]:
            if name := ENGLISH.currencies.get(currency):
                triples[here, "currency", node("Currency", currency, name)] = None
        for language in data["languages"]:
            if name := ENGLISH.languages.get(language):
                triples[here, "officialLanguage", node("Language", language, name)] = None
        for other in data["borders"]:
            if other in code:
                triples[here, "borders", code[other]] = None
        for province in data.get("provinces", ()):
            place = node("Province", f"{data['ISO']['alpha3']}/{province}", province)
            triples[place, "locatedIn", here] = None
    return entities, triples


def in_sentence(name: str) -> str:
    """A country as a sentence names it: some have an article."""
    return f"the {name.removeprefix('The ')}" if ARTICLE.match(name) else name


def long_names(data: dict[str, Any]) -> list[str]:
    """Other spellings that are names, not codes."""
    spellings = [data["name"] if ARTICLE.match(data["name"]) else "", *data["altSpellings"]]
    return [
        name for name in spellings if len(name) > 4 and name != in_sentence(data["name"]) and "|" not in name
    ]


def write(folder: Path, without: str = "") -> None:
    """Fill a folder; ``without`` leaves out "types" or "ontology"."""
    folder.mkdir(parents=True, exist_ok=True)
    entities, triples = tables()
    columns = [0, 1, 3] if without == "types" else [0, 1, 2, 3]
    header = ("id", "label", "type", "aliases")
    rows = [tuple(row[i] for i in columns) for row in (header, *entities.values())]
    write_table(folder / "entities.tsv", rows)
    write_table(folder / "triples.tsv", [("head", "relation", "tail"), *triples])
    shutil.copyfile(HERE / "graph.toml", folder / "graph.toml")
    if without != "ontology":
        shutil.copyfile(HERE / "ontology.ttl", folder / "ontology.ttl")


def write_table(path: Path, rows: list[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(
            file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None
        ).writerows(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", choices=("types", "ontology"), default="")
    asked = parser.parse_args()
    write(asked.folder, asked.without)
    print(f"{asked.folder}: entities.tsv, triples.tsv")
