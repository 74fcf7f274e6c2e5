"""The balanced draw of the extension set, and its splits.

All templates take turns, so that every operation gets as many questions and none is asked in one way only.  Questions
that tell a common fact form a component, and components are what is shared out among the splits; a question that
would make one larger than MAX_COMPONENT is not taken, so famous works and people do not tie everything together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clwqa_bench.records import OPERATIONS, SPLITS, Split
from clwqa_builders.operations.cases import Case
from clwqa_builders.questions.balance import SPLIT_SHARES
from clwqa_builders.questions.groups import assign_splits
from clwqa_builders.questions.select import priorities

MAX_COMPONENT = 40  # questions: one in a hundred of the whole set
OPERATION_FIRST = (
    300.0  # how much more it matters that an operation is divided in proportion than that a template is
)
MAX_NAMED = 4  # questions that name one entity


@dataclass(frozen=True)
class Drawn:
    """A question to be asked, its split, and the entity number that names its component."""

    case: Case
    split: Split
    group: int


class Components:
    """Facts joined by the questions that tell them together, a disjoint-set forest, and the questions of each tree."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self._questions: Counter[int] = Counter()

    def find(self, fact: int) -> int:
        """The least fact of the component."""
        root = self._parent.setdefault(fact, fact)
        while root != self._parent[root]:
            root = self._parent[root]
        while fact != root:
            self._parent[fact], fact = root, self._parent[fact]
        return root

    def join(self, facts: Iterable[int]) -> bool:
        """Add a question that tells these facts; False, and nothing is changed, if its component would be too large."""
        roots = sorted({self.find(fact) for fact in facts})
        questions = sum(self._questions[root] for root in roots) + 1
        if questions > MAX_COMPONENT:
            return False
        self._parent.update(dict.fromkeys(roots, roots[0]))
        self._questions[roots[0]] = questions
        return True


def draw(supply: Mapping[str, Sequence[Iterator[Case]]], quota: int, seed: int) -> list[Drawn]:
    """Up to ``quota`` questions of each family from its templates' cases.  Deterministic in its arguments."""
    components, named = Components(), Counter[int]()
    chosen: list[Case] = []
    open_: dict[str, list[Iterator[Case]]] = {family: list(supply.get(family, ())) for family in OPERATIONS}
    taken: Counter[str] = Counter()
    while any(open_.values()):
        for family, templates in open_.items():
            if not templates:
                continue
            cases = templates.pop(0)
            case = _next(cases, components, named)
            if case is None:
                continue
            chosen.append(case)
            named.update(case.anchors)
            taken[family] += 1
            templates.append(cases)
            if taken[family] == quota:
                templates.clear()
    return _divided(chosen, components, seed)


def _next(cases: Iterator[Case], components: Components, named: Mapping[int, int]) -> Case | None:
    """The next case that may be taken; None if there is none left."""
    for case in cases:
        if all(named.get(a, 0) < MAX_NAMED for a in case.anchors) and components.join(case.facts):
            return case
    return None


def _divided(chosen: Sequence[Case], components: Components, seed: int) -> list[Drawn]:
    """Every case with its split: each operation is shared out in proportion, and as far as may be each template."""
    roots = [components.find(next(iter(case.facts))) for case in chosen]
    groups = sorted(set(roots))
    number = {root: i for i, root in enumerate(groups)}
    templates = sorted({case.template.id for case in chosen})
    column = {name: i for i, name in enumerate((*OPERATIONS, *templates))}
    importance = np.where(np.arange(len(column)) < len(OPERATIONS), OPERATION_FIRST, 1.0)
    weights = np.zeros((len(groups), len(column)))
    for case, root in zip(chosen, roots, strict=True):
        weights[number[root], [column[case.template.spec.family], column[case.template.id]]] += 1
    shares = np.array([SPLIT_SHARES[split] for split in SPLITS])
    order = priorities(seed, "operations", [(str(root),) for root in groups])
    split = assign_splits(weights, shares, order, importance)
    return [
        Drawn(case, SPLITS[int(split[number[root]])], root) for case, root in zip(chosen, roots, strict=True)
    ]
