"""The page of a reader in a real browser: verdicts by keyboard, nothing lost on reload, a file that `import` reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from clwqa_bench.ontology import Ontology
from clwqa_builders.pairs.rubric import load_rubric
from clwqa_builders.review import incoming, page, results, sheets
from clwqa_builders.review.folder import SHEETS, Review
from tests import tiny_dataset
from tests.browser.browser import PHONE, Page, started
from tests.builders.review_folder import lines, made

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ATTACK = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    """Each reader has a browser of its own: what a page keeps is part of what is tested."""
    with started(tmp_path, window=(1100, 1000)) as driver:
        yield driver


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Review:
    folder = tmp_path_factory.mktemp("审阅")
    first, *rest = tiny_dataset.QUESTIONS
    hostile = first.model_copy(update={"question": f"{first.question}{ATTACK}"})
    tiny_dataset.write(folder / "data", questions=[hostile, *rest])
    return made(folder, people=["甲"])


class Reader(Page):
    """The page under the hands of a reader."""

    def press(self, *keys: str) -> None:
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def go(self, item: str) -> None:
        """Turn to an item by its id."""
        place = self.driver.execute_script(
            "return data.items.findIndex(({ id }) => id === arguments[0])", item
        )
        self.driver.execute_script("go(arguments[0])", place)

    def pressed(self) -> list[str]:
        return [str(button.get_attribute("data-code")) for button in self.all('[aria-pressed="true"]')]

    def message(self) -> str:
        return self.one("#message").text


@pytest.fixture
def shown(chromium: webdriver.Chrome, review: Review) -> Iterator[Reader]:
    """The page as a new reader finds it; whatever the console complains of fails the test."""
    chromium.get((review.folder / SHEETS / "甲.html").as_uri())
    shown = Reader(chromium)
    yield shown
    assert shown.complaints() == []


def test_the_keyboard_is_enough(shown: Reader) -> None:
    shown.press("1", "2", "3", "4")
    assert shown.pressed() == ["pass", "minor", "fail", "unsure"]
    assert shown.one("#done").text.startswith("1 / 7")
    shown.press(Keys.ARROW_UP, "1")
    assert shown.pressed() == ["pass", "minor", "pass", "unsure"]
    shown.press(Keys.ARROW_RIGHT)
    assert shown.one("#number").get_attribute("value") == "2"
    assert shown.pressed() == []
    shown.press("1", Keys.ARROW_DOWN, "3")
    assert shown.pressed() == ["pass", "fail"]
    shown.press(Keys.ARROW_LEFT, "n", "n")
    assert shown.one("#number").get_attribute("value") == "3"
    shown.press("c")
    shown.press("12 并非如此", Keys.ESCAPE)
    assert shown.pressed() == []
    assert shown.one("#comment").get_attribute("value") == "12 并非如此"


def test_a_reload_keeps_what_was_said(shown: Reader) -> None:
    shown.press("1", "1", "1", "1", Keys.ARROW_RIGHT, "2", "c")
    shown.press("待查")
    shown.driver.refresh()
    shown.until("at.item === 1 && Object.keys(rulings).length === 2")
    assert shown.one("#number").get_attribute("value") == "2"
    assert shown.pressed() == ["minor"]
    assert shown.one("#comment").get_attribute("value") == "待查"
    assert shown.one("#done").text.startswith("1 / 7")


def test_two_windows_do_not_undo_each_other(shown: Reader) -> None:
    first = shown.driver.current_window_handle
    address = shown.driver.current_url
    shown.driver.switch_to.new_window("window")
    shown.driver.get(address)
    second = shown.driver.current_window_handle
    try:
        shown.driver.switch_to.window(first)
        shown.press("1")
        shown.driver.switch_to.window(second)
        shown.press(Keys.ARROW_RIGHT, "2")
        shown.until("Object.keys(rulings).length === 2")
        shown.driver.refresh()
        shown.until("Object.keys(rulings).length === 2")
        assert shown.pressed() == ["minor"]
    finally:
        shown.driver.switch_to.window(second)
        shown.driver.close()
        shown.driver.switch_to.window(first)


def test_a_page_kept_frozen_catches_up(shown: Reader) -> None:
    """A page that the browser kept for the way back is told of no change; it looks when it is shown again."""
    shown.press("1")
    ruling = '{"verdicts": {"validity": "fail"}, "comment": ""}'
    shown.driver.execute_script("localStorage.setItem(entry(data.items[1].id), arguments[0])", ruling)
    shown.driver.execute_script("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    shown.until("Object.keys(rulings).length === 2")


def test_the_file_it_saves_is_what_import_reads(shown: Reader, review: Review, tmp_path: Path) -> None:
    shown.one("#save").click()
    assert "nothing to save" in shown.message()
    first = str(shown.js("data.items[0].id"))
    shown.press("1", "1", "2", "3", "c")
    shown.press("引文有脱字", Keys.ESCAPE)
    shown.one("#save").click()
    saved = tmp_path / "downloads" / f"甲-{review.plan.id}.jsonl"
    WebDriverWait(shown.driver, 20).until(lambda _: saved.exists())
    rulings, empty = incoming.read([saved], review)
    assert empty == 0
    assert [(ruling.item, list(ruling.verdicts.values()), ruling.comment) for ruling in rulings] == [
        (first, ["pass", "pass", "minor", "fail"], "引文有脱字")
    ]
    assert review.add(rulings) == (1, 0)
    assert results.Findings.of(review).given(first, "validity") == {"甲": "fail"}
    shown.driver.execute_script("localStorage.clear()")
    shown.driver.refresh()
    shown.until("Object.keys(rulings).length === 0")
    shown.one("#load").send_keys(str(saved))  # on another machine: the file brings the state back
    shown.until("document.querySelector('#message').textContent.startsWith('Verdicts loaded')")
    assert shown.pressed() == ["pass", "pass", "minor", "fail"]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda line: line[:-3], "Not a verdict file, see line 1"),
        (lambda line: line.replace(b"annotator", b"reader"), "Of another review or reader, see line 1"),
        (lambda line: line.replace(b'"shown":"', b'"shown":"0'), "Of another review or reader, see line 1"),
        (lambda line: line.replace(b'"pass"', b'"good"'), "Not a verdict file, see line 1"),
    ],
)
def test_a_file_that_is_not_its_own_is_refused(
    spoil: Callable[[bytes], bytes], said: str, shown: Reader, review: Review, tmp_path: Path
) -> None:
    [sheet] = sheets.annotator_sheets(review)
    (tmp_path / "bad.jsonl").write_bytes(spoil(lines(sheet, {"q1": {"validity": "pass"}})))
    shown.one("#load").send_keys(str(tmp_path / "bad.jsonl"))
    shown.until("!document.querySelector('#message').hidden")
    assert said in shown.message()
    assert shown.js("Object.keys(rulings).length") == 0


def test_a_question_is_text(shown: Reader) -> None:
    shown.go("q1")
    assert ATTACK in shown.one("#item h2").text
    assert "taken" not in str(shown.js("document.title"))
    assert shown.js("document.querySelectorAll('img').length") == 0
    assert shown.js("document.querySelectorAll('script').length") == 2


def test_answers_path_and_passages_are_there(shown: Reader) -> None:
    shown.go("q2")
    text = shown.one("#item").text
    for part in (
        "“守株待兔”见于哪部书？",
        "韩非子",
        "守株待兔 —出自→ 韩非子·五蠹",
        "引文：兔走触株，折颈而死。",
    ):
        assert part in text


def test_two_languages_two_lights_and_a_phone(shown: Reader) -> None:
    assert "Evidence faithfulness" in shown.one("body").text
    shown.one("#language").click()
    body = shown.one("body").text
    assert "证据忠实" in body
    assert "Evidence" not in body
    before = shown.js("getComputedStyle(document.body).backgroundColor")
    shown.one("#theme").click()
    assert shown.js("getComputedStyle(document.body).backgroundColor") != before
    shown.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        shown.go("q1")
        assert shown.js("document.documentElement.scrollWidth <= innerWidth")
    finally:
        shown.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    shown.one("#language").click()


def test_pairs_with_the_rubric_beside_them(chromium: webdriver.Chrome, tmp_path: Path) -> None:
    review = made(tmp_path, "pairs", people=["甲"])
    [sheet] = sheets.annotator_sheets(review)
    (tmp_path / "pairs.html").write_text(page.html(sheet, load_rubric(Ontology.load())), encoding="utf-8")
    chromium.get((tmp_path / "pairs.html").as_uri())
    shown = Reader(chromium)
    shown.go("q4/expl:2")
    assert "释义：比喻没有眼光，取舍不当。" in shown.one("#item .node").text
    assert "The node is a gold answer." in shown.one("#rubric").text
    shown.one("#language").click()
    assert "节点就是标准答案。" in shown.one("#rubric").text
    shown.press("4")
    assert shown.pressed() == ["L4"]
    shown.press("0")
    assert shown.pressed() == ["unsure"]
    assert shown.complaints() == []


def test_an_adjudicator_sees_what_the_others_said(chromium: webdriver.Chrome, tmp_path: Path) -> None:
    review = made(tmp_path)
    for sheet, verdict in zip(sheets.annotator_sheets(review), ("pass", "fail"), strict=True):
        (tmp_path / "back.jsonl").write_bytes(lines(sheet, {"q2": {"validity": verdict}}, "读过"))
        review.add(incoming.read([tmp_path / "back.jsonl"], review)[0])
    [sheet] = results.open_sheet(results.Findings.of(review), review, "丙")
    (tmp_path / "丙.html").write_text(page.html(sheet), encoding="utf-8")
    chromium.get((tmp_path / "丙.html").as_uri())
    shown = Reader(chromium)
    said = shown.one("#item .said").text.splitlines()[1:]
    assert said == ["甲：问题有效 通过（读过）", "乙：问题有效 不通过（读过）"]
    assert shown.complaints() == []
