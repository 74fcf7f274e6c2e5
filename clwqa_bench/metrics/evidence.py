"""Measures of the evidence: is it the right evidence, is it in the graph, does it carry the answer.

`of=shown` looks at all that the model was shown, `of=cited` at the pieces that citations or the support of an answer
name.  A question to which a measure does not apply (no triple shown, so none can be made up) is left out of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from clwqa_bench.errors import MetricError
from clwqa_bench.grid import Grid
from clwqa_bench.matching import distinct
from clwqa_bench.metrics.graph import Key, in_graph
from clwqa_bench.metrics.measure import Columns, Form, Mask, Measure, Settings, once_per_grid, ratio, share
from clwqa_bench.metrics.overlap import Overlap, measures
from clwqa_bench.metrics.shown import (
    OF,
    Pieces,
    entities,
    gold_triples,
    is_carried,
    key,
    needed,
    pieces,
    triples,
)
from clwqa_bench.predictions import Prediction

# --- against the gold ---------------------------------------------------------------------------------------


def _triples(grid: Grid, settings: Settings) -> tuple[tuple[Key, ...], ...]:
    """Raises MetricError if there is not a single triple: then the run holds no evidence of this kind to judge."""
    found = triples(grid, str(settings.of))
    if not any(found):
        raise MetricError(
            f"no prediction has a triple {settings.of}", fix="record the evidence with the predictions"
        )
    return found


@once_per_grid
def _counts(grid: Grid, of: str) -> Overlap:
    given, golds = triples(grid, of), gold_triples(grid)
    right, found, wanted = np.zeros((3, len(grid)))
    for row, (of_row, gold) in enumerate(zip(given, golds, strict=True)):
        hit = gold.intersection(of_row)
        right[row] = len(hit)
        asked = needed(grid.gold.questions[row], gold, hit)
        found[row], wanted[row] = len(hit & asked), len(asked)
    return Overlap(
        right, np.array(list(map(len, given)), float), found, wanted, np.array(list(map(bool, golds)))
    )


def _overlap(grid: Grid, settings: Settings) -> Overlap:
    _triples(grid, settings)
    return _counts(grid, str(settings.of))


def _gain(grid: Grid, settings: Settings) -> Columns:
    """nDCG of the triples in the order shown; a gold triple gains 1, discounted by log2(rank + 1)."""
    given, golds, k = _triples(grid, settings), gold_triples(grid), settings.cutoff
    discount = (1 / np.log2(np.arange(k) + 2)).tolist()
    ideal = np.cumsum([0, *discount])[[min(len(gold), k) for gold in golds]]
    gained = [
        sum(d for d, triple in zip(discount, of_row, strict=False) if triple in gold)
        for of_row, gold in zip(given, golds, strict=True)
    ]
    return Columns.of(ratio(gained, ideal), applies=ideal > 0)


# --- against the graph --------------------------------------------------------------------------------------


@once_per_grid
def _made_up(grid: Grid) -> frozenset[Key]:
    """The triples shown that the graph does not hold."""
    if grid.gold.graph is None:
        raise MetricError("there is no graph to look triples up in", fix="score with the dataset's graph")
    distinct = list(dict.fromkeys(triple for of_row in triples(grid, "shown") for triple in of_row))
    held = in_graph(grid.gold.graph, distinct).tolist()
    return frozenset(triple for triple, is_held in zip(distinct, held, strict=True) if not is_held)


def _hallucinated(grid: Grid, settings: Settings) -> Columns:
    given, made_up = _triples(grid, settings), _made_up(grid)
    shown = np.array(list(map(len, given)))
    return Columns.of([sum(t in made_up for t in of_row) for of_row in given], shown, applies=shown > 0)


def _connected(grid: Grid, settings: Settings) -> Columns:
    given = pieces(grid, str(settings.of))
    shown = np.array([len(of_row.paths) for of_row in given])
    good = [_connected_paths(grid, row, of_row) if of_row.paths else 0 for row, of_row in enumerate(given)]
    return Columns.of(good, shown, applies=shown > 0)


def _connected_paths(grid: Grid, row: int, given: Pieces) -> int:
    """How many paths lead from an anchor, or where the system started, to one of its answers."""
    prediction = grid.predictions[row]
    topics = prediction.topics if prediction is not None else ()
    starts = {*topics, *(anchor.entity_id for anchor in grid.gold.questions[row].anchors)}
    ends = {id for answer in grid.answers[row] for id in entities(grid, row, answer)}
    return sum(not ends.isdisjoint(_reached(map(key, path.triples), starts)) for path in given.paths)


def _reached(walk: Iterable[Key], starts: Collection[str]) -> set[str]:
    """Where a walk along the triples, each either way, can end; nowhere if they do not hang together."""
    here = set(starts)
    for head, _, tail in walk:
        here = {end for start, end in ((head, tail), (tail, head)) if start in here}
    return here


# --- against the answers ------------------------------------------------------------------------------------


def _consistent(grid: Grid, _: Settings) -> Columns:
    counts = np.array([_resolved(p) if p is not None and p.citations else (0, 0) for p in grid.predictions])
    return Columns.of(*counts.T, applies=counts[:, 1] > 0)


def _resolved(prediction: Prediction) -> tuple[int, int]:
    known = prediction.evidence.ids()
    good = sum(citation.ok and citation.evidence_id in known for citation in prediction.citations)
    return good, len(prediction.citations)


@once_per_grid
def _unsupported(grid: Grid, of: str) -> tuple[tuple[bool, ...], ...]:
    """For every answer of every question, whether it is nowhere in the evidence."""
    evidence = zip(pieces(grid, of), triples(grid, of), strict=True)
    return tuple(
        _without_support(grid, row, given, of_row) if grid.answers[row] else ()
        for row, (given, of_row) in enumerate(evidence)
    )


def _without_support(grid: Grid, row: int, given: Pieces, of_row: Sequence[Key]) -> tuple[bool, ...]:
    nodes = {end for head, _, tail in of_row for end in (head, tail)}
    nodes.update(text.entity_id for text in given.texts if text.entity_id is not None)
    wordings = tuple(given.wordings())
    return tuple(not is_carried(grid, row, answer, nodes, wordings) for answer in grid.answers[row])


def _carriable(grid: Grid) -> Mask:
    """Questions whose answer stands in evidence: a number or a truth value is computed from it and stands nowhere."""
    return np.array([all(a.kind != "literal" for a in q.answers) for q in grid.gold.questions], bool)


def _support(grid: Grid, settings: Settings) -> Columns:
    without = _unsupported(grid, str(settings.of))
    given = np.array(list(map(len, without)))
    return Columns.of(list(map(sum, without)), given, applies=(given > 0) & _carriable(grid))


def _lucky(grid: Grid, settings: Settings) -> Columns:
    """Right answers that the evidence does not carry, and right answers."""
    without, m = _unsupported(grid, str(settings.of)), grid.matches(settings.policy)
    lucky = np.zeros(len(grid))
    for row, rank in zip(m.rows.tolist(), m.ranks.tolist(), strict=True):
        lucky[row] += without[row][distinct(grid.answers[row])[rank - 1]]
    return Columns.of(lucky, m.right, applies=(m.right > 0) & _carriable(grid))


MEASURES = (
    *measures(
        ("EvidenceP", "EvidenceR", "EvidenceF1"), "evidence", _overlap, of=OF,
        titles=("Evidence P", "Evidence R", "Evidence F1"),
    ),
    Measure("EvidencenDCG", "evidence", {None: Form(_gain)}, of=OF, k=10, title="Evidence nDCG@{k}"),
    Measure(
        "HallucinatedEdges", "evidence", {"micro": Form(_hallucinated, share)}, of=OF, direction=-1,
        title="Hallucinated edges",
    ),
    Measure(
        "PathConnectedness", "evidence", {"micro": Form(_connected, share)}, of=OF, title="Path connectedness"
    ),
    Measure(
        "CitationConsistency", "evidence", {"micro": Form(_consistent, share)}, title="Citation consistency"
    ),
    Measure(
        "AnswerWithoutSupport", "evidence", {"micro": Form(_support, share)}, of=OF, direction=-1,
        title="Answers without support",
    ),
    Measure(
        "CorrectButUnsupported", "evidence", {"micro": Form(_lucky, share)}, matched=True, of=OF, direction=-1,
        title="Right without support",
    ),
)  # fmt: skip
