"""Plug-ins are listed without being imported, loaded one at a time, and named when they are broken."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clwqa_bench.registry import PluginError, Registry, Summary

GROUP = "clwqa_test.plugins"
ENTRY_POINTS = f"""
    [{GROUP}]
    sound = madeup_sound:run
    object = madeup_object:app
    raises = madeup_raises:run
    lacks = madeup_lacks:run
    absent = madeup_absent:run
    garbled = madeup_garbled:run
"""
FILES = {
    "madeup_sound.py": '"""Module."""\ndef run():\n    """Do it well.\n\n    More.\n    """\n    return 1\n',
    "madeup_object.py": '"""A group of commands."""\napp = object()\n',
    "madeup_raises.py": 'def run():\n    """Never seen."""\nraise RuntimeError("on import")\n',
    "madeup_lacks.py": "import json\nimport madeup_dependency.part\n",
    "madeup_garbled.py": "def run(:\n",
}


@pytest.fixture
def plugins(install: Callable[..., Path]) -> Registry:
    install("madeup-plugins", "1.0", FILES, ENTRY_POINTS)
    return Registry(GROUP, "plug-in")


def test_names_are_sorted_and_nothing_is_imported(plugins: Registry) -> None:
    assert plugins.names() == ["absent", "garbled", "lacks", "object", "raises", "sound"]
    for name in plugins.names():
        plugins.summary(name)
    assert not sys.modules.keys() & {Path(name).stem for name in FILES}


def test_a_summary_is_the_first_docstring_line(plugins: Registry) -> None:
    assert plugins.summary("sound") == Summary("Do it well.")
    assert plugins.summary("object") == Summary("A group of commands.")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("absent", "No module named 'madeup_absent'"),
        ("garbled", "SyntaxError"),
        ("lacks", "it needs the package 'madeup_dependency', which is not installed"),
    ],
)
def test_a_summary_tells_what_can_be_known_to_be_broken(plugins: Registry, name: str, problem: str) -> None:
    assert problem in (plugins.summary(name).problem or "")


def test_loading_gives_the_object(plugins: Registry) -> None:
    assert plugins.load("sound")() == 1


@pytest.mark.parametrize("name", ["absent", "garbled", "lacks", "raises"])
def test_loading_a_broken_plugin_names_it_and_its_package(plugins: Registry, name: str) -> None:
    with pytest.raises(PluginError, match=f"plug-in '{name}' .* cannot be loaded") as caught:
        plugins.load(name)
    assert "madeup-plugins" in caught.value.fix


@pytest.mark.parametrize(
    ("typed", "hint"), [("sond", "did you mean 'sound'"), ("zzz", "use a known one (absent,")]
)
def test_an_unknown_name_is_answered_with_the_nearest(plugins: Registry, typed: str, hint: str) -> None:
    with pytest.raises(PluginError, match=f"there is no plug-in '{typed}'") as caught:
        plugins.load(typed)
    assert hint in caught.value.fix


def test_an_empty_group_says_so() -> None:
    with pytest.raises(PluginError) as caught:
        Registry("clwqa_test.nothing", "system").load("ceaf")
    assert "none is installed" in caught.value.fix
