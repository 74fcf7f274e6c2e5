"""Measure a board: verifying a run on the whole test split, and the site with 100 submissions and with 1,000.

    python -m benchmarks board                  # data/clwqa-100k, and two boards drawn at random
    python -m benchmarks board --entries 300

What is verified is a run of kg-lookup, made for it.  `verify` and `render` run in fresh processes, as users call them.
The clicks are timed in a real Chromium, from the click to the next frame drawn; they are left out where there is none.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.watch import PROGRAM, Watched, watch
from tests.leaderboard.scene import FORM
from tests.leaderboard.site.made_up import MadeUp, many

PREDICTIONS, SUBMISSIONS, CROWD = 10_000, 100, 1_000
RUNS = 3
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
    parser.add_argument("--dataset", default="data/clwqa-100k", type=Path)
    parser.add_argument("--entries", type=int, default=SUBMISSIONS, help="submissions that are rendered")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        verified(arguments.dataset, Path(folder))
        print(f"{arguments.entries:,} submissions of {PREDICTIONS:,} predictions:")
        site = rendered(many(arguments.entries, PREDICTIONS), Path(folder) / "many")
        if shutil.which("chromium") and shutil.which("chromedriver"):
            with chromium(site) as driver:
                compare(driver)
            crowd = rendered(many(CROWD, 500), Path(folder) / "crowd")
            print(f"{CROWD:,} entries in Chromium:")
            with chromium(crowd) as driver:
                clicks(driver)
        else:
            print("there is no chromium with chromedriver: the clicks are left out")


def verified(dataset: Path, folder: Path) -> None:
    """Run kg-lookup on the test split, pack the run, and verify the bundle before an empty board; best of three."""
    run, form, bundle = folder / "run", folder / "disclosure.toml", folder / "kg-lookup.zip"
    form.write_text(FORM, encoding="utf-8")
    program("run", "kg-lookup", "--out", run, "--dataset", dataset)
    program("leaderboard", "pack", run, "--disclosure", form, "--out", bundle, "--dataset", dataset)
    verify = ("leaderboard", "verify", bundle, "--dataset", dataset)
    done = [program(*verify, "--submissions", folder / "boards", "--json") for _ in range(RUNS)]
    number = sum(json.loads(done[0].said)["statuses"].values())
    seconds, peak = min(each.seconds for each in done), max(each.peak for each in done)
    print(f"verify {number:,} predictions: {seconds:.2f} s (best of {RUNS}), {peak / 1e6:.0f} MB peak")


def program(*arguments: str | Path) -> Watched:
    return watch([*PROGRAM, *map(str, arguments)])


def rendered(made: MadeUp, folder: Path) -> Path:
    """Render a board with the command; returns the page of the board."""
    board = made.write(folder / "submissions")
    done = program("leaderboard", "render", "--board", board, "--out", folder / "site")
    size = sum(path.stat().st_size for path in (folder / "site").rglob("*") if path.is_file())
    print(
        f"  render {done.seconds:6.2f} s, {done.peak / 1e6:.0f} MB peak; "
        f"the site has {size / 1e6:.2f} MB, {len(made.stored):,} entries"
    )
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
