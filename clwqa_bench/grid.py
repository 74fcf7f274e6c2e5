"""The grid every number is computed on: all questions of one split, each with its prediction or none.

The rows come from the dataset and never from the submission, so what a system left out counts as no answer.
Predictions are joined by id alone; an unknown or a repeated id stops everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.errors import MetricError, PredictionError
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.matching import Matches, Policy, QuestionMatch, match_answers
from clwqa_bench.predictions import STATUSES, DatasetRef, PredictedAnswer, Prediction, Status
from clwqa_bench.records import Anchor, Answer, StandardPath, TripleRef
from clwqa_bench.stats import cluster_codes

Outcome = Literal[Status, "missing"]
OUTCOMES: tuple[Outcome, ...] = (*STATUSES, "missing")
"""What became of a question: the status of its prediction, or `missing` if there is no line for it."""

SHOWN_IDS = 5  # how many ids an error message lists


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """What scoring needs of a question.  `group` is the fact group, the cluster of all statistics; `strata`
    are names like "hops=2" that the question counts towards.  The answers of an `ordered` one are a list."""

    id: str
    text: str
    answers: tuple[Answer, ...]
    group: str
    strata: tuple[str, ...] = ()
    target_element: str = ""
    anchors: tuple[Anchor, ...] = ()
    standard_paths: tuple[StandardPath, ...] = ()
    evidence: tuple[TripleRef, ...] = ()
    ordered: bool = False


@dataclass(frozen=True)
class Gold:
    """All questions of one split, sorted by id, and the graph they are about if there is one.

    Raises PredictionError (of the gold, not of a prediction) when there is no question, an id occurs twice
    or a question has no answer.
    """

    ref: DatasetRef
    questions: tuple[GoldQuestion, ...]
    graph: GraphStore | None = None

    def __post_init__(self) -> None:
        ids = [question.id for question in self.questions]
        if not ids:
            raise PredictionError("the gold holds no question", fix="name a split that has some")
        if repeated := [id for id, times in Counter(ids).items() if times > 1]:
            raise PredictionError(
                f"the gold holds {_some(repeated)} more than once", fix="give every question one id"
            )
        if bare := [question.id for question in self.questions if not question.answers]:
            raise PredictionError(
                f"no gold answer for {_some(bare)}",
                fix="leave unanswerable questions out; recall and F1 are not defined for them",
            )
        if ids != sorted(ids):
            object.__setattr__(self, "questions", tuple(sorted(self.questions, key=lambda q: q.id)))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Ids of all questions, sorted."""
        return tuple(question.id for question in self.questions)

    def only(self, ids: Collection[str]) -> Gold:
        """The gold of some of the questions; itself if they are all of them."""
        if len(ids) == len(self.questions):
            return self
        return replace(self, questions=tuple(q for q in self.questions if q.id in ids))

    @cached_property
    def clusters(self) -> NDArray[np.int64]:
        """Fact group of every question as a code 0, 1, ... in the order of group names; shape (questions,)."""
        return cluster_codes([question.group for question in self.questions])

    @cached_property
    def strata(self) -> Mapping[str, NDArray[np.bool_]]:
        """Which questions a stratum holds, by its name, names sorted; each of shape (questions,)."""
        rows: dict[str, list[int]] = {}
        for row, question in enumerate(self.questions):
            for name in question.strata:
                rows.setdefault(name, []).append(row)
        masks = {name: np.zeros(len(self.questions), bool) for name in sorted(rows)}
        for name, mask in masks.items():
            mask[rows[name]] = True
        return masks

    def bearers(self, surface: str, element: str) -> Sequence[str]:
        """Entities of an element (ontology type) that bear a name; none if there is no graph to ask."""
        if self.graph is None:
            return ()
        found = self._bearers.get((surface, element))  # every policy asks about the same names
        if found is None:
            found = self._bearers[surface, element] = self.graph.lookup(surface, element or None)
        return found

    @cached_property
    def _bearers(self) -> dict[tuple[str, str], Sequence[str]]:
        return {}


@dataclass(frozen=True)
class Grid:
    """Gold with one prediction, or None, per question.  Make one with :func:`align`.

    `verdicts` are a judge's rulings by (question id, answer text); see the policy `judge`.
    """

    gold: Gold
    predictions: tuple[Prediction | None, ...]
    verdicts: Mapping[tuple[str, str], bool] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.predictions)

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The status of every question's prediction."""
        return tuple(p.status if p is not None else "missing" for p in self.predictions)

    @cached_property
    def answers(self) -> tuple[tuple[PredictedAnswer, ...], ...]:
        """The answers given to every question, first rank first; () for whatever has none."""
        return tuple(p.answers if p is not None else () for p in self.predictions)

    @cached_property
    def unranked(self) -> tuple[str, ...]:
        """Ids of questions with several answers in no declared order."""
        return tuple(p.id for p in self.predictions if p and len(p.answers) > 1 and not p.ranked)

    @cached_property
    def _matches(self) -> dict[Policy, Matches]:
        return {}

    def matches(self, policy: Policy) -> Matches:
        """Which answers are right under a policy; worked out once per policy.

        Raises MetricError for a judge's policy if no judge has ruled.
        """
        if policy.name == "judge" and not self.verdicts:
            raise MetricError(
                "no answer has a judge's ruling",
                fix="score with the verdicts of `clwqa-bench judge` (--judge)",
            )
        if policy not in self._matches:
            self._matches[policy] = Matches.of(
                [self.match(row, policy) for row in range(len(self))],
            )
        return self._matches[policy]

    def match(self, row: int, policy: Policy) -> QuestionMatch:
        """The same for one question, with the gold every answer was credited to."""
        question = self.gold.questions[row]
        return match_answers(
            policy,
            self.answers[row],
            question.answers,
            bearers=lambda surface: self.gold.bearers(surface, question.target_element),
            verdict=lambda text: self.verdicts.get((question.id, text)),
        )


def align(
    gold: Gold,
    predictions: Sequence[Prediction],
    verdicts: Mapping[tuple[str, str], bool] | None = None,
    *,
    where: Callable[[int], tuple[str | Path | None, int | None]] = lambda _: (None, None),
) -> Grid:
    """Join predictions to questions by id; `where` gives file and line of a prediction by its position.

    Raises PredictionError for an id that occurs twice or is not in the split.
    """
    by_id: dict[str, Prediction] = {}
    known = set(gold.ids)
    for position, prediction in enumerate(predictions):
        what = fix = ""
        if prediction.id in by_id:
            what = f"a second prediction for {prediction.id}"
            fix = "keep one line per question; which one counts is not for the scorer to guess"
        elif prediction.id not in known:
            where_asked = f"the {gold.ref.split} split of {gold.ref.name} {gold.ref.version}"
            what = f"{prediction.id} is not among the {len(known):,} questions asked of {where_asked}"
            fix = "score against the dataset, split and sample that were asked"
        if what:
            file, line = where(position)
            raise PredictionError(what, fix=fix, file=file, line=line, field="id")
        by_id[prediction.id] = prediction
    rows = tuple(by_id.get(question.id) for question in gold.questions)
    return Grid(gold, rows, verdicts or {})


def _some(ids: Sequence[str]) -> str:
    """The first few ids, and how many more there are."""
    more = len(ids) - SHOWN_IDS
    return ", ".join(ids[:SHOWN_IDS]) + (f" and {more} more" if more > 0 else "")
