"""Exploring a graph step by step from topic entities: what ToG and PoG share.

A way through the graph is a `Path` of the graph store, so what an explorer needs to know of a node (where it was
reached from, over which relation, in which direction) is kept with the node and never in a list beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

from pydantic import Field

from clwqa_baselines.adapter import Adapted, Adapter
from clwqa_baselines.replies import FLAGS
from clwqa_bench.kg.protocol import GraphStore, Path, Sense
from clwqa_bench.kg.verbalise import cut
from clwqa_bench.linking import Signature, signature_of
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import OutputT, Task
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import Evidence, EvidenceTriple, Flag, PredictedAnswer, Stage
from clwqa_bench.records import QuestionView, Record, TripleRef
from clwqa_bench.systems import Context, Settings

SENSES: tuple[Sense, Sense] = ("out", "in")
REMEMBERED = 65_536  # names of nodes


class ExplorerSettings(Settings):
    """What every explorer can be told.  In brackets: where the default is from."""

    remove_unnecessary_rel: bool = Field(
        default=True, description="Never offer the relations of `unnecessary_relations` (code default)."
    )
    unnecessary_relations: str = Field(
        default="",
        description="Administrative relations, separated by commas; none in a curated graph (ours).",
    )
    no_backtrack: Literal["entity", "pooled", "off"] = Field(
        default="entity",
        description="Do not walk back what led to the entity; `pooled`: nor what led to any of its step, "
        "as the code does; `off`: walk back freely (ours).",
    )
    direction_marks: bool = Field(
        default=False,
        description="Offer a relation that an entity has both ways twice, marked; off: outwards alone (code).",
    )
    separator: str = Field(default=", ", description="Stands between head, relation and tail (code default).")
    passage_chars: int = Field(
        default=300, ge=1, description="Most characters of a passage as a name (ours)."
    )
    max_calls: int = Field(
        default=0,
        ge=0,
        description="Stop exploring and answer when one call is left of so many; 0: no bound (code).",
    )


# ---------------------------------------------------------------------- what tasks hold


class Offer(Record):
    """A relation that can be walked from an entity, and what the model sees of it.

    `sense` and `relation` are for back-ends that answer without a model.
    """

    label: str
    relation: str
    sense: Sense


class Lead(Record):
    """A node as the end of a way: its name as shown.  The rest is for back-ends that answer without a model."""

    name: str
    entity_id: str
    topic: str
    way: Signature


# ---------------------------------------------------------------------- words


class Known:
    """What there is to say of nodes and relations, whatever the question; made once, in `prepare`."""

    def __init__(self, graph: GraphStore, ontology: Ontology) -> None:
        self._graph = graph
        self.name = lru_cache(REMEMBERED)(self._find_name)
        """Of a node: what a reader would call it, "" if it is unnamed."""
        labels = Counter(map(ontology.label, ontology.relations))
        self.relation = {
            relation: label if labels[label] == 1 else f"{label}（{relation}）"
            for relation in ontology.relations
            for label in [ontology.label(relation)]
        }
        """The ontology's word for each relation; with its name where another is called the same."""

    def _find_name(self, node: str) -> str:
        entity = self._graph.entity(node)
        return " ".join((entity.text or entity.label).split())

    def way(self, path: Path) -> Signature:
        """The signature of a path."""
        return signature_of(path, {node: self._graph.types(node)[0] for node in path.nodes})


@dataclass
class Words:
    """What nodes, relations and triples of one question are called.  No two nodes shown have the same name: the second
    one called 序 is 序#2, so that whatever a model writes is one node.
    """

    known: Known
    settings: ExplorerSettings
    _name: dict[str, str] = field(default_factory=dict)
    _node: dict[str, str] = field(default_factory=dict)

    def name(self, node: str) -> str:
        """The name of a node: the text of a passage, any other's label; its id where it has neither."""
        if node not in self._name:
            plain = name = cut(self.known.name(node) or node, self.settings.passage_chars)
            number = 1
            while name in self._node:
                number += 1
                name = f"{plain}#{number}"
            self._name[node], self._node[name] = name, node
        return self._name[node]

    def node(self, name: str) -> str | None:
        """The node that was shown under a name."""
        return self._node.get(name)

    def triple(self, triple: TripleRef) -> str:
        """A triple as it is stored."""
        label = self.known.relation[triple.relation]
        return self.settings.separator.join((self.name(triple.head), label, self.name(triple.tail)))

    def lead(self, path: Path) -> Lead:
        """Where a way has come."""
        end = path.nodes[-1]
        return Lead(name=self.name(end), entity_id=end, topic=path.nodes[0], way=self.known.way(path))


# ---------------------------------------------------------------------- steps


@dataclass(frozen=True)
class Steps:
    """Which steps can be taken from the end of a way."""

    graph: GraphStore
    settings: ExplorerSettings

    @cached_property
    def _unnecessary(self) -> frozenset[str]:
        listed = (
            self.settings.unnecessary_relations.split(",") if self.settings.remove_unnecessary_rel else ()
        )
        return frozenset(filter(None, map(str.strip, listed)))

    def offers(self, path: Path, taken: Iterable[Path], words: Words) -> tuple[Offer, ...]:
        """The relations at the end of a way, by label; each outwards if it can be walked both ways.

        `taken` are the ways kept in the step before.
        """
        node = path.nodes[-1]
        ways = {
            sense: {*self.graph.relations(node, sense)} - self._unnecessary - self._back(path, sense, taken)
            for sense in SENSES
        }
        marked = self.settings.direction_marks
        found = [
            Offer(label=_marked(label, sense) if marked else label, relation=relation, sense=sense)
            for sense in SENSES
            for relation in ways[sense] - (set() if marked or sense == "out" else ways["out"])
            for label in [words.known.relation[relation]]
        ]
        return tuple(sorted(found, key=lambda offer: (offer.label, offer.sense)))

    def _back(self, path: Path, sense: Sense, taken: Iterable[Path]) -> set[str]:
        """Relations that would be walked back in this sense: inwards, unless the way arrived inwards itself."""
        arrived = path.senses[-1] if path.senses else "out"
        if sense == arrived or self.settings.no_backtrack == "off":
            return set()
        ways = taken if self.settings.no_backtrack == "pooled" else [path]
        return {way.relations[-1] for way in ways if way.relations}


def extended(path: Path, offer: Offer, node: str) -> Path:
    """A way with one more step."""
    return Path((*path.nodes, node), (*path.relations, offer.relation), (*path.senses, offer.sense))


def refs(paths: Iterable[Path]) -> tuple[TripleRef, ...]:
    """The steps that ways have just taken, as they are stored, each once."""
    return tuple(dict.fromkeys(map(_last_triple, paths)))


def _last_triple(path: Path) -> TripleRef:
    ends = path.nodes[-2], path.nodes[-1]
    head, tail = ends if path.senses[-1] == "out" else ends[::-1]
    return TripleRef(head=head, relation=path.relations[-1], tail=tail)


def distinct_ends(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The first way to each end."""
    first: dict[str, Path] = {}
    for path in paths:
        first.setdefault(path.nodes[-1], path)
    return tuple(first.values())


def _marked(label: str, sense: Sense) -> str:
    return f"—{label}→" if sense == "out" else f"←{label}—"


# ---------------------------------------------------------------------- calls


class OutOfCalls(Exception):
    """One call is left of those a question may take, and it is needed for the answer."""


class Ended(Exception):
    """A call ended the question: the budget of the run is used up, or the system cannot do without the reply."""

    def __init__(self, reply: Reply[Any]) -> None:
        super().__init__(reply.status)
        self.reply = reply


@dataclass
class Calls:
    """The calls of one question.  `flags` say what failed among those that the system could do without."""

    ctx: Context
    most: int
    made: int = 0
    flags: dict[Flag, None] = field(default_factory=dict)

    async def ask(
        self, task: Task[OutputT], stage: Stage | None = None, *, last: bool = False
    ) -> Reply[OutputT]:
        """Raises OutOfCalls unless it is the `last` call, Ended if the run's budget is used up."""
        if self.most and self.made >= self.most - 1 and not last:
            raise OutOfCalls
        self.made += 1
        reply = await self.ctx.ask(task, stage)
        if reply.status == "skipped":
            raise Ended(reply)
        self.flags |= dict.fromkeys(FLAGS.get(reply.status, ()))
        return reply


# ---------------------------------------------------------------------- evidence and answers


def evidence_of(triples: Iterable[TripleRef], words: Words) -> Evidence:
    """Triples as they were shown."""
    return Evidence(
        triples=tuple(
            EvidenceTriple(id=f"t{number}", triple=triple, text=words.triple(triple))
            for number, triple in enumerate(triples, start=1)
        )
    )


async def answers_of(
    adapter: Adapter,
    question: QuestionView,
    texts: Sequence[str],
    words: Words,
    evidence: Evidence,
    ctx: Context,
) -> Adapted:
    """A model's list of answers, in its order.

    From evidence, a name that was shown is the very node it was shown for, given back whole and without its number.
    """
    found = await adapter.adapt(question.text, "", ctx, listed=texts, evidence=evidence, extract=False)
    answers: dict[str, PredictedAnswer] = {}
    for answer in found.answers:
        node = words.node(answer.text) if evidence.triples else None
        if node is not None:
            ids = (piece.id for piece in evidence.triples if node in (piece.triple.head, piece.triple.tail))
            text = words.known.name(node) or node
            answer = answer.model_copy(update={"text": text, "entity_id": node, "support": tuple(ids)})
        answers.setdefault(answer.entity_id or answer.text, answer)
    return replace(found, answers=tuple(answers.values()))
