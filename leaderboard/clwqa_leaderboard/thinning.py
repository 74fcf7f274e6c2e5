"""Predictions without what no number of a board is computed from: wordings, details, what never touched the answer.

Stays: the answers; the paths and triples shown, by their ids; of every wording the names of golds and answers that
stand in it, once; what lies on the gold of what was retrieved and kept; what a question cost.  A run thinned so has the
scores, the stage profile and the probes of the whole one; `packing` proves it each time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeVar

from clwqa_bench.asking import Keep, on_gold, shortened
from clwqa_bench.diagnostics.trace import RANKING, Pool, Trail, read_trails
from clwqa_bench.grid import GoldQuestion, Grid
from clwqa_bench.matching import SHORTEST_CONTAINED, key_of
from clwqa_bench.metrics.shown import entities
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import (
    Citation,
    Evidence,
    EvidencePath,
    EvidenceText,
    EvidenceTriple,
    Label,
    PredictedAnswer,
    Prediction,
    Stage,
    TraceEvent,
)
from clwqa_bench.records import TripleRef
from clwqa_leaderboard.references import NOWHERE, SEPARATOR

T = TypeVar("T")
Walked = Callable[[frozenset[str]], frozenset[str]]
"""By relations that steps take, all relations that may be walked as one of them."""


def thinned(grid: Grid, ontology: Ontology) -> Iterator[Prediction | None]:
    """The predictions of a run, thinned, in the order of the grid; None where it has none."""
    trails, walked = read_trails(grid.predictions), cache(partial(_walked, ontology))
    for row, (prediction, trail) in enumerate(zip(grid.predictions, trails.of, strict=True)):
        if prediction is None:
            yield None
        else:
            question = grid.gold.questions[row]
            meant = tuple(entities(grid, row, answer) for answer in prediction.answers)
            names = _Names(question, prediction.answers, meant)
            evidence, ids = _evidence(prediction, names)
            linking = "linking" in trails.traced
            yield Prediction(
                id=prediction.id,
                status=prediction.status,
                ranked=prediction.ranked,
                answers=tuple(
                    PredictedAnswer(text=answer.text, entity_id=answer.entity_id, source=answer.source)
                    for answer in prediction.answers
                ),
                evidence=evidence,
                citations=tuple(_citation(citation, ids) for citation in prediction.citations),
                usage=prediction.usage,
                topics=() if prediction.trace else prediction.topics,
                trace=tuple(_trace(prediction, trail, names, walked, linking=linking)) if trail else (),
            )


@dataclass(frozen=True)
class _Names:
    """The names that a question is about: those of its golds, and of the answers given, with what these may mean."""

    question: GoldQuestion
    answers: Sequence[PredictedAnswer]
    meant: Sequence[frozenset[str]]

    @property
    def entities(self) -> frozenset[str]:
        """All that the answers may mean."""
        return frozenset().union(*self.meant)

    def left_of(
        self, texts: Sequence[EvidenceText], wordings: Sequence[str], nodes: Collection[str]
    ) -> list[str]:
        """What has to be left of the texts and of the other wordings of a pool, in this order.

        A name stays in the first that has it, and in none if the pool tells by ids: by a text that is about a gold,
        by one of its nodes that an answer may mean.
        """
        everything = [text.text for text in texts] + list(wordings)
        names: list[list[str]] = [[] for _ in everything]
        about = {text.entity_id for text in texts}
        for gold in self.question.answers:
            if gold.entity_id not in about:
                _place_first(names, everything[: len(texts)], (gold.label, *gold.aliases), SHORTEST_CONTAINED)
        for answer, meant in zip(self.answers, self.meant, strict=True):
            if meant.isdisjoint(nodes):
                _place_first(names, everything, (answer.text,))
        return [SEPARATOR.join(dict.fromkeys(of_one)) for of_one in names]


def _place_first(
    names: list[list[str]], wordings: Sequence[str], of_one: Sequence[str], shortest: int = 1
) -> None:
    """Leave one of the names in the first wording that has it, verbatim or by its comparison key."""
    keys = {key: name for name in of_one if len(key := key_of(name)) >= shortest}
    for place, wording in enumerate(wordings):
        if name := next((name for name in keys.values() if name in wording), None):
            names[place].append(name)
            return
    for place, wording in enumerate(wordings):
        if wording and (name := next((name for key, name in keys.items() if key in key_of(wording)), None)):
            names[place].append(name)
            return


# ---------------------------------------------------------------------- evidence


def _evidence(prediction: Prediction, names: _Names) -> tuple[Evidence, dict[str, str]]:
    """The evidence thinned, and the ids of its pieces by those they had."""
    shown = prediction.evidence
    nodes = {end for t in shown.shown() for end in (t.head, t.tail)}
    nodes.update(text.entity_id for text in shown.texts if text.entity_id is not None)
    wordings = [piece.text for piece in shown.paths] + [piece.text for piece in shown.triples]
    left = iter(names.left_of(shown.texts, wordings, nodes))
    worded = [text.model_copy(update={"text": next(left)}) for text in shown.texts]
    of_paths = [next(left) for _ in shown.paths]
    of_triples: dict[TripleRef, list[str]] = {}
    for piece in shown.triples:
        of_triples.setdefault(piece.triple, []).append(next(left))

    texts = _telling(worded, prediction, names)
    triples = sorted(of_triples, key=_key)
    places = {triple: f"t{place}" for place, triple in enumerate(triples, start=1)}
    ids = {path.id: f"p{place}" for place, path in enumerate(shown.paths, start=1)}
    ids |= {piece.id: places[piece.triple] for piece in shown.triples}
    ids |= {text.id: f"x{place}" for place, text in enumerate(texts, start=1)}
    evidence = Evidence(
        paths=tuple(
            EvidencePath(id=f"p{place}", triples=path.triples, text=text)
            for place, (path, text) in enumerate(zip(shown.paths, of_paths, strict=True), start=1)
        ),
        triples=tuple(
            EvidenceTriple(id=places[t], triple=t, text=SEPARATOR.join(filter(None, of_triples[t])))
            for t in triples
        ),
        texts=_numbered(texts),
    )
    return evidence, ids


def _telling(
    texts: Sequence[EvidenceText], prediction: Prediction, names: _Names
) -> tuple[EvidenceText, ...]:
    """The texts that tell something, once each: that name an answer or are about one, or that are cited."""
    cited = {citation.evidence_id for citation in prediction.citations if citation.ok}
    about = on_gold(names.question, names.entities)["texts"]
    telling = [text for text in texts if text.text or about(text) or text.id in cited]
    shown = prediction.evidence
    if texts and not (telling or shown.paths or shown.triples):
        return tuple(texts[:1])  # something was shown
    return _once(telling, lambda text: text.id if text.id in cited else _about(text))


def _numbered(texts: Sequence[EvidenceText]) -> tuple[EvidenceText, ...]:
    return tuple(
        EvidenceText(id=f"x{place}", text=text.text, entity_id=text.entity_id)
        for place, text in enumerate(texts, start=1)
    )


def _citation(citation: Citation, ids: dict[str, str]) -> Citation:
    id = ids.get(citation.evidence_id) if citation.ok else None
    return Citation(marker="", evidence_id=id or NOWHERE, ok=id is not None)


def _once(pieces: Iterable[T], key: Callable[[T], object]) -> tuple[T, ...]:
    first: dict[object, T] = {}
    for piece in pieces:
        first.setdefault(key(piece), piece)
    return tuple(first.values())


def _less(pieces: Iterable[T], known: Iterable[T], key: Callable[[T], object]) -> tuple[T, ...]:
    there = set(map(key, known))
    return tuple(piece for piece in pieces if key(piece) not in there)


def _triples(path: EvidencePath) -> tuple[TripleRef, ...]:
    return path.triples


def _about(text: EvidenceText) -> tuple[str | None, str]:
    return text.entity_id, text.text


def _key(triple: TripleRef) -> tuple[str, str, str]:
    return triple.head, triple.relation, triple.tail


# ---------------------------------------------------------------------- traces


def _trace(
    prediction: Prediction, trail: Trail, names: _Names, walked: Walked, *, linking: bool
) -> Iterator[TraceEvent]:
    """The events that tell a trail: what was linked, retrieved and kept of it, whatever steps led there."""
    if not prediction.trace:
        return
    labels = tuple(
        Label(element=element, entity_id=id)
        for id, elements in (trail.labels or {}).items()
        for element in elements
    )
    if linking:
        yield TraceEvent(stage="link", entities=tuple(sorted(trail.linked or ())), elements=labels)
    elif labels:
        yield TraceEvent(stage="plan", elements=labels)
    ranked = any(event.stage in RANKING for event in prediction.trace)
    kept = trail.kept if ranked and trail.kept is not None else Pool()
    if trail.retrieved is not None:
        evidence = prediction.evidence
        shown = Pool(evidence.paths, tuple(piece.triple for piece in evidence.triples), evidence.texts)
        # whether answers stand in it is asked of what was kept, of all that was retrieved only where nothing tells that
        asked = names if trail.kept is None else replace(names, answers=(), meant=())
        yield _event("retrieve", trail.retrieved, kept | shown, asked, walked)
    if ranked:
        yield _event("rank", kept, Pool(), names, walked).model_copy(update={"total": None})
    if trail.retrieved is None and not (linking or labels or ranked):
        yield TraceEvent(stage="answer")  # there was a trace


def _event(stage: Stage, pool: Pool, known: Pool, names: _Names, walked: Walked) -> TraceEvent:
    """What a pool holds, each piece once, less what is known to be in it: what was shown had been retrieved."""
    paths, triples = _once(pool.paths, _triples), tuple(sorted(set(pool.triples), key=_key))
    texts = _once(pool.texts, _about)
    total = max(len(paths), len(triples), len(texts)) or None
    paths = _less(paths, known.paths, _triples)
    triples = _less(triples, known.triples, _key)
    texts = _less(texts, known.texts, _about)
    left = iter(names.left_of(texts, [path.text for path in paths], pool.nodes))
    texts = tuple(text.model_copy(update={"text": next(left)}) for text in texts)
    paths = tuple(path.model_copy(update={"text": next(left)}) for path in paths)
    whole = TraceEvent(stage=stage, paths=paths, triples=triples, texts=texts, total=total)
    cut = shortened(whole, lambda: _keep(names, walked), head=0)
    return cut.model_copy(
        update={
            "paths": tuple(
                EvidencePath(id=f"p{place}", text=path.text, triples=path.triples)
                for place, path in enumerate(cut.paths, start=1)
            ),
            "texts": _numbered(cut.texts),
        }
    )


def _keep(names: _Names, walked: Walked) -> Keep:
    """What a gold or an answer can be reached by.

    A path counts by itself; single triples count together, so those stay too that may lie between.
    """
    keep = on_gold(names.question, names.entities)
    steps = (step.relation for path in names.question.standard_paths for step in path.steps)
    between = walked(frozenset(steps))
    return {
        "paths": lambda path: path.text or keep["paths"](path),
        "triples": lambda triple: triple.relation in between or keep["triples"](triple),
        "texts": lambda text: text.text or keep["texts"](text),
    }


def _walked(ontology: Ontology, steps: frozenset[str]) -> frozenset[str]:
    """Relations that can be walked as one of these: itself, those below it, and those of a chain that amounts to it."""
    below = steps.union(*(ontology.sub_relations(step) for step in steps))
    chains = (chain for chain, amounts_to in ontology.property_chains.items() if amounts_to in below)
    return below.union(*chains)
