"""From an experiment to run folders: one for each variant and language model, at a place named by its identity.

The place depends on nothing but what makes a run another run, so experiments share runs, and any of them goes on
where it was stopped.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from clwqa_baselines.experiments.design import Experiment, Variant
from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import ClwqaError
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.llm.protocol import Options
from clwqa_bench.predictions import RunManifest
from clwqa_bench.registry import SYSTEMS
from clwqa_bench.run_folder import manifest_bytes
from clwqa_bench.runner import Model, Selection, manifest_of, opened
from clwqa_bench.systems import load_system, system_class

UNSAFE = re.compile(r"[^A-Za-z0-9.=-]+")
LEXICAL = "lexical"  # the back-end that is no language model
NAMED = 60  # characters of a folder's name before the digest


class ExperimentError(ClwqaError):
    """An experiment that is unknown, or of which no row is left."""


class SharedGraph(Dataset):
    """A dataset whose graph is opened once for all runs of this process."""

    @cached_property
    def _graph(self) -> MemoryGraph:
        return super().kg(verify=True)

    def kg(self, verify: bool = False) -> MemoryGraph:
        """The graph, verified when it was opened."""
        return self._graph


@dataclass(frozen=True, slots=True)
class Setting:
    """What all runs of a command have in common; `llms` are specs, `given` fills blanks of variants."""

    dataset: Dataset
    selection: Selection
    runs: Path
    llms: tuple[str, ...] = ("lexical",)
    options: Options = field(default_factory=Options)
    given: Mapping[str, str] = field(default_factory=dict)

    def model(self, spec: str) -> Model:
        """A language model as runs open it; the lexical one has no settings."""
        return Model(spec, replace(self.options, settings={}) if spec == LEXICAL else self.options)


NOT_ASKED = "not asked for (--only)"


@dataclass(frozen=True, slots=True)
class Planned:
    """A row of a table before it has figures."""

    variant: Variant
    model: Model
    manifest: RunManifest
    folder: Path


@dataclass(frozen=True, slots=True)
class Plan:
    """An experiment's rows, and the rows it has not, with the reason."""

    experiment: Experiment
    rows: tuple[Planned, ...]
    left_out: Mapping[str, str]


def plan(
    experiment: Experiment, setting: Setting, *, only: Sequence[str] = (), added: Sequence[str] = ()
) -> Plan:
    """The rows of an experiment: those `only` names (by system or label), if any; if it is open, the systems `added`.

    Raises ExperimentError when none is left, PluginError and SettingError as `load_system` does, LLMError for a
    language model that cannot be used.
    """
    chosen = list(_chosen(experiment, only, added))
    left_out = {variant.label: NOT_ASKED for variant in experiment.variants if variant not in chosen}
    variants = []
    for variant in chosen:
        if why := _obstacle(variant, setting.given):
            left_out[variant.label] = why
        else:
            variants.append(variant.filled(setting.given))
    if not variants:
        listed = "; ".join(f"{label}: {why}" for label, why in left_out.items())
        raise ExperimentError(
            f"no row of {experiment.name!r} can be made ({listed})", fix="install or name what is missing"
        )
    rows: dict[Path, Planned] = {}
    for row in _rows(variants, setting):
        same = rows.setdefault(row.folder, row)  # one that asks no model is the same for all models
        if same.variant != row.variant:
            raise ExperimentError(
                f"the rows {same.variant.label!r} and {row.variant.label!r} are one and the same run",
                fix="name a scorer of its own for each",
            )
    return Plan(experiment, tuple(rows.values()), left_out)


def _chosen(experiment: Experiment, only: Sequence[str], added: Sequence[str]) -> Iterator[Variant]:
    known = list(dict.fromkeys(name for v in experiment.variants for name in (v.system, v.label)))
    for name in only:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            raise ExperimentError(
                f"{experiment.name!r} has no row {name!r}",
                fix=f"did you mean {near[0]!r}" if near else f"use one of {', '.join(known)}",
                field="only",
            )
    yield from (v for v in experiment.variants if not only or {v.system, v.label} & {*only})
    for name in added if experiment.open else ():
        system_class(name)  # said now if there is no such system
        if all(name != variant.system for variant in experiment.variants):
            yield Variant(name, name)


def _obstacle(variant: Variant, given: Mapping[str, str]) -> str | None:
    """Why a variant cannot be run here."""
    if variant.system not in SYSTEMS.names():
        return "no such system is installed"
    if lacks := variant.lacks(given):
        return f"it needs {', '.join('--' + name.replace('_', '-') for name in lacks)}"
    return None


def _rows(variants: Iterable[Variant], setting: Setting) -> Iterator[Planned]:
    selection, _ = setting.selection.of(setting.dataset)
    for spec in setting.llms:
        model = setting.model(spec)
        for variant in variants:
            manifest = _identity(variant, model, setting.dataset, selection)
            yield Planned(variant, model, manifest, setting.runs / place(manifest))


def _identity(variant: Variant, model: Model, dataset: Dataset, selection: Selection) -> RunManifest:
    """What `run.json` will hold; the language model is opened for its description only, which needs no key."""
    system = load_system(variant.system, variant.settings)
    dry = replace(model, options=replace(model.options, dry=True))
    with asyncio.Runner() as loop, opened(system, dataset, selection, variant.oracle, dry, loop) as setup:
        return manifest_of(setup, selection, dry)


def place(manifest: RunManifest) -> str:
    """The folder of a run: what it is in words, and a digest of its identity."""
    oracle = ("oracle", *manifest.oracle) if manifest.oracle else ()
    words = "-".join(filter(None, (manifest.system, manifest.variant, *oracle, manifest.backbone)))
    digest = hashlib.sha256(manifest_bytes(manifest)).hexdigest()
    return f"{UNSAFE.sub('_', words)[:NAMED]}-{digest[:12]}"
