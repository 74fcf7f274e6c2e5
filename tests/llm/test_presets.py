"""Endpoints: presets, settings as text, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from clwqa_bench.errors import ClwqaError
from clwqa_bench.llm import open_llm
from clwqa_bench.llm.presets import endpoint, presets
from clwqa_bench.llm.protocol import Limits, LLMError, Options


def test_presets_are_complete() -> None:
    assert set(presets()) == {"glm-4-flash", "deepseek-v3", "qwen-plus"}
    for preset in presets().values():
        assert preset.base_url.startswith("https://")
        assert all((preset.model, preset.key_env, preset.rpm, preset.price_as_of, preset.price_source))
        assert preset.cost(1_000_000, 0) is not None


def test_every_setting_can_be_overridden() -> None:
    found = endpoint(
        "deepseek-v3", {"model": "deepseek-v3-0324", "rpm": "10", "price_in": "0.27", "top_p": "0.9"}
    )
    assert (found.model, found.rpm, found.price_in) == ("deepseek-v3-0324", 10, 0.27)
    assert found.parameters() == {"temperature": 0.0, "top_p": 0.9}
    assert found.base_url == presets()["deepseek-v3"].base_url


def test_a_model_without_preset_needs_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(LLMError, match="no address"):
        endpoint("my-model", {})
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1/")
    assert endpoint("my-model", {}).url == "http://127.0.0.1:8000/v1/chat/completions"


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"rpn": "5"}, "rpn"),
        ({"rpm": "0"}, "rpm"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": "nan"}, "temperature"),
        ({"format": "xml"}, "format"),
        ({"extra": "{"}, "extra"),
        ({"extra": "[1]"}, "extra"),
        ({"base_url": "ftp://host/v1"}, "base_url"),
        ({"base_url": "https://user:secret@host/v1"}, "base_url"),
        ({"base_url": "https://host/v1?key=secret"}, "base_url"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(settings: dict[str, str], field: str) -> None:
    with pytest.raises(ClwqaError) as caught:
        endpoint("glm-4-flash", settings)
    assert caught.value.field == field
    assert "secret" not in str(caught.value)


def test_no_key_is_needed_on_the_own_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for host in ("localhost", "127.0.0.1", "[::1]"):
        assert endpoint("m", {"base_url": f"http://{host}:8000/v1"}).key() is None
    with pytest.raises(LLMError, match="OPENAI_API_KEY"):
        endpoint("m", {"base_url": "https://example.org/v1"}).key()


@pytest.mark.parametrize(
    ("prices", "named"),
    [
        ({}, ["price_in", "price_out"]),
        ({"price_in": "1"}, ["price_out"]),
        ({"price_out": "1"}, ["price_in"]),
        ({"price_in": "0", "price_out": "0"}, []),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_a_limit_of_cost_needs_prices(prices: dict[str, str], named: list[str], dry: bool) -> None:
    settings = {"base_url": "http://127.0.0.1:8000/v1", **prices}
    options = Options(settings=settings, limits=Limits(cost=1.0), dry=dry)
    if not named:
        open_llm("openai:my-model", options=options)
        return
    with pytest.raises(LLMError, match="price of openai:my-model is not known") as caught:
        open_llm("openai:my-model", options=options)
    assert re.findall(r"price_\w+", str(caught.value.fix)) == named
    assert open_llm("openai:my-model", options=replace(options, limits=Limits(calls=1), dry=True))


def test_without_a_price_the_cost_is_not_known() -> None:
    for prices in ({}, {"price_in": "1"}, {"price_out": "1"}):
        assert endpoint("m", {"base_url": "http://127.0.0.1:8000/v1", **prices}).cost(10, 10) is None
    assert endpoint("glm-4-flash", {}).cost(10, 10) == 0.0


@pytest.mark.parametrize(
    ("model", "prices", "dry", "said"),
    [
        ("my-model", {}, False, True),
        ("my-model", {}, True, False),  # its table says "unknown"
        ("my-model", {"price_in": "0", "price_out": "0"}, False, False),
        ("glm-4-flash", {}, False, False),
    ],
)
def test_that_an_unknown_price_is_written_down_as_0_is_said(
    model: str, prices: dict[str, str], dry: bool, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"base_url": "http://127.0.0.1:8000/v1", **prices}
    open_llm(f"openai:{model}", options=Options(settings=settings, dry=dry))
    told = " ".join(capsys.readouterr().err.split())
    assert ("the price of openai:my-model is not known; costs are written down as 0" in told) == said


def test_a_spec_without_a_model_gets_a_hint() -> None:
    with pytest.raises(LLMError, match="openai:MODEL"):
        open_llm("openai")


def test_what_replies_depend_on_is_described_and_nothing_else() -> None:
    one = open_llm("openai:glm-4-flash", options=Options(dry=True)).describe()
    faster = {
        "rpm": "5",
        "concurrency": "1",
        "price_in": "3",
        "timeout": "9",
        "attempts": "2",
        "key_env": "K",
    }
    assert open_llm("openai:glm-4-flash", options=Options(dry=True, settings=faster)).describe() == one
    for settings in ({"temperature": "1"}, {"revision": "250414"}, {"format": "prompt"}, {"repairs": "0"}):
        assert open_llm("openai:glm-4-flash", options=Options(dry=True, settings=settings)).describe() != one
    assert open_llm("openai:glm-4-flash", options=Options(dry=True, language="en")).describe() != one


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, clwqa_bench.llm; "
        "print({'httpx', 'jinja2', 'sqlite3', 'torch', 'transformers', 'sklearn'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
