"""The page shows the tables that are kept, and these are what the code makes of the data that is built."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from clwqa_baselines.experiments.composition import composition
from clwqa_baselines.experiments.definitions import EXPERIMENTS
from clwqa_baselines.experiments.plan import NOT_ASKED
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import BuildError
from tests.conftest import REPOSITORY

AGAIN = "run: clwqa-bench experiment all --out OUT && python docs/experiments.py OUT"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """docs/experiments.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_experiments", REPOSITORY / "docs" / "experiments.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["PAGE", "README"])
def test_the_pages_show_the_tables_that_are_kept(script: ModuleType, page: str) -> None:
    text = getattr(script, page).read_text(encoding="utf-8")
    assert script.BLOCK.search(text)
    assert script.filled(text) == text, AGAIN


def test_every_experiment_is_shown(script: ModuleType) -> None:
    shown = script.BLOCK.findall(script.PAGE.read_text(encoding="utf-8"))
    assert [table for name, table in shown if name == "lexical"] == list(script.NAMES)
    kept = {table.name: table for table in script.read("lexical")}
    assert set(kept) == set(script.NAMES)
    assert not any(table.partial for table in kept.values())
    assert {table.sample for table in kept.values()} == {None}, "the page shows the whole test split"
    assert all(kept[name].rows for name in EXPERIMENTS)


def test_all_tables_of_the_page_are_of_one_dataset(script: ModuleType) -> None:
    tables = [
        table for name in ("lexical", "scorer", "local", "switches", "check") for table in script.read(name)
    ]
    assert len({(table.dataset.content, table.dataset.graph, table.suite) for table in tables}) == 1


def test_tables_on_other_questions_than_the_rest_are_refused(script: ModuleType, tmp_path: Path) -> None:
    main, hops = (table for table in script.read("lexical") if table.name in ("main", "hops"))
    script.refuse_mixed([main, hops], tmp_path)
    with pytest.raises(BuildError, match="different samples"):
        script.refuse_mixed([main, hops.model_copy(update={"sample": 200})], tmp_path)
    some = [main, hops.model_copy(update={"left_out": {"CoT": NOT_ASKED}})]
    with pytest.raises(BuildError, match="'hops' has only some of its rows"):
        script.refuse_mixed(some, tmp_path)
    script.refuse_mixed(some, tmp_path, whole=False)


def test_a_block_that_nobody_makes_is_named(script: ModuleType) -> None:
    with pytest.raises(BuildError, match="'sales'"):
        script.filled("<!-- experiment:lexical/sales --><!-- /experiment -->")


def test_a_table_that_was_not_made_is_said_to_be_missing(script: ModuleType) -> None:
    page = script.filled("<!-- experiment:nobody/main --><!-- /experiment -->")
    assert "Not measured yet with `--llm nobody`." in page


@pytest.mark.slow
def test_a_small_run_gives_the_numbers_that_are_kept(script: ModuleType, built: Path) -> None:
    """What changes them changes the page's numbers too, which take too long to make in a test."""
    [kept] = script.read("check")
    assert script.check(built) == kept, AGAIN


@pytest.mark.slow
def test_the_dataset_of_the_page_is_the_one_that_is_built(script: ModuleType, built: Path) -> None:
    kept = next(table for table in script.read("lexical") if table.name == "dataset")
    assert composition(Dataset.open(built, verify=False)) == kept, AGAIN
