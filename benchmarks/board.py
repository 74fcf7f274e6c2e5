"""Measure the site of a board: time and size with 100 submissions of 10,000 predictions, sorting with 1,000.

    python -m benchmarks board                  # the two boards are drawn at random, see tests/leaderboard/site
    python -m benchmarks board --entries 300

`render` runs in a fresh process, as users call it.  The clicks are timed in a real Chromium, from the click to the
next frame drawn; they are left out where there is none.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.leaderboard.site.made_up import MadeUp, many

PREDICTIONS, SUBMISSIONS, CROWD = 10_000, 100, 1_000
RENDER = "from clwqa_bench.cli import main; main()"
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900")
TIMED = """
const [selector, done] = arguments;
const begun = performance.now();
document.querySelector(selector).click();
requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=SUBMISSIONS, help="submissions that are rendered")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{arguments.entries:,} submissions of {PREDICTIONS:,} predictions:")
        site = rendered(many(arguments.entries, PREDICTIONS), Path(folder) / "many")
        if shutil.which("chromium") and shutil.which("chromedriver"):
            with chromium(site) as driver:
                compare(driver)
            crowd = rendered(many(CROWD, 500), Path(folder) / "crowd")
            print(f"{CROWD:,} entries in Chromium:")
            with chromium(crowd) as driver:
                clicks(driver)


def rendered(made: MadeUp, folder: Path) -> Path:
    """Render a board with the command; returns the page of the board."""
    board = made.write(folder / "submissions")
    command = ["leaderboard", "render", "--board", str(board), "--out", str(folder / "site")]
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", RENDER, *command], check=True, capture_output=True)
    seconds = time.perf_counter() - begun
    size = sum(path.stat().st_size for path in (folder / "site").rglob("*") if path.is_file())
    print(f"  render {seconds:6.2f} s, {size / 1e6:.2f} MB, {len(made.stored):,} entries")
    return folder / "site" / board.name / "index.html"


@contextmanager
def chromium(page: Path) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        begun = time.perf_counter()
        driver.get(page.as_uri())
        print(f"  open   {time.perf_counter() - begun:6.2f} s")
        yield driver
    finally:
        driver.quit()


def clicks(driver: Any) -> None:
    """Sorting the ranking by three columns, and turning to the heat maps."""
    for column in ("name", "calls", "rank"):
        print(f"  sort by {column}: {timed(driver, f'th[data-column={column}] button'):.0f} ms")
    print(f"  turn to the heat maps: {timed(driver, '#tabs a:nth-child(2)'):.0f} ms")


def compare(driver: Any) -> None:
    """All tests of two entries, from the click to the numbers."""
    begun = time.perf_counter()
    timed(driver, "#tabs a[href='#compare']")
    while not driver.execute_script("return document.querySelector('.tests')"):
        time.sleep(0.02)
    print(f"  compare two entries {time.perf_counter() - begun:.2f} s")


def timed(driver: Any, selector: str) -> float:
    """Milliseconds from a click to the frame after what it does."""
    found: float = driver.execute_async_script(TIMED, selector)
    return found


if __name__ == "__main__":
    main()
