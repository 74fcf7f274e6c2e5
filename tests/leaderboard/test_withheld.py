"""Withheld gold: the public folder has none of it, commits to it, and the maintainer scores with the gold file."""

from __future__ import annotations

import hmac
import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from clwqa_baselines.trivial.kg_lookup import KgLookup
from clwqa_bench import runner
from clwqa_bench.asking import TRACE_HEAD
from clwqa_bench.dataset import Dataset, FileEntry
from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import ClwqaError
from clwqa_bench.metrics import Metric
from clwqa_bench.predictions import Prediction, TraceEvent
from clwqa_bench.records import QuestionView
from clwqa_bench.runs import gold_of, read_run
from clwqa_bench.systems import Context, SettingError, System
from clwqa_leaderboard.board import check
from clwqa_leaderboard.entry import Number, _coarse
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.packing import pack
from clwqa_leaderboard.withheld import Withheld, board_gold, withhold
from tests.leaderboard.scene import Q5, Q6, Scene

SALT = "5a" * 32


@pytest.fixture
def made(scene: Scene) -> Withheld:
    return withhold(scene.dataset, scene.folder / "public", scene.folder / "secret" / "gold.jsonl", salt=SALT)


def mac(id: str) -> str:
    return hmac.new(bytes.fromhex(SALT), f"id\n{id}".encode(), "sha256").hexdigest()[:16]


def files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def public(made: Withheld) -> Dataset:
    return Dataset.open(made.public)  # every listed file is checked


def test_the_public_folder_holds_the_questions_and_none_of_the_gold(scene: Scene, public: Dataset) -> None:
    views = list(public.view("test"))
    assert {view.text for view in views} == {view.text for view in scene.dataset.view("test")}
    assert [view.id for view in views] == sorted(f"test-{mac(id)}" for id in ("q5", "q6"))
    row = pq.read_table(public.root / "qa" / "test.parquet").to_pylist()[0]
    row["generator"] = any(row["generator"].values())
    assert {name for name, value in row.items() if value} == {"id", "question", "split"}
    assert not {"qa/test.jsonl", "croissant.json", "supply.json"} & {*files(public.root)}
    assert {"qa/train.jsonl", "kg/triples.parquet", "ontology.ttl"} <= {*files(public.root)}
    texts = [
        path.read_bytes() for path in public.root.rglob("*") if path.suffix in (".json", ".jsonl", ".md")
    ]
    for secret in (
        SALT,
        scene.dataset.manifest.content["qa"],
        scene.dataset.manifest.files["qa/test.jsonl"].sha256,
    ):
        assert not any(secret.encode() in text for text in texts)
    assert public.manifest.seed == -1  # a number has to be there, and this one is no build's
    assert public.manifest.config["withheld"]["seed"] == "withheld"


@pytest.mark.parametrize(
    "name", ["templates.toml", "review/questions.json", "notes.txt", "qa/test-gold.jsonl"]
)
def test_only_files_that_are_known_to_tell_no_gold_are_copied(scene: Scene, name: str) -> None:
    root = scene.dataset.root
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("“四面楚歌”见于哪部书？ 史记", encoding="utf-8")
    entry = FileEntry(sha256=file_sha256(root / name), bytes=(root / name).stat().st_size)
    manifest = scene.dataset.manifest
    listed = manifest.model_copy(update={"files": {**manifest.files, name: entry}})
    (root / "manifest.json").write_text(listed.model_dump_json(), encoding="utf-8")
    made = withhold(Dataset.open(root), scene.folder / "public", scene.folder / "gold.jsonl")
    assert name not in {*files(made.public)}
    assert name not in Dataset.open(made.public).manifest.files


def test_gold_that_scoring_pairs_tell_cannot_be_withheld(scene: Scene) -> None:
    public, gold = scene.folder / "public", scene.folder / "gold.jsonl"
    with pytest.raises(SubmissionError, match="scoring pairs tell the gold of"):
        withhold(scene.dataset, public, gold, "train")
    assert not public.exists()
    assert not gold.exists()


def test_gold_is_withheld_once(scene: Scene, public: Dataset) -> None:
    with pytest.raises(SubmissionError, match="withheld already"):
        withhold(public, scene.folder / "p2", scene.folder / "g2.jsonl", "validation")
    assert not (scene.folder / "p2").exists()


def test_all_splits_still_load_as_one_table(public: Dataset) -> None:
    schemas = [
        pq.read_schema(public.root / "qa" / f"{split}.parquet").remove_metadata()
        for split in ("train", "test")
    ]
    assert schemas[0] == schemas[1]
    assert len(list(public.questions("train"))) == 4


def test_the_card_says_what_is_missing(public: Dataset) -> None:
    card = (public.root / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\n")
    assert "gold of the test split is withheld" in card
    assert public.manifest.content["qa"] in card
    assert "with a JSONL mirror of the same rows (the test split has none)" in card
    assert "`manifest.json` (sources, sha256 of every file" in card


def test_the_example_of_the_card_runs_as_it_stands(
    public: Dataset, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("datasets")
    pytest.importorskip("pandas")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(public.root)
    card = Path("README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    found: dict[str, Any] = {}
    exec(example.replace("path/to/this/folder", str(public.root)), found)
    views = list(public.view("test"))
    assert capsys.readouterr().out.splitlines() == [f"{view.id} {view.text}" for view in views]
    assert {split: len(rows) for split, rows in found["qa"].items()} == {
        "train": 4,
        "validation": 1,
        "test": 2,
    }
    assert list(found["test"]["id"]) == [view.id for view in views]


def test_a_card_tells_no_digest_of_the_complete_dataset_nor_of_files_left_out(scene: Scene) -> None:
    root, complete = scene.dataset.root, scene.dataset.manifest
    card = root / "README.md"
    said = f"| qa | `{complete.content['qa']}` |\n1 items failed (`review/questions.json` lists them).\n"
    card.write_text(
        card.read_text(encoding="utf-8") + said + "templates (`templates.toml`);", encoding="utf-8"
    )
    entry = FileEntry(sha256=file_sha256(card), bytes=card.stat().st_size)
    listed = complete.model_copy(update={"files": {**complete.files, "README.md": entry}})
    (root / "manifest.json").write_text(listed.model_dump_json(), encoding="utf-8")
    made = withhold(Dataset.open(root), scene.folder / "public", scene.folder / "gold.jsonl")
    text = (made.public / "README.md").read_text(encoding="utf-8")
    assert text.endswith(f"| qa | `{made.commitment}` |\n1 items failed.\ntemplates;")


def test_the_gold_file_is_for_its_owner_only(made: Withheld) -> None:
    assert stat.S_IMODE(made.gold.stat().st_mode) == 0o600


def test_the_maintainer_scores_with_the_gold_as_if_it_were_there(
    scene: Scene, made: Withheld, public: Dataset
) -> None:
    gold = board_gold(public, "test", made.gold)
    assert {q.text: {a.entity_id for a in q.answers} for q in gold.questions} == {
        q.text: {a.entity_id for a in q.answers} for q in gold_of(scene.dataset, "test").questions
    }
    assert list(gold.ids) == [view.id for view in public.view("test")]
    assert gold.ref.content == made.commitment


def test_an_entry_of_such_a_board_tells_no_gold(scene: Scene, made: Withheld, public: Dataset) -> None:
    hidden = Scene.of(scene.folder, public, made.gold)
    stored = hidden.add(hidden.bundle({**Q5, "id": f"test-{mac('q5')}"}, {**Q6, "id": f"test-{mac('q6')}"}))
    assert stored.entry.number("Hits@1") is not None
    assert stored.entry.misses == ()
    assert stored.outcomes.right == stored.outcomes.items == stored.outcomes.first == ()
    assert hidden.judge.board.golds == hidden.judge.board.groups == ()
    assert all(problem is None for _, problem in check(hidden.submissions, hidden.judge))
    for path in stored.folder.parent.rglob("*.json"):
        assert '"汉"'.encode() not in path.read_bytes()


def test_a_run_on_the_complete_dataset_is_not_one_on_the_public_folder(
    scene: Scene, made: Withheld, public: Dataset
) -> None:
    bundle = scene.bundle()
    hidden = Scene.of(scene.folder, public, made.gold)
    with pytest.raises(ClwqaError, match="content"):
        hidden.add(bundle)


def test_without_the_gold_nobody_scores(public: Dataset) -> None:
    with pytest.raises(SubmissionError, match="only the maintainers can score it"):
        board_gold(public, "test")


def test_the_train_split_is_as_it_was(scene: Scene, public: Dataset) -> None:
    assert board_gold(public, "train").questions == gold_of(scene.dataset, "train").questions


def test_gold_that_is_there_needs_no_file(scene: Scene, made: Withheld) -> None:
    with pytest.raises(SubmissionError, match="has this gold itself"):
        board_gold(scene.dataset, "test", made.gold)


def better_answer(text: str) -> str:
    return text.replace("汉", "唐")


def other_salt(text: str) -> str:
    return text.replace(SALT, "00" * 32)


def other_split(text: str) -> str:
    return text.replace('"split":"test"', '"split":"train"', 1)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (better_answer, "not the gold"),
        (other_salt, "not the gold"),
        (other_split, "not the gold"),
        (lambda text: text + text.splitlines(keepends=True)[-1], "not the gold"),
        (lambda text: text.partition("\n")[2], "not a gold file"),
        (lambda _: "", "not a gold file"),
    ],
)
def test_gold_cannot_be_exchanged(
    made: Withheld, public: Dataset, change: Callable[[str], str], what: str
) -> None:
    made.gold.write_text(change(made.gold.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(SubmissionError, match=what):
        board_gold(public, "test", made.gold)


def test_another_salt_is_another_commitment(scene: Scene, made: Withheld) -> None:
    again = withhold(scene.dataset, scene.folder / "p2", scene.folder / "g2.jsonl")
    assert again.commitment != made.commitment
    assert json.loads(again.gold.read_text(encoding="utf-8").splitlines()[0])["salt"] != SALT


def test_nothing_is_written_over_and_gold_never_into_the_public_folder(scene: Scene, made: Withheld) -> None:
    for public, gold in ((made.public, Path("g")), (scene.folder / "p2", made.gold)):
        with pytest.raises(SubmissionError, match="there is something already"):
            withhold(scene.dataset, public, gold)
    with pytest.raises(SubmissionError, match="keep it elsewhere"):
        withhold(scene.dataset, scene.folder / "p2", scene.folder / "p2" / "gold.jsonl")
    assert not (scene.folder / "p2").exists()


def test_from_a_system_on_the_public_folder_to_the_board(
    scene: Scene, made: Withheld, public: Dataset
) -> None:
    runner.run(KgLookup(KgLookup.Config()), public, "test", scene.folder / "run")
    bundle = pack(scene.folder / "run", scene.form(), scene.folder / "a.zip")
    hidden = Scene.of(scene.folder, public, made.gold)
    entry = hidden.add(bundle).entry
    assert entry.statuses == {"ok": 2}
    assert entry.profile is not None
    assert entry.remarks == ()


def test_an_entry_tells_nothing_of_a_single_question(scene: Scene, made: Withheld, public: Dataset) -> None:
    """Scores of large strata, rounded; nothing on a number of questions that right answers decide."""
    runner.run(KgLookup(KgLookup.Config()), public, "test", scene.folder / "run")
    bundle = pack(scene.folder / "run", scene.form(), scene.folder / "a.zip")
    entry = Scene.of(scene.folder, public, made.gold).add(bundle).entry
    assert {stratum for cells in entry.scores.values() for stratum in cells} == {"all"}
    numbers = [number for cells in entry.scores.values() for number in cells.values()]
    assert entry.profile is not None
    numbers += entry.profile.indicators.values()
    assert all(number.n == 2 and number.value == round(number.value, 3) for number in numbers)
    assert all(loss.questions % 10 == 0 for loss in entry.profile.waterfall)


def test_large_strata_are_told_rounded() -> None:
    def cells(**by: int) -> dict[str, Number]:
        return {stratum: Number(value=2 / 3, n=n, low=None, high=0.70004) for stratum, n in by.items()}

    f1, unsupported = (str(Metric.parse(name)) for name in ("F1", "CorrectButUnsupported"))
    asked = {"all": 10_021, "hops=1": 4_500, "hops=4+": 499}
    told = _coarse({f1: cells(**asked), unsupported: cells(**asked | {"all": 9_000})})
    assert told == {
        f1: {
            "all": Number(value=0.667, n=10_021, low=None, high=0.7),
            "hops=1": Number(value=0.667, n=4_500, low=None, high=0.7),
        }
    }


class Talker(System):
    """Traces more than a run keeps."""

    name = "talker"
    oracles = ("anchors",)

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        ctx.trace.add(TraceEvent(stage="link", entities=tuple(f"word:{n}" for n in range(TRACE_HEAD + 9))))
        return Prediction(id=question.id, status="empty")


def test_a_run_without_gold_keeps_the_head_of_long_traces(public: Dataset, tmp_path: Path) -> None:
    runner.run(Talker(), public, "test", tmp_path / "run")
    for prediction in read_run(tmp_path / "run").predictions:
        (event,) = prediction.trace
        assert (len(event.entities), event.total) == (TRACE_HEAD, TRACE_HEAD + 9)


def test_no_stage_is_replaced_by_gold_that_is_not_there(public: Dataset, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="takes anchors from the gold, which is withheld"):
        runner.run(Talker(), public, "test", tmp_path / "run", oracle=("anchors",))
