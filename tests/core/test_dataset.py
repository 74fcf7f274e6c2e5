from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import DatasetError
from clwqa_bench.records import SCHEMA_VERSION, QuestionView
from tests import tiny_dataset as tiny


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tiny.write(tmp_path / "data")
    return tmp_path / "data"


def test_questions_come_back_as_they_were_written(folder: Path) -> None:
    dataset = Dataset.open(folder)
    assert set(dataset.questions()) == set(tiny.QUESTIONS)
    assert [q.id for q in dataset.questions("test")] == ["q5", "q6"]
    assert dataset.manifest.counts["questions"] == 7


def test_a_system_gets_ids_and_texts(folder: Path) -> None:
    assert list(Dataset.open(folder).view("validation")) == [
        QuestionView(id="q4", text="请解释成语“买椟还珠”。")
    ]


def test_the_graph_opens_and_the_folder_stays_as_it_is(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    dataset = Dataset.open(folder)
    assert list(dataset.kg().neighbours("word:守株待兔", "hasSource", "out")) == ["chapter:韩非子/五蠹"]
    assert dataset.kg().entity("quot:3").text == "夜闻汉军四面皆歌。"
    assert sorted(folder.rglob("*")) == before


def damage_bytes(folder: Path) -> None:
    path = folder / "qa" / "test.parquet"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)


def truncate(folder: Path) -> None:
    path = folder / "qa" / "test.parquet"
    path.write_bytes(path.read_bytes()[:-100])


def remove(folder: Path) -> None:
    (folder / "qa" / "test.parquet").unlink()


def newer(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest = {**manifest, "schema_version": SCHEMA_VERSION + 1, "shape": "unheard of"}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def unsourced(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del manifest["sources"]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def no_json(folder: Path) -> None:
    (folder / "manifest.json").write_text("{", encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            damage_bytes,
            r"test\.parquet: wrong checksum: expected sha256 [0-9a-f]{64}, found [0-9a-f]{64}. Fix: build",
        ),
        (truncate, r"test\.parquet: the file has \d+ bytes, the manifest says \d+. Fix: build"),
        (remove, r"test\.parquet: the file is missing. Fix: build"),
        (newer, r"field schema_version: schema version 2 is not known.*Fix: update clwqa-bench"),
        (unsourced, r"manifest\.json: field sources: Field required"),
        (no_json, r"manifest\.json: not JSON"),
    ],
)
def test_a_damaged_dataset_is_refused_with_the_file_named(
    damage: Callable[[Path], None], message: str, folder: Path
) -> None:
    damage(folder)
    with pytest.raises(DatasetError, match=message):
        Dataset.open(folder)


def test_a_truncated_table_is_noticed_without_verifying(folder: Path) -> None:
    truncate(folder)
    with pytest.raises(DatasetError, match=r"test\.parquet: not a complete Parquet file"):
        list(Dataset.open(folder, verify=False).questions("test"))


def test_a_row_that_is_no_question_is_named(tmp_path: Path) -> None:
    tiny.write(tmp_path, questions=[tiny.QUESTIONS[0].model_copy(update={"answers": ()})])
    with pytest.raises(DatasetError, match=r"train\.parquet: field answers: question 'q1': "):
        list(Dataset.open(tmp_path).questions())


def test_an_unknown_split_is_named(folder: Path) -> None:
    with pytest.raises(DatasetError, match=r"no split 'dev'\. Fix: use one of train, validation, test"):
        Dataset.open(folder).questions("dev").__next__()  # type: ignore[arg-type]


def test_a_folder_without_dataset(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"manifest\.json is missing"):
        Dataset.open(tmp_path)
