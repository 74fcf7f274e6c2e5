"""A result file scored as its source does and strictly: both numbers, and the bridge between them, by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.commands.foreign import score_foreign
from clwqa_bench.errors import PredictionError
from clwqa_bench.foreign import Bridge, SideBySide, side_by_side
from clwqa_bench.metrics import Metric
from tests.core.foreign_files import document, plain_gold, pog_row, raw_row, rog_row, write

Question = tuple[str, str, list[str]]


def score_rows(folder: Path, format: str, rows: Iterable[object], gold: Iterable[Question]) -> SideBySide:
    results, asked = write(folder / "r.jsonl", *rows), plain_gold(folder / "gold.jsonl", gold)
    return side_by_side(results, format, asked, "jsonl", resamples=100)


def legacy(both: SideBySide) -> dict[str, float]:
    assert both.original is not None
    assert both.original.total is not None
    return dict(both.original.total.values)


def strict(both: SideBySide, metric: str) -> float:
    cell = both.strict.cell(str(Metric.parse(metric)))
    assert cell is not None
    return cell.value


def steps(both: SideBySide) -> dict[str, int]:
    """The bridge as {step: change}, after checking that it adds up."""
    bridge = both.bridge
    assert isinstance(bridge, Bridge)
    assert bridge.right + sum(step.change for step in bridge.steps) == bridge.strict
    return {step.name: step.change for step in bridge.steps}


# --- a hundred rows by hand ---------------------------------------------------------------------------------


def hundred() -> tuple[list[object], list[Question]]:
    """100 rows of a PoG file and its gold; the name of a question says what became of it."""
    rows: list[object] = []
    gold: list[Question] = []

    def add(name: str, times: int, output: str, answer: object = "红楼梦", *, raw: bool = False) -> None:
        for number in range(times):
            text = f"{name}第{number}问？"
            gold.append((f"{name}{number}", text, ["红楼梦"]))
            rows.append(raw_row(text, output) if raw else pog_row(text, answer))

    add("equal", 50, "")
    add("stale", 3, "{想不起来", raw=True)  # the row before said 红楼梦
    add("fragment", 10, "", "梦")
    add("inside", 12, "", "出自《红楼梦》一书")
    add("empty", 5, "", "")
    add("list", 5, "", ["史记", "红楼梦", "庄子"])
    add("script", 4, "", "紅樓夢")
    add("wrong", 8, "", "史记")
    rows += [rows[0], rows[1], rows[2]]  # a rerun wrote them again
    gold += [(f"missing{number}", f"没有答到的第{number}问？", ["红楼梦"]) for number in range(6)]
    gold += [(f"bare{number}", f"没有金标的第{number}问？", []) for number in range(2)]
    return rows, gold


def test_a_hundred_rows(tmp_path: Path) -> None:
    rows, gold = hundred()
    both = score_rows(tmp_path, "pog", rows, gold)
    assert len(rows) == 100

    # 50 equal + 3 stale + 10 fragments + 12 inside + 5 empty + 5 lists of the 97 distinct rows
    assert legacy(both) == {"Exact Match": 85 / 97, "right": 85, "listed as errors": 12}
    # 50 equal + 5 lists (a third right) + 4 in the other script, of all 103 questions that have gold
    assert both.strict.n == 103
    assert strict(both, "R") == pytest.approx(59 / 103)
    assert strict(both, "P") == pytest.approx((54 + 5 / 3) / 103)
    assert strict(both, "F1") == pytest.approx((54 + 5 * 0.5) / 103)
    assert strict(both, "EM") == pytest.approx(54 / 103)
    assert strict(both, "E[Hits]@1") == pytest.approx((54 + 5 / 3) / 103)

    assert steps(both) == {"fragment": -10, "inside": -12, "stale": -3, "empty": -5, "ours": 4}
    assert both.bridge is not None
    assert (both.bridge.right, both.bridge.rows) == (85, 97)
    assert (both.bridge.strict, both.bridge.questions, both.bridge.without_row) == (59, 103, 6)
    assert both.bridge.shares == (85 / 97, 59 / 97, 59 / 103)
    assert {name: len(ids) for name, ids in both.strict.outcomes.items() if ids} == {
        "ok": 89, "empty": 5, "unparsed": 3, "missing": 6,
    }  # fmt: skip
    assert both.notes[:2] == (
        "questions without gold answers, left out of ours: 2 (bare0, bare1)",
        "rows that repeat an earlier one to the letter, counted once in ours: 3",
    )


def test_examples_name_line_output_and_gold(tmp_path: Path) -> None:
    both = score_rows(tmp_path, "pog", *hundred())
    assert both.bridge is not None
    examples = {step.name: step.examples for step in both.bridge.steps}
    assert {name: len(found) for name, found in examples.items()} == dict.fromkeys(examples, 3)
    first = examples["fragment"][0]
    assert (first.line, first.id, first.output, first.golds) == (54, "fragment0", "梦", ("红楼梦",))
    assert examples["stale"][0].output == "{想不起来"


answer = st.sampled_from(["红楼梦", "梦", "", "紅樓夢", "史记", "出自红楼梦", None, ["史记", "红楼梦"], []])


@given(answers=st.lists(answer, min_size=1, max_size=8), missing=st.integers(0, 2))
def test_the_bridge_adds_up(
    tmp_path_factory: pytest.TempPathFactory, answers: list[object], missing: int
) -> None:
    texts = [f"第{n}问" for n in range(len(answers) + missing)]
    both = score_rows(
        tmp_path_factory.mktemp("bridge"),
        "pog",
        [pog_row(text, answer) for text, answer in zip(texts, answers, strict=False)],
        [(text, text, ["红楼梦"]) for text in texts],
    )
    assert "joining" not in steps(both)
    assert both.bridge is not None
    assert both.bridge.without_row == missing


# --- test vectors of the sources' evaluators, end to end ----------------------------------------------------


@pytest.mark.parametrize(
    ("format", "output", "gold", "hit", "right", "why"),
    [
        ("pog", '{"A": {"Answer": ""}}', "Paris", 1, 0, "empty"),
        ("pog", '{"A": {"Answer": "a"}}', "Paris", 1, 0, "fragment"),
        ("pog", '{"A": {"Answer": ["London", "Paris"]}}', "Paris", 1, 1, None),
        ("pog", "I cannot say, maybe Paris or London", "Paris", 1, 0, "inside"),
        ("pog", '{"A": {"Answer": "Null"}}', "Nullarbor", 1, 0, "fragment"),
        ("pog", '{"A": {"Answer": "New  York"}}', "Newyork", 1, 0, "spelling"),
        ("tog", "", "Paris", 1, 0, "empty"),
        ("tog", "a", "Paris", 1, 0, "fragment"),
        ("tog", "['London', 'Paris']", "Paris", 1, 0, "inside"),
        ("tog", "{Yes}. The river is in {Paris}", "Paris", 0, 1, "ours"),
        ("tog", "x } y {London}", "Paris", 1, 0, "empty"),
        ("tog", "{London", "London", 1, 0, "fragment"),
        ("tog", "{NULL}", "London", 0, 0, None),
        ("rog", ["new york", "city hall"], "york city", 1, 0, "seam"),
        ("gcr", ["new york", "city hall"], "york city", 1, 0, "seam"),
        ("rog", ["x"], "...", 1, 0, "bare"),
        ("rog", ["李白", "杜甫"], "李", 1, 0, "inside"),
        ("rog", ["The A-Team"], "ateam", 1, 0, "spelling"),
        ("gcr", ["《史记》。"], "史记", 1, 1, None),
    ],
)  # fmt: skip
def test_vectors(
    tmp_path: Path, format: str, output: object, gold: str, hit: int, right: int, why: str | None
) -> None:
    row = rog_row("a", output, [gold]) if format in ("rog", "gcr") else raw_row("问", output)
    both = score_rows(tmp_path, format, [row], [("a", "问", [gold])])
    values = legacy(both)
    assert values.get("hit", values.get("Exact Match", 0) * 100) == hit * 100
    assert strict(both, "R") == right
    assert list(steps(both)) == ([] if why is None else [why])


def test_rog_prints_an_f1_above_one_where_ours_is_zero(tmp_path: Path) -> None:
    golds = ["a1", "b2", "c3"]
    results = write(tmp_path / "r.jsonl", rog_row("a", ["a1, b2 and c3"], golds))
    both = side_by_side(results, "rog", resamples=100)
    assert legacy(both) == {"accuracy": 100, "hit": 100, "f1": 150, "precision": 300, "recall": 100}
    assert (strict(both, "P"), strict(both, "R"), strict(both, "F1")) == (0, 0, 0)
    gcr = legacy(side_by_side(results, "gcr", resamples=100))
    assert (gcr["f1"], gcr["precision"]) == (100, 100)


def test_blank_lines_lower_precision_in_rog_only(tmp_path: Path) -> None:
    results = write(tmp_path / "r.jsonl", rog_row("a", "Paris\n\nLondon", ["Paris"]))
    assert legacy(side_by_side(results, "rog", resamples=100))["precision"] == pytest.approx(100 / 3)
    both = side_by_side(results, "gcr", resamples=100)
    assert legacy(both)["precision"] == 50
    assert strict(both, "P") == 0.5


# --- denominators, gold of its own, crashes -----------------------------------------------------------------


def test_rows_without_gold_file_are_all_there_is(tmp_path: Path) -> None:
    rows = [rog_row("a", ["李白"], ["李白"]), rog_row("b", ["王维"], ["杜甫"])]
    results = write(tmp_path / "r.jsonl", *rows)
    alone = side_by_side(results, "rog", resamples=100)
    assert (alone.strict.n, strict(alone, "Hits@1")) == (2, 0.5)
    assert alone.notes == (
        "no gold file: only questions that have a row can be seen, so missing ones are not counted as 0",
    )
    gold = [("a", "", ["李白"]), ("b", "", ["杜甫"]), ("c", "", ["王维"]), ("d", "", ["苏轼"])]
    full = score_rows(tmp_path, "rog", rows, gold)
    assert (full.strict.n, strict(full, "Hits@1"), legacy(full)["hit"]) == (4, 0.25, 50)


def test_tog_counts_repeated_rows_and_ours_does_not(tmp_path: Path) -> None:
    rows = [raw_row("问一", "{李白}")] * 3 + [raw_row("问二", "{王维}")]
    both = score_rows(tmp_path, "tog", rows, [("a", "问一", ["李白"]), ("b", "问二", ["杜甫"])])
    assert legacy(both) == {"Exact Match": 0.75, "right": 3, "wrong": 1}
    assert strict(both, "Hits@1") == 0.5
    assert steps(both) == {"joining": -2}


def test_pog_scores_shared_texts_against_the_first_gold(tmp_path: Path) -> None:
    rows = [pog_row("同一问", "李白"), pog_row("同一问", "杜甫")]
    both = score_rows(tmp_path, "pog", rows, [("b", "同一问", ["李白"]), ("a", "同一问", ["杜甫"])])
    assert legacy(both) == {
        "Exact Match": 0,
        "right": 0,
        "listed as errors": 1,
    }  # the last row, the first gold
    assert strict(both, "Hits@1") == 1
    assert steps(both) == {"ours": 1, "joining": 1}
    assert both.notes[0] == "texts that several questions of the gold share: 1 (同一问)"


def test_a_row_whose_question_has_no_gold(tmp_path: Path) -> None:
    rows = [pog_row("问一", "李白"), pog_row("问二", "")]
    both = score_rows(tmp_path, "pog", rows, [("a", "问一", ["李白"]), ("b", "问二", [])])
    assert legacy(both)["Exact Match"] == 0.5  # without a gold nothing is inside a gold
    assert strict(both, "Hits@1") == 1


def test_a_crash_of_pog(tmp_path: Path) -> None:
    rows = [raw_row("问一", "{想不起来"), pog_row("问二", "杜甫")]
    both = score_rows(tmp_path, "pog", rows, [("a", "问一", ["李白"]), ("b", "问二", ["杜甫"])])
    assert both.original is not None
    assert both.original.crash == (
        "the original evaluator of PoG crashes on row 1: no answer can be read and there is no earlier response "
        "to fall back on"
    )
    assert (both.original.total, both.bridge) == (None, None)
    assert strict(both, "Hits@1") == 0.5


def test_a_crash_of_tog_on_cwq_as_it_is_shipped(tmp_path: Path) -> None:
    gold = document(tmp_path / "cwq.json", [{"ID": "a", "question": "问一", "answer": "李白"}])
    results = write(tmp_path / "r.jsonl", raw_row("问一", "{李白}"))
    tog = side_by_side(results, "tog", gold, "cwq", resamples=100)
    assert tog.original is not None
    assert "ToG crashes on row 1: a CWQ answer is no object" in (tog.original.crash or "")
    assert strict(tog, "Hits@1") == 1
    results = write(tmp_path / "r.jsonl", pog_row("问一", "李白"))
    assert legacy(side_by_side(results, "pog", gold, "cwq", resamples=100))["Exact Match"] == 1


def test_a_crash_of_rog_on_a_question_without_gold(tmp_path: Path) -> None:
    results = write(tmp_path / "r.jsonl", rog_row("a", "李白", ["李白"]), rog_row("b", "李白", []))
    both = side_by_side(results, "rog", resamples=100)
    assert both.original is not None
    assert "crashes on row 2: division by zero" in (both.original.crash or "")
    assert (both.strict.n, strict(both, "Hits@1")) == (1, 1)


def test_gcr_with_paths(tmp_path: Path) -> None:
    text = "# Reasoning Path:\n《将进酒》 -> 作者 -> 李白\n# Answer:\n李白"
    paths = [[["《将进酒》", "作者", "李白"]]]
    results = write(tmp_path / "r.jsonl", rog_row("a", [text], ["李白"], ground_truth_paths=paths))
    both = side_by_side(results, "gcr", resamples=100)
    values = legacy(both)
    assert (values["hit"], values["path f1"], values["path answer f1"]) == (100, 100, 100)
    assert strict(both, "Hits@1") == 1


def test_gcr_counts_a_gold_that_is_named_in_the_path(tmp_path: Path) -> None:
    text = "# Reasoning Path:\n《将进酒》 -> 作者 -> 李白\n# Answer:\n杜甫"
    both = side_by_side(write(tmp_path / "r.jsonl", rog_row("a", [text], ["李白"])), "gcr", resamples=100)
    assert (legacy(both)["hit"], strict(both, "Hits@1")) == (100, 0)
    assert steps(both) == {"path": -1}


@pytest.mark.parametrize("format", ["jsonl", "metaqa"])
def test_formats_without_a_script_have_one_column(tmp_path: Path, format: str) -> None:
    gold = plain_gold(tmp_path / "g.jsonl", [("1", "", ["李白"]), ("2", "", ["杜甫"])])
    results = write(tmp_path / "r", {"id": "1", "prediction": "李白"})
    if format == "metaqa":
        results.write_text("1\t李白\n", encoding="utf-8")
    both = side_by_side(results, format, gold, "jsonl", resamples=100)
    assert (both.original, both.bridge, strict(both, "Hits@1")) == (None, None, 0.5)


def test_cot_outputs_are_named(tmp_path: Path) -> None:
    both = score_rows(
        tmp_path, "tog", [{"question": "问一", "cot_result": "{李白}"}], [("a", "问一", ["李白"])]
    )
    assert legacy(both)["Exact Match"] == 1
    assert both.notes == (
        "the field 'cot_result' is read as 'results', which is the one ToG's script looks for",
    )


def test_braces_of_tog_in_a_pog_file_are_noted(tmp_path: Path) -> None:
    rows = [
        raw_row("问零", "{}"),
        pog_row("问一", "李白"),
        raw_row("问二", "{Yes}"),
        raw_row("问三", "{Yes}，是{杜甫}"),
    ]
    gold = [(row["question"], row["question"], ["李白"]) for row in rows]
    noted = "hold braces but no JSON of PoG's; for a file of ToG's use --format tog"
    assert score_rows(tmp_path, "pog", rows[1:], gold).notes[0] == f"2 outputs {noted}"
    assert noted not in str(score_rows(tmp_path, "pog", rows[:2], gold).notes)


def test_a_torn_line_is_named(tmp_path: Path) -> None:
    gold = plain_gold(tmp_path / "g.jsonl", [("a", "问一", ["李白"]), ("b", "问二", ["杜甫"])])
    results = write(tmp_path / "r.jsonl", raw_row("问一", "{李白}"))
    results.write_text(results.read_text(encoding="utf-8") + '{"quest', encoding="utf-8")
    both = side_by_side(results, "tog", gold, "jsonl", resamples=100)
    assert both.notes == ("line 2 is cut off; its question counts as missing",)
    assert both.strict.outcomes["missing"] == ("b",)


# --- the command --------------------------------------------------------------------------------------------


def files(folder: Path) -> tuple[Path, Path]:
    rows, gold = hundred()
    return write(folder / "r.jsonl", *rows), plain_gold(folder / "gold.jsonl", gold)


def test_the_command_draws_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, gold = files(tmp_path)
    score_foreign(results, "pog", gold, "jsonl", json=False, resamples=100)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert any(line.startswith("Exact Match 87.6 E[Hits@1] under random order 54.0 [") for line in lines)
    assert "-10 the output is a fragment of a gold line 54: 梦 (gold: 红楼梦)" in lines
    assert "59 right here, of 103 questions" in lines
    assert "questions without a row: 6; 0 here, not counted there" in lines
    assert "87.6 % of their rows; 60.8 % of them with our matching; 57.3 % of all questions" in lines
    assert "missing, counts as 0: 6 (missing0, missing1, missing2, …)" in lines


def test_the_command_takes_other_columns_and_another_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, gold = files(tmp_path)
    more = {"resamples": 100, "level": 0.9, "metrics": (Metric.parse("EM"), Metric.parse("R(match=id)"))}
    score_foreign(results, "pog", gold, "jsonl", json=False, **more)
    out = capsys.readouterr().out
    assert "90% intervals" in out
    assert next(line for line in out.splitlines() if line.startswith("stratum")).split()[1] == "EM"
    score_foreign(results, "pog", gold, "jsonl", json=True, **more)
    strict = orjson.loads(capsys.readouterr().out)["strict"]
    assert (strict["metrics"], strict["level"]) == (
        ["EM(match=alias,text>=0.8)", "R(match=id,agg=macro)"],
        0.9,
    )


def test_the_command_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, gold = files(tmp_path)
    score_foreign(results, "pog", gold, "jsonl", json=True, resamples=100)
    found = orjson.loads(capsys.readouterr().out)
    assert found["legacy"]["values"]["Exact Match"] == 85 / 97
    assert found["legacy"]["denominator"] == "rows in the output file, one per question text (the last)"
    assert found["strict"]["n"] == 103
    assert found["bridge"]["shares"] == [85 / 97, 59 / 97, 59 / 103]


def test_the_command_warns_of_a_crash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = write(tmp_path / "r.jsonl", raw_row("问一", "{想不起来"))
    gold = plain_gold(tmp_path / "g.jsonl", [("a", "问一", ["李白"])])
    score_foreign(results, "pog", gold, "jsonl", json=False, resamples=100)
    out, err = capsys.readouterr()
    assert "PoG prints nothing: the original evaluator of PoG crashes on row 1" in out
    assert "no number of PoG's" in err


def test_gold_needs_its_format(tmp_path: Path) -> None:
    results, gold = files(tmp_path)
    with pytest.raises(PredictionError, match="the format of the gold is not given"):
        side_by_side(results, "pog", gold)
    with pytest.raises(PredictionError, match="a pog file carries no gold"):
        side_by_side(results, "pog")


def test_json_holds_no_nan(tmp_path: Path) -> None:
    rows, gold = hundred()
    both = score_rows(tmp_path, "pog", rows, gold)
    assert "NaN" not in json.dumps(both.as_dict(), default=str)
