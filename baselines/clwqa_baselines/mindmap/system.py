"""MindMap: draws a mind map from the paths between a question's entities and from what is around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from clwqa_baselines.mindmap.config import MindMapConfig
from clwqa_baselines.mindmap.neighbours import Row, rows, told
from clwqa_baselines.mindmap.paths import Chain, Finder, chains, joined, select
from clwqa_baselines.mindmap.tasks import (
    AnswerWithMindMap,
    ExtractEntities,
    MindMapAnswer,
    Piece,
    Probe,
    Sentences,
    Verbalise,
)
from clwqa_baselines.rules.ways import reached
from clwqa_baselines.shared.adapter import Adapter
from clwqa_baselines.shared.evidence import refs
from clwqa_baselines.shared.mentions import open_mentions
from clwqa_baselines.shared.names import namer
from clwqa_baselines.shared.replies import FLAGS, Ended, asked, failed, spared
from clwqa_baselines.shared.topics import ORACLES, Topics
from clwqa_baselines.shared.wrappers import outputs
from clwqa_bench.kg.protocol import Path, Sense
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import OutputT, Task
from clwqa_bench.predictions import (
    Citation,
    Evidence,
    EvidencePath,
    EvidenceTriple,
    Flag,
    Prediction,
    TraceEvent,
)
from clwqa_bench.records import QuestionView, TripleRef
from clwqa_bench.systems import Card, Context, OutOfBounds, Resources, System

SURE = 0.6  # the least score of a text that is not asked for again must be above it
MARK = re.compile(r"[\[【［]([PN])(\d+)[\]】］]")


class MindMap(System):
    """Entities, paths and neighbours, sentences, answer: four calls a question, a fifth if answers come as prose.

    If a call fails: the question has the status of the reply where entities are named and where it is answered.
    Evidence that could not be put into sentences is shown as it is.  A probe that fails counts as unsure, as in the
    code, and a second attempt that fails leaves the first.
    """

    name = "mindmap"
    uses_llm = True
    tasks = (ExtractEntities, Verbalise, AnswerWithMindMap, Probe)
    oracles = ORACLES
    Config = MindMapConfig
    config: MindMapConfig
    card = Card(
        citation="Wen, Wang, Sun: MindMap: Knowledge Graph Prompting Sparks Graph of Thoughts in Large Language "
        "Models. ACL 2024",
        calls="at most 5: 1 entities + 2 sentences + 1 answer + 1 where answers have to be picked out of prose; with "
        "`probe` at most 11; 1 less with `topics=linked` or gold anchors; 2 less without `verbalise` (`probe`: 6)",
        index="none with `index=names`; else an index of all entity names",
        weaknesses=(
            "What the extraction misses or gets wrong is never looked at.",
            "Relations are followed forwards alone, so nothing is found that points to an entity of the question.",
            "A question with one entity gets no paths: what is two steps away cannot be answered.",
            "Five rows of neighbours are told, the first entity's first.",
            "Sentences made from evidence may say what the evidence does not.",
        ),
        deviations=(
            "Entities are extracted when a question is asked, not offline: questions are not known before.",
            "`index=names` looks names and passages up; the code embeds names (`index=dense`).",
            "Neighbours over relations to diseases are not followed once more: a special case of a medical graph.",
            "A path over a waiting entity is noticed whatever its name: the code compares two spellings.",
            "A row of neighbours holds at most `tails` entities: a hub would fill every context.",
            "Of the shortest paths of a pair `most_paths` are looked at, and so many combinations of several pairs'.",
            "The probe is off: its one token is rarely a number, so it doubles nearly every call.",
        ),
    )

    def prepare(self, resources: Resources) -> None:
        config = self.config
        self._graph, self._ontology = resources.kg, resources.ontology
        self._search = open_mentions(config.index, resources)
        self._topics = Topics.open(resources)
        self._adapter = Adapter.open(resources, outputs)
        self._name = namer(resources.kg)
        self._between = Finder(
            resources.kg,
            config.path_length,
            config.shortest_paths,
            config.most_paths,
            directed=not config.inverse_edges,
            text=self._path_text,
        )

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        if "anchors" in ctx.oracle or self.config.topics == "linked":
            entities = _first_of_each((t.mention, t.id) for t in self._topics.find(question, ctx))
        else:
            reply = await spared(ExtractEntities(question=question.text), ctx)
            if reply and reply.value is None:
                ctx.trace.add(TraceEvent(stage="link", op=reply.status))
                return failed(question.id, reply)
            entities = self._link(reply.value.entities if reply and reply.value else (), ctx)
        if not entities and self.config.no_mention == "stop":
            return Prediction(id=question.id, status="empty", ranked=True, flags=("no_evidence",))
        shown = self._retrieve(entities, ctx)
        try:
            return await self._answer(question, entities, shown, ctx)
        except Ended as ended:
            fields: dict[str, Any] = {"topics": entities, "evidence": self._evidence(shown)}
            return failed(question.id, ended.reply, flags=shown.flags, **fields)

    # ------------------------------------------------------------------ entities

    def _link(self, mentions: Iterable[str], ctx: Context) -> tuple[str, ...]:
        """The best entity of each mention that no mention before has taken."""
        found: dict[str, tuple[str, float]] = {}
        for mention in mentions:
            candidates = self._search(mention, len(found) + 1)
            free = next((one for one in candidates if one[0] not in found), None)
            if free is not None and free[1] >= self.config.threshold:
                found[free[0]] = mention, free[1]
        detail = {"mentions": {node: mention for node, (mention, _) in found.items()}}
        scores = {node: round(score, 4) for node, (_, score) in found.items()}
        event = TraceEvent(
            stage="link", op="extracted", entities=tuple(found), detail={**detail, "scores": scores}
        )
        ctx.trace.add(event)
        return tuple(found)

    # ------------------------------------------------------------------ evidence

    def _retrieve(self, entities: Sequence[str], ctx: Context) -> Shown:
        """Paths and rows of neighbours, and of them those that are told."""
        config = self.config
        ways = chains(entities, self._between, config.most_paths)
        found = ways.found
        around = list(rows(entities, self._graph, inverse=config.inverse_edges, tails=config.tails))
        pieces = [self._path_piece(number, one) for number, one in enumerate(found, start=1)]
        ctx.trace.add(
            TraceEvent(
                stage="retrieve",
                paths=tuple(pieces),
                triples=_row_refs(around),
            )
        )
        kept = select(found, config.paths)
        listed = told(around, config.neighbours, config.few_rows)
        shown = Shown(
            tuple((pieces[place], joined(found[place])) for place in kept),
            tuple(listed),
            cut=ways.cut or any(row.ends.truncated for row in listed),
        )
        ctx.trace.add(
            TraceEvent(
                stage="prune",
                paths=tuple(piece for piece, _ in shown.paths),
                triples=_row_refs(listed),
                dropped=tuple(p.id for place, p in enumerate(pieces) if place not in kept),
            )
        )
        return shown

    def _path_piece(self, number: int, found: Chain) -> EvidencePath:
        text = "->".join(map(self._path_text, found if self.config.repeat_joint else [joined(found)]))
        return EvidencePath(id=f"p{number}", triples=refs(joined(found).triples), text=text)

    # ------------------------------------------------------------------ answer

    async def _answer(
        self, question: QuestionView, entities: Sequence[str], shown: Shown, ctx: Context
    ) -> Prediction:
        flags = list(shown.flags)
        paths = await self._sentences(question, "paths", self._paths(shown, entities), flags, ctx)
        around = await self._sentences(question, "neighbours", self._neighbours(shown), flags, ctx)
        untold = (
            shown.marks - {f"P{piece.number}" for piece in paths} - {f"N{piece.number}" for piece in around}
        )
        evidence = self._evidence(shown, untold)
        if untold:
            triples = tuple(piece.triple for piece in evidence.triples)
            ctx.trace.add(TraceEvent(stage="prune", op="told", paths=evidence.paths, triples=triples))
        if not evidence.ids():
            flags.append("no_evidence")
        task = AnswerWithMindMap(question=question.text, paths=paths, neighbours=around)
        reply = await self._ask(question, task, ctx, last=True)
        ctx.trace.add(TraceEvent(stage="answer", op=reply.status))
        fields: dict[str, Any] = {"topics": tuple(entities), "evidence": evidence}
        if reply.value is None:
            return failed(question.id, reply, flags=tuple(flags), **fields)
        native = reply.value.native
        adapted = await self._adapter.adapt(question.text, native, ctx, evidence=evidence)
        flags += adapted.flags
        if any(answer.source == "parametric" for answer in adapted.answers):
            flags.append("parametric")
        return Prediction(
            id=question.id,
            raw_answer=native,
            native_format="prose",
            citations=_citations(native, shown, untold),
            flags=tuple(dict.fromkeys(flags)),
            **adapted.fields,
            **fields,
        )

    async def _sentences(
        self, question: QuestionView, kind: Any, pieces: tuple[Piece, ...], flags: list[Flag], ctx: Context
    ) -> tuple[Piece, ...]:
        """The pieces with their texts put into sentences; a piece that none was made of is not told."""
        if not pieces or not self.config.verbalise:
            return pieces
        try:
            reply = await self._ask(question, Verbalise(kind=kind, pieces=pieces), ctx)
        except OutOfBounds:
            return pieces
        flags += FLAGS.get(reply.status, ())
        if reply.value is None:
            ctx.trace.add(TraceEvent(stage="refine", op=reply.status))
            return pieces
        texts = {sentence.number: sentence.text for sentence in reply.value.sentences if sentence.text}
        ctx.trace.add(TraceEvent(stage="refine", op=kind, detail={"sentences": list(texts.values())}))
        return tuple(p.model_copy(update={"text": texts[p.number]}) for p in pieces if p.number in texts)

    async def _ask(
        self, question: QuestionView, task: Task[OutputT], ctx: Context, *, last: bool = False
    ) -> Reply[OutputT]:
        """A call; with `probe`, a second one if the model is not sure of what the first one gave."""
        reply = await asked(task, ctx, last=last)
        if not self.config.probe or reply.value is None:
            return reply
        try:
            sure = await asked(Probe(question=question.text, text=_text(reply.value)), ctx)
            ctx.trace.add(TraceEvent(stage="reflect", op=sure.status))
            if sure.value is not None and sure.value.score > SURE:
                return reply
            again = await asked(task, ctx)
        except OutOfBounds:
            return reply
        return reply if again.value is None else again

    # ------------------------------------------------------------------ evidence in words

    def _paths(self, shown: Shown, entities: Sequence[str]) -> tuple[Piece, ...]:
        """Numbered paths; nodes on the way are reached from both ends."""
        pieces = []
        for number, (piece, path) in enumerate(shown.paths, start=1):
            found = tuple(
                reached(walk, self._graph, self._name, place)
                for walk in (path, _backwards(path))
                for place in range(1, len(walk.nodes))
                if walk.nodes[place] not in entities
            )
            pieces.append(Piece(number=number, text=piece.text, reached=found))
        return tuple(pieces)

    def _neighbours(self, shown: Shown) -> tuple[Piece, ...]:
        """Numbered rows."""
        return tuple(
            Piece(
                number=number,
                text=self._row_text(row),
                reached=tuple(reached(path, self._graph, self._name) for path in row.paths),
            )
            for number, row in enumerate(shown.rows, start=1)
        )

    def _evidence(self, shown: Shown, untold: Set[str] = frozenset()) -> Evidence:
        """What was told: all that is shown but for some pieces, by their marks."""
        paths = (
            piece for number, (piece, _) in enumerate(shown.paths, start=1) if f"P{number}" not in untold
        )
        triples = (
            EvidenceTriple(id=id, triple=triple, text=self._path_text(path))
            for number, row in enumerate(shown.rows, start=1)
            if f"N{number}" not in untold
            for id, path, triple in zip(_row_ids(number, row), row.paths, _row_refs([row]), strict=True)
        )
        return Evidence(paths=tuple(paths), triples=tuple(triples))

    def _path_text(self, path: Path) -> str:
        """守株待兔->出自->五蠹; a relation walked backwards points backwards."""
        steps = zip(path.relations, path.senses, path.nodes[1:], strict=True)
        return self._name(path.nodes[0]) + "".join(
            f"{self._arrow(relation, sense)}{self._name(node)}" for relation, sense, node in steps
        )

    def _row_text(self, row: Row) -> str:
        ends = ",".join(map(self._name, row.ends))
        return f"{self._name(row.entity)}{self._arrow(row.relation, row.sense)}{ends}"

    def _arrow(self, relation: str, sense: str) -> str:
        word = self._ontology.label(relation)
        return f"->{word}->" if sense == "out" else f"<-{word}<-"


@dataclass(frozen=True, slots=True)
class Shown:
    """What is to be told: paths as evidence and as walks, and rows of neighbours; `cut` if a limit of ours left out
    what might have been told as well."""

    paths: tuple[tuple[EvidencePath, Path], ...]
    rows: tuple[Row, ...]
    cut: bool = False

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Those of the prediction that rests on it."""
        return ("truncated",) if self.cut else ()

    @property
    def marks(self) -> frozenset[str]:
        """By which the pieces are referred to: P1, N1, ..."""
        numbered = (("P", self.paths), ("N", self.rows))
        return frozenset(f"{kind}{n}" for kind, pieces in numbered for n in range(1, len(pieces) + 1))


def _first_of_each(named: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """One entity for a mention."""
    first: dict[str, str] = {}
    for mention, node in named:
        first.setdefault(mention, node)
    return tuple(dict.fromkeys(first.values()))


def _row_refs(found: Iterable[Row]) -> tuple[TripleRef, ...]:
    return refs(triple for row in found for path in row.paths for triple in path.triples)


def _backwards(path: Path) -> Path:
    senses: tuple[Sense, ...] = tuple("in" if s == "out" else "out" for s in reversed(path.senses))
    return replace(path, nodes=path.nodes[::-1], relations=path.relations[::-1], senses=senses)


def _row_ids(number: int, row: Row) -> Iterator[str]:
    return (f"n{number}.{place}" for place in range(1, len(row.ends) + 1))


def _citations(native: str, shown: Shown, untold: Set[str]) -> tuple[Citation, ...]:
    """Marks in the text and what they stand for: a path, or every triple of a row; not ok if it was not told."""
    ids = {f"P{number}": [piece.id] for number, (piece, _) in enumerate(shown.paths, start=1)}
    ids |= {f"N{number}": list(_row_ids(number, row)) for number, row in enumerate(shown.rows, start=1)}
    marks = dict.fromkeys(f"{kind}{number}" for kind, number in MARK.findall(native))
    return tuple(
        Citation(marker=f"[{mark}]", evidence_id=id, ok=mark in ids and mark not in untold)
        for mark in marks
        for id in ids.get(mark, [mark])
    )


def _text(value: object) -> str:
    """What a probe looks at."""
    if isinstance(value, Sentences):
        return "\n".join(sentence.text for sentence in value.sentences)
    return value.native if isinstance(value, MindMapAnswer) else ""
