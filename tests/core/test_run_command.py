"""What `clwqa-bench run` makes of its options before anything is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from clwqa_bench.commands.common import key_values
from clwqa_bench.dataset import Dataset
from clwqa_bench.runs import read_run
from tests.conftest import Result
from tests.core.scripted import small_dataset
from tests.llm.server import says, serving


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return small_dataset(tmp_path_factory.mktemp("run-command") / "small")


@pytest.mark.parametrize("text", ["relax", "=true", ""])
def test_what_is_not_key_and_value_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not KEY=VALUE"):
        key_values([text], "--set")


def test_a_key_is_set_once_and_a_value_may_hold_anything() -> None:
    assert key_values(["a=b=c", "d="], "--set") == {"a": "b=c", "d": ""}
    with pytest.raises(typer.BadParameter, match="a is set twice"):
        key_values(["a=1", "a=1"], "--set")


def test_relax_is_a_setting_of_the_system_by_a_shorter_name(
    cli: Callable[..., Result], dataset: Dataset, tmp_path: Path
) -> None:
    where = ("--dataset", str(dataset.root), "--sample", "2", "--out")
    assert cli("run", "ceaf", *where, str(tmp_path / "short"), "--relax").code == 0
    assert cli("run", "ceaf", *where, str(tmp_path / "long"), "--set", "relax=true").code == 0
    short, long = (read_run(tmp_path / name).manifest for name in ("short", "long"))
    assert short == long
    assert short is not None
    assert short.config["relax"] is True


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("zero-shot", "--relax"), "zero-shot has no constraints to relax. Fix: leave --relax out"),
        (("ceaf", "--relax", "--set", "relax=false"), "relax is set twice"),
    ],
)
def test_relax_is_refused_where_it_means_nothing_or_two_things(
    arguments: tuple[str, ...], said: str, cli: Callable[..., Result], dataset: Dataset, tmp_path: Path
) -> None:
    done = cli("run", *arguments, "--dataset", str(dataset.root), "--out", str(tmp_path / "run"))
    assert (done.code, said in " ".join(done.err.split())) == (2, True)
    assert not (tmp_path / "run").exists()


def test_a_wrong_ranker_does_not_keep_the_folder(
    cli: Callable[..., Result], dataset: Dataset, tmp_path: Path
) -> None:
    arguments = (
        "run",
        "ceaf",
        "--dataset",
        str(dataset.root),
        "--sample",
        "2",
        "--out",
        str(tmp_path / "run"),
    )
    done = cli(*arguments, "--set", "ranker=cheep")
    assert (done.code, "did you mean 'cheap'" in done.err) == (2, True)
    assert not (tmp_path / "run").exists()
    assert cli(*arguments, "--set", "ranker=cheap").code == 0


def test_a_repetition_asks_anew_and_is_another_run(
    cli: Callable[..., Result], dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(says('{"answers": ["司马迁"]}')) as server:
        asked = (
            "run", "zero-shot", "--dataset", str(dataset.root), "--sample", "2", "--llm", "openai:a-model",
            "--llm-set", f"base_url={server.url}", "--out",
        )  # fmt: skip
        counts = []
        for out, *repeat in (("first",), ("again",), ("second", "--repeat", "1")):
            assert cli(*asked, str(tmp_path / out), *repeat).code == 0
            counts.append(len(server.requests))
        assert counts == [2, 2, 4], "the same run is answered from the cache, another repetition is not"
        refused = cli(*asked, str(tmp_path / "first"), "--repeat", "1")
    assert (refused.code, "config.llm.repeat is 0 there and 1 now" in " ".join(refused.err.split())) == (
        2,
        True,
    )


def test_rules_have_nothing_to_repeat(cli: Callable[..., Result], dataset: Dataset, tmp_path: Path) -> None:
    done = cli(
        "run", "kg-lookup", "--dataset", str(dataset.root), "--repeat", "1", "--out", str(tmp_path / "run")
    )
    assert (done.code, "leave --repeat out" in " ".join(done.err.split())) == (2, True)
