"""One way to find plug-ins: an entry-point group, read lazily, that suggests a name when one is mistyped."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from clwqa_bench.errors import ClwqaError


class PluginError(ClwqaError):
    """A plug-in that is not there, or that is there and cannot be imported."""


@dataclass(frozen=True)
class Summary:
    """What can be said of a plug-in without running it: its first docstring line, and what is wrong."""

    text: str = ""
    problem: str | None = None


@dataclass(frozen=True)
class Registry:
    """The plug-ins of one entry-point ``group``; ``noun`` is what messages call one of them."""

    group: str
    noun: str

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in sorted(entry_points(group=self.group), key=lambda e: e.name)}

    def names(self) -> list[str]:
        """All names, sorted; nothing is imported."""
        return list(self._entries)

    def load(self, name: str) -> Any:
        """Import and return the object called ``name``.

        Raises PluginError when there is no such name (with the nearest ones) or when its import fails.
        """
        entry = self._entry(name)
        try:
            return entry.load()
        except Exception as error:  # a plug-in is foreign code: importing it may raise anything
            raise PluginError(
                f"{self.noun} {name!r} ({entry.value}) cannot be loaded: {type(error).__name__}: {error}",
                fix=f"reinstall or remove the package that provides it ({_provider(entry)})",
            ) from error

    def summary(self, name: str) -> Summary:
        """Describe ``name`` from its source text alone, so that listing plug-ins imports none of them."""
        entry = self._entry(name)
        try:
            return _describe(entry)
        except Exception as error:  # noqa: BLE001 - finding a module imports its parents, which is foreign code
            return Summary(problem=f"{type(error).__name__}: {error}")

    def _entry(self, name: str) -> EntryPoint:
        if entry := self._entries.get(name):
            return entry
        near = get_close_matches(name, self._entries, n=3, cutoff=0.5)
        known = ", ".join(self._entries) or "none is installed"
        hint = f"did you mean {' or '.join(map(repr, near))}" if near else f"use a known one ({known})"
        raise PluginError(f"there is no {self.noun} {name!r}", fix=hint)


def _provider(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "unknown package"


def _describe(entry: EntryPoint) -> Summary:
    """Summary line of a function's own docstring, or of the module's when the entry is not a function."""
    spec = importlib.util.find_spec(entry.module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {entry.module!r}")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"), filename=spec.origin)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    docstring = ast.get_docstring(functions.get(entry.attr, tree)) or ""
    return Summary(text=docstring.partition("\n")[0], problem=_missing_import(tree))


def _missing_import(tree: ast.Module) -> str | None:
    """The first package imported at the top level that is not installed: the commonest way to be broken."""
    for node in tree.body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for root in (name.partition(".")[0] for name in names):
            if importlib.util.find_spec(root) is None:
                return f"it needs the package {root!r}, which is not installed"
    return None


COMMANDS = Registry("clwqa_bench.commands", "command")
SYSTEMS = Registry("clwqa_bench.systems", "system")
CHECKS = Registry("clwqa_bench.checks", "check")
TRAINERS = Registry("clwqa_bench.trainers", "trainer")
LLMS = Registry("clwqa_bench.llms", "language model")
