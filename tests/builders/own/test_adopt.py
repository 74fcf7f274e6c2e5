"""From two tables to a dataset that every part of the toolkit reads."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import ClwqaError
from clwqa_bench.linking import open_linker
from clwqa_bench.ontology import Ontology
from clwqa_bench.systems import Resources
from clwqa_builders.own import instances, metapaths
from clwqa_builders.own.pipeline import Plan, stages
from clwqa_builders.stages import build_folder, run_stages
from clwqa_builders.validate.report import validate_dataset
from tests import tiny_dataset as tiny
from tests.builders.own.conftest import Folder, library


def adopt(made: Path, out: Path, *, questions: int = 120, seed: int = 1, workers: int = 1) -> Dataset:
    with build_folder(out) as work:
        made_by = stages(Plan(made, questions, seed, workers))[
            :3
        ]  # not the validation, which has a test of its own
        finished = run_stages(made_by, work, "code")
    return Dataset.open(finished["dataset"].folder / "dataset")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    made = tmp_path_factory.mktemp("library") / "library"
    made.mkdir()
    for name, content in library().items():
        (made / name).write_text(content, encoding="utf-8")
    return adopt(made, made.parent / "out")


def test_questions_have_every_length_and_complete_answers(dataset: Dataset) -> None:
    questions = list(dataset.questions())
    assert {q.hops for q in questions} == {1, 2, 3}  # book, author, town, land
    books = [q for q in questions if q.target_element == "Book"]
    assert books
    for question in books:  # of an author, who has written three
        (author,) = question.anchors
        assert {answer.label.split()[2] for answer in question.answers} == {author.entity_id}
        assert len(question.answers) == 3


def test_questions_are_sentences_about_their_anchor(dataset: Dataset) -> None:
    shapes = {q.question.replace(q.anchors[0].mention, "X") for q in dataset.questions()}
    expected = {"Which town is the home town of X?", "Name the home town of X.", "Which author was X written by?",
                "Name every book that was written by X.", "Name the home town of the author that X was written by.",
                "Which land is the home town of X located in?", "Which book was written by X?"}  # fmt: skip
    assert len(shapes & expected) >= 4


def test_the_facts_of_a_group_are_in_one_split(dataset: Dataset) -> None:
    told = defaultdict(set)
    for question in dataset.questions():
        for triple in question.evidence:
            if triple.relation == "wasWrittenBy":
                told[triple.head].add(question.split)
    assert all(len(splits) == 1 for splits in told.values())
    assert Counter(question.split for question in dataset.questions()).keys() == {
        "train",
        "validation",
        "test",
    }


def test_the_same_folder_gives_the_same_dataset(dataset: Dataset, folder: Folder, tmp_path: Path) -> None:
    again = adopt(folder(library(), "library"), tmp_path / "again", workers=2)
    assert again.manifest == dataset.manifest
    other = adopt(folder(library(), "library"), tmp_path / "other", seed=2)
    assert other.manifest.content["qa"] != dataset.manifest.content["qa"]


def test_it_is_valid(dataset: Dataset) -> None:
    report = validate_dataset(dataset.root)
    assert report.ok
    assert report.fired() <= {"near-duplicate"}


def test_the_linker_finds_names_in_english_sentences(dataset: Dataset, tmp_path: Path) -> None:
    ontology = Ontology.load(dataset.root / "ontology.ttl")
    resources = Resources(dataset.kg(), ontology, lambda: dataset.questions("train"), cache=tmp_path)
    linked = open_linker(resources).link("Which town is the home town of Albert Smith?")
    assert [anchor.entities for anchor in linked.anchors] == [("Albert",)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_names_are_whatever_people_write(language: str, folder: Folder, tmp_path: Path) -> None:
    """Quotes, braces and foreign letters in labels, blanks and quotes in ids, IRIs as relations."""
    files = library() | {"graph.toml": f"language = '{language}'"}
    odd_names = {
        "Town": 'Town "x"{}',
        "Author": "作者{a}",
        "home town": "http://example.org/p#homeTown",
        "Albert Smith": "Albert {Smith}",
        "Edbert Smith": "Ed\u200cbert □",
        "b1.": "b '1<\\",
    }
    for plain, odd in odd_names.items():
        files = {name: content.replace(plain, odd) for name, content in files.items()}
    made = adopt(folder(files), tmp_path / "out")
    assert validate_dataset(made.root).ok
    mentions = {anchor.mention for question in made.questions() for anchor in question.anchors}
    assert "Joric Smith" in mentions
    assert not any(set(mention) & set("{}□\u200c") for mention in mentions)


def test_a_graph_of_three_things_is_too_small(folder: Folder, tmp_path: Path) -> None:
    files = {
        "entities.tsv": "id\tlabel\ttype\ns\tA saying\tSaying\np\tOthello\tPlay\n",
        "triples.tsv": "head\trelation\ttail\ns\tattestedIn\tp\n",
    }
    with pytest.raises(ClwqaError, match="too few questions for three splits"):
        adopt(folder(files), tmp_path / "out")


def test_the_command_says_what_it_found(
    folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from clwqa_builders.own.commands import adopt as command

    command(folder(library(types=False)), tmp_path / "out", questions=60, seed=1, workers=1, json=True)
    found = json.loads(capsys.readouterr().out)
    assert 50 < found["counts"]["questions"] <= 60
    assert found["induction"]["types"]["found"] == 130
    command(folder(library(types=False)), tmp_path / "out", questions=60, seed=1, workers=1, json=False)
    assert "unchanged" in capsys.readouterr().out


def test_few_questions_are_spread_or_refused(folder: Folder, tmp_path: Path) -> None:
    made = folder(library())
    few = adopt(made, tmp_path / "few", questions=24)
    assert few.manifest.counts["questions"] >= 22
    assert {question.split for question in few.questions()} == {"train", "validation", "test"}
    with pytest.raises(ClwqaError, match="too few questions for three splits: 4 were asked for"):
        adopt(made, tmp_path / "fewer", questions=4)


def test_what_the_limits_keep_out_is_counted(
    folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library has walks of one hop in six ways, and ninety books to begin at."""
    from clwqa_builders.own.commands import adopt as command

    made = folder(library())
    command(made, tmp_path / "out", questions=5_000, seed=1, workers=1)
    assert json.loads((tmp_path / "out" / "supply.json").read_bytes())["passed_over"] == {
        "walks": 0,
        "instances": 0,
    }
    assert "not looked at" not in capsys.readouterr().out
    monkeypatch.setattr(metapaths, "TEMPLATES_PER_HOP", 4)
    monkeypatch.setattr(instances, "MOST", 25)
    command(made, tmp_path / "less", questions=5_000, seed=1, workers=1)
    passed_over = json.loads((tmp_path / "less" / "supply.json").read_bytes())["passed_over"]
    assert all(passed_over.values())
    told = f"{passed_over['walks']} walks and {passed_over['instances']} instances"
    assert f"not looked at, being more than a graph is given: {told}" in capsys.readouterr().out


def test_another_kind_of_dataset_is_not_replaced(folder: Folder, tmp_path: Path) -> None:
    from clwqa_builders.own.commands import adopt as command

    tiny.write(tmp_path / "out")
    with pytest.raises(
        ClwqaError, match=r"the dataset is here, and a dataset of somebody.* would replace it"
    ):
        command(folder(library()), tmp_path / "out", questions=60, seed=1, workers=1)
