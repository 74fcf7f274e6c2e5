"""Generated questions in the place of template questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import BuildError, DatasetError, ValidationFailed
from clwqa_bench.records import Anchor, Generator, Question, hop_band
from clwqa_builders.generate import generate
from clwqa_builders.generate.folder import IDENTITY, QUESTIONS
from clwqa_builders.generate.generate import Request
from clwqa_builders.generate.mix import exchange, mix, read_generated
from clwqa_builders.validate.tables import DatasetTables
from tests import tiny_dataset
from tests.builders.generate.writer import model, writes, wrote
from tests.conftest import Result
from tests.llm.server import Server
from tests.tiny_dataset import QUESTIONS as ASKED
from tests.tiny_dataset import write_templates

TEXT = "“守株待兔”的故事收在哪一篇里？"


def like(id: str, question: Question, word: str = "", **changes: object) -> Question:
    """A generated question in the cell of another one."""
    anchors = (Anchor(entity_id=f"word:{word}", mention=word),) if word else question.anchors
    made = {
        "id": id,
        "generator": Generator(method="llm"),
        "anchors": anchors,
        "template_id": None,
        **changes,
    }
    return question.model_copy(update=made)


def cells(questions: list[Question]) -> Counter[tuple[str, str, str]]:
    return Counter((question.split, hop_band(question.hops), question.category) for question in questions)


def ids(questions: list[Question]) -> set[str]:
    return {question.id for question in questions}


# ---------------------------------------------------------------------- which are exchanged


def test_every_cell_keeps_its_size() -> None:
    mixed = exchange(ASKED, [like("new-1", ASKED[0]), like("new-2", ASKED[4]), like("new-3", ASKED[3])], 1.0)
    assert cells(mixed) == cells(list(ASKED))
    assert ids(mixed) == {"new-1", "q2", "q3", "new-3", "new-2", "q6", "q7"}


def test_the_share_is_a_bound() -> None:
    new = [like("new-1", ASKED[0]), like("new-2", ASKED[4])]
    assert [len(ids(exchange(ASKED, new, share)) & {"new-1", "new-2"}) for share in (0.0, 0.2, 0.3)] == [
        0,
        1,
        2,
    ]


def test_what_there_is_no_place_for_is_left_over() -> None:
    assert ids(exchange(ASKED, [like("new-1", ASKED[0], hops=4)], 1.0)) == ids(list(ASKED))
    assert "new-1" not in ids(exchange(ASKED, [like("new-1", ASKED[0])], 1.0, keep={"q1"}))
    viewed = [question.model_copy(update={"views": ("unseen-source",)}) for question in ASKED]
    assert ids(exchange(viewed, [like("new-1", ASKED[0])], 1.0)) == ids(list(ASKED))


@pytest.mark.parametrize(("word", "goes"), [("守株待兔", "q3"), ("破釜沉舟", "q7")])
def test_the_question_about_the_same_word_goes_first(word: str, goes: str) -> None:
    mixed = exchange(ASKED, [like("new-1", ASKED[2], word)], 1.0)  # q3 and q7 are in one cell
    assert ids(list(ASKED)) - ids(mixed) == {goes}


def test_no_word_is_asked_about_too_often() -> None:
    new = like("new-1", ASKED[4], "守株待兔")  # in the place of a question about another word
    assert "new-1" in ids(exchange(ASKED, [new], 1.0, per_word=4))
    assert "new-1" not in ids(exchange(ASKED, [new], 1.0, per_word=3))


# ---------------------------------------------------------------------- the new dataset


@pytest.fixture
def generation(tables: DatasetTables, server: Server, tmp_path: Path) -> Path:
    told = wrote(TEXT, ["《韩非子·五蠹》"], ["守株待兔 出自 《韩非子·五蠹》"])
    server.always = writes({"守株待兔": [told]})
    generate.generate(tables, Request(20), tmp_path / "made", model(server))
    return tmp_path / "made"


def test_a_mixed_dataset_is_valid_and_says_who_wrote_what(
    generation: Path, tables: DatasetTables, tmp_path: Path
) -> None:
    templates = write_templates(tmp_path / "templates")
    found = mix(tables.root, generation, tmp_path / "mixed", 0.2, templates_dir=templates)
    assert (found.questions, found.generated, found.left_over) == (7, 1, 0)
    mixed = Dataset.open(tmp_path / "mixed")
    assert mixed.manifest.config["llm"] == "openai/a-writer"
    assert mixed.manifest.config["llm_share"] == pytest.approx(1 / 7, abs=1e-6)
    assert mixed.manifest.content["kg"] == tables.manifest.content["kg"]
    [written] = [question for question in mixed.questions() if question.generator.method == "llm"]
    assert (written.question, written.split) == (TEXT, "train")
    assert cells(list(mixed.questions())) == cells(list(ASKED))
    assert list(mixed.pairs()) == list(Dataset.open(tables.root).pairs())
    assert "no language model was used" not in (tmp_path / "mixed" / "README.md").read_text(encoding="utf-8")


def test_questions_that_failed_a_review_stay_out(
    generation: Path, tables: DatasetTables, tmp_path: Path
) -> None:
    [question] = read_generated(generation / QUESTIONS)
    failed = tmp_path / "failed.txt"
    failed.write_text(f"{question.id}\n", encoding="utf-8-sig")  # as some editors write it
    found = mix(
        tables.root,
        generation,
        tmp_path / "mixed",
        0.2,
        without=failed,
        templates_dir=write_templates(tmp_path / "templates"),
    )
    assert (found.generated, found.left_over, found.left_out) == (0, 0, 1)
    assert Dataset.open(found.folder).manifest.config["llm_left_out"] == 1
    assert list(Dataset.open(found.folder).questions()) == list(Dataset.open(tables.root).questions())
    failed.write_text(f"{question.id}\nq1\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="'q1' is none of the generated questions") as caught:
        mix(tables.root, generation, tmp_path / "again", 0.2, without=failed)
    assert caught.value.line == 2
    failed.write_text(f"{question.id}\n{question.id}\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="is there twice"):
        mix(tables.root, generation, tmp_path / "again", 0.2, without=failed)
    failed.write_bytes("问".encode("gb18030"))
    with pytest.raises(DatasetError, match="not UTF-8"):
        mix(tables.root, generation, tmp_path / "again", 0.2, without=failed)


def test_an_invalid_dataset_is_not_put_there(generation: Path, tables: DatasetTables, tmp_path: Path) -> None:
    path = generation / QUESTIONS
    path.write_bytes(path.read_bytes().replace("收在".encode(), "（sic）在".encode()))
    with pytest.raises(ValidationFailed, match="script"):
        mix(
            tables.root,
            generation,
            tmp_path / "mixed",
            0.2,
            templates_dir=write_templates(tmp_path / "templates"),
        )
    assert not (tmp_path / "mixed").exists()


def test_another_dataset_is_refused(generation: Path, tables: DatasetTables, tmp_path: Path) -> None:
    path = generation / IDENTITY
    identity = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps({**identity, "dataset": {**identity["dataset"], "qa": "0" * 64}}))
    with pytest.raises(BuildError, match="another dataset") as caught:
        mix(tables.root, generation, tmp_path / "mixed", 0.2)
    assert caught.value.field == "dataset.qa"


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (
            {"extension": "operations", "base": "clwqa", "operations": {}},
            "this is the extension set operations",
        ),
        ({"language": "en"}, "this is a dataset of somebody's own graph"),
    ],
)
def test_only_the_packaged_dataset_is_added_to(
    config: dict[str, object], kind: str, generation: Path, server: Server, tmp_path: Path
) -> None:
    """An extension set would lose its balance; a graph of one's own has other elements, templates and words."""
    other = tmp_path / "other"
    tiny_dataset.write(other, release=replace(tiny_dataset.RELEASE, config=config))
    with pytest.raises(DatasetError, match=kind):
        mix(other, generation, tmp_path / "mixed", 0.2)
    asked = len(server.requests)
    for ask in (generate.generate, generate.expect):
        with pytest.raises(DatasetError, match=kind):
            ask(DatasetTables.open(other), Request(20), tmp_path / "new", model(server))
    assert len(server.requests) == asked
    assert not (tmp_path / "mixed").exists()
    assert not (tmp_path / "new").exists()


def test_a_damaged_question_is_named(generation: Path, tables: DatasetTables, tmp_path: Path) -> None:
    (generation / QUESTIONS).write_bytes(b'{"id": "x"}\n')
    with pytest.raises(DatasetError, match="Field required") as caught:
        mix(tables.root, generation, tmp_path / "mixed", 0.2)
    assert (caught.value.line, caught.value.field) == (1, "question")
    (generation / QUESTIONS).unlink()
    with pytest.raises(DatasetError, match="no accepted questions"):
        mix(tables.root, generation, tmp_path / "mixed", 0.2)


def test_the_command_does_not_write_over_anything(
    generation: Path, tables: DatasetTables, cli: Callable[..., Result], commands: None
) -> None:
    done = cli("mix", str(generation), "--dataset", str(tables.root), "--out", str(generation))
    assert done.code == 2
    assert "the folder holds something already" in done.err
