"""Entries as compact JSON values: what the page of a board shows at once, and what it asks for later.

A share is a whole number of `UNIT`, so 12345 is 12.345 %.  A cell is [value, low, high] or [value, low, high, n] where
n is not the number of questions asked; it is null where there is no number.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from clwqa_bench.metrics import Metric
from clwqa_bench.ontology import Ontology
from clwqa_bench.report.names import GROUPS as METRIC_GROUPS
from clwqa_bench.report.names import (
    OUTCOMES,
    VERDICTS,
    by_reason,
    dimension_name,
    dimensions,
    main_metric,
    main_metrics,
    metric_groups,
    metric_name,
    notes_of,
    percent,
    stage_name,
    stratum_name,
)
from clwqa_bench.scoring import SMALL, WHOLE
from clwqa_bench.stats import RankInterval
from clwqa_leaderboard.board import BUNDLE, Stored
from clwqa_leaderboard.entry import Board, Entry, Miss, Number, Outcomes, columns
from clwqa_leaderboard.scores import METRICS
from clwqa_leaderboard.site.names import DISCLOSED, INDICATORS, indicator_name
from clwqa_leaderboard.site.ranks import ranks
from clwqa_leaderboard.succession import Claim, predecessor

UNIT = 1e-5
HALF = 50  # units: half of the last digit shown
CONFIG = 4_000  # characters of a configuration that a page shows; the bundle has all of it
COSTS = ("calls", "cached", "tokens_in", "tokens_out", "seconds", "cost")
MAIN = main_metric(map(str, METRICS))
"""The metric that entries are ranked by."""
RANKING = tuple(str(Metric.parse(name)) for name in ("Hits@1", "P", "R", "F1"))
"""Metrics that the ranking has columns for; all others are on the page of an entry."""
FIRST = ("hops", "category")  # families of strata, before the others

Values = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """Metrics, strata, indicators and stages that the entries of a board have, each with a fixed place."""

    metrics: tuple[str, ...]
    main: tuple[str, ...]
    strata: tuple[str, ...]
    indicators: Mapping[str, str]
    stages: tuple[str, ...]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Layout:
        present = {metric for entry in entries for metric in entry.scores}
        strata = sorted({s for entry in entries for numbers in entry.scores.values() for s in numbers})
        profiles = [entry.profile for entry in entries if entry.profile]
        found = {name: profile.labels.get(name, name) for profile in profiles for name in profile.indicators}
        stages = dict.fromkeys(loss.stage for profile in profiles for loss in profile.waterfall)
        metrics = tuple(m for m in map(str, METRICS) if m in present)
        return cls(
            metrics=metrics,
            main=main_metrics(metrics) if metrics else (),
            strata=tuple(name for names in by_dimension(strata).values() for name in names),
            indicators={name: found[name] for name in sorted(found, key=_indicator_place)},
            stages=tuple(sorted(stages, key=_stage_place)),
        )


def by_dimension(strata: Sequence[str]) -> dict[str, list[str]]:
    """Strata by dimension, in the order of the page."""
    found = dimensions(strata)
    return {d: found[d] for d in sorted(found, key=lambda d: FIRST.index(d) if d in FIRST else len(FIRST))}


def _indicator_place(name: str) -> tuple[int, str]:
    known = list(INDICATORS)
    return (known.index(name) if name in known else len(known), name)


def _stage_place(stage: str) -> tuple[int, str]:
    """Right answers first, then by the last stage that may have lost a question."""
    order = ["right", "unsupported", "linking", "elements", "retrieval", "ranking", "answering"]
    last = stage.replace(" or ", ", ").split(", ")[-1]
    return (order.index(last) if last in order else len(order), stage)


# ---------------------------------------------------------------------- a board


def board_values(board: Board, stored: Sequence[Stored], bundles: str, ontology: Ontology) -> Values:
    """Everything the table and its views need; `bundles` is the address of all boards' bundles, or empty."""
    entries = [one.entry for one in stored]
    layout, successors = Layout.of(entries), superseded(entries)
    possible = rank_intervals(board, [one for one in stored if one.entry.id not in successors])
    asked = next((entry for entry in entries if entry.questions == board.questions), None)
    return {
        "key": board.key,
        "ref": board.ref.model_dump(),
        "suite": board.suite,
        "questions": board.questions,
        "withheld": board.withheld,
        "small": SMALL,
        "bundles": f"{bundles.rstrip('/')}/{board.key}" if bundles else "",
        "bundle": BUNDLE,
        "metrics": [_metric(metric) for metric in layout.metrics],
        "groups": _groups(layout.metrics),
        "ranked_by": layout.metrics.index(MAIN) if MAIN in layout.metrics else -1,
        "ranking": [layout.metrics.index(metric) for metric in RANKING if metric in layout.metrics],
        "main": [layout.metrics.index(metric) for metric in layout.main],
        "dimensions": [
            [d, *dimension_name(d), [layout.strata.index(s) for s in names]]
            for d, names in by_dimension(layout.strata).items()
        ],
        "strata": [[*stratum_name(s, ontology), _size(asked, s)] for s in layout.strata],
        "indicators": [indicator_name(*item) for item in layout.indicators.items()],
        "stages": [stage_name(stage) for stage in layout.stages],
        "statuses": OUTCOMES,
        "verdicts": VERDICTS,
        "disclosed": DISCLOSED,
        "entries": [
            _row(entry, layout, successors.get(entry.id), possible.get(entry.id)) for entry in entries
        ],
    }


def superseded(entries: Iterable[Entry]) -> dict[str, str]:
    """Entries that a newer one replaces, by id: one signed with the same key that says so, or one to which the
    maintainers gave its place.  Whatever else claims to replace an entry does not."""
    claims = {entry.id: Claim.of(entry) for entry in entries}
    replaced = ((predecessor(claim, claims), id) for id, claim in claims.items())
    return {old: id for old, id in replaced if old and old != id}


def rank_intervals(board: Board, stored: Sequence[Stored]) -> dict[str, RankInterval]:
    """The ranks that the ranked entries may have under the main metric, by id; none where the gold is withheld."""
    compared = [one for one in stored if one.entry.standing == "ranked"]
    if board.withheld or not compared:
        return {}
    metric = Metric.parse(MAIN)
    by_entry = [columns(metric, one.outcomes, board.golds).values[:, 0] for one in compared]
    found = ranks(np.stack(by_entry, axis=1), np.array(board.groups))
    return {one.entry.id: interval for one, interval in zip(compared, found, strict=True)}


def _metric(metric: str) -> Values:
    return {"canonical": metric, "name": metric_name(metric), "direction": Metric.parse(metric).direction}


def _groups(metrics: Sequence[str]) -> list[list[Any]]:
    """[key, zh, en, places of its metrics]."""
    return [
        [group, *METRIC_GROUPS[group], [metrics.index(metric) for metric in names]]
        for group, names in metric_groups(metrics).items()
    ]


def _size(entry: Entry | None, stratum: str) -> int | None:
    """Questions of a stratum, as an entry that was asked all of them tells."""
    number = entry.number(MAIN, stratum) if entry else None
    return number.n if number else None


def _row(entry: Entry, layout: Layout, successor: str | None, possible: RankInterval | None) -> Values:
    """An entry as a row of the tables."""
    manifest, said = entry.manifest, entry.disclosure
    indicators = entry.profile.indicators if entry.profile else {}
    losses = {loss.stage: loss.percent for loss in entry.profile.waterfall} if entry.profile else {}
    return {
        "id": entry.id,
        "title": said.title,
        "system": f"{manifest.system} {manifest.variant}".strip(),
        "backbone": manifest.backbone,
        "authors": said.authors,
        "date": said.date.isoformat(),
        "code": said.code,
        "model": said.model,
        "standing": entry.standing,
        "questions": entry.questions,
        "signed": entry.signed_by,
        "successor": successor,
        "rank": [possible.best, possible.worst] if possible else None,
        "scores": [_cell(entry, entry.scores.get(metric, {}).get(WHOLE)) for metric in layout.metrics],
        "strata": [
            [_share(entry.scores.get(metric, {}).get(stratum)) for stratum in layout.strata]
            for metric in layout.main
        ],
        "cost": [_figures(getattr(entry.cost, name)) for name in COSTS],
        "indicators": [_cell(entry, indicators.get(name)) for name in layout.indicators],
        "losses": [losses.get(stage) for stage in layout.stages] if losses else [],
    }


def _cell(entry: Entry, number: Number | None) -> list[int | None] | None:
    if number is None:
        return None
    found = [_share(number), units_of(number.low), units_of(number.high)]
    return found if number.n == entry.questions else [*found, number.n]


def _share(number: Number | None) -> int | None:
    return None if number is None else units_of(number.value)


def units_of(value: float | None) -> int | None:
    """A share in units, so that the page writes it as `percent` does: what is neither nothing nor everything stays
    so, and half of the last digit becomes a little less or more."""
    if value is None:
        return None
    units = round(value / UNIT)
    if 0 < value < 1:
        units = min(max(units, 1), round(1 / UNIT) - 1)
    if units % HALF == 0 and units // HALF % 2:
        shown = percent(value)
        less = shown.startswith("<") or (not shown.startswith(">") and float(shown) < 100 * value)
        units += -1 if less else 1
    return units


def _figures(value: float) -> float:
    """Four significant figures."""
    return float(f"{value:.4g}")


# ---------------------------------------------------------------------- an entry


def entry_values(stored: Stored, layout: Layout) -> Values:
    """What the page of one entry shows and a row of the tables does not hold."""
    entry = stored.entry
    return {
        "id": entry.id,
        "manifest": _manifest(entry),
        "disclosure": entry.disclosure.model_dump(mode="json"),
        "contents": entry.contents,
        "sha256": entry.bundle,
        "statuses": dict(entry.statuses),
        "notes": notes_of(entry.notes),
        "left_out": by_reason(entry.left_out),
        "strata": [
            [_cell(entry, entry.scores.get(metric, {}).get(stratum)) for stratum in layout.strata]
            for metric in layout.main
        ],
        "waterfall": _waterfall(entry, layout),
        "misses": [_miss(miss, layout) for miss in entry.misses],
        "remarks": [[finding.what, finding.ids] for finding in entry.remarks],
        "outcomes": packed_outcomes(stored.outcomes),
    }


def _manifest(entry: Entry) -> Values:
    manifest = entry.manifest
    config = orjson.dumps(manifest.config, option=orjson.OPT_INDENT_2).decode("utf-8")
    return {
        "variant": manifest.variant,
        "code_version": manifest.code_version,
        "seed": manifest.seed,
        "oracle": manifest.oracle,
        "sample": manifest.sample,
        "config": config[:CONFIG] if manifest.config else "",
        "more_config": max(0, len(config) - CONFIG),
    }


def _waterfall(entry: Entry, layout: Layout) -> list[tuple[int, int, float]]:
    """(place of the stage, questions, per cent)."""
    losses = entry.profile.waterfall if entry.profile else ()
    return [
        (layout.stages.index(loss.stage), loss.questions, loss.percent) for loss in losses if loss.questions
    ]


def _miss(miss: Miss, layout: Layout) -> list[Any]:
    """[id, answers, verdict, status, place of the stage or -1]; the question itself is the board's."""
    lost = layout.stages.index(miss.lost) if miss.lost in layout.stages else -1
    return [miss.id, miss.answers, miss.verdict, miss.status, lost]


# ---------------------------------------------------------------------- question by question


def question_values(board: Board, entries: Iterable[Entry], layout: Layout) -> Values:
    """The questions that some entry shows as missed, and what paired tests need to know of every question."""
    place = {stratum: number for number, stratum in enumerate(layout.strata)}
    shown = {
        miss.id: [miss.question, miss.gold, [place[s] for s in miss.strata if s in place]]
        for entry in entries
        for miss in entry.misses
    }
    return {
        "shown": dict(sorted(shown.items())),
        "golds": packed(board.golds),
        "groups": packed(board.groups),
    }


def packed_outcomes(outcomes: Outcomes) -> Values | None:
    """The outcomes as one small number per question that stands for (first, right, items); None if they tell nothing.

    `first` is -1 where answers are not ranked.
    """
    if not outcomes.right:
        return None
    first = outcomes.first or (-1,) * len(outcomes.right)
    triples = np.column_stack([first, outcomes.right, outcomes.items])
    kinds, codes = np.unique(triples, axis=0, return_inverse=True)
    return {"kinds": kinds.tolist(), "codes": packed(codes.ravel().tolist())}


def packed(numbers: Sequence[int]) -> str:
    """Whole numbers from 0, compressed (zlib), in base64: a byte that says how many bytes each has, then all of them,
    the low byte first."""
    array = np.array(numbers, np.uint32)
    width = next(width for width in (1, 2, 4) if array.max(initial=0) < 256**width)
    content = bytes([width]) + array.astype(f"<u{width}").tobytes()
    return base64.b64encode(zlib.compress(content, 9)).decode("ascii")
