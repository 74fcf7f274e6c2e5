"""The folder of a site: what is in it, what is never in it, and what it leaves alone."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench import cli as program
from clwqa_bench.registry import Registry
from clwqa_bench.report.names import percent
from clwqa_bench.stats import RankInterval
from clwqa_leaderboard.entry import Outcomes
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.site.folder import Opened, write_site
from clwqa_leaderboard.site.values import (
    UNIT,
    Layout,
    packed,
    packed_outcomes,
    rank_intervals,
    superseded,
    units_of,
)
from tests.conftest import Result
from tests.leaderboard.site.made_up import MadeUp, Unwritten

ATTACK = "</script><img src=x onerror=alert(1)>"


def site_of(made: MadeUp, folder: Path, **options: Any) -> Path:
    board = made.write(folder / "submissions")
    write_site([Opened.read(board)], folder / "site", **options)
    return folder / "site" / board.name


def data_of(script: Path) -> Any:
    found = re.fullmatch(r"receive\((.*)\);\n", script.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return json.loads(found[1])


def unpacked(text: str) -> list[int]:
    content = zlib.decompress(base64.b64decode(text))
    numbers: list[int] = np.frombuffer(content[1:], f"<u{content[0]}").tolist()
    return numbers


# ---------------------------------------------------------------------- values


def test_a_row_of_the_table(tmp_path: Path) -> None:
    made = MadeUp(60)
    entry = made.entry("demo", 0.5, manifest={"variant": "top-k-5", "backbone": "local/tiny"})
    data = data_of(site_of(made, tmp_path) / "data.js")
    [row] = data["entries"]
    assert (row["title"], row["system"], row["backbone"]) == ("demo 问答", "demo top-k-5", "local/tiny")
    assert (row["rank"], row["successor"]) == ([1, 1], None)
    number = entry.number("F1")
    assert number
    at = next(i for i, metric in enumerate(data["metrics"]) if metric["name"] == ["F1", "F1"])
    assert row["scores"][at][0] == round(number.value * 100_000)
    assert at == data["ranked_by"]
    assert [data["metrics"][place]["name"][1] for place in data["ranking"]] == ["Hits@1", "P", "R", "F1"]
    assert [dimension for dimension, *_ in data["dimensions"]] == ["hops", "category", "operation"]


@given(st.fractions(0, 1, max_denominator=4_000))
def test_the_page_writes_a_share_as_the_terminal_does(fraction: Fraction) -> None:
    """No half of the last digit is left to be rounded, which Python and browsers do differently."""
    units = units_of(float(fraction))
    assert units is not None
    assert units % 100 != 50
    assert percent(units * UNIT) == percent(float(fraction))


@pytest.mark.parametrize("numbers", [[], [0, 1, 255], [7, 256, 65_535], [65_536]])
def test_numbers_are_packed_in_as_few_bytes_as_the_largest_needs(numbers: list[int]) -> None:
    assert unpacked(packed(numbers)) == numbers


def test_outcomes_are_one_small_number_per_question() -> None:
    found = packed_outcomes(Outcomes(first=(1, 0, 1), right=(1, 0, 1), items=(2, 0, 2), marks=(5, 0, 9)))
    assert found is not None
    assert found["kinds"] == [[0, 0, 0], [1, 1, 2]]
    assert unpacked(found["codes"]) == [1, 0, 1]
    unranked = packed_outcomes(Outcomes(first=(), right=(1,), items=(2,), marks=(5,)))
    assert unranked is not None
    assert unranked["kinds"] == [[-1, 1, 2]]
    assert packed_outcomes(Outcomes(first=(), right=(), items=(), marks=(5,))) is None


def test_samples_and_reference_lines_have_no_rank() -> None:
    made = MadeUp(120)
    best, second = made.entry("best", 2.0), made.entry("second", -1.0)
    made.entry("oracle", 9.0, standing="reference")
    made.entry("small", 9.0, asked=30, standing="sample")
    found = rank_intervals(made.board, made.stored)
    assert found == {best.id: RankInterval(1, 1), second.id: RankInterval(2, 2)}


def test_only_its_key_or_the_maintainers_replace_an_entry() -> None:
    made = MadeUp(20)
    old = made.entry("demo", signed_by="SHA256:ours")
    new = made.entry("demo", signed_by="SHA256:ours", said={"supersedes": old.id})
    made.entry("rival", signed_by="SHA256:theirs", said={"supersedes": new.id})
    made.entry("demo", said={"supersedes": new.id})
    made.entry("demo", signed_by="SHA256:ours", said={"supersedes": "demo@000000000000"})
    unsigned = made.entry("other")
    made.entry("other", said={"supersedes": unsigned.id})
    corrected = made.entry("other", supersedes=unsigned.id)
    assert superseded([one.entry for one in made.stored]) == {old.id: new.id, unsigned.id: corrected.id}


def test_a_withheld_board_has_scores_and_tells_nothing_of_single_questions(tmp_path: Path) -> None:
    made = MadeUp(40)
    made.entry("demo", misses=())
    marks = Outcomes(first=(), right=(), items=(), marks=(1,) * 40)
    made.stored = [Unwritten(made.stored[0].folder, made.stored[0].entry, marks)]
    made.board = made.board.model_copy(update={"withheld": True, "golds": (), "groups": ()})
    site = site_of(made, tmp_path)
    [row] = data_of(site / "data.js")["entries"]
    assert row["rank"] is None
    assert data_of(site / "questions.js") == {"shown": {}, "golds": packed([]), "groups": packed([])}
    assert data_of(site / "entries" / f"{row['id']}.js")["outcomes"] is None


def test_a_configuration_is_cut_and_says_so(tmp_path: Path) -> None:
    made = MadeUp(20)
    entry = made.entry("demo", manifest={"config": {"prompt": "长" * 9_000}})
    manifest = data_of(site_of(made, tmp_path) / "entries" / f"{entry.id}.js")["manifest"]
    assert len(manifest["config"]) == 4_000
    assert manifest["more_config"] > 5_000


def test_places_are_the_same_in_every_file() -> None:
    made = MadeUp(40)
    made.entry("traced")
    made.entry("bare", profile=False, ranked=False)
    layout = Layout.of([one.entry for one in made.stored])
    assert layout.stages == ("right", "right, unsupported", "linking", "retrieval", "ranking", "answering")
    assert list(layout.indicators) == ["anchor-f1", "coverage", "retention"]
    assert layout.strata[:2] == ("hops=1", "hops=2")


# ---------------------------------------------------------------------- the folder


def test_what_a_stranger_writes_is_never_markup(tmp_path: Path) -> None:
    made = MadeUp(30)
    said = {"description": ATTACK, "training": ATTACK, "contact": ATTACK}
    made.entry("demo", said=said, manifest={"config": {ATTACK: ATTACK}})
    site = site_of(made, tmp_path)
    for path in site.parent.rglob("*"):
        if path.is_file():
            assert "<img" not in path.read_text(encoding="utf-8"), path
    assert "alert(1)" in (site / "entries" / f"{made.stored[0].entry.id}.js").read_text(encoding="utf-8")


def test_the_ranked_entries_can_be_read_without_scripts(tmp_path: Path) -> None:
    made = MadeUp(80)
    made.entry("worse", -1.0)
    made.entry("better", 1.0)
    made.entry("oracle", 9.0, standing="reference")
    page = (site_of(made, tmp_path) / "index.html").read_text(encoding="utf-8")
    table = page.partition("<noscript>")[2].partition("</noscript>")[0]
    assert table.index("better 问答") < table.index("worse 问答")
    assert "oracle" not in table
    assert "<script>" not in page  # files only, so that the security policy can forbid the rest


def test_nothing_comes_from_elsewhere(tmp_path: Path) -> None:
    made = MadeUp(20)
    made.entry("demo")
    site = site_of(made, tmp_path).parent
    loaded = [
        address
        for path in site.rglob("*.html")
        for address in re.findall(r'(?:src|href)="([^"#]*)"', path.read_text(encoding="utf-8"))
    ]
    assert loaded
    assert all("//" not in address for address in loaded)
    assert not re.search(r"url\(|@import", (site / "site.css").read_text(encoding="utf-8"))


def test_bundles_are_linked_where_they_can_be_had(tmp_path: Path) -> None:
    made = MadeUp(20)
    made.entry("demo")
    data = data_of(site_of(made, tmp_path, bundles="https://example.org/boards/") / "data.js")
    assert data["bundles"] == f"https://example.org/boards/{made.board.key}"


def test_the_same_boards_make_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        made = MadeUp(30)
        made.entry("demo")
        site = site_of(made, tmp_path / name).parent
        contents.append({p.relative_to(site): p.read_bytes() for p in site.rglob("*") if p.is_file()})
    assert contents[0] == contents[1]


def test_an_entry_that_lies_elsewhere_than_its_id_says(tmp_path: Path) -> None:
    made = MadeUp(20)
    entry = made.entry("demo")
    board = made.write(tmp_path)
    (board / entry.id).rename(board / "other@000000000000")
    with pytest.raises(SubmissionError, match="another name"):
        Opened.read(board)


@pytest.mark.parametrize(
    "changes",
    [
        {"board": "another"},
        {"questions": 19},
        {"outcomes": Outcomes(first=(), right=(1,), items=(1,), marks=(1,))},
    ],
    ids=["of another board", "asked less than it is ranked for", "outcomes of other questions"],
)
def test_an_entry_that_does_not_fit_its_board(tmp_path: Path, changes: dict[str, Any]) -> None:
    made = MadeUp(20)
    made.entry("demo")
    [stored] = made.stored
    outcomes = changes.pop("outcomes", stored.outcomes)
    made.stored = [Unwritten(stored.folder, stored.entry.model_copy(update=changes), outcomes)]
    with pytest.raises(SubmissionError, match="not an entry of this board"):
        Opened.read(made.write(tmp_path))


# ---------------------------------------------------------------------- the command


@pytest.fixture
def render(
    cli: Callable[..., Result], install: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Run ``clwqa-bench leaderboard render`` where one board lies in ``submissions``."""
    install("boards", "1", {}, "[clwqa_bench.commands]\nleaderboard = clwqa_leaderboard.commands:app\n")
    monkeypatch.setattr(program, "COMMANDS", Registry("clwqa_bench.commands", "command"))
    monkeypatch.chdir(tmp_path)
    made = MadeUp(20)
    made.entry("demo")
    made.write(tmp_path / "submissions")
    return lambda *arguments: cli("leaderboard", "render", *arguments)


def test_all_boards_or_one(render: Callable[..., Result]) -> None:
    done = render("--submissions", "submissions", "--out", "site", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    [key] = found["boards"]
    assert found["entries"] == 1
    assert found["bytes"] == sum(p.stat().st_size for p in Path("site").rglob("*") if p.is_file())
    again = render("--board", f"submissions/{key}", "--board", f"submissions/{key}/", "--out", "site")
    assert again.code == 0, again.err  # the older site is replaced, and a board named twice is one
    assert "entries: 1," in again.out
    assert f"url={key}/index.html" in Path("site/index.html").read_text(encoding="utf-8")


def test_a_folder_that_is_no_site_is_left_alone(render: Callable[..., Result]) -> None:
    Path("thesis").mkdir()
    Path("thesis/index.html").write_text("mine", encoding="utf-8")
    refused = render("--submissions", "submissions", "--out", "thesis")
    assert refused.code == 2
    assert "left alone" in refused.err
    assert Path("thesis/index.html").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--submissions", "nowhere"], "there is no such folder"),
        (["--submissions", "."], "there is no board here"),
        (["--board", "nowhere"], "the file is missing"),
        (["--bundles", "javascript:alert(1)", "--submissions", "submissions"], "not an address"),
    ],
)
def test_bad_input(render: Callable[..., Result], arguments: list[str], said: str) -> None:
    refused = render(*arguments, "--out", "site")
    assert refused.code == 2
    assert said in refused.err
    assert not Path("site").exists()
