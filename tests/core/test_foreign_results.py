"""Result files of other projects: how an output is read, which question a row belongs to, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.errors import PredictionError
from clwqa_bench.foreign import join, read_gold, read_results
from clwqa_bench.foreign.native import READERS, Reading, split
from clwqa_bench.predictions import Status
from tests.core.foreign_files import document, plain_gold, pog_row, raw_row, rog_row, write

# --- outputs ------------------------------------------------------------------------------------------------


def texts(format: str, output: str | tuple[str, ...]) -> tuple[Status, tuple[str, ...]]:
    reading = READERS[format](output)
    return reading.status, reading.texts or ()


@pytest.mark.parametrize(
    ("output", "status", "answers"),
    [
        ('{"A": {"Answer": "红楼梦"}}', "ok", ("红楼梦",)),
        ('依据三元组 {"Answer": "红楼梦"}', "ok", ("红楼梦",)),
        ('{"A": {"Answer": ["李白", "杜甫"]}}', "ok", ("李白", "杜甫")),
        ('{"A": {"Answer": "李白；杜甫、王维"}}', "ok", ("李白", "杜甫", "王维")),
        ('{"A": {"Answer": ["Paris; Texas"]}}', "ok", ("Paris; Texas",)),
        ('{"A": {"Answer": "Paris, Texas"}}', "ok", ("Paris, Texas",)),
        ('{"A": {"Answer": "Romeo and Juliet"}}', "ok", ("Romeo and Juliet",)),
        ('{"A": {"Answer": 1368}}', "ok", ("1368",)),
        ('{"A": {"Answer": ["李白", null, "不知道"]}}', "ok", ("李白",)),
        ('{"A": {"Answer": null}}', "empty", ()),
        ('{"A": {"Answer": "None"}}', "empty", ()),
        ('{"A": {"Answer": "我不知道。"}}', "empty", ()),
        ('{"A": {"Answer": ""}}', "empty", ()),
        ('{"A": {"Answer": []}}', "empty", ()),
        ('{"A": {"Answer": {"name": "李白"}}}', "unparsed", ()),
        ('{"A": {"Answer": NaN}}', "unparsed", ()),
        ('{"A": {"Sufficient": "No"}}', "unparsed", ()),
        ("{想不起来", "unparsed", ()),
        ("{" * 100_000, "unparsed", ()),
        ('{"A": "Yes", "Answer": "红楼梦"}', "ok", ("红楼梦",)),
        ('{"A": {"Answer": "史记"}} 更正 {"A": {"Answer": "红楼梦"}}', "ok", ("红楼梦",)),
        ('{"A": {"Answer": ["史记", "红楼梦"]}} 以上。', "ok", ("史记", "红楼梦")),
        ("{'A': {'Answer': '红楼梦'}}", "ok", ("红楼梦",)),
        ("红楼梦", "ok", ("红楼梦",)),
        ("Unknown", "empty", ()),
        (r'{"A": {"Answer": "\ud83d笑"}}', "ok", ("?笑",)),
        (r'{"A": {"Answer": "\ud83d\ude00"}}', "ok", ("😀",)),
    ],
)
def test_pog(output: str, status: Status, answers: tuple[str, ...]) -> None:
    assert texts("pog", output) == (status, answers)


@pytest.mark.parametrize(
    ("output", "status", "answers"),
    [
        ("{Yes}. 故事出自{韩非子}。", "ok", ("韩非子",)),
        ("依据三元组，出自{韩非子}，不是{史记}。", "ok", ("韩非子",)),
        ("{Yes}. 事实已经足够。", "unparsed", ()),
        ("x } y {London}", "ok", ("London",)),
        ("{London", "unparsed", ()),
        ("{}", "empty", ()),
        ("{NULL}", "empty", ()),
        ("{李白、杜甫}", "ok", ("李白", "杜甫")),
        ("韩非子", "ok", ("韩非子",)),
    ],
)
def test_tog(output: str, status: Status, answers: tuple[str, ...]) -> None:
    assert texts("tog", output) == (status, answers)


@pytest.mark.parametrize(
    ("output", "reading"),
    [
        ("李白\n\n杜甫 ", Reading(("李白", "杜甫"), "lines")),
        ("李白、杜甫", Reading(("李白、杜甫",), "lines")),
        (("杜甫", "李白", "李白"), Reading(("李白", "杜甫"), "lines", ranked=True)),
        (
            ("# Reasoning Path:\n甲 -> 作者 -> 李白\n# Answer:\n李白",),
            Reading(("李白",), "lines", ranked=True),
        ),
        ("", Reading((), "lines")),
        ((), Reading((), "lines", ranked=True)),
    ],
)
def test_rog_and_gcr(output: str | tuple[str, ...], reading: Reading) -> None:
    assert READERS["rog"](output) == READERS["gcr"](output) == reading


def test_split_is_at_separators_that_no_name_holds() -> None:
    assert split(" a;b；c、d|e\n\nf ") == ("a", "b", "c", "d", "e", "f")
    assert split("a, b and c，d和e") == ("a, b and c，d和e",)


@pytest.mark.parametrize("format", READERS)
@given(output=st.text() | st.lists(st.text()).map(tuple))
def test_any_output_can_be_read(format: str, output: str | tuple[str, ...]) -> None:
    prediction = READERS[format](output).prediction("a", output)
    assert prediction.status in ("ok", "empty", "unparsed")
    assert all(answer.text == answer.text.strip() for answer in prediction.answers)


# --- rows ---------------------------------------------------------------------------------------------------

GOLD = [("a", "甲是谁？", ["李白"]), ("b", "乙是谁？", ["杜甫"]), ("c", "乙是谁？", ["王维"])]


def outcome(
    folder: Path, format: str, results: Path, gold: list[tuple[str, str, list[str]]] = GOLD
) -> list[str]:
    """What every question of the gold got, by id: answers joined, or the status."""
    asked = read_gold(plain_gold(folder / "gold.jsonl", gold), "jsonl")
    grid = join(read_results(results, format), asked).grid
    given = zip(grid.gold.questions, grid.answers, grid.outcomes, strict=True)
    return [f"{q.id} {'/'.join(a.text for a in answers) or status}" for q, answers, status in given]


def test_rows_are_joined_by_the_text_of_the_question(tmp_path: Path) -> None:
    results = write(tmp_path / "r.jsonl", pog_row("甲是谁？", "李白"))
    assert outcome(tmp_path, "pog", results) == ["a 李白", "b missing", "c missing"]


def test_an_id_goes_before_the_text(tmp_path: Path) -> None:
    results = write(
        tmp_path / "r.jsonl", pog_row("乙是谁？", "王维", ID="c"), pog_row("乙是谁？", "杜甫", ID="b")
    )
    assert outcome(tmp_path, "pog", results) == ["a missing", "b 杜甫", "c 王维"]


def test_one_row_answers_all_questions_of_its_text(tmp_path: Path) -> None:
    results = write(tmp_path / "r.jsonl", pog_row("乙是谁？", "杜甫"))
    assert outcome(tmp_path, "pog", results) == ["a missing", "b 杜甫", "c 杜甫"]


def test_as_many_rows_as_questions_are_joined_in_order(tmp_path: Path) -> None:
    results = write(tmp_path / "r.jsonl", pog_row("乙是谁？", "杜甫"), pog_row("乙是谁？", "王维"))
    assert outcome(tmp_path, "pog", results) == ["a missing", "b 杜甫", "c 王维"]


def test_rows_that_repeat_one_another_count_once(tmp_path: Path) -> None:
    results = write(tmp_path / "r.jsonl", *[pog_row("甲是谁？", "李白", time=t) for t in (1.5, 2.5, 3.5)])
    assert outcome(tmp_path, "pog", results) == ["a 李白", "b missing", "c missing"]


def test_results_may_be_one_document(tmp_path: Path) -> None:
    results = document(tmp_path / "r.json", [raw_row("甲是谁？", "{Yes}，是{李白}")])
    assert outcome(tmp_path, "tog", results) == ["a 李白", "b missing", "c missing"]


def test_metaqa_lines(tmp_path: Path) -> None:
    results = tmp_path / "r.txt"
    results.write_text("a\t李白|杜甫\nb\t\nc\tNone\n", encoding="utf-8")
    assert outcome(tmp_path, "metaqa", results) == ["a 李白/杜甫", "b empty", "c empty"]


def test_plain_lines_say_whether_they_rank(tmp_path: Path) -> None:
    results = write(
        tmp_path / "r.jsonl",
        {"id": "a", "prediction": ["李白", "杜甫"], "ranked": True},
        {"id": "b", "prediction": "李白；杜甫"},
        {"id": "c", "prediction": []},
    )
    assert outcome(tmp_path, "jsonl", results) == ["a 李白/杜甫", "b 李白/杜甫", "c empty"]
    asked = read_gold(tmp_path / "gold.jsonl", "jsonl")
    assert join(read_results(results, "jsonl"), asked).grid.unranked == ("b",)


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    results = write(tmp_path / "r.jsonl", pog_row("甲是谁？", "李白"))
    with results.open("a", encoding="utf-8") as stream:
        stream.write('{"question": "乙是')
    assert read_results(results, "pog").torn == 2
    assert outcome(tmp_path, "pog", results) == ["a 李白", "b missing", "c missing"]


def test_half_an_emoji(tmp_path: Path) -> None:
    results = tmp_path / "r.jsonl"
    results.write_text(r'{"question": "甲是谁？", "results": "李白\ud83d"}', encoding="utf-8")
    assert outcome(tmp_path, "pog", results) == ["a 李白?", "b missing", "c missing"]


def test_ten_thousand_answers(tmp_path: Path) -> None:
    names = [f"名{n}" for n in range(10_000)]
    results = write(tmp_path / "r.jsonl", pog_row("甲是谁？", names))
    asked = read_gold(plain_gold(tmp_path / "gold.jsonl", [("a", "甲是谁？", names[::-1])]), "jsonl")
    grid = join(read_results(results, "pog"), asked).grid
    assert len(grid.answers[0]) == 10_000


def test_gold_in_the_rows(tmp_path: Path) -> None:
    results = read_results(
        write(
            tmp_path / "r.jsonl",
            rog_row(
                "a",
                "李白",
                ["李白", "李白"],
                ground_truth_paths=[[["诗", "作者", "李白"], ["李白", "字", "太白"]]],
            ),
            rog_row("b", [], []),
        ),
        "gcr",
    )
    gold = results.own_gold()
    assert [question.surfaces for question in gold.questions] == [("李白", "李白"), ()]
    assert [answer.label for answer in gold.questions[0].answers] == ["李白"]
    assert gold.left_out == ("b",)
    assert results.rows[0].gold_paths == ("诗 -> 作者 -> 李白 -> 字 -> 太白",)


PAGE = Path(__file__).resolve().parents[2] / "docs" / "foreign.md"


@pytest.mark.parametrize(
    ("format", "example"),
    re.findall(r"^### `(\w+)`[^#]*?```json\n(.*?)```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL),
)
def test_the_examples_of_the_page(tmp_path: Path, format: str, example: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(example, encoding="utf-8")
    (row,) = read_results(path, format).rows
    assert READERS[format](row.output).status == "ok"


# --- refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "rows", "message"),
    [
        ("pog", [rog_row("a", "李白", ["李白"])],
         r"r\.jsonl:1: field results: there is no such field; .* this looks like a prediction file of RoG or GCR"),
        ("rog", [pog_row("甲是谁？", "李白")], r":1: field id: .* this looks like a result file of PoG or ToG"),
        ("tog", [raw_row("乙是谁？", "{杜甫}"), *[pog_row(q, "李白") for q in ("甲是谁？", "乙是谁？")]],
         r":2: field results: 2 of 3 outputs are JSON with an \"Answer\".* a result file of PoG: use --format pog"),
        ("jsonl", [{"schema_version": 1, "id": "a", "status": "empty"}], r"our own predictions: score them without"),
        ("jsonl", [{"id": "a", "answers": ["李白"]}], r":1: field prediction: .* plain JSON lines of gold"),
        ("pog", [raw_row("甲是谁？", ["李白"])], r":1: field results: a list where a text is due"),
        ("pog", [raw_row("甲是谁？", None)], r":1: field results: null where a text is due"),
        ("rog", [rog_row("a", None, ["李白"])], r":1: field prediction: null where a text or a list of texts is due"),
        ("rog", [rog_row("a", ["李白", 3], ["李白"])], r":1: field prediction\[1\]: a number where a text is due"),
        ("gcr", [rog_row("a", [], ["李白"], ground_truth_paths=[["李白"]])],
         r":1: field ground_truth_paths\[0\]: no path"),
        ("jsonl", [{"id": "a", "prediction": [], "ranked": 1}],
         r":1: field ranked: a number where true or false is due"),
        ("pog", [pog_row("丙是谁？", "李白")],
         r":1: field question: the question '丙是谁？' is not in the gold .*gold\.jsonl \(3"),
        ("jsonl", [{"id": "d", "prediction": "李白"}], r":1: field id: d is not in the gold"),
        ("pog", [pog_row("甲是谁？", "李白", id=0)], r"field id: 0 is not in the gold .* take the field out"),
        ("jsonl", [{"id": "a", "prediction": "李白"}, {"id": "a", "prediction": "杜甫"}],
         r":2: field id: another answer to the question of line 1: 2 rows for 1 of the gold"),
        ("pog", [pog_row("乙是谁？", name) for name in ("李白", "杜甫", "王维")],
         r":2: field question: another answer to the question of line 1: 3 rows for 2 of the gold"),
        ("pog", [pog_row("甲是谁？", "李白", ID="a"), pog_row("甲是谁？", "杜甫")],
         r":2: field id: a second prediction for a"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, format: str, rows: list[object], message: str) -> None:
    results = write(tmp_path / "r.jsonl", *rows)
    with pytest.raises(PredictionError, match=message):
        outcome(tmp_path, format, results)


@pytest.mark.parametrize(
    ("format", "content", "message"),
    [
        (
            "pog",
            '{"question": "甲是谁？", "results": "李白", "time": NaN}\n',
            r"r:1: this is not JSON: it has no NaN",
        ),
        ("pog", '{"question": "甲是\n{"question": "乙是谁？", "results": ""}\n', r"r:1: this is not JSON"),
        ("pog", "", r"r: the file is empty"),
        ("metaqa", "a 李白\n", r"r:1: there is no tab between id and answers"),
        ("metaqa", "\n", r"r: the file is empty"),
        ("gpt", "{}", r"there is no result format 'gpt'\. Fix: use one of pog, tog, rog, gcr, metaqa, jsonl"),
    ],
)
def test_unreadable(tmp_path: Path, format: str, content: str, message: str) -> None:
    path = tmp_path / "r"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(PredictionError, match=message):
        read_results(path, format)


def test_a_second_row_of_a_file_that_carries_its_gold(tmp_path: Path) -> None:
    results = write(tmp_path / "r.jsonl", rog_row("a", "李白", ["李白"]), rog_row("a", "杜甫", ["李白"]))
    with pytest.raises(PredictionError, match=r":2: field id: a second row for a"):
        read_results(results, "rog").own_gold()


def test_a_file_that_carries_no_gold(tmp_path: Path) -> None:
    results = read_results(write(tmp_path / "r.jsonl", pog_row("甲是谁？", "李白")), "pog")
    with pytest.raises(
        PredictionError, match=r"a pog file carries no gold\. Fix: name a gold file with --gold"
    ):
        results.own_gold()
