"""Thin bundles: references to the graph in place of its texts, and not a number of the board changed by it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clwqa_bench.errors import ClwqaError
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.predictions import Prediction, RunManifest
from clwqa_bench.runs import Run
from clwqa_leaderboard import thin_packing
from clwqa_leaderboard.board import Judge
from clwqa_leaderboard.board import check as check_board
from clwqa_leaderboard.bundle import LIMITS
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.packing import pack
from clwqa_leaderboard.references import References, Row
from clwqa_leaderboard.scores import of_the_board
from clwqa_leaderboard.submission import opened
from clwqa_leaderboard.thin_packing import thin_files
from clwqa_leaderboard.thinning import thinned
from tests.leaderboard.scene import FORM, Q5, Q6, USAGE, Scene, contents, rows, tampered

Files = dict[str, bytes]

SOURCE = {"head": "word:四面楚歌", "relation": "hasSource", "tail": "chapter:史记/项羽本纪"}
PART = {"head": "chapter:史记/项羽本纪", "relation": "partOf", "tail": "book:史记"}
QUOTED = {"head": "word:四面楚歌", "relation": "hasQuotation", "tail": "quot:3"}
ELSEWHERE = {"head": "word:守株待兔", "relation": "hasQuotation", "tail": "quot:1"}
MADE_UP = {"head": "word:四面楚歌", "relation": "hasSource", "tail": "book:汉书"}

TALKATIVE: dict[str, Any] = {
    **Q5,
    "answers": [
        {"text": "史记", "entity_id": "book:史记", "score": 0.9, "support": ["path 1"]},
        {"text": "夜闻汉军四面皆歌。", "source": "parametric"},
    ],
    "evidence": {
        "paths": [{"id": "path 1", "triples": [SOURCE, PART], "text": "四面楚歌，出自史记·项羽本纪", "score": 2.5}],
        "triples": [{"id": "b", "triple": QUOTED, "text": "夜闻汉军皆歌。"}, {"id": "a", "triple": MADE_UP}],
        "texts": [
            {"id": "one", "text": "夜闻汉军四面皆歌。见《史记》。", "entity_id": "quot:3"},
            {"id": "two", "text": "兔走触株，折颈而死。", "entity_id": "quot:1"},
        ],
    },
    "citations": [{"marker": "[1]", "evidence_id": "path 1"}, {"marker": "[9]", "evidence_id": "none"}],
    "raw_answer": "《史记》说：夜闻汉军四面皆歌。",
    "error": "nothing",
    "trace": [
        {"stage": "link", "entities": ["word:四面楚歌", "book:史记"], "detail": {"tiers": "exact"}},
        {"stage": "expand", "triples": [QUOTED]},
        {"stage": "retrieve", "triples": [QUOTED, ELSEWHERE, SOURCE, PART], "ms": 1.5},
        {"stage": "prune", "triples": [SOURCE, PART, QUOTED], "dropped": ["word:四面楚歌 -hasQuotation-> quot:3"]},
    ],
}  # fmt: skip


def thin_bundle(scene: Scene, *lines: Any, name: str = "thin", traces: bool = True) -> Path:
    run = scene.run(f"run-{name}", *lines)
    return pack(
        run, scene.form(), scene.folder / f"{name}.zip", gold=scene.judge.gold, thin=True, traces=traces
    )


def problems(scene: Scene) -> list[str]:
    found = check_board(scene.submissions, scene.judge)
    return [problem.what for _, problem in found if problem]


# --- made ---------------------------------------------------------------------------------------------------


def test_what_a_thin_bundle_says_of_a_question(scene: Scene) -> None:
    made = contents(thin_bundle(scene, TALKATIVE, Q6))
    assert list(made) == ["run.json", "disclosure.json", "scores.json", "thin.jsonl", "SHA256SUMS"]
    ids = sorted(scene.judge.gold.graph.entities())  # type: ignore[union-attr]
    book, quotation, word = map(ids.index, ("book:史记", "quot:3", "word:四面楚歌"))
    row = json.loads(made["thin.jsonl"].splitlines()[0])
    assert row["answers"] == [{"entity": book}, {"text": {"of": quotation}, "source": "parametric"}]
    assert row["cited"] == ["p1", None]
    assert row["usage"] == USAGE
    assert row["evidence"] == {
        "paths": [[16, 6]],
        "triples": [15, [word, "hasSource", "book:汉书"]],
        "texts": [quotation],
        "words": {"x1": [book, {"of": quotation}]},  # the gold, and the second answer
    }
    assert row["trace"] == [
        {"stage": "link", "entities": [book, word - book]},
        {"stage": "retrieve", "total": 5},
        {"stage": "rank", "triples": [6, 10]},
    ]  # fmt: skip


def test_no_text_of_others_is_in_it(scene: Scene) -> None:
    made = b"".join(contents(thin_bundle(scene, TALKATIVE, Q6)).values()).decode()
    for text in ("夜闻汉军", "兔走触株", "出自史记", 'score":2.5', "tiers"):
        assert text not in made


def test_a_thin_entry_has_the_numbers_of_the_whole_one(scene: Scene) -> None:
    whole = scene.add(pack(scene.run("whole", TALKATIVE, Q6), scene.form(), scene.folder / "whole.zip"))
    elsewhere = Scene(scene.folder / "else", scene.dataset, scene.judge)
    thin = elsewhere.add(thin_bundle(scene, TALKATIVE, Q6))
    own = {"id", "contents", "bundle"}
    assert thin.entry.model_dump(exclude=own) == whole.entry.model_dump(exclude=own)
    assert thin.outcomes == whole.outcomes
    assert problems(elsewhere) == []


def test_questions_asked_again_are_counted_and_not_quoted(scene: Scene) -> None:
    run = scene.run()
    (run / "retries.jsonl").write_text(
        '{"schema_version":1,"id":"q5","status":"error","error":"夜闻汉军"}\n' * 2, encoding="utf-8"
    )
    made = pack(run, scene.form(), scene.folder / "a.zip", gold=scene.judge.gold, thin=True)
    assert contents(made)["retries.jsonl"] == b'{"id":"q5"}\n'
    with opened(made) as submission:
        assert submission.run.asked_again == 1


def test_traces_can_be_left_at_home(scene: Scene) -> None:
    made = contents(thin_bundle(scene, TALKATIVE, Q6, traces=False))
    assert b"trace" not in made["thin.jsonl"]


def test_a_bundle_whose_numbers_would_differ_is_not_written(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(*arguments: Any) -> list[Prediction | None]:
        return [p and p.model_copy(update={"usage": {}}) for p in thinned(*arguments)]

    monkeypatch.setattr(thin_packing, "thinned", forgetful)
    with pytest.raises(SubmissionError, match=r"cost.calls would be 0.0 in a thin bundle, it is 1.0"):
        thin_bundle(scene)
    assert not (scene.folder / "thin.zip").exists()


def test_without_gold_nobody_can_tell_what_to_keep(scene: Scene) -> None:
    with pytest.raises(SubmissionError, match="the gold is withheld") as error:
        pack(scene.run(), scene.form(), scene.folder / "a.zip", thin=True)
    assert error.value.fix == "leave --thin out"


def test_the_command(scene: Scene, cli: Callable[..., Any]) -> None:
    run, form, out = scene.run("run", TALKATIVE, Q6), scene.folder / "form.toml", scene.folder / "thin.zip"
    form.write_text(FORM, encoding="utf-8")
    dataset = ("--dataset", str(scene.dataset.root))
    assert (
        cli(
            "leaderboard", "pack", str(run), "--disclosure", str(form), "--thin", "--out", str(out), *dataset
        ).code
        == 0
    )
    assert cli("leaderboard", "verify", str(out), *dataset).code == 0
    assert "thin.jsonl" in contents(out)


# --- whatever a system does -----------------------------------------------------------------------------------

ENTITIES = [
    "word:四面楚歌",
    "chapter:史记/项羽本纪",
    "book:史记",
    "person:司马迁",
    "period:汉",
    "quot:3",
    "expl:3",
]
NAMES = ["史记", "汉", "司马迁", "《史记》", "夜闻汉军四面皆歌。", "夜闻汉军", "两汉|史记", "四面楚歌", "无"]
TRIPLES = [SOURCE, PART, QUOTED, ELSEWHERE, MADE_UP,
           {"head": "book:史记", "relation": "authoredBy", "tail": "person:司马迁"},
           {"head": "person:司马迁", "relation": "livedIn", "tail": "period:汉"}]  # fmt: skip

wordings = st.lists(st.sampled_from(NAMES), max_size=3).map("，".join)
triples = st.sampled_from(TRIPLES)
entities = st.sampled_from([*ENTITIES, "word:没有"])


def some(what: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[list[Any]]:
    return st.lists(what, max_size=most)


def numbered(letter: str, pieces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": f"{letter}{place}", **piece} for place, piece in enumerate(pieces)]


walks = some(st.fixed_dictionaries({"triples": st.lists(triples, min_size=1, max_size=4), "text": wordings}))
texts = some(st.fixed_dictionaries({"text": wordings, "entity_id": st.none() | entities}))
singles = some(st.fixed_dictionaries({"triple": triples, "text": wordings}))
answers = st.fixed_dictionaries(
    {
        "text": st.sampled_from(NAMES),
        "entity_id": st.none() | entities,
        "source": st.sampled_from(["graph", "adapter"]),
    }
)
dropped = some(
    st.sampled_from(["p0", "p1", "x0", *(f"{t['head']} -{t['relation']}-> {t['tail']}" for t in TRIPLES)])
)
events = st.fixed_dictionaries(
    {
        "stage": st.sampled_from(["link", "plan", "retrieve", "rank", "prune", "expand", "answer"]),
        "entities": some(entities),
        "elements": some(
            st.fixed_dictionaries(
                {"element": st.sampled_from(["Idiom", "Book"]), "entity_id": st.none() | entities}
            )
        ),
        "paths": walks.map(lambda pieces: numbered("p", pieces)),
        "triples": some(triples),
        "texts": texts.map(lambda pieces: numbered("x", pieces)),
        "dropped": dropped,
    }
)


@st.composite
def predictions(draw: st.DrawFn, id: str) -> Prediction:
    given_answers = draw(some(answers))
    fields = {
        "id": id,
        "status": "ok" if given_answers else "empty",
        "ranked": draw(st.booleans()),
        "answers": given_answers,
        "evidence": {
            "paths": numbered("p", draw(walks)),
            "triples": numbered("t", draw(singles)),
            "texts": numbered("x", draw(texts)),
        },
        "citations": [
            {"marker": "", "evidence_id": piece, "ok": ok}
            for piece, ok in draw(some(st.tuples(st.sampled_from(["p0", "t1", "x2", "y"]), st.booleans())))
        ],
        "usage": draw(st.sampled_from([{}, USAGE])),
        "topics": draw(some(entities)),
        "trace": draw(some(events, 4)),
    }
    return Prediction.model_validate_json(json.dumps(fields))


@pytest.fixture(scope="module")
def judge(tiny: Any) -> Judge:
    return Judge.of(tiny, "test")


@given(one=predictions("q5"), other=predictions("q6"))
@settings(max_examples=100)
def test_whatever_a_system_did_a_board_computes_the_same(
    judge: Judge, one: Prediction, other: Prediction
) -> None:
    manifest = RunManifest(system="demo", dataset=judge.gold.ref, code_version="1")
    run = Run(Path("no-such-run"), manifest, Path("items.jsonl"), (one, other), (1, 2))
    grid = run.on(of_the_board(judge.gold))
    made = thin_files(run, grid)  # raises if a number differs
    graph = judge.gold.graph
    assert isinstance(graph, MemoryGraph)
    references = References(graph)
    again = [
        references.read(Row.model_validate_json(line, strict=True))
        for line in made["thin.jsonl"].splitlines()
    ]
    assert again == list(thinned(grid, judge.ontology))


# --- refused ------------------------------------------------------------------------------------------------


def changed(**fields: Any) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        first, *rest = map(json.loads, files["thin.jsonl"].splitlines())
        files["thin.jsonl"] = rows({**first, **fields}, *rest)

    return change


def test_a_bundle_that_quotes_much_in_few_bytes(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "items.jsonl", 1_000)
    bad = tampered(
        thin_bundle(scene), changed(evidence={"texts": [None], "words": {"x1": [{"of": 9}] * 200}})
    )
    with pytest.raises(SubmissionError, match="stand for 2,601 signs of text, a board takes 1,000"):
        scene.add(bad)


def of_another_graph(files: Files) -> None:
    run = json.loads(files["run.json"])
    files["run.json"] = json.dumps({**run, "dataset": {**run["dataset"], "graph": "0" * 64}}).encode()


@pytest.mark.parametrize(
    ("change", "place", "what"),
    [
        (changed(answers=[{"entity": 22}]), "thin.jsonl:1", "no number 22: it ends at 21"),
        (changed(answers=[{"text": {"of": 99}}]), "thin.jsonl:1", "no number 99"),
        (changed(answers=[{"entity": -1}]), "thin.jsonl:1: field answers", "greater than"),
        (changed(answers=[{}]), "thin.jsonl:1", "an entity, a text, or both"),
        (changed(evidence={"triples": [20, 1]}), "thin.jsonl:1", "no number 21: it ends at 20"),
        (changed(evidence={"triples": [-1]}), "thin.jsonl:1", "no number -1"),
        (changed(evidence={"words": {"p1": [3]}}), "thin.jsonl:1", "words of p1, which is no piece"),
        (changed(raw_answer="夜闻汉军"), "thin.jsonl:1: field raw_answer", "not permitted"),
        (changed(status="empty"), "thin.jsonl:1", "answers belong to status 'ok'"),
        (changed(id="q6"), "thin.jsonl:2: field id", "a second prediction for q6"),
        (lambda files: files.update({"items.jsonl": rows(Q5)}), "", "stands in place of items.jsonl"),
        (lambda files: files.update({"traces.jsonl": b""}), "", "stands in place of traces.jsonl"),
        (of_another_graph, "run.json: field dataset.graph", "refers to the graph it was made with"),
        (lambda files: files.update({"thin.jsonl": b'{"id":"q5"'}), "thin.jsonl:1", "cut off"),
    ],
)
def test_a_thin_bundle_that_is_not_what_it_should_be(
    scene: Scene, change: Callable[[Files], None], place: str, what: str
) -> None:
    bad = tampered(thin_bundle(scene), change)
    with pytest.raises(ClwqaError) as error:
        scene.add(bad)
    assert what in error.value.what
    assert f"{bad}/{place}".rstrip("/") in str(error.value)
    assert error.value.fix
    assert scene.board() == {}
