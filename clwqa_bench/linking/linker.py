"""What a question names and asks for, without a language model: a gazetteer and three linear models.

Learned from the train split: the element each mention is meant as, the element asked for, and the shape of the path
between them.  How each does on wordings it has never seen is measured by `clwqa-bench train linker`.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np

from clwqa_bench.diagnostics.elements import reference_element
from clwqa_bench.errors import DatasetError
from clwqa_bench.grid import GoldQuestion
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.linking.features import OTHER, PRIVATE, THIS, Grams, Span, masked
from clwqa_bench.linking.gazetteer import Gazetteer, Mention, verbatim
from clwqa_bench.linking.models import Elements, Shapes, Signature, signature_of
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Anchor, Question

if TYPE_CHECKING:
    from clwqa_bench.systems import Resources

LINKER_VERSION = 2
"""Raised by any change after which a linker learned before would answer otherwise."""
CAP = 5  # entities kept for a mention
NAMES, WEIGHTS = "names.json", "weights.npz"
REMEMBERED = 4096  # questions whose links are kept, since several stages ask about one


@dataclass(frozen=True, slots=True)
class LinkedAnchor:
    """A mention, the entities it may name (best first, at most five) and the element it is meant as."""

    mention: str
    entities: tuple[str, ...]
    element: str


@dataclass(frozen=True, slots=True)
class Linked:
    """What a question starts from and asks for; `masked` is what the shape model sees of it."""

    anchors: tuple[LinkedAnchor, ...]
    target_element: str
    masked: str


class Linker:
    """Made by :meth:`fit` or :meth:`load`; safe to use from several threads."""

    def __init__(
        self,
        graph: GraphStore,
        ontology: Ontology,
        common: Iterable[str],
        anchors: Elements,
        targets: Elements,
        shapes: Shapes,
    ) -> None:
        self.common = tuple(sorted(common))
        self.gazetteer = Gazetteer(graph, common=self.common)
        self.anchors, self.targets, self.shapes = anchors, targets, shapes
        self.ontology = ontology
        self._graph = graph
        self.link = lru_cache(REMEMBERED)(self._link)

    @staticmethod
    def fit(questions: Iterable[Question], graph: GraphStore, ontology: Ontology) -> Linker:
        """Learn from questions with gold; the same questions give the same linker, in any order.

        Raises DatasetError if there are none.
        """
        from threadpoolctl import threadpool_limits

        anchors: dict[str, Counter[str]] = defaultdict(Counter)
        targets: dict[str, Counter[str]] = defaultdict(Counter)
        paths: dict[str, Counter[Signature]] = defaultdict(Counter)
        for question in questions:
            named = sorted(question.anchors, key=lambda anchor: _span(question, anchor))
            spans = [_span(question, anchor) for anchor in named]
            for text, anchor in zip(_in_turn(question.question, spans), named, strict=True):
                anchors[text][reference(question, anchor, ontology)] += 1
            text = masked(question.question, spans, (_sign(a.elements[0], ontology) for a in named))
            targets[text][question.target_element] += 1
            paths[text].update({signature_of(path) for path in question.standard_paths})
        if not paths:
            raise DatasetError(
                "the train split has no questions to learn linking from",
                fix="use a dataset with a train split, or a system that needs no linker (kg-lookup, random)",
            )
        with threadpool_limits(1):  # sums in one order, whatever the machine
            return Linker(
                graph,
                ontology,
                Gazetteer(graph).names(targets),
                Elements.fit(anchors),
                Elements.fit(targets),
                Shapes.fit(paths, ontology),
            )

    def _link(self, question: str) -> Linked:
        """Anchors, each narrowed to entities of the element it is meant as, and the element asked for."""
        mentions = self.gazetteer.mentions(question)
        spans = [(mention.start, mention.end) for mention in mentions]
        pairs = zip(mentions, _in_turn(question, spans), strict=True)
        anchors = tuple(self._narrow(mention, text) for mention, text in pairs)
        kinds = (self._graph.types(anchor.entities[0])[0] for anchor in anchors)
        text = masked(question, spans, (_sign(kind, self.ontology) for kind in kinds))
        scores = self.targets.scores(text)
        return Linked(anchors, max(scores, key=scores.__getitem__), text)

    def scores(self, question: str, signatures: Sequence[Signature]) -> list[float]:
        """How well the shape of each path fits what the question asks; higher is better, comparable within a question.

        A signature is (relation, direction, most specific type reached) step by step; see `signature_of`.
        """
        return self.shapes.scores(self.link(question).masked, signatures)

    def _narrow(self, mention: Mention, text: str) -> LinkedAnchor:
        scores = self.anchors.scores(text)
        types = {node: self._graph.types(node) for node in mention.bearers}
        lowest = min(scores.values()) - 1

        def best(node: str) -> str:
            return max(reversed(types[node]), key=lambda label: scores.get(label, lowest))

        element = max((best(node) for node in mention.bearers), key=lambda label: scores.get(label, lowest))
        meant = tuple(node for node in mention.bearers if element in types[node])
        return LinkedAnchor(mention.text, verbatim(self._graph, mention.text, meant)[:CAP], element)

    # ------------------------------------------------------------------ on disk

    def save(self, folder: Path) -> None:
        """Write the linker into a folder: one .npz of weights, one .json of what their rows and columns are."""
        folder.mkdir(parents=True, exist_ok=True)
        models: dict[str, Elements | Shapes] = {
            "anchors": self.anchors,
            "targets": self.targets,
            "shapes": self.shapes,
        }
        arrays = {f"{name}_idf": model.grams.weights for name, model in models.items()}
        arrays |= {f"{name}_weights": model.weights for name, model in models.items()}
        np.savez_compressed(folder / WEIGHTS, **arrays)  # type: ignore[arg-type]
        names = {
            "common": self.common,
            "grams": {name: model.grams.vocabulary for name, model in models.items()},
            "labels": {"anchors": self.anchors.labels, "targets": self.targets.labels},
            "features": self.shapes.features,
        }
        (folder / NAMES).write_text(json.dumps(names, ensure_ascii=False), encoding="utf-8")

    @staticmethod
    def load(folder: Path, graph: GraphStore, ontology: Ontology) -> Linker:
        """Read what `save` wrote."""
        names = json.loads((folder / NAMES).read_text(encoding="utf-8"))
        with np.load(folder / WEIGHTS) as arrays:
            weights = {name: arrays[name] for name in arrays.files}

        def grams(model: str) -> Grams:
            return Grams(tuple(names["grams"][model]), weights[f"{model}_idf"])

        def elements(model: str) -> Elements:
            return Elements(grams(model), tuple(names["labels"][model]), weights[f"{model}_weights"])

        features = tuple(map(tuple, names["features"]))
        shapes = Shapes(grams("shapes"), features, weights["shapes_weights"], ontology)
        return Linker(graph, ontology, names["common"], elements("anchors"), elements("targets"), shapes)


def open_linker(resources: Resources) -> Linker:
    """The linker of a dataset: from its cache, or learned from its train split and kept there.

    Whoever asks while it is in use gets the same one, so the passages are read once and a question is linked once.
    """
    folder = resources.derived("linker", LINKER_VERSION)
    key = folder, id(resources.kg)
    linker = _in_use.get(key)
    if linker is None:
        if not (folder / NAMES).is_file():
            made = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}")
            Linker.fit(resources.train(), resources.kg, resources.ontology).save(made)
            with suppress(OSError):  # another run was first, and made the same
                made.rename(folder)
        linker = _in_use[key] = Linker.load(folder, resources.kg, resources.ontology)
    return linker


_in_use: WeakValueDictionary[tuple[Path, int], Linker] = WeakValueDictionary()


def _span(question: Question, anchor: Anchor) -> Span:
    start = question.question.find(f"“{anchor.mention}”") + 1 or question.question.index(anchor.mention)
    return start, start + len(anchor.mention)


def _in_turn(text: str, spans: Sequence[Span]) -> Iterator[str]:
    """The text once for each span, which is marked as the one looked at; a title is told from other names."""
    for this in range(len(spans)):
        signs = (THIS if place == this else OTHER for place in range(len(spans)))
        marked = (
            f"《{sign}》" if "《" in text[a:b] else sign for sign, (a, b) in zip(signs, spans, strict=True)
        )
        yield masked(text, spans, marked)


def _sign(kind: str, ontology: Ontology) -> str:
    return chr(PRIVATE + ontology.types.index(kind))


def reference(question: Question, anchor: Anchor, ontology: Ontology) -> str:
    """The element that the diagnostics count as right for an anchor."""
    gold = GoldQuestion(question.id, "", question.answers, "", standard_paths=question.standard_paths)
    return reference_element(gold, anchor, ontology)
