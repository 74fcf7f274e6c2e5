"""The site of a board in a real browser: what a reader sorts, filters, compares, and what a hostile entry cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from clwqa_bench.metrics import Metric
from clwqa_bench.report.names import percent
from clwqa_bench.stats import Flips, Resamples, Sample, mcnemar, paired_difference
from clwqa_leaderboard.entry import Entry, columns
from clwqa_leaderboard.site.folder import Opened, write_site
from tests.browser.browser import PHONE, Page, started
from tests.leaderboard.site.made_up import MadeUp, many

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ATTACK = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
MEASURES = {"Hits@1": 0, "P": 1, "R": 2, "F1": 3, "EM": 4}


class Board(Page):
    """The page of a board under the hand of a reader."""

    def go(self, view: str) -> None:
        self.driver.execute_script("location.hash = arguments[0]", view)
        self.until("!document.querySelector('[aria-busy]')")

    def column(self, key: str) -> list[str]:
        """What a column of the first table shows, line by line from the top."""
        cells = self.all(
            f"#view > table tbody [data-column='{key}'], #view .scroll tbody [data-column='{key}']"
        )
        return [cell.text.split("\n")[0] for cell in cells]

    def names(self) -> list[str]:
        return [name.split(" ")[0] for name in self.column("name")]

    def sort(self, key: str) -> WebElement:
        head = self.one(f"th[data-column='{key}']")
        head.find_element("css selector", "button").click()
        return head


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with started(tmp_path_factory.mktemp("profile"), window=(1280, 900)) as driver:
        yield driver


@pytest.fixture(scope="module")
def made() -> MadeUp:
    made = MadeUp(240)
    made.entry("alpha", 1.0, said={"model": "open", "code": "open"}, manifest={"backbone": "local/small"})
    made.entry("beta", 0.9, said={"model": "closed", "code": "closed"}, manifest={"backbone": "openai/big"})
    old = made.entry("gamma", -0.5, said={"model": "none"}, manifest={"backbone": "none/lexical"})
    made.entry(
        "gamma", -0.2, said={"model": "none"}, manifest={"backbone": "none/lexical"}, supersedes=old.id
    )
    made.entry("unranked", 0.3, ranked=False, said={"model": "none"}, manifest={"backbone": "none/lexical"})
    made.entry("oracle", 9.0, standing="reference", profile=False)
    made.entry("random", -9.0, standing="reference", profile=False)
    made.entry("sampled", 2.0, asked=40, standing="sample", said={"model": "open"})
    return made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, made: MadeUp) -> Path:
    folder = tmp_path_factory.mktemp("榜")  # a path that is not ASCII, as on many a reader's machine
    write_site([Opened.read(made.write(folder / "boards"))], folder / "site", "https://example.org/b")
    return folder / "site"


@pytest.fixture
def shown(chromium: webdriver.Chrome, site: Path, made: MadeUp) -> Iterator[Board]:
    """The board as a new reader finds it, from a disk; whatever the console complains of fails the test."""
    chromium.get((site / made.board.key / "index.html").as_uri())
    chromium.execute_script("localStorage.clear(); location.hash = ''")
    chromium.refresh()
    shown = Board(chromium)
    yield shown
    assert shown.complaints() == []


def id_of(made: MadeUp, system: str) -> str:
    return next(one.entry.id for one in reversed(made.stored) if one.entry.manifest.system == system)


def entry_of(made: MadeUp, system: str) -> Entry:
    return next(one.entry for one in made.stored if one.entry.id == id_of(made, system))


# ---------------------------------------------------------------------- the ranking


def test_the_only_board_opens_by_itself(chromium: webdriver.Chrome, site: Path, made: MadeUp) -> None:
    chromium.get((site / "index.html").as_uri())
    page = Board(chromium)
    page.until("document.querySelectorAll('tbody tr').length")
    assert made.board.key in chromium.current_url


def test_best_first_with_reference_lines_in_their_place(shown: Board) -> None:
    assert shown.names() == ["oracle", "alpha", "beta", "unranked", "gamma", "random"]
    assert shown.column("rank")[0] == shown.column("rank")[-1] == "–"
    assert shown.one("tr.reference .mark").text == "reference"
    assert shown.column("rank")[1] == "1–2"


def test_numbers_with_their_intervals(shown: Board, made: MadeUp) -> None:
    number = entry_of(made, "alpha").number("P")
    assert number
    assert number.low is not None
    assert number.high is not None
    place = shown.js("data.ranking[1]")
    cell = shown.all(f"#view > table td[data-column='metric-{place}']")[1].text.split("\n")
    assert cell[0] == percent(number.value)
    assert cell[1] == f"[{percent(number.low)}, {percent(number.high)}]"


def test_samples_stand_apart_with_their_size(shown: Board) -> None:
    samples = shown.one("#samples")
    assert "sampled 问答" in samples.text
    assert "40 / 240" in samples.text
    assert "never ranked" in samples.text
    assert "sampled" not in shown.names()


def test_a_click_sorts_and_a_second_one_turns_around(shown: Board) -> None:
    head = shown.sort("name")
    assert head.get_attribute("aria-sort") == "ascending"
    assert shown.names() == ["alpha", "beta", "gamma", "oracle", "random", "unranked"]
    shown.sort("name")
    assert head.get_attribute("aria-sort") == "descending"
    assert shown.names()[0] == "unranked"
    seconds = [float(text) for text in (shown.sort("seconds"), shown.column("seconds"))[1]]
    assert seconds == sorted(seconds)  # of what it takes, the least first
    shown.sort("metric-0")
    assert shown.column("metric-0")[-1] == "–"  # without a value: last, either way
    shown.sort("metric-0")
    assert shown.column("metric-0")[-1] == "–"


def test_filters(shown: Board) -> None:
    Select(shown.one("#model")).select_by_value("none")
    assert shown.names() == ["oracle", "unranked", "gamma", "random"]  # reference lines stay
    assert shown.one("#found").text == "2 of 6 entries"
    shown.one("#old").click()
    assert shown.names() == ["oracle", "unranked", "gamma", "gamma", "random"]
    assert "superseded" in shown.one("tr.replaced").text
    shown.one('#filters [type="reset"]').click()
    shown.until("document.querySelector('#found').textContent.startsWith('5 of')")
    shown.search("openai/BIG")
    assert shown.names() == ["oracle", "beta", "random"]
    shown.go("#strata")
    assert shown.names()[:3] == ["oracle", "beta", "random"]  # the views share the filters


# ---------------------------------------------------------------------- the other views


def test_heat_maps_of_hops_and_categories(shown: Board, made: MadeUp) -> None:
    shown.go("#strata")
    titles = [title.text for title in shown.all("#view h2")]
    assert titles == ["F1 % · Hops", "F1 % · Category", "F1 % · Operation"]
    number = entry_of(made, "alpha").number("F1", "hops=2")
    assert number
    assert shown.all("#view .scroll")[0].text.count("\n")
    assert shown.column("hops-1")[1].rstrip("*") == percent(number.value)
    Select(shown.one("#metric")).select_by_visible_text("EM")
    assert shown.one("#view h2").text == "EM % · Hops"
    assert shown.js("document.activeElement.id") == "metric"


def test_stages_and_evidence(shown: Board) -> None:
    shown.go("#stages")
    assert "(iii) Supporting path retrieved" in shown.one("#view").text
    losses = shown.one("#view .scroll:last-of-type tr.ranked")
    assert sum(float(cell.text) for cell in losses.find_elements("tag name", "td")) == pytest.approx(
        100, abs=0.4
    )
    shown.go("#evidence")
    assert "Hallucinated edges ↓" in shown.one("#view thead").text
    assert len(shown.all("#view .heat.worse")) == 3 * 6


def test_the_page_of_an_entry(shown: Board, made: MadeUp) -> None:
    shown.one("tr.ranked .title").click()
    shown.until("document.querySelector('.misses')")
    text = shown.one("#view").text
    entry = entry_of(made, "alpha")
    said = (
        entry.id,
        entry.bundle,
        "A. Author, B. Author",
        "Two cores, 8 GB.",
        "no tokens are counted",
        "Possible ranks: 1–2",
    )
    for part in said:
        assert part in text
    assert len(shown.all(".misses li")) == len(entry.misses)
    assert "lost at: retrieval" in shown.one(".misses").text
    link = shown.one(
        f"a[href='https://example.org/b/{made.board.key}/{entry.id.replace('@', '%40')}/bundle.zip']"
    )
    assert "noopener" in str(link.get_attribute("rel"))
    shown.one("summary").click()
    assert '"d_max": 3' in shown.one("#view pre").text
    shown.driver.back()
    shown.until("document.querySelector('#view > table')")


def test_a_sample_says_so_on_its_page(shown: Board, made: MadeUp) -> None:
    shown.go(f"#entry/{id_of(made, 'sampled')}")
    assert "40 of 240 questions were asked" in shown.one(".limited").text
    assert "Compare with another" not in shown.one("#view").text


# ---------------------------------------------------------------------- two entries


def test_paired_tests_are_those_of_the_core(shown: Board, made: MadeUp) -> None:
    """Deltas and counts to the last digit, p and interval within what chance leaves."""
    one, other = (next(s for s in made.stored if s.entry.id == id_of(made, n)) for n in ("alpha", "gamma"))
    shown.go(f"#compare/{one.entry.id}/{other.entry.id}")
    tests = shown.driver.execute_async_script(
        "const [a, b, done] = arguments; const entry = (id) => data.entries.find((e) => e.id === id);"
        "compareEntries(entry(a), entry(b)).then(({ tests }) => done(tests))",
        one.entry.id,
        other.entry.id,
    )
    clusters = np.array(made.board.groups)
    groups = int(clusters.max()) + 1
    for name, place in MEASURES.items():
        metric, found = Metric.parse(name), tests[place]
        a, b = (columns(metric, s.outcomes, made.board.golds).values for s in (one, other))
        expected = paired_difference(
            Sample(a, clusters), Sample(b, clusters), Resamples(groups, 2_000, 1), Flips(groups, 10_000, 1)
        )
        assert found["delta"] == pytest.approx(expected.delta, abs=1e-12)
        assert [found[k] for k in ("wins", "ties", "losses")] == [
            expected.wins,
            expected.ties,
            expected.losses,
        ]
        assert found["p"] == pytest.approx(expected.p_permutation, abs=0.02)
        assert found["bounds"] == pytest.approx([expected.low, expected.high], abs=0.01)
        if name in ("Hits@1", "EM"):
            assert found["mcnemar"] == pytest.approx(mcnemar(a[:, 0], b[:, 0]), rel=1e-9)
        else:
            assert found["mcnemar"] is None


def test_few_groups_are_tested_exactly(shown: Board) -> None:
    p = shown.js("permutationP(Float64Array.of(2, 1, -1, 0), generator(1))")
    assert p == 0.75  # of the 8 ways of swapping three groups, ±2 four times and ±4 twice
    assert shown.js("mcnemar(3, 0)") == pytest.approx(0.25)
    assert shown.js("holm([0.01, 0.04, 0.03])") == pytest.approx([0.03, 0.06, 0.06])


def test_choosing_whom_to_compare(shown: Board, made: MadeUp) -> None:
    shown.one("#tabs a[href='#compare']").click()
    shown.until("document.querySelector('.tests')")
    assert "not significant" in shown.one(".verdict").text
    Select(shown.one("#compare-b")).select_by_value(id_of(made, "gamma"))
    shown.until("document.querySelector('.verdict')?.textContent.includes('alpha 问答 has the higher F1')")
    assert shown.js("document.activeElement.id") == "compare-b"
    before = [cell.text for cell in shown.all(".tests tbody tr:first-child td")]
    shown.one("#swap").click()
    shown.until("document.querySelector('.tests td:nth-child(4)')?.textContent.startsWith('−')")
    after = [cell.text for cell in shown.all(".tests tbody tr:first-child td")]
    assert after[:2] == [before[1], before[0]]
    assert after[2].lstrip("−+") == before[2].lstrip("−+")
    assert [option.text for option in shown.all("#compare-a option") if "sampled" in option.text] == []
    Select(shown.one("#compare-b")).select_by_value(id_of(made, "unranked"))
    shown.until("document.querySelector('#comparison')?.textContent.includes('does not rank')")
    assert "Hits@1" not in shown.one(".tests").text


# ---------------------------------------------------------------------- for everybody


def test_two_languages(shown: Board, made: MadeUp) -> None:
    shown.one("#language").click()
    assert shown.js("document.documentElement.lang") == "zh-Hans"
    body = shown.one("body").text
    for part in ("名次", "参照线", "抽样结果", "后端"):
        assert part in body
    shown.go(f"#entry/{id_of(made, 'alpha')}")
    text = shown.one("#view").text
    assert "提交者的说明" in text
    assert "失于：检索" in text
    assert "As the submitter says" not in text
    shown.driver.refresh()
    shown.until("document.querySelector('.misses')")
    assert "提交者的说明" in shown.one("#view").text  # the language is remembered


def test_light_and_dark(shown: Board) -> None:
    before = shown.js("getComputedStyle(document.body).backgroundColor")
    shown.one("#theme").click()
    dark = shown.js("getComputedStyle(document.body).backgroundColor")
    assert dark != before
    shown.driver.refresh()
    assert shown.js("getComputedStyle(document.body).backgroundColor") == dark


def test_a_keyboard_is_enough(shown: Board) -> None:
    shown.driver.execute_script("document.querySelector('#text').focus()")
    for _ in range(12):
        focused = shown.driver.switch_to.active_element
        if focused.text.startswith("System"):
            break
        focused.send_keys(Keys.TAB)
    assert shown.js("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    focused.send_keys(Keys.ENTER)
    assert shown.names()[0] == "alpha"
    assert shown.driver.switch_to.active_element == focused  # sorting leaves the focus where it is
    for _ in range(30):
        focused = shown.driver.switch_to.active_element
        if focused.get_attribute("class") == "title":
            break
        focused.send_keys(Keys.TAB)
    focused.send_keys(Keys.ENTER)
    shown.until("document.querySelector('.misses')")


@pytest.mark.parametrize("view", ["#ranking", "#strata", "#stages", "#evidence", "#compare", "#entry"])
def test_nothing_is_wider_than_a_phone(shown: Board, made: MadeUp, view: str) -> None:
    shown.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        shown.go(f"#entry/{id_of(made, 'alpha')}" if view == "#entry" else view)
        shown.driver.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true })")
        assert shown.js("document.documentElement.scrollWidth <= innerWidth")
        if view == "#ranking":
            Select(shown.one("#sort")).select_by_visible_text("System")
            assert shown.names()[0] == "alpha"
    finally:
        shown.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_what_a_submitter_writes_is_text(chromium: webdriver.Chrome, tmp_path: Path) -> None:
    made = MadeUp(30)
    said = dict.fromkeys(("description", "training", "knowledge", "hardware", "contact"), ATTACK)
    entry = made.entry("hostile", said=said, manifest={"config": {ATTACK: ATTACK}})
    spoilt = [miss.model_copy(update={"question": ATTACK, "answers": (ATTACK,)}) for miss in entry.misses]
    remarks = [finding.model_copy(update={"what": ATTACK}) for finding in entry.remarks]
    made.entry(
        "hostile", said=said, misses=spoilt, remarks=remarks, left_out={ATTACK: ATTACK}, signed_by=ATTACK
    )
    write_site([Opened.read(made.write(tmp_path / "boards"))], tmp_path / "site")
    chromium.get((tmp_path / "site" / made.board.key / "index.html").as_uri())
    shown = Board(chromium)
    assert len(shown.all("tbody tr")) == 2
    for one in made.stored:
        shown.go(f"#entry/{one.entry.id}")
        assert ATTACK in shown.one("#view").text
    for view in ("#compare", "#strata", "#stages", f"#entry/{ATTACK}", "#__proto__/constructor"):
        shown.go(view)
    assert shown.js("document.querySelectorAll('img').length") == 0
    assert shown.js("document.title.startsWith('clwqa-made-up')")
    assert shown.complaints() == []


def test_a_script_that_got_in_would_not_run(shown: Board) -> None:
    """The security policy is the second wall; its complaints are those that are wanted here."""
    shown.driver.execute_script(
        "const s = document.createElement('script'); s.textContent = \"document.title = 'taken'\";"
        "document.head.append(s);"
    )
    assert shown.js("document.title") != "taken"
    assert any("Content Security Policy" in complaint for complaint in shown.complaints())


def test_a_crowd_is_drawn_in_steps(chromium: webdriver.Chrome, tmp_path: Path) -> None:
    made = many(120, 40)
    write_site([Opened.read(made.write(tmp_path / "boards"))], tmp_path / "site")
    chromium.get((tmp_path / "site" / made.board.key / "index.html").as_uri())
    shown = Board(chromium)
    assert len(shown.all("tbody tr")) == 100
    shown.one("tfoot button").click()
    assert len(shown.all("tbody tr")) == 122
    assert not shown.one("tfoot").is_displayed()
    assert shown.complaints() == []
