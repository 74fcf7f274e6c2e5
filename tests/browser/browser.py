"""A page in a real browser, under the hand of a reader."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--lang=en-US",
)  # fmt: skip
PHONE = {"width": 375, "height": 740, "deviceScaleFactor": 2, "mobile": True}


def program(*names: str) -> str:
    """The path of the first program that is installed."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.fail(
            f"{names[0]} is missing: apt-get install chromium chromium-driver, or leave out -m browser"
        )
    return found


class Page:
    """A page under the hand of a reader."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def js(self, expression: str) -> object:
        return self.driver.execute_script(f"return {expression}")

    def search(self, text: str) -> None:
        self.one("#text").clear()
        self.one("#text").send_keys(text)

    def until(self, condition: str) -> None:
        """Ten seconds for a condition; a failure says what the page had kept by then."""
        try:
            WebDriverWait(self.driver, 10).until(lambda driver: driver.execute_script(f"return {condition}"))
        except TimeoutException:
            kept = self.js("JSON.stringify({ title: document.title, kept: { ...localStorage } })")
            pytest.fail(f"never true: {condition}; {kept}; the console says {self.complaints()}")

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


@contextmanager
def started(profile: Path, window: tuple[int, int] = (1200, 900)) -> Iterator[webdriver.Chrome]:
    """A browser that remembers nothing; it downloads into its profile's `downloads`."""
    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium", "chromium-browser", "google-chrome")
    for flag in (*FLAGS, f"--user-data-dir={profile}", "--window-size={},{}".format(*window)):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(profile / "downloads")})
    driver = webdriver.Chrome(options=options, service=Service(program("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()
