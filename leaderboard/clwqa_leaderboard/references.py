"""Predictions written in references to the dataset's graph, and read back: what the graph says is not said again.

Entities are numbered by id, triples by head, relation and tail, from 0; the digest of the graph in `run.json` says
which graph that is.  What the graph does not have is written out.  `read` undoes `write` for every prediction that
`thinning.thinned` makes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import Literal, TypeVar

import orjson
from pydantic import NonNegativeInt

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.protocol import Entity, GraphStore
from clwqa_bench.predictions import (
    Citation,
    Evidence,
    EvidencePath,
    EvidenceText,
    EvidenceTriple,
    Label,
    Named,
    PredictedAnswer,
    Prediction,
    Stage,
    StageUsage,
    Status,
    TraceEvent,
)
from clwqa_bench.records import Record, TripleRef

SEPARATOR = "|"  # between the names that are left of a wording
QUOTED = 8  # signs from which a text is looked for inside others
NOWHERE = "-"  # what a citation means that means nothing shown
T = TypeVar("T")


class Quote(Record):
    """A piece of an entity's own text (of its label, if it has no text), by default all of it."""

    of: NonNegativeInt
    start: NonNegativeInt = 0
    end: NonNegativeInt | None = None


Node = NonNegativeInt | Named
"""An entity by number, or by id if the graph has no such entity."""
Edge = int | tuple[Node, str, Node]
"""A triple by number, or as it is."""
Words = NonNegativeInt | Quote | str
"""A text: the label of an entity, a piece of its text, or as it is."""


class Said(Record):
    """An answer; without `text` it is the label of its entity."""

    entity: Node | None = None
    text: Words | None = None
    source: Literal["graph", "parametric", "adapter"] = "graph"


class Pieces(Record):
    """Pieces of evidence, a text by what it is about.  `words` holds by piece the names that stand in its wording.

    The numbers of triples are differences: to the triple before, in paths to the one in the same place of the path
    before.  So they are small, and often the same.
    """

    paths: tuple[tuple[Edge, ...], ...] = ()
    triples: tuple[Edge, ...] = ()
    texts: tuple[Node | None, ...] = ()
    words: Mapping[str, tuple[Words, ...]] = {}


class Step(Pieces):
    """What came out of a stage; `total` is how many pieces there were; `entities` are differences too."""

    stage: Stage
    entities: tuple[int | Named, ...] = ()
    elements: tuple[tuple[str] | tuple[str, Node], ...] = ()
    total: NonNegativeInt | None = None


class Row(Record):
    """A prediction in references, one line of JSON.  `cited` has None for a citation of nothing that was shown."""

    id: Named
    status: Status
    ranked: bool = False
    answers: tuple[Said, ...] = ()
    evidence: Pieces = Pieces()
    cited: tuple[str | None, ...] = ()
    usage: Mapping[str, StageUsage] = {}
    topics: tuple[Node, ...] = ()
    trace: tuple[Step, ...] = ()

    def as_line(self) -> bytes:
        """The row as a line; whatever is as by default is left out."""
        return orjson.dumps(
            self.model_dump(mode="json", exclude_defaults=True), option=orjson.OPT_APPEND_NEWLINE
        )


class References:
    """The numbers of a graph's entities and triples.  Use :func:`references_of`, which remembers them."""

    def __init__(self, graph: GraphStore) -> None:
        self.graph = graph
        self._ids = sorted(graph.entities())
        self._triples = sorted((t.head, t.relation, t.tail) for t in graph.triples())
        self._refs: dict[int, TripleRef] = {}
        self._texts: dict[str, tuple[str, str]] = {}

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {id: number for number, id in enumerate(self._ids)}

    # ------------------------------------------------------------------ writing

    def write(self, prediction: Prediction, sources: Iterable[str] = ()) -> Row:
        """A thinned prediction in references; texts are looked for in the entities it names, and in `sources`."""
        quoted = _Quoted(self, sources)
        return Row(
            id=prediction.id,
            status=prediction.status,
            ranked=prediction.ranked,
            answers=tuple(self._said(answer, quoted) for answer in prediction.answers),
            evidence=self._pieces(prediction.evidence, quoted),
            cited=tuple(c.evidence_id if c.ok else None for c in prediction.citations),
            usage=prediction.usage,
            topics=tuple(map(self.node, prediction.topics)),
            trace=tuple(self._step(event, quoted) for event in prediction.trace),
        )

    def _said(self, answer: PredictedAnswer, quoted: _Quoted) -> Said:
        id, text = answer.entity_id, answer.text
        if id is not None and (entity := self.entity(id)) and entity.label == text:
            return Said(entity=self.node(id), source=answer.source)
        entity_ref = None if id is None else self.node(id)
        return Said(entity=entity_ref, text=quoted.words(text, id), source=answer.source)

    def _pieces(self, held: Evidence | TraceEvent, quoted: _Quoted) -> Pieces:
        triples = [t if isinstance(t, TripleRef) else t.triple for t in held.triples]
        worded: list[EvidencePath | EvidenceTriple | EvidenceText] = [*held.paths, *held.texts]
        worded += [t for t in held.triples if isinstance(t, EvidenceTriple)]
        return Pieces(
            paths=tuple(_differences([self._edge(t) for t in path.triples] for path in held.paths)),
            triples=tuple(chain(*_differences(zip(map(self._edge, triples))))),
            texts=tuple(None if t.entity_id is None else self.node(t.entity_id) for t in held.texts),
            words={
                piece.id: tuple(map(quoted.words, piece.text.split(SEPARATOR)))
                for piece in worded
                if piece.text
            },
        )

    def _step(self, event: TraceEvent, quoted: _Quoted) -> Step:
        return Step(
            **dict(self._pieces(event, quoted)),
            stage=event.stage,
            entities=tuple(chain(*_differences(zip(map(self.node, event.entities))))),
            elements=tuple(
                (label.element,) if label.entity_id is None else (label.element, self.node(label.entity_id))
                for label in event.elements
            ),
            total=event.total,
        )

    def node(self, id: str) -> Node:
        """The number of an entity, its id if the graph has no such one."""
        return self._numbers.get(id, id)

    def _edge(self, triple: TripleRef) -> Edge:
        key = (triple.head, triple.relation, triple.tail)
        at = bisect_left(self._triples, key)
        if at < len(self._triples) and self._triples[at] == key:
            return at
        return self.node(triple.head), triple.relation, self.node(triple.tail)

    def entity(self, id: str) -> Entity | None:
        """An entity, None if the graph has no such one."""
        try:
            return self.graph.entity(id)
        except GraphError:
            return None

    # ------------------------------------------------------------------ reading

    def read(self, row: Row) -> Prediction:
        """The prediction.  Raises ValueError for a number that the graph does not have."""
        return Prediction(
            id=row.id,
            status=row.status,
            ranked=row.ranked,
            answers=tuple(map(self._answer, row.answers)),
            evidence=self._evidence(row.evidence),
            citations=tuple(
                Citation(marker="", evidence_id=id or NOWHERE, ok=id is not None) for id in row.cited
            ),
            usage=row.usage,
            topics=tuple(map(self._id, row.topics)),
            trace=tuple(map(self._event, row.trace)),
        )

    def signs(self, row: Row) -> int:
        """The length of all texts that the row stands for.  Raises as `read` does."""
        texts = [len(self._words_of(said)) for said in row.answers]
        for words in chain(row.evidence.words.values(), *(step.words.values() for step in row.trace)):
            texts += [len(self._text(piece)) for piece in words]
            texts.append(len(SEPARATOR) * max(0, len(words) - 1))
        return sum(texts)

    def _words_of(self, said: Said) -> str:
        if said.text is not None:
            return self._text(said.text)
        if said.entity is None:
            raise ValueError("an answer is an entity, a text, or both")
        return said.entity if isinstance(said.entity, str) else self._text(said.entity)

    def _answer(self, said: Said) -> PredictedAnswer:
        text = self._words_of(said)
        id = None if said.entity is None else self._id(said.entity)
        return PredictedAnswer(text=text, entity_id=id, source=said.source)

    def _evidence(self, pieces: Pieces) -> Evidence:
        paths, triples, texts = self._lists(pieces)
        ids = _names("t", triples)
        worded = self._worded(pieces)
        return Evidence(
            paths=paths,
            triples=tuple(
                EvidenceTriple(id=id, triple=triple, text=worded.get(id, ""))
                for id, triple in zip(ids, triples, strict=True)
            ),
            texts=texts,
        )

    def _event(self, step: Step) -> TraceEvent:
        paths, triples, texts = self._lists(step)
        labels = (
            Label(element=label[0], entity_id=self._id(label[1]) if len(label) > 1 else None)
            for label in step.elements
        )
        return TraceEvent(
            stage=step.stage,
            entities=tuple(map(self._id, chain(*_sums(zip(step.entities))))),
            elements=tuple(labels),
            paths=paths,
            triples=triples,
            texts=texts,
            total=step.total,
        )

    def _lists(
        self, pieces: Pieces
    ) -> tuple[tuple[EvidencePath, ...], tuple[TripleRef, ...], tuple[EvidenceText, ...]]:
        worded = self._worded(pieces)
        paths = tuple(
            EvidencePath(id=id, triples=tuple(map(self._triple, path)), text=worded.get(id, ""))
            for id, path in zip(_names("p", pieces.paths), _sums(pieces.paths), strict=True)
        )
        texts = tuple(
            EvidenceText(id=id, text=worded.get(id, ""), entity_id=None if node is None else self._id(node))
            for id, node in zip(_names("x", pieces.texts), pieces.texts, strict=True)
        )
        return paths, tuple(map(self._triple, chain(*_sums(zip(pieces.triples))))), texts

    def _worded(self, pieces: Pieces) -> dict[str, str]:
        known = {id for letter, of in zip("ptx", (pieces.paths, pieces.triples, pieces.texts), strict=True)
                 for id in _names(letter, of)} if pieces.words else set()  # fmt: skip
        if strange := pieces.words.keys() - known:
            raise ValueError(f"words of {min(strange)}, which is no piece of evidence")
        return {id: SEPARATOR.join(map(self._text, words)) for id, words in pieces.words.items()}

    def _id(self, node: Node) -> str:
        return node if isinstance(node, str) else _at(self._ids, node)

    def _text(self, words: Words) -> str:
        if isinstance(words, str):
            return words
        if isinstance(words, int):
            return self._says(words)[0]
        return self._says(words.of)[1][words.start : words.end]

    def _says(self, number: int) -> tuple[str, str]:
        """The label of an entity, and its passage: looked up once, as thousands of references may quote it."""
        id = self._id(number)
        if id not in self._texts:
            entity = self.graph.entity(id)
            self._texts[id] = entity.label, passage(entity)
        return self._texts[id]

    def _triple(self, edge: Edge) -> TripleRef:
        if isinstance(edge, tuple):
            return TripleRef(head=self._id(edge[0]), relation=edge[1], tail=self._id(edge[2]))
        if edge not in self._refs:
            head, relation, tail = _at(self._triples, edge)
            self._refs[edge] = TripleRef(head=head, relation=relation, tail=tail)
        return self._refs[edge]


_made_once = lru_cache(maxsize=2)(References)


def references_of(graph: GraphStore) -> References:
    """The references of a graph, made once: numbering takes a second."""
    return _made_once(graph)  # type: ignore[arg-type]  # a store is its own identity


def passage(entity: Entity) -> str:
    """What an entity says: its own text, or its label if it has none."""
    return entity.text or entity.label


class _Quoted:
    """Where the texts of one prediction stand in the graph."""

    def __init__(self, references: References, sources: Iterable[str]) -> None:
        self._references = references
        self._sources = tuple(dict.fromkeys(sources))

    def words(self, text: str, of: str | None = None) -> Words:
        """A text as a reference if an entity says it: `of`, one of that name, or a source or what it leads to."""
        graph = self._references.graph
        for id in filter(None, (of, *graph.lookup(text))):
            if (found := self._quote(text, id, whole=id != of)) is not None:
                return found
        for id in self._sources if len(text) >= QUOTED else ():
            if self._references.entity(id) is None:
                continue
            for near in (id, *graph.neighbours(id, direction="out")):
                if (found := self._quote(text, near)) is not None:
                    return found
        return text

    def _quote(self, text: str, id: str, *, whole: bool = False) -> Words | None:
        entity, number = self._references.entity(id), self._references.node(id)
        if entity is None or isinstance(number, str):
            return None
        if entity.label == text:
            return number
        said = passage(entity)
        start = said.find(text)
        if start < 0 or (whole and said != text):
            return None
        return Quote(
            of=number, start=start, end=None if start + len(text) == len(said) else start + len(text)
        )


def _names(letter: str, pieces: Sequence[object]) -> list[str]:
    """Ids of pieces of evidence, by place from 1: p1, p2, ... of paths, t1, ... of triples, x1, ... of texts."""
    return [f"{letter}{place}" for place in range(1, len(pieces) + 1)]


def _differences(rows: Iterable[Sequence[int | T]]) -> Iterator[tuple[int | T, ...]]:
    """Each number less the last one in the same place of a row before it; what is no number stays as it is."""
    last = defaultdict[int, int](int)
    for row in rows:
        yield tuple(item - last[at] if isinstance(item, int) else item for at, item in enumerate(row))
        last.update((at, item) for at, item in enumerate(row) if isinstance(item, int))


def _sums(rows: Iterable[Sequence[int | T]]) -> Iterator[tuple[int | T, ...]]:
    """The rows that have these differences."""
    last = defaultdict[int, int](int)
    for row in rows:
        summed = tuple(item + last[at] if isinstance(item, int) else item for at, item in enumerate(row))
        last.update((at, item) for at, item in enumerate(summed) if isinstance(item, int))
        yield summed


def _at(items: Sequence[T], number: int) -> T:
    if not 0 <= number < len(items):
        raise ValueError(f"the graph has no number {number:,}: it ends at {len(items) - 1:,}")
    return items[number]
