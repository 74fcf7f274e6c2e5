"""Which dictionary words enter the graph, and with which category.

A word enters with a strict marker in its first sense (官名。…, 旧俗，…), with a citation that can be read, or with the
story behind it; all others stay out, so that nothing is in the graph for its number alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import orjson

from clwqa_builders.extract.dictionary import Entry
from clwqa_builders.extract.lexicon import Lexicon
from clwqa_builders.extract.markers import SenseMarker, SenseMarkers
from clwqa_builders.extract.records import Citation, CrossRef
from clwqa_builders.extract.senses import Sense, first_telling, read_sense
from clwqa_builders.parallel import parallel_map

LONGEST_MARKED = 6  # characters of a word that a marker alone lets in
FEWEST_TOLD = 4  # letters of its meaning
_BARE = re.compile("[^，。；：]{1,8}名。?")  # 鸟名 alone tells nothing
_CHUNK = 4_000


@dataclass(frozen=True, slots=True)
class Headword:
    """A dictionary word that enters the graph: its first sense, and what its marker says about it."""

    sense: Sense
    category: str | None = None
    marker: str | None = None


def headword(entry: Entry, lexicon: Lexicon, markers: SenseMarkers) -> Headword | None:
    """The entry as a headword, or None where it brings neither marker nor citation."""
    sense = read_sense(entry, lexicon)
    if sense is None:
        return None
    marker = marker_of(sense, first_telling(entry)[0], markers)
    if marker is None and sense.citation is None:
        return None
    return Headword(sense, marker.category if marker else None, marker.name if marker else None)


def marker_of(sense: Sense, text: str, markers: SenseMarkers) -> SenseMarker | None:
    """The marker of a first sense (``text``); None where there is none or where the meaning tells nothing beyond it."""
    meaning = sense.meaning or ""
    told = sum(map(str.isalnum, meaning)) >= FEWEST_TOLD and not _BARE.fullmatch(meaning)
    return markers.mark(text) if len(sense.word) <= LONGEST_MARKED and (told or sense.citation) else None


def read_headwords(
    entries: Iterable[Entry], lexicon: Lexicon, markers: SenseMarkers, workers: int = 1
) -> list[Headword]:
    """All headwords in the order of the entries; the result does not depend on ``workers``."""
    entries = list(entries)
    chunks = [entries[at : at + _CHUNK] for at in range(0, len(entries), _CHUNK)]
    read = partial(_read_chunk, lexicon=lexicon, markers=markers)
    return list(chain.from_iterable(parallel_map(read, chunks, workers)))


def _read_chunk(entries: Sequence[Entry], lexicon: Lexicon, markers: SenseMarkers) -> list[Headword]:
    return [word for entry in entries if (word := headword(entry, lexicon, markers))]


def dump_headwords(words: Iterable[Headword], path: Path) -> None:
    """One JSON line per headword."""
    with path.open("wb") as file:
        file.writelines(orjson.dumps(word) + b"\n" for word in words)


def load_headwords(path: Path) -> list[Headword]:
    """What ``dump_headwords`` wrote."""
    with path.open("rb") as file:
        return [_headword(orjson.loads(line)) for line in file]


def _headword(data: dict[str, object]) -> Headword:
    sense = dict(data["sense"])  # type: ignore[call-overload]
    sense["citation"] = Citation(**sense["citation"]) if sense["citation"] else None
    sense["crossrefs"] = tuple(CrossRef(**ref) for ref in sense["crossrefs"])
    return Headword(Sense(**sense), data["category"], data["marker"])  # type: ignore[arg-type]
