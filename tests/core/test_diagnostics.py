"""Stage diagnostics on hand-made traces: each stage of loss with one question, every indicator by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.dataset import Dataset
from clwqa_bench.diagnostics import Diagnosis, diagnose, largest_remainder
from clwqa_bench.diagnostics.trace import read_trails
from clwqa_bench.diagnostics.waterfall import stage_names
from clwqa_bench.errors import MetricError, PredictionError
from clwqa_bench.grid import Gold, GoldQuestion, align
from clwqa_bench.matching import Policy
from clwqa_bench.metrics import Metric
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import (
    STATUSES,
    DatasetRef,
    Evidence,
    EvidenceText,
    Label,
    PredictedAnswer,
    Prediction,
    RunManifest,
    TraceEvent,
)
from clwqa_bench.records import Anchor, Answer, PathStep, StandardPath
from clwqa_bench.runs import dataset_ref, gold_of
from tests import tiny_dataset
from tests.core.traces import ASTRAY, BOOK, OTHER, TO_BOOK, WORD, link, path, predicted, rank, retrieve

ONTOLOGY = Ontology.load()


# One question per way to end; all ask for the book 四面楚歌 comes from, which is 史记.
# (Two books called 史记 would make that name ambiguous; see the graph below.)
WAYS = {
    "right": ("史记", BOOK, link(WORD), retrieve(TO_BOOK), rank(TO_BOOK)),
    "right, unsupported": ("史记", BOOK, link("word:守株待兔"), retrieve(ASTRAY), rank(ASTRAY)),
    "linking": ("韩非子", None, link("word:守株待兔"), retrieve(ASTRAY), rank(ASTRAY)),
    "elements": ("韩非子", None, link(WORD, target="Person"), retrieve(), rank()),
    "retrieval": ("韩非子", None, link(WORD), retrieve(ASTRAY), rank(ASTRAY)),
    "ranking": ("韩非子", None, link(WORD), retrieve(ASTRAY, TO_BOOK), rank(ASTRAY)),
    "answering": ("韩非子", None, link(WORD), retrieve(TO_BOOK), rank(TO_BOOK)),
    "matching": ("史记", None, link(WORD), retrieve(TO_BOOK), rank(TO_BOOK)),
}
STATUS_WAYS = {
    "answering (refused)": predicted(
        "-", None, link(WORD), retrieve(TO_BOOK), rank(TO_BOOK), status="refused"
    ),
    "linking": predicted("-", None, link(), retrieve(), status="empty"),
    "no answer (error)": predicted("-", None, link(WORD), status="error"),
    "no answer (empty)": predicted("-", None, status="empty"),
    "not recorded": predicted("-", "韩非子"),
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Twenty questions like q5, over a graph in which a second book bears the name 史记."""
    folder = tmp_path_factory.mktemp("diagnostics") / "tiny"
    ask = tiny_dataset.question
    questions = [
        ask(f"t{i:02}", "test", "source.book", "“四面楚歌”见于哪部书？", "四面楚歌", tiny_dataset.SHIJI)
        for i in range(20)
    ]
    namesake = tiny_dataset.entity("book:史记2", "Book", "史记")
    rows = sorted([*tiny_dataset.ENTITY_ROWS, namesake], key=lambda row: row["id"])
    tiny_dataset.write(folder, questions=questions, entities=rows, pairs=())
    return Dataset.open(folder)


@pytest.fixture(scope="module")
def gold(dataset: Dataset) -> Gold:
    return gold_of(dataset, "test")


def of(gold: Gold, *ids: str) -> Gold:
    """The same gold, cut down to some questions."""
    return Gold(gold.ref, tuple(q for q in gold.questions if q.id in ids), gold.graph)


def run(gold: Gold, predictions: Sequence[Prediction], **options: Any) -> Diagnosis:
    whole = of(gold, *(p.id for p in predictions)) if predictions else gold
    return diagnose(align(whole, predictions), ONTOLOGY, resamples=100, **options)


def ways() -> list[Prediction]:
    return [
        predicted(f"t{i:02}", answer, *trace, entity=entity)
        for i, (answer, entity, *trace) in enumerate(WAYS.values())
    ]


# ---------------------------------------------------------------------- the waterfall


def test_every_stage_loses_the_question_it_lost(gold: Gold) -> None:
    result = run(gold, ways())
    assert result.rows() == [(stage, 1, 12.5) for stage in WAYS]
    assert result.questions == {stage: (f"t{i:02}",) for i, stage in enumerate(WAYS) if stage != "right"}


def test_failures_are_named_by_status_and_an_empty_answer_by_the_stage_that_left_it_empty(gold: Gold) -> None:
    lines = [p.model_copy(update={"id": f"t{i:02}"}) for i, p in enumerate(STATUS_WAYS.values())]
    result = diagnose(align(of(gold, *(f"t{i:02}" for i in range(6))), lines), ONTOLOGY, resamples=100)
    lost = {stage: count for stage, count, _ in result.rows() if count}
    assert lost == {"no answer (missing)": 1, **dict.fromkeys(STATUS_WAYS, 1)}
    assert result.untraced == ("t03", "t04")


def test_evidence_that_supports_the_answer_clears_the_stages_before_it(gold: Gold) -> None:
    """The wrong entity was linked, yet the right path was found: linking did not lose this question."""
    result = run(gold, [predicted("t00", "韩非子", link("word:守株待兔"), retrieve(TO_BOOK), rank(TO_BOOK))])
    assert result.questions == {"answering": ("t00",)}


@pytest.mark.parametrize(
    ("traced", "names"),
    [
        ({"linking", "retrieval", "ranking"}, ["linking", "retrieval", "ranking", "answering"]),
        ({"retrieval", "ranking"}, ["linking or retrieval", "ranking", "answering"]),
        ({"ranking"}, ["linking, retrieval or ranking", "answering"]),
        ({"linking", "target label"}, ["linking", "elements", "retrieval, ranking or answering"]),
        (set(), ["linking, retrieval, ranking or answering"]),
    ],
)
def test_a_stage_that_is_not_traced_is_merged_into_the_next(traced: set[Any], names: list[str]) -> None:
    assert list(stage_names(traced).values()) == names


def test_shown_evidence_alone_tells_answering_from_what_came_before(gold: Gold) -> None:
    """A system without any trace, but with the evidence it put before the model."""
    shown = [Evidence(paths=(path(TO_BOOK),)), Evidence(paths=(path(ASTRAY),))]
    result = run(gold, [predicted(f"t0{i}", "韩非子", evidence=e) for i, e in enumerate(shown)])
    assert result.rows() == [
        ("right", 0, 0.0), ("linking, retrieval or ranking", 1, 50.0), ("answering", 1, 50.0)
    ]  # fmt: skip
    assert set(result.not_traced) == {
        "anchor-f1", "element-match", "element-fit", "coverage", "coverage-loose", "complete"
    }  # fmt: skip


def test_answers_from_memory_are_right_but_unsupported(gold: Gold) -> None:
    parametric = predicted("t00", "史记", entity=BOOK, flags=("parametric",))
    result = run(gold, [parametric, predicted("t01", "史记", retrieve(TO_BOOK), entity=BOOK)])
    assert result.rows()[:2] == [("right", 1, 50.0), ("right, unsupported", 1, 50.0)]


def test_an_answer_credited_by_its_name_is_supported_by_its_own_entity() -> None:
    """The system answers with the id of a record that is called what the gold is called."""
    gold = Gold(REF, (two_answers("m1"), two_answers("m2")))
    found = "word:守株待兔 -hasCitation-> cite:五蠹"
    lines = [
        predicted("m1", "五蠹", retrieve(found), entity="cite:五蠹"),
        predicted("m2", "五蠹", retrieve(found), entity="cite:other"),
    ]
    result = run(gold, lines)
    assert result.rows()[:2] == [("right", 1, 50.0), ("right, unsupported", 1, 50.0)]
    assert result.questions == {"right, unsupported": ("m2",)}


def test_a_name_in_a_text_supports_the_answer() -> None:
    text = EvidenceText(id="t", text="此语见《五蠹》。")
    events = TraceEvent(stage="retrieve", texts=(text,))
    result = run(Gold(REF, (two_answers(),)), [predicted("m1", "五蠹", events, entity="cite:other")])
    assert result.rows()[0] == ("right", 1, 100.0)


def test_the_id_of_another_bearer_is_lost_in_answering(gold: Gold) -> None:
    events = (link(WORD), retrieve(TO_BOOK), rank(TO_BOOK))
    result = run(gold, [predicted("t00", "史记", *events, entity="book:史记2")])
    assert result.questions == {"answering": ("t00",)}


def test_recall_counts_a_question_with_a_missing_gold_as_lost() -> None:
    gold = Gold(REF, (two_answers(),))
    one = predicted(
        "m1", "五蠹", retrieve("book:韩非子 <partOf chapter:韩非子/五蠹"), entity="chapter:韩非子/五蠹"
    )
    assert run(gold, [one]).rows()[0] == ("right", 1, 100.0)
    assert run(gold, [one], loss="recall").questions == {"linking or retrieval": ("m1",)}


def test_hits_need_an_order_of_the_answers(gold: Gold) -> None:
    both = (PredictedAnswer(text="史记"), PredictedAnswer(text="韩非子"))
    unranked = Prediction(id="t00", status="ok", answers=both, trace=(retrieve(TO_BOOK),))
    with pytest.raises(MetricError, match="--loss recall"):
        run(gold, [unranked])
    assert run(gold, [unranked], loss="recall").cell("hits-if-covered") is None


def test_a_judge_that_has_not_ruled_decides_nothing(gold: Gold) -> None:
    with pytest.raises(MetricError, match="no answer has a judge's ruling"):
        run(gold, ways(), policy=Policy("judge"))


# ---------------------------------------------------------------------- the indicators

REF = DatasetRef(name="hand", version="1", content="", split="test")


def two_answers(id: str = "m1") -> GoldQuestion:
    """Which chapters does 韩非子 hold?  Two of them."""
    units = ("chapter:韩非子/五蠹", "chapter:韩非子/外储说左上")
    step = PathStep(relation="partOf", direction="in", type="Chapter")
    return GoldQuestion(
        id=id,
        text="《韩非子》有哪些篇？",
        answers=tuple(Answer(entity_id=unit, label=unit.rpartition("/")[2]) for unit in units),
        group=id,
        target_element="ContentUnit",
        anchors=(Anchor(entity_id=OTHER, mention="韩非子", elements=("Book", "CulturalSource")),),
        standard_paths=tuple(StandardPath(steps=(step,), entities=(OTHER, unit)) for unit in units),
    )


def test_indicators_of_the_eight_ways_by_hand(gold: Gold) -> None:
    result = run(gold, ways())
    value = {cell.metric: (cell.value, cell.n) for cell in result.cells if cell.stratum == "all"}
    assert value == {
        "anchor-f1": (6 / 8, 8),  # two linked another word
        "element-match": (pytest.approx((5 * 1 + 2 * 0.5 + 0.5) / 8), 8),
        "element-fit": (pytest.approx((5 * 1 + 2 * 0.5 + 0.5) / 8), 8),
        "coverage": (4 / 8, 8),
        "coverage-loose": (4 / 8, 8),
        "retention": (3 / 4, 4),  # of the four covered, one was ranked away
        "hits-if-covered": (1 / 4, 4),
        "f1-if-covered": (1 / 4, 4),
    }


@pytest.mark.parametrize(
    ("linked", "f1"),
    [((WORD,), 1.0), ((WORD, BOOK), 2 / 3), ((), 0.0), ((BOOK,), 0.0)],
)
def test_anchors_are_compared_as_sets(gold: Gold, linked: tuple[str, ...], f1: float) -> None:
    result = run(gold, [predicted("t00", "x", TraceEvent(stage="link", entities=linked))])
    cell = result.cell("anchor-f1")
    assert cell is not None
    assert cell.value == pytest.approx(f1)


def test_the_last_link_event_counts_and_topics_stand_in_for_none() -> None:
    lines = [predicted("a", "x", link(BOOK), link(WORD)), predicted("b", "x", topics=(WORD,))]
    assert [trail and trail.linked for trail in read_trails(lines).of] == [{WORD}, {WORD}]


@pytest.mark.parametrize(
    ("anchor", "target", "match", "fit"),
    [
        (["CultureLoadedWord"], ["Book"], 1.0, 1.0),
        (["Idiom"], ["Book"], 0.5, 1.0),  # more specific than the reference, but true
        (["CultureLoadedWord"], ["CulturalSource"], 0.5, 1.0),  # less specific
        (["CultureLoadedWord", "Person"], ["Book"], 0.75, 0.75),  # a list of guesses earns its share
        (["Character"], ["Person"], 0.0, 0.0),
        (["no such label"], ["成语"], 0.0, 0.0),
        ([], ["Book"], 0.5, 0.5),
    ],
)
def test_element_labels(gold: Gold, anchor: list[str], target: list[str], match: float, fit: float) -> None:
    labels = [*(Label(element=e, entity_id=WORD) for e in anchor), *(Label(element=e) for e in target)]
    event = TraceEvent(stage="link", entities=(WORD,), elements=tuple(labels))
    # a second question makes both kinds of label known to the run
    result = run(gold, [predicted("t00", "x", event), predicted("t01", "x", link(WORD))])
    values = [result.cell("element-match"), result.cell("element-fit")]
    assert [cell and 2 * cell.value - 1 for cell in values] == pytest.approx([match, fit])


def test_complete_coverage_is_asked_of_questions_with_several_answers() -> None:
    both = retrieve(
        "book:韩非子 <partOf chapter:韩非子/五蠹", "book:韩非子 <partOf chapter:韩非子/外储说左上"
    )
    half = retrieve("book:韩非子 <partOf chapter:韩非子/五蠹")
    gold = Gold(REF, (two_answers("m1"), two_answers("m2")))
    cell = run(gold, [predicted("m1", "x", both), predicted("m2", "x", half)]).cell("complete")
    assert cell is not None
    assert (cell.value, cell.n) == (0.5, 2)


def test_top_k_is_counted_after_the_last_ranking(gold: Gold) -> None:
    lines = [predicted("t00", "x", retrieve(TO_BOOK), rank(TO_BOOK), rank(ASTRAY, TO_BOOK))]
    kept = [run(gold, lines, top=top).cell("retention") for top in (1, 2, None)]
    assert [cell and cell.value for cell in kept] == [0.0, 1.0, 1.0]


def test_a_prune_event_may_name_what_it_dropped_instead(gold: Gold) -> None:
    prune = TraceEvent(stage="prune", dropped=("p2",))
    result = run(gold, [predicted("t00", "x", retrieve(ASTRAY, TO_BOOK), prune)])
    assert result.questions == {"ranking": ("t00",)}


# ---------------------------------------------------------------------- what was not recorded


def test_what_a_system_does_not_trace_is_named_and_has_no_value(gold: Gold) -> None:
    result = run(gold, [predicted("t00", "韩非子", retrieve(TO_BOOK))])
    assert result.not_traced == {
        "anchor-f1": "linking",
        "element-match": "anchor labels or target label",
        "element-fit": "anchor labels or target label",
        "retention": "ranking",
    }
    assert {cell.metric for cell in result.cells} == {
        "coverage", "coverage-loose", "hits-if-covered", "f1-if-covered"
    }  # fmt: skip
    assert result.questions == {"ranking or answering": ("t00",)}


def test_a_trace_that_stops_short_yielded_nothing_and_no_trace_says_nothing(gold: Gold) -> None:
    lines = [
        predicted("t00", "x", link(WORD), retrieve(TO_BOOK)),
        predicted("t01", "x", link(WORD)),
        predicted("t02", "x"),
    ]
    cell = run(gold, lines).cell("coverage")
    assert cell is not None
    assert (cell.value, cell.n) == (0.5, 2)


def test_what_was_kept_had_been_retrieved_also_where_the_list_was_cut(gold: Gold) -> None:
    head = TraceEvent(stage="retrieve", paths=(path(ASTRAY),), total=900)
    result = run(gold, [predicted("t00", "x", head, rank(TO_BOOK))])
    assert result.cut == ("t00",)
    assert [cell and cell.value for cell in map(result.cell, ("coverage", "retention"))] == [1.0, 1.0]


def test_what_was_shown_had_been_retrieved_also_beyond_top_k(gold: Gold) -> None:
    shown = Evidence(paths=(path(ASTRAY), path(TO_BOOK, "p2")))
    lines = [predicted("t00", "x", link(WORD), evidence=shown), predicted("t01", "x", retrieve())]
    result = run(gold, lines, top=1)
    assert [(c.value, c.n) for c in result.cells if c.metric == "retention" and c.stratum == "all"] == [
        (0.0, 1)
    ]


def test_a_run_without_any_trace_is_refused(gold: Gold) -> None:
    with pytest.raises(PredictionError, match="retrieve") as caught:
        run(gold, [predicted("t00", "史记")])
    assert "docs/diagnostics.md" in caught.value.fix


# ---------------------------------------------------------------------- laws


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=12).filter(any), st.integers(0, 3))
def test_shares_by_largest_remainder_sum_to_100_and_stay_within_one_unit(
    counts: list[int], places: int
) -> None:
    shares = largest_remainder(counts, places)
    assert sum(round(share * 10**places) for share in shares) == 100 * 10**places
    for share, count in zip(shares, counts, strict=True):
        assert abs(share - 100 * count / sum(counts)) < 10**-places


def test_three_equal_thirds() -> None:
    assert largest_remainder([1, 1, 1]) == (33.4, 33.3, 33.3)
    assert largest_remainder([0, 0]) == (0.0, 0.0)


EVENTS = st.one_of(
    st.sampled_from([link(), link(WORD), link(BOOK), link(WORD, anchor="Person")]),
    st.lists(st.sampled_from([TO_BOOK, ASTRAY]), max_size=2).map(lambda walks: retrieve(*walks)),
    st.lists(st.sampled_from([TO_BOOK, ASTRAY]), max_size=2).map(lambda walks: rank(*walks)),
)


@st.composite
def lines(draw: st.DrawFn) -> list[Prediction]:
    made = []
    for row in draw(st.sets(st.integers(0, 19), min_size=1)):
        status = draw(st.sampled_from(STATUSES))
        answer = draw(st.sampled_from(["史记", "韩非子"])) if status == "ok" else None
        trace = draw(st.lists(EVENTS, max_size=4))
        made.append(
            predicted(
                f"t{row:02}", answer, *trace, status=status, topics=draw(st.sampled_from([(), (WORD,)]))
            )
        )
    return made


@given(
    lines(),
    st.sampled_from(["hits", "recall"]),
    st.sampled_from(["same", "compatible", "reaching"]),
    st.randoms(),
)
def test_whatever_was_traced_every_question_ends_in_one_place(
    gold: Gold, made: list[Prediction], loss: Any, support: Any, random: Random
) -> None:
    def counted(predictions: Sequence[Prediction]) -> Diagnosis:
        return diagnose(align(gold, predictions), ONTOLOGY, loss=loss, support=support, resamples=10)

    if not any(p.trace or p.topics for p in made):
        return
    result = counted(made)
    for stratum, shares in result.waterfalls.items():
        assert sum(share.count for share in shares) == 20, stratum  # all are of one hop band and category
        assert sum(round(10 * share.percent) for share in shares) == 1000
    assert sum(map(len, result.questions.values())) == 20 - result.rows()[0][1]
    right = sum(count for stage, count, _ in result.rows() if stage.startswith("right"))
    measured = Metric.parse("Hits@1" if loss == "hits" else "R").columns(align(gold, made))
    assert right == (measured.values[:, 0] == 1).sum()
    json.dumps(result.as_dict(), allow_nan=False)
    assert counted(random.sample(made, len(made))) == result


# ---------------------------------------------------------------------- the command


@pytest.fixture
def folder(dataset: Dataset, tmp_path: Path) -> Callable[..., str]:
    def write(predictions: Sequence[Prediction], **manifest: Any) -> str:
        (tmp_path / "run").mkdir()
        ref = dataset_ref(dataset, "test")
        head = RunManifest(system="demo", dataset=ref, code_version="0", **manifest)
        (tmp_path / "run" / "run.json").write_text(head.model_dump_json(), encoding="utf-8")
        items = "".join(p.model_dump_json() + "\n" for p in predictions)
        (tmp_path / "run" / "items.jsonl").write_text(items, encoding="utf-8")
        return str(tmp_path / "run")

    return write


def test_diagnose_prints_indicators_and_a_waterfall(cli: Any, dataset: Dataset, folder: Any) -> None:
    result = cli("diagnose", folder(ways()), "--dataset", str(dataset.root), "--by", "hops")
    assert result.code == 0
    assert "demo [none/lexical] on clwqa-tiny 1.0.0, test" in result.out
    lines = {line.strip() for line in result.out.splitlines()}
    assert any(
        line.startswith("(iv) supporting path kept, if retrieved") and "75.0*" in line for line in lines
    )
    shown = [line.split() for line in lines if line.startswith(("ranking", "no answer (missing)", "all "))]
    assert sorted(shown) == [
        ["all", "20", "100.0", "100.0"],
        ["no", "answer", "(missing)", "12", "60.0", "60.0"],
        ["ranking", "1", "5.0", "5.0"],
    ]


def test_diagnose_as_json(cli: Any, dataset: Dataset, folder: Any) -> None:
    result = cli("diagnose", folder(ways()), "--dataset", str(dataset.root), "--json")
    found = json.loads(result.out)
    assert found["waterfalls"]["all"][0] == {"stage": "right", "count": 1, "percent": 5.0}
    assert found["questions"]["matching"] == ["t07"]
    assert found["oracle"] == []


def test_diagnose_says_first_what_was_replaced_by_gold(cli: Any, dataset: Dataset, folder: Any) -> None:
    result = cli("diagnose", folder(ways(), oracle=("anchors",)), "--dataset", str(dataset.root))
    assert "ORACLE RUN: gold stands in for anchors" in result.out
    assert "gold stands in for anchors" in result.err


def test_diagnose_warns_of_cut_and_missing_traces(cli: Any, dataset: Dataset, folder: Any) -> None:
    cut = TraceEvent(stage="retrieve", paths=(path(ASTRAY),), total=900)
    written = folder([predicted("t00", "x", cut), predicted("t01", "x")])
    result = cli("diagnose", written, "--dataset", str(dataset.root))
    assert "1 traces hold a list that was cut (first: t00)" in result.err
    assert "1 predictions have neither trace nor evidence (first: t01)" in result.err


def test_diagnose_refuses_a_run_without_traces(cli: Any, dataset: Dataset, folder: Any) -> None:
    result = cli("diagnose", folder([predicted("t00", "史记")]), "--dataset", str(dataset.root))
    assert result.code == 2
    assert "record at least the `retrieve` stage" in result.err
