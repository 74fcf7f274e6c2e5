"""Reading predictions: what is accepted, and every kind of bad file with the place it goes wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import DatasetError, GraphError, PredictionError
from clwqa_bench.grid import Gold, GoldQuestion
from clwqa_bench.kg.build import index_tables
from clwqa_bench.predictions import DatasetRef, Evidence, EvidencePath, Prediction, RunManifest
from clwqa_bench.records import Answer, TripleRef
from clwqa_bench.runs import MAX_LINE, dataset_ref, gold_of, read_run
from tests import tiny_dataset

GOOD = {"id": "q5", "status": "ok", "ranked": True, "answers": [{"text": "史记"}]}


def line(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}, ensure_ascii=False).encode("utf-8") + b"\n"


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return tmp_path / "predictions.jsonl"


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    tiny_dataset.write(tmp_path / "tiny")
    return Dataset.open(tmp_path / "tiny")


def run_folder(folder: Path, ref: DatasetRef, *lines: bytes) -> Path:
    folder.mkdir()
    manifest = RunManifest(system="demo", dataset=ref, code_version="0")
    (folder / "run.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    (folder / "items.jsonl").write_bytes(b"".join(lines))
    return folder


def test_a_file_of_predictions_needs_nothing_else(items: Path) -> None:
    items.write_bytes(line() + b"\n" + line(id="q6", status="refused", answers=[]))
    run = read_run(items)
    assert [p.id for p in run.predictions] == ["q5", "q6"]
    assert run.lines == (1, 3)
    assert run.manifest is None
    assert run.title == "predictions"


def test_a_byte_order_mark_changes_nothing(items: Path) -> None:
    items.write_bytes(b"\xef\xbb\xbf" + line())
    assert read_run(items).predictions == (Prediction.model_validate(GOOD),)


def test_a_last_line_cut_off_by_a_crash_is_left_out_and_named(items: Path) -> None:
    items.write_bytes(line() + line(id="q6")[:-9])
    run = read_run(items)
    assert [p.id for p in run.predictions] == ["q5"]
    assert run.torn == 2


def test_a_last_line_without_newline_that_is_whole_counts(items: Path) -> None:
    items.write_bytes(line() + line(id="q6").rstrip())
    assert read_run(items).torn is None
    assert len(read_run(items).predictions) == 2


@pytest.mark.parametrize(
    ("bad", "says", "field"),
    [
        pytest.param(line()[:-2] + b"\n", "Invalid JSON", None, id="broken line with its newline"),
        pytest.param(b"[1, 2]\n", "should be an object", None, id="not an object"),
        pytest.param(line(answers=[{"text": ["史记"]}]), "valid string", "answers.0.text", id="list for string"),
        pytest.param(line(answers="史记"), "valid array", "answers", id="string for list"),
        pytest.param(line(answers=["史记"]), "should be an object", "answers.0", id="bare strings"),
        pytest.param(line(answers=[{"text": ""}]), "at least 1 character", "answers.0.text", id="empty answer"),
        pytest.param(line(answers=[{"text": " \u200b\u3000"}]), "shows nothing", "answers.0.text", id="invisible"),
        pytest.param(line(ranked="yes"), "valid boolean", "ranked", id="string for boolean"),
        pytest.param(line(answers=[{"text": "a", "score": "0.5"}]), "valid number", "answers.0.score", id="score"),
        pytest.param(line(answers=[]), "status 'ok' without answers", None, id="ok without answers"),
        pytest.param(line(status="refused"), "status 'refused' with answers", None, id="refused with answers"),
        pytest.param(line(status="failed", answers=[]), "Input should be 'ok', 'empty'", "status", id="status"),
        pytest.param(line(answers=[{"text": "a", "rank": 2}]), "answer 1 says rank 2", None, id="rank"),
        pytest.param(line(anwsers=[]), "Extra inputs", "anwsers", id="misspelt field"),
        pytest.param(line(schema_version=2), "Input should be 1", "schema_version", id="newer schema"),
        pytest.param(line(id=""), "at least 1 character", "id", id="no id"),
        pytest.param(
            b'{"id":"q5","status":"ok","answers":[{"text":"a","score":NaN}]}\n',
            "finite number", "answers.0.score", id="NaN",
        ),
        pytest.param("四面楚歌\n".encode("gb18030"), "GB18030", None, id="GBK"),
        pytest.param(b"\xff\xfe{\x00\n", "not UTF-8", None, id="UTF-16"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_with_its_field(items: Path, bad: bytes, says: str, field: str | None) -> None:
    items.write_bytes(line(id="q1") + bad + line(id="q6"))
    with pytest.raises(PredictionError) as error:
        read_run(items)
    assert says in error.value.what
    assert (error.value.file, error.value.line, error.value.field) == (str(items), 2, field)
    assert error.value.fix


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", line().replace(b"\n", b"\r") + line(id="q6").replace(b"\n", b"\r")[:-2]]
)
def test_a_file_without_a_single_prediction_is_no_submission(
    items: Path, dataset: Dataset, content: bytes
) -> None:
    items.write_bytes(content)
    with pytest.raises(PredictionError, match="not a single prediction"):
        read_run(items).on(gold_of(dataset, "test"))


@pytest.mark.parametrize("content", [b"Error 401: bad key", b"\x1f\x8b\x08\x00\x00"])
def test_what_is_no_json_at_all_is_not_taken_for_a_torn_line(items: Path, content: bytes) -> None:
    items.write_bytes(line() + content)
    with pytest.raises(PredictionError):
        read_run(items)


def test_a_field_that_stands_twice_is_refused(items: Path) -> None:
    items.write_bytes(line()[:-2] + b', "answers": [{"text": "x"}]}\n')
    with pytest.raises(PredictionError, match="stands there twice") as error:
        read_run(items)
    assert (error.value.line, error.value.field) == (1, "answers")


def test_an_endless_line_is_refused_without_reading_it_whole(items: Path) -> None:
    with items.open("wb") as stream:
        stream.write(line(id="q1"))
        stream.truncate(2 << 30)  # a sparse file: two gigabytes without a newline
    with pytest.raises(PredictionError, match=f"longer than {MAX_LINE >> 20} MB") as error:
        read_run(items)
    assert error.value.line == 2


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(PredictionError, match="no predictions here"):
        read_run(tmp_path / "nothing.jsonl")
    with pytest.raises(PredictionError, match=r"run\.json is missing"):
        read_run(tmp_path)


def test_a_run_is_scored_on_the_questions_it_was_asked_only(tmp_path: Path, dataset: Dataset) -> None:
    ref = dataset_ref(dataset, "test")
    grid = read_run(run_folder(tmp_path / "same", ref, line())).on(gold_of(dataset, "test"))
    assert grid.outcomes == ("ok", "missing")
    for field, other in {"version": "0.9", "name": "mini", "content": "abc", "split": "train"}.items():
        changed = ref.model_copy(update={field: other})
        run = read_run(run_folder(tmp_path / field, changed, line()))
        with pytest.raises(PredictionError, match="the run was asked") as error:
            run.on(gold_of(dataset, "test"))
        assert error.value.field == f"dataset.{field}"


def test_a_manifest_in_another_encoding_or_with_a_field_too_many_is_named(
    tmp_path: Path, dataset: Dataset
) -> None:
    run = run_folder(tmp_path / "run", dataset_ref(dataset, "test"), line())
    text = (run / "run.json").read_text(encoding="utf-8")
    (run / "run.json").write_bytes(b"\xef\xbb\xbf" + text.encode("utf-8"))
    assert read_run(run).title == "demo [none/lexical]"
    for changed, says in {
        text.replace("demo", "示例"): "GB18030",
        text[:-1] + ',"more":1}': "Extra inputs",
    }.items():
        (run / "run.json").write_bytes(changed.encode("gb18030"))
        with pytest.raises(PredictionError, match=says):
            read_run(run)


def test_a_sample_larger_than_the_split_was_not_made_by_a_run(tmp_path: Path, dataset: Dataset) -> None:
    run = run_folder(tmp_path / "run", dataset_ref(dataset, "test"), line())
    manifest = (run / "run.json").read_text(encoding="utf-8").replace('"sample":null', '"sample":99')
    (run / "run.json").write_text(manifest, encoding="utf-8")
    with pytest.raises(PredictionError, match="a sample of 99 from a split of 2"):
        read_run(run).on(gold_of(dataset, "test"))


def test_a_damaged_graph_or_index_gives_no_number(dataset: Dataset) -> None:
    index_tables(dataset.root / "kg")
    tails = dataset.root / "kg" / "index" / "edge_tail.npy"
    whole = tails.read_bytes()
    tails.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(GraphError, match="index is damaged") as error:
        gold_of(dataset, "test")
    assert error.value.file == str(tails)
    tails.write_bytes(whole)
    assert gold_of(dataset, "test").graph is not None
    triples = dataset.root / "kg" / "triples.parquet"
    triples.write_bytes(triples.read_bytes()[:-1] + b"x")
    with pytest.raises(DatasetError, match="wrong checksum"):
        gold_of(dataset, "test")


@pytest.mark.parametrize(
    ("id", "says"),
    [("q5", "a second prediction for q5"), ("q1", "q1 is not among the 2 questions asked of the test split")],
)
def test_repeated_and_unknown_ids_stop_everything(items: Path, dataset: Dataset, id: str, says: str) -> None:
    items.write_bytes(line() + line(id="q6") + line(id=id))
    with pytest.raises(PredictionError, match=says) as error:
        read_run(items).on(gold_of(dataset, "test"))
    assert (error.value.file, error.value.line, error.value.field) == (str(items), 3, "id")


def test_gold_has_strata_groups_and_a_checked_file(dataset: Dataset) -> None:
    gold = gold_of(dataset, "test")
    assert [q.id for q in gold.questions] == ["q5", "q6"]
    assert set(gold.strata) == {
        "answers=one", "category=history_geography", "hops=2", "hops=4+", "kind=entity", "method=template",
        "upper=historical_ecological",
    }  # fmt: skip
    assert gold.clusters.tolist() == [0, 0]
    assert gold.bearers("史记", "Book") == ("book:史记",)
    (dataset.root / "qa" / "test.jsonl").write_bytes(b"{}\n\n")
    with pytest.raises(Exception, match="the file has 4 bytes"):
        gold_of(dataset, "test")


@pytest.mark.parametrize(
    ("questions", "says"),
    [
        ([GoldQuestion("q1", "?", (), "g")], "no gold answer for q1"),
        ([GoldQuestion("q1", "?", (Answer(entity_id="e", label="史记"),), "g")] * 2, "q1 more than once"),
    ],
)
def test_gold_that_cannot_be_scored_is_refused(questions: list[GoldQuestion], says: str) -> None:
    ref = DatasetRef(name="n", version="1", content="c", split="test")
    with pytest.raises(PredictionError, match=says):
        Gold(ref, tuple(questions))


def test_evidence_shows_each_triple_once_in_order() -> None:
    a, b = (TripleRef(head="x", relation="r", tail=tail) for tail in "ab")
    evidence = Evidence(paths=(EvidencePath(id="p1", triples=(b, a)), EvidencePath(id="p2", triples=(a,))))
    assert evidence.shown() == (b, a)
    assert evidence.ids() == {"p1", "p2"}


def test_questions_asked_again_are_counted_once_each(tmp_path: Path, dataset: Dataset) -> None:
    run = run_folder(tmp_path / "run", dataset_ref(dataset, "test"), line())
    former = line(status="error", answers=[], error="401")
    (run / "retries.jsonl").write_bytes(former * 2 + line(id="q6", status="timeout", answers=[])[:-9])
    assert read_run(run).asked_again == 1  # what was cut off is not counted


@pytest.mark.parametrize(
    ("bad", "says", "field"),
    [
        pytest.param(b"{}", "required", "id", id="no id"),
        pytest.param(b'{"id": ["q5"]}', "valid string", "id", id="a list for an id"),
        pytest.param(b'{"id": ""}', "at least 1 character", "id", id="an empty id"),
        pytest.param(b"[]", "object", None, id="not an object"),
        pytest.param(b"junk", "Invalid JSON", None, id="not JSON"),
        pytest.param(b"[" * 200_000, "recursion limit", None, id="nested without end"),
        pytest.param("四面楚歌".encode("gb18030"), "GB18030", None, id="GBK"),
    ],
)
def test_what_was_put_aside_is_read_as_strictly(
    tmp_path: Path, dataset: Dataset, bad: bytes, says: str, field: str | None
) -> None:
    run = run_folder(tmp_path / "run", dataset_ref(dataset, "test"), line())
    (run / "retries.jsonl").write_bytes(line() + bad + b"\n")
    with pytest.raises(PredictionError) as error:
        read_run(run)
    assert says in error.value.what
    assert (error.value.file, error.value.line, error.value.field) == (str(run / "retries.jsonl"), 2, field)
    assert error.value.fix
