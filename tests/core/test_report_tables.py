"""Score tables as text: terminal, LaTeX, Markdown, CSV, DataFrame."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, RenderableType
from syrupy.assertion import SnapshotAssertion

from clwqa_bench.commands.compare import draw
from clwqa_bench.comparison import Family, Pair
from clwqa_bench.errors import MetricError
from clwqa_bench.predictions import RunManifest
from clwqa_bench.report import latex, markdown
from clwqa_bench.report.frame import COLUMNS, questions_frame, to_csv, to_frame
from clwqa_bench.report.names import count, interval, level_name, notes_of, percent, stage_name, stratum_name
from clwqa_bench.report.results import Results, by_metric, by_stratum, results
from clwqa_bench.report.sheet import Numbers, Sheet
from clwqa_bench.report.terminal import render
from clwqa_bench.scoring import ScoreTable
from clwqa_bench.stats import Comparison, RankInterval
from tests.core.report_example import F1, HITS, POG, REF, ceaf, cell, run, table, tog


def shown(what: RenderableType, width: int = 100, *, soft_wrap: bool = False) -> str:
    console = Console(width=width, file=io.StringIO(), highlight=False, soft_wrap=soft_wrap)
    with console.capture() as capture:
        console.print(what)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def drawn(scores: ScoreTable, width: int = 100) -> str:
    return shown(render(scores), width)


def family(p: float, manifests: Mapping[str, RunManifest] = {}) -> Family:
    """Two systems tested under Hits@1, with a given corrected p."""
    test = Comparison(
        a=0.62, b=0.5, delta=0.12, low=0.02, high=0.2, p_permutation=p, p_mcnemar=None, wins=20, ties=70, losses=10,
        n=100, clusters=90, permutations=10_000, exact=False, minimal_detectable_difference=0.1,
    )  # fmt: skip
    pair = Pair(HITS, ceaf().title, tog().title, test, p)
    ranks = {HITS: (RankInterval(1, 2), RankInterval(1, 2))}
    return Family(
        REF,
        (ceaf().title, tog().title),
        (HITS,),
        (pair,),
        ranks,
        {F1: "unranked"},
        10_000,
        0.95,
        7,
        manifests,
    )


def both(p: float = 0.01, baseline: str | None = None) -> Results:
    tables = [ceaf(), tog()]
    return results(tables, by_metric(tables, [HITS, F1, POG]), family(p), baseline)


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0, "0.0"), (1, "100.0"), (0.5, "50.0"), (0.12345, "12.3"), (0.0004, "<0.1"), (0.0006, "0.1"), (0.9994, "99.9"),
        (0.99996, ">99.9"),
    ],
)  # fmt: skip
def test_all_and_nothing_are_written_only_for_exactly_these(share: float, shown: str) -> None:
    assert percent(share) == shown


def test_an_unknown_spread_is_left_empty() -> None:
    assert interval(None, None) == ""
    assert interval(0.25, 1) == "[25.0, 100.0]"


def test_an_interval_without_width_is_a_mark_that_every_format_explains() -> None:
    assert interval(1, 1) == "§"
    tables = [table("oracle", [cell(F1, "all", 1.0, half=0.0)])]
    wide = results(tables, by_metric(tables, [F1]))
    assert "all resamples agree" in drawn(tables[0])
    assert "| oracle | 100.0 § |" in markdown.markdown(wide)
    assert "100.0 {\\scriptsize \\S{}}" in latex.latex(wide)
    assert wide.caption.count("§ all resamples agree") == 1
    assert "§" not in drawn(ceaf())


@pytest.mark.parametrize(("level", "name"), [(0.95, "95%"), (0.975, "97.5%"), (0.999, "99.9%"), (0.9, "90%")])
def test_the_level_of_an_interval_is_not_rounded(level: float, name: str) -> None:
    assert level_name(level) == name
    scores = table("a", [cell(F1, "all", 0.5)], level=level)
    assert f"{name} intervals" in drawn(scores)
    assert f"{name} intervals" in results([scores], by_metric([scores], [F1])).caption


@pytest.mark.parametrize(
    ("note", "number", "text"),
    [
        ("parametric_answers", 1, "1 answer not from the graph, as the system says"),
        ("unranked_predictions", 1200, "1,200 predictions with several answers in no declared order"),
        ("short_golds", 2, "2 gold answers too short to be looked for inside an answer"),
        ("unjudged", 1, "1 answer not credited: no verdict of the judge"),
        ("torn_line", 1200, "line 1200 of the predictions is cut off; its question counts as missing"),
        ("my_own_note", 3, "3 my own note"),
    ],
)
def test_notes_are_sentences_about_their_number(note: str, number: int, text: str) -> None:
    [name] = notes_of({note: number, "unjudged_too": 0})
    assert name.en == text
    assert str(number) in name.zh.replace(",", "")


def test_a_caption_says_whose_notes_it_repeats() -> None:
    noted = [table(name, [cell(F1, "all", 0.5)], notes={"short_golds": 2, name: 1}) for name in ("a", "b")]
    caption = results(noted, by_metric(noted, [F1])).caption
    assert caption.endswith("2 gold answers too short to be looked for inside an answer; a: 1 a; b: 1 b.")


def test_names_in_two_languages() -> None:
    assert stratum_name("answers=many") == ("多个", "several")
    assert stratum_name("category=my_own_slug") == ("my_own_slug", "my own slug")
    assert stage_name("linking, retrieval or ranking") == (
        "实体链接或检索或排序",
        "linking, retrieval or ranking",
    )
    assert stage_name("no answer (timeout)").zh == "没有答案：超时"


# ---------------------------------------------------------------- terminal


def test_terminal(snapshot: SnapshotAssertion) -> None:
    assert drawn(ceaf()) == snapshot


def test_terminal_without_any_metric_still_says_what_became_of_the_questions() -> None:
    text = drawn(table("empty", [], left_out={HITS: "answers are not ranked"}))
    assert "timeout" in text
    assert f"left out: {HITS}: answers are not ranked" in text


def test_a_title_with_markup_is_shown_as_it_is() -> None:
    assert drawn(table("[red]x[/red]", [])).startswith("[red]x[/red]\n")


@pytest.mark.parametrize("width", [40, 80, 100])
def test_no_number_of_a_score_is_cut_in_a_narrow_window(width: int) -> None:
    scores = ceaf()
    text = shown(render(scores), width, soft_wrap=True)
    assert "…" not in text
    for number in scores.cells:
        assert {percent(number.value), count(number.n)} <= set(text.split())
        assert interval(number.low, number.high) in text


@pytest.mark.parametrize("width", [40, 80, 240])
def test_no_number_of_a_comparison_is_cut_in_a_narrow_window(width: int) -> None:
    text = shown(draw(family(p=0.012)), width, soft_wrap=True)
    assert "…" not in text
    assert {"62.0", "50.0", "+12.0", ".012", "20/70/10", "10.0", "100", "1-2"} <= set(text.split())
    assert "[+2.0, +20.0]" in text
    assert "differs" in text


@given(
    rows=st.lists(
        st.tuples(st.text("成语ab ", max_size=40), *[st.integers(0, 10**9).map(str)] * 4), max_size=4
    ),
    width=st.integers(20, 120),
)
def test_a_number_stays_whole_and_in_the_window_at_any_width(
    rows: Sequence[tuple[str, ...]], width: int
) -> None:
    sheet = Sheet("name", Numbers("a"), Numbers(), Numbers("b"), "text")
    for row in rows:
        sheet.add_row(*row)
    text = shown(sheet, width)
    assert max(map(cell_len, text.split("\n"))) <= width
    assert sorted(filter(str.isdigit, text.split())) == sorted(n for _, *numbers in rows for n in numbers)


def test_compare_says_what_is_no_ordinary_run() -> None:
    oracle = RunManifest(system="ceaf", dataset=REF, code_version="1", oracle=("link",), sample=50)
    text = shown(draw(family(0.01, {ceaf().title: oracle})), 240)
    assert text.count("ceaf [glm-4-flash] (oracle link; sample of 50)") == 2


# ---------------------------------------------------------------- LaTeX and Markdown


def test_latex_of_two_runs(snapshot: SnapshotAssertion) -> None:
    assert latex.latex(both()) == snapshot


def test_markdown_of_two_runs(snapshot: SnapshotAssertion) -> None:
    assert markdown.markdown(both()) == snapshot


def test_latex_by_hops_of_one_run(snapshot: SnapshotAssertion) -> None:
    tables = [ceaf()]
    assert latex.latex(results(tables, by_stratum(tables, "hops", HITS))) == snapshot


def test_what_does_not_differ_is_not_marked() -> None:
    assert [e.differs for _, row in both(p=0.2).rows for e in row] == [False] * 6


def test_a_baseline_takes_the_place_of_the_best() -> None:
    marked = both(baseline=tog().title)
    assert [row[0].differs for _, row in marked.rows] == [True, False]
    assert f"differs from {tog().title}" in marked.caption


def test_the_best_is_the_lowest_where_lower_is_better() -> None:
    edges = "HallucinatedEdges(of=shown,agg=micro)"
    tables = [table("a", [cell(edges, "all", 0.3)]), table("b", [cell(edges, "all", 0.1)])]
    assert [row[0].best for _, row in results(tables, by_metric(tables, [edges])).rows] == [False, True]


def test_runs_with_the_same_value_are_both_best() -> None:
    tables = [table(name, [cell(F1, "all", 0.3)]) for name in "ab"]
    assert [row[0].best for _, row in results(tables, by_metric(tables, [F1])).rows] == [True, True]


def test_an_unknown_baseline_or_dimension_is_an_error_that_lists_what_there_is() -> None:
    with pytest.raises(MetricError, match=r"no run is called 'x'.*ceaf"):
        both(baseline="x")
    with pytest.raises(MetricError, match=r"no strata by 'colour'.*hops"):
        by_stratum([ceaf()], "colour", F1)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (r"a\b{c}", r"a\textbackslash{}b\{c\}"),
        ("50% & $x_1^2$ #~", r"50\% \& \$x\_1\textasciicircum{}2\$ \#\textasciitilde{}"),
        ("[1]", "{[}1{]}"),
        ("成语《史记》", "成语《史记》"),
        ("two\nlines", "two lines"),
    ],
)
def test_latex_prints_any_text_as_it_is(text: str, escaped: str) -> None:
    assert latex.escape(text) == escaped


def test_markdown_prints_any_text_as_it_is() -> None:
    assert markdown.escape("a|b *c* <i>\n`d`") == r"a\|b \*c\* &lt;i&gt; \`d\`"


# ---------------------------------------------------------------- rows


def test_csv_has_one_row_per_number_and_full_precision() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv([ceaf(), tog()]))))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(ceaf().cells) + len(tog().cells)
    assert (rows[4]["metric"], rows[4]["value"], rows[0]["backbone"]) == (F1, "0.99996", "glm-4-flash")
    assert rows[3]["low"] == ""


def test_csv_is_no_formula_for_a_spreadsheet() -> None:
    [row] = csv.DictReader(io.StringIO(to_csv([table("=1+1", [cell(F1, "all", 0.5)])])))
    assert row["run"] == "'=1+1"


def test_frames() -> None:
    frame = to_frame([ceaf(), tog()])
    assert list(frame.columns) == list(COLUMNS)
    assert frame.query("stratum == 'all' and metric == @HITS")["value"].tolist() == [0.62, 0.5]
    questions = questions_frame([run("a"), run("b")])
    assert len(questions) == 240
    assert questions.loc[:5, F1].tolist() == pytest.approx([1, 2 / 3, 0, 0, 0, 0])
    assert questions.loc[:5, "outcome"].tolist() == ["ok", "ok", "ok", "ok", "timeout", "missing"]


def test_a_frame_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MetricError, match="pip install pandas"):
        to_frame([ceaf()])
