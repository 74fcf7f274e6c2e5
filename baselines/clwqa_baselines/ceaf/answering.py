"""Stage 4: evidence in words, and from the words of an answer back to entities (seed paper sec. 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from clwqa_bench.kg.protocol import Entity, GraphStore, Path
from clwqa_bench.kg.verbalise import node_text, path_text
from clwqa_bench.llm.tasks import EvidenceAnswer, Snippet
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import Citation, Evidence, EvidencePath, PredictedAnswer
from clwqa_bench.records import TripleRef
from clwqa_bench.text import comparison_key, shows

REMEMBERED = 4096  # entities
ROLES = {
    "出处": ("ContentUnit", "CulturalSource", "Person", "HistoricalPeriod"),
    "语境": ("Quotation", "Allusion", "Source"),
    "释义": ("Explanation",),
}
"""What the nodes of a path are evidence of: provenance, context of a quotation, interpretation."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A path as evidence: its id and score in the prediction, and the node it ends at."""

    id: str
    path: Path
    score: float | None
    text: str

    @property
    def end(self) -> str:
        """The node that may be the answer."""
        return self.path.nodes[-1]

    def as_evidence(self) -> EvidencePath:
        """As a prediction holds it."""
        return EvidencePath(id=self.id, triples=refs(self.path), text=self.text, score=self.score)


def refs(path: Path) -> tuple[TripleRef, ...]:
    """The triples of a path as stored."""
    return tuple(TripleRef(head=t.head, relation=t.relation, tail=t.tail) for t in path.triples)


@dataclass(frozen=True)
class Wording:
    """Nodes and paths in Chinese; `chars` bounds what is printed of a passage."""

    graph: GraphStore
    ontology: Ontology
    chars: int

    @cached_property
    def _entity(self) -> Callable[[str], Entity]:
        """Entities lately looked at: books and persons are in one path after another."""
        return lru_cache(REMEMBERED)(self.graph.entity)

    def name(self, node: str) -> str:
        """What a reader would call the node: the whole text of a passage, any other's label."""
        entity = self._entity(node)
        return entity.text or entity.label

    def snippet(self, path: Path) -> str:
        """The one template for evidence: the way, then what its nodes say of provenance, context and meaning.

        守株待兔 —出自→ 韩非子·五蠹 —属于作品→ 韩非子。出处：章节：韩非子·五蠹；典籍：韩非子
        """
        way = path_text(path, lambda node: self._entity(node).label, self.ontology)
        parts = [way]
        for role, types in ROLES.items():
            nodes = [node for node in path.nodes if self._is_any(node, types)]
            if nodes:
                parts.append(f"{role}：{'；'.join(map(self._described, nodes))}")
        return "。".join(parts)

    def _described(self, node: str) -> str:
        return node_text(self._entity(node), self.ontology, limit=self.chars)

    def _is_any(self, node: str, types: Iterable[str]) -> bool:
        return not set(types).isdisjoint(self._entity(node).types)


def snippets(shown: Sequence[Shown], wording: Wording) -> tuple[Snippet, ...]:
    """Evidence as the model reads it, numbered from 1 in its order."""
    return tuple(
        Snippet(
            number=number,
            text=piece.text,
            answer=wording.name(piece.end),
            entity_id=piece.end,
            score=piece.score,
        )
        for number, piece in enumerate(shown, start=1)
    )


# ---------------------------------------------------------------------- answers


@dataclass(frozen=True)
class Resolver:
    """From the words of an answer to an entity: an end node of the evidence that is called so, else the only entity of
    the element asked for that is."""

    graph: GraphStore
    shown: Sequence[Shown]
    target: str | None

    def entity(self, text: str) -> str | None:
        """The entity meant, None if there is none or it is not the only one."""
        key = comparison_key(text)
        for piece in self.shown:
            if key in self._keys(piece.end):
                return piece.end
        found = self.graph.lookup(text, self.target)
        return found[0] if len(found) == 1 else None

    def _keys(self, node: str) -> set[str]:
        entity = self.graph.entity(node)
        return {comparison_key(name) for name in (entity.text, entity.label, *entity.aliases) if name}


def model_answers(
    value: EvidenceAnswer, resolver: Resolver
) -> tuple[tuple[PredictedAnswer, ...], tuple[Citation, ...]]:
    """Answers in the model's order, one per entity or text, and its citations resolved.

    An answer rests on the paths that end at it, else on those the model cited.  One that rests on nothing comes from
    the model itself.
    """
    citations = tuple(cite(number, resolver.shown) for number in dict.fromkeys(value.citations))
    cited = tuple(citation.evidence_id for citation in citations if citation.ok)
    answers: dict[str, PredictedAnswer] = {}
    for text in filter(shows, value.answers):
        node = resolver.entity(text)
        support = tuple(piece.id for piece in resolver.shown if piece.end == node) or cited
        answer = PredictedAnswer(
            text=text,
            entity_id=node,
            support=support,
            source="graph" if support else "parametric",
        )
        answers.setdefault(node or comparison_key(text), answer)
    return tuple(answers.values()), citations


def cite(number: int, shown: Sequence[Shown]) -> Citation:
    """A citation by the number of a snippet; one that was not shown is kept and marked."""
    ok = 1 <= number <= len(shown)
    return Citation(marker=f"[{number}]", evidence_id=shown[number - 1].id if ok else str(number), ok=ok)


def path_answers(shown: Sequence[Shown], wording: Wording) -> tuple[PredictedAnswer, ...]:
    """The end nodes of the evidence in its order, each once."""
    ends = dict.fromkeys(piece.end for piece in shown)
    return tuple(
        PredictedAnswer(
            text=wording.name(end),
            entity_id=end,
            score=next(piece.score for piece in shown if piece.end == end),
            support=tuple(piece.id for piece in shown if piece.end == end),
        )
        for end in ends
    )


def evidence(shown: Sequence[Shown]) -> Evidence:
    """All that was shown."""
    return Evidence(paths=tuple(piece.as_evidence() for piece in shown))
