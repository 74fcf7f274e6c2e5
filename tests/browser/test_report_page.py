"""The report page in a real browser: what a reader clicks, types and sees, and what a hostile answer cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from clwqa_bench.report.items import Selection
from tests.browser.browser import PHONE, Page, started
from tests.core.report_example import ATTACK, SIZE, page, run

pytestmark = [pytest.mark.browser, pytest.mark.slow]


class Report(Page):
    """The report of a run under the hand of a reader."""

    def rows(self) -> list[str]:
        return [row.text for row in self.all("#list li")]

    def found(self) -> str:
        return self.one("#found").text

    def close_detail(self) -> None:
        """By keyboard; the page's address forgets the question a moment after it is gone."""
        self.one("#detail").send_keys(Keys.ESCAPE)
        self.until("!document.querySelector('#detail').open && location.hash === ''")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with started(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("报告")  # a path that is not ASCII, as on many a reader's machine
    (folder / "one.html").write_text(page(run("检索 demo")), encoding="utf-8")
    two = page(run("first"), run("second", given=[]), selection=Selection(limit=30))
    (folder / "two.html").write_text(two, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def forgetful(chromium: webdriver.Chrome) -> Iterator[None]:
    """No test finds what another one left in the browser."""
    yield
    chromium.execute_script("localStorage.clear()")


@pytest.fixture
def shown(chromium: webdriver.Chrome, files: Path) -> Iterator[Report]:
    """The page of one run, fresh; whatever the console complains of fails the test."""
    chromium.get("about:blank")
    chromium.get((files / "one.html").as_uri())
    shown = Report(chromium)
    yield shown
    assert shown.complaints() == []


def test_fifty_questions_at_a_time(shown: Report) -> None:
    assert len(shown.rows()) == 50
    assert shown.found().startswith(f"{SIZE} of {SIZE} questions")
    shown.one("#next").click()
    shown.one("#next").click()
    assert len(shown.rows()) == SIZE - 100
    assert shown.one("#page").text == "3 / 3"
    assert not shown.one("#next").is_enabled()


def test_a_status_and_a_verdict_filter(shown: Report) -> None:
    shown.one('[data-status="timeout"]').click()
    assert shown.found().startswith(f"{SIZE // 6} of")
    assert Select(shown.one("#status")).first_selected_option.text == "timeout"
    shown.one('#filters [type="reset"]').click()
    shown.until(f"document.querySelector('#found').textContent.startsWith('{SIZE} of')")
    shown.one('[data-verdict="1"]').click()
    assert {row[0] for row in shown.rows()} == {"◐"}
    assert shown.one('[data-verdict="1"]').get_attribute("aria-pressed") == "true"


def test_a_stratum_of_a_table_filters(shown: Report) -> None:
    shown.one('[data-stratum="hops=1"]').click()
    assert shown.found().startswith(f"{SIZE // 3} of")


def test_search_in_chinese_in_questions_answers_and_ids(shown: Report) -> None:
    shown.search("四面楚歌")
    assert shown.found().startswith(f"{SIZE // 4} of")
    shown.search("论语")  # said by the system, in no question
    assert all("论语" in row for row in shown.rows())
    shown.search("Q007")
    assert len(shown.rows()) == 1
    shown.search('"')
    assert shown.found().startswith(f"{SIZE // 6} of")  # the attack has quotation marks, nothing else has


def test_the_detail_of_a_question(shown: Report) -> None:
    shown.one("#list li:nth-child(2) a").click()
    detail = shown.one("#detail")
    assert detail.is_displayed()
    said = ["第1问", "史记", "论语", "relaxed", "语出《史记》", "1,500"]
    for text in (*said, "not credited", "credited to", "Gold path"):
        assert text in detail.text
    assert [node.text for node in shown.all("#detail .path .node")][:3] == [
        "四面楚歌", "chapter:项羽本纪", "史记"
    ]  # fmt: skip
    assert len(shown.all("#detail .step.on")) == 4  # the way shown is the gold one
    shown.one('[data-go="next"]').click()
    assert "第2问" in shown.one("#detail").text
    assert str(shown.js("location.hash")) == "#q002"
    detail.send_keys(Keys.ESCAPE)
    shown.until("!document.querySelector('#detail').open")
    assert shown.js("location.hash") == ""


def test_an_address_with_an_id_opens_the_question(shown: Report) -> None:
    shown.driver.execute_script("location.hash = '#q004'")
    shown.until("document.querySelector('#detail').open")
    assert "no reply after 60 s" in shown.one("#detail").text


def test_what_a_system_says_is_text(shown: Report) -> None:
    shown.search("document.title")
    shown.one("#list a").click()
    assert ATTACK in shown.one("#detail").text
    assert shown.js("document.querySelectorAll('img').length") == 0
    assert shown.js("document.querySelectorAll('script').length") == 2
    assert shown.js("document.title") == "检索 demo · clwqa-tiny 1.0.0"


def test_two_languages(shown: Report) -> None:
    shown.one("#list a").click()
    shown.close_detail()
    shown.one("#language").click()
    assert shown.js("document.documentElement.lang") == "zh-Hans"
    body = shown.one("body").text
    assert "主要指标" in body
    assert "Headline" not in body
    assert "历史地理" in body
    assert shown.found().startswith(f"{SIZE} 题")
    shown.one("#list a").click()
    assert "标准路径" in shown.one("#detail").text
    assert "出自" in shown.one("#detail").text
    shown.close_detail()
    shown.driver.refresh()
    assert "主要指标" in shown.one("body").text  # the choice is remembered
    shown.one("#language").click()
    assert "Headline" in shown.one("body").text


def test_light_and_dark(shown: Report) -> None:
    before = shown.js("getComputedStyle(document.body).backgroundColor")
    shown.one("#theme").click()
    dark = shown.js("getComputedStyle(document.body).backgroundColor")
    assert dark != before
    shown.driver.refresh()
    assert shown.js("getComputedStyle(document.body).backgroundColor") == dark
    shown.one("#theme").click()
    assert shown.js("getComputedStyle(document.body).backgroundColor") == before


def test_a_keyboard_is_enough(shown: Report) -> None:
    shown.driver.execute_script("document.querySelector('#text').focus()")
    shown.driver.switch_to.active_element.send_keys("q011")
    for _ in range(20):
        focused = shown.driver.switch_to.active_element
        if focused.tag_name == "a":
            break
        focused.send_keys(Keys.TAB)
    outline = str(shown.js("getComputedStyle(document.activeElement).outlineStyle"))
    assert outline == "solid"
    focused.send_keys(Keys.ENTER)
    shown.until("document.querySelector('#detail').open")
    assert shown.js("document.querySelector('#detail').contains(document.activeElement)")
    shown.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    shown.until("!document.querySelector('#detail').open")
    assert shown.js("document.activeElement.tagName") == "A"


def test_nothing_is_wider_than_a_phone(shown: Report) -> None:
    shown.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        assert shown.js("document.documentElement.scrollWidth <= innerWidth")
        shown.driver.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true })")
        assert shown.js("document.documentElement.scrollWidth <= innerWidth")
        shown.one("#list a").click()
        assert shown.js("document.querySelector('#detail').scrollWidth <= innerWidth")
    finally:
        shown.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_copying_a_table(shown: Report) -> None:
    origin = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    shown.driver.execute_cdp_cmd("Browser.grantPermissions", origin)
    shown.driver.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    shown.one('[data-copy="copy-1"]').click()
    shown.until("document.querySelector('[data-copy=\"copy-1\"]').textContent === 'Copied'")
    copied = shown.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert "\\begin{tabular}" in copied


def test_several_runs_are_tabs(chromium: webdriver.Chrome, files: Path) -> None:
    chromium.get((files / "two.html").as_uri())
    shown = Report(chromium)
    assert "holds a part" in shown.one(".limited").text
    assert [section.is_displayed() for section in shown.all("[data-run]")] == [True, False]
    shown.one('[data-tab="1"]').click()
    assert [section.is_displayed() for section in shown.all("[data-run]")] == [False, True]
    assert {row[0] for row in shown.rows()} == {"–"}
    shown.one("#list a").click()
    assert "first: 韩非子" in shown.one("#detail").text
    assert shown.complaints() == []
