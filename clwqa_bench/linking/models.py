"""Linear models over the n-grams of a masked question: which element it means, which shape its path has.

Both are fitted on distinct masked questions with equal weight: what counts is wordings, not how often one is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.kg.protocol import Path
from clwqa_bench.linking.features import Floats, Grams
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import StandardPath

Way = tuple[str, Literal["out", "in", "both"], str]
"""One step: the relation, the way it is walked, the most specific type of the node reached."""
Signature = tuple[Way, ...]
Feature = tuple[str, ...]

STRENGTH = 100.0  # inverse of the regularisation; of 3, 10, 30, 100, 300 the knee on held-out templates
PENALTY = 0.01  # of the squared weights of the shape model
ITERATIONS = 60  # more fits the wordings seen better, not others


def signature_of(path: Path | StandardPath, types: Mapping[str, str] | None = None) -> Signature:
    """The signature of a gold path, or of a walk whose nodes have the given types."""
    if isinstance(path, StandardPath):
        return tuple((step.relation, step.direction, step.type) for step in path.steps)
    assert types is not None, "a walk does not say which types its nodes have"
    ends = (types[node] for node in path.nodes[1:])
    return tuple(zip(path.relations, path.senses, ends, strict=True))


@dataclass(frozen=True)
class Elements:
    """Which label a text calls for: multinomial logistic regression.  `weights` has shape (n-grams + 1, labels)."""

    grams: Grams
    labels: tuple[str, ...]
    weights: Floats

    @staticmethod
    def fit(texts: Mapping[str, Counter[str]]) -> Elements:
        """Learn from texts and how often each had which label; the commonest is the one learned."""
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

        rows = sorted(texts)
        wanted = [max(sorted(texts[row]), key=texts[row].__getitem__) for row in rows]
        grams = Grams.fit(rows)
        labels = sorted(set(wanted))
        if len(labels) == 1:
            return Elements(grams, tuple(labels), np.zeros((len(grams.vocabulary) + 1, 1), np.float32))
        model = LogisticRegression(C=STRENGTH, max_iter=500).fit(grams.matrix(rows), wanted)
        weights = np.vstack([model.coef_.T, model.intercept_]).astype(np.float32)
        if len(labels) == 2:  # one column says how much rather the second
            weights = np.hstack([-weights, weights]) / np.float32(2)
        return Elements(grams, tuple(labels), weights)

    def scores(self, text: str) -> dict[str, float]:
        """A score for each label, comparable within a text."""
        columns, values = self.grams.vector(text)
        scores = values @ self.weights[columns] + self.weights[-1]
        return dict(zip(self.labels, scores.tolist(), strict=True))


@dataclass(frozen=True)
class Shapes:
    """How well a path signature fits a text: a log-linear model over pairs of an n-gram and a feature of the signature.

    log P(signature | text) is, but for a constant of the text, the sum over all such pairs of their weights.  Since
    the features are its parts (steps, types, ends), a signature that was never seen gets a score as well.
    `weights` has shape (n-grams, features).
    """

    grams: Grams
    features: tuple[Feature, ...]
    weights: Floats
    ontology: Ontology
    _columns: dict[Signature, NDArray[np.intp]] = field(default_factory=dict, repr=False)

    @staticmethod
    def fit(texts: Mapping[str, Mapping[Signature, float]], ontology: Ontology) -> Shapes:
        """Learn from texts and how often each had which signature."""
        rows = sorted(texts)
        signatures = sorted({signature for row in rows for signature in texts[row]})
        described = [describe(signature, ontology) for signature in signatures]
        features = sorted(set().union(*described))
        place = {feature: i for i, feature in enumerate(features)}
        has = np.zeros((len(signatures), len(features)), np.float32)
        for row, found in zip(has, described, strict=True):
            row[[place[feature] for feature in found]] = 1
        number = {signature: i for i, signature in enumerate(signatures)}
        wanted = np.zeros((len(rows), len(signatures)), np.float32)
        for share, text in zip(wanted, rows, strict=True):
            share[[number[signature] for signature in texts[text]]] = list(texts[text].values())
        wanted /= wanted.sum(axis=1, keepdims=True)
        grams = Grams.fit(rows)
        return Shapes(grams, tuple(features), _maximise(grams, rows, wanted, has), ontology)

    def scores(self, text: str, signatures: Sequence[Signature]) -> list[float]:
        """A score for each signature, comparable within a text; 0 for one with no known part."""
        columns, values = self.grams.vector(text)
        each = values @ self.weights[columns]
        return [float(each[self._parts(signature)].sum()) for signature in signatures]

    def _parts(self, signature: Signature) -> NDArray[np.intp]:
        found = self._columns.get(signature)
        if found is None:
            parts = describe(signature, self.ontology)
            places = [i for i, feature in enumerate(self.features) if feature in parts]
            found = self._columns[signature] = np.array(places, np.intp)
        return found


def describe(signature: Signature, ontology: Ontology) -> frozenset[Feature]:
    """The features of a signature: a symmetric relation has no direction, sub-relations share their parent's."""
    found: set[Feature] = set()
    steps = [
        (ontology.parent_relation(r) or r, "both" if ontology.symmetric(r) else d) for r, d, _ in signature
    ]
    for (relation, _, type_), (parent, way) in zip(signature, steps, strict=True):
        found |= {("step", relation, way), ("step", parent, way)}
        found |= {("type", name) for name in (type_, *ontology.ancestors(type_))}
    if signature:
        end = signature[-1][2]
        found |= {("first", *steps[0]), ("last", *steps[-1])}
        found |= {("end", name) for name in (end, *ontology.ancestors(end))}
    return frozenset(found)


def _maximise(grams: Grams, texts: Sequence[str], wanted: Floats, has: Floats) -> Floats:
    """Weights of the highest penalised likelihood: softmax over the signatures (rows of `has`), by L-BFGS."""
    from scipy.optimize import minimize

    given = grams.matrix(texts)
    shape = given.shape[1], has.shape[1]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = flat.reshape(shape)
        logits = (given @ weights) @ has.T
        logits -= logits.max(axis=1, keepdims=True)
        chances = np.exp(logits)
        total = chances.sum(axis=1, keepdims=True)
        value = -(wanted * (logits - np.log(total))).sum() + PENALTY / 2 * (flat @ flat)
        slope = given.T @ ((chances / total - wanted) @ has) + PENALTY * weights
        return float(value), np.asarray(slope, np.float64).ravel()

    found = minimize(
        loss, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS}
    )
    return np.asarray(found.x.reshape(shape), np.float32)
