"""Questions and scoring pairs in the words in which people read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.protocol import Entity, GraphStore, Path, Sense
from clwqa_bench.kg.verbalise import node_text, path_text
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Question, ScoringPair, StandardPath, hop_band
from clwqa_builders.review.records import Item

PASSAGE_LIMIT, PASSAGES, PATHS = 600, 12, 10
"""Characters of a passage; passages and paths of an item."""
WORD = "CultureLoadedWord"
TOLD_OF_WORD = ("hasExplanation", "hasQuotation", "hasAllusion")


def question_cell(method: str, category: str, hops: int) -> str:
    """The stratum a question is drawn from: how it was made, its category and hop band."""
    return f"{method} {category} {hop_band(hops)}"


def pair_cell(band: str, element: str) -> str:
    """The stratum a scoring pair is drawn from: band and type of node."""
    return f"{band} {element}"


class Reader:
    """Puts records into words, on the graph they were made from."""

    def __init__(self, store: GraphStore, ontology: Ontology) -> None:
        self._store, self._ontology = store, ontology

    def question(self, question: Question) -> Item:
        """A question with its answers, its gold paths, the passages on them and what its words mean."""
        generator = question.generator
        return Item(
            id=question.id,
            question=question.question,
            answers=tuple(answer.label for answer in question.answers),
            paths=tuple(dict.fromkeys(map(self._path, question.standard_paths[:PATHS]))),
            passages=tuple(self._passages(question))[:PASSAGES],
            strata={
                "category": question.category,
                "hops": hop_band(question.hops),
                "method": generator.method,
                "generator": generator.model or generator.method,
                "template": question.template_id or "-",
                "split": question.split,
            },
            cell=question_cell(generator.method, question.category, question.hops),
        )

    def pair(self, pair: ScoringPair, question: Question, claims: str) -> Item:
        """A scoring pair with what is known of its question; the band its rule gives stays hidden."""
        strata = {"band": pair.band, "element": pair.element, "rule": pair.rule, "split": pair.split}
        changed = {
            "id": pair.id,
            "node": pair.node_text,
            "strata": strata,
            "cell": pair_cell(pair.band, pair.element),
            "expected": pair.band,
            "claims": claims or f"{pair.band} {pair.rule}",
        }
        return self.question(question).model_copy(update=changed)

    def _path(self, path: StandardPath) -> str:
        relations = tuple(step.relation for step in path.steps)
        senses: tuple[Sense, ...] = tuple("in" if s.direction == "in" else "out" for s in path.steps)
        return path_text(Path(path.entities, relations, senses), self._label, self._ontology)

    def _entity(self, node: str) -> Entity | None:
        """None for a literal, which is no node of the graph."""
        try:
            return self._store.entity(node)
        except GraphError:
            return None

    def _label(self, node: str) -> str:
        entity = self._entity(node)
        return entity.label if entity else node

    def _passages(self, question: Question) -> Iterable[str]:
        """What stands at the nodes of the gold paths, and what is told of the words among them."""
        ends = [*(a.entity_id for a in question.anchors), *(a.entity_id for a in question.answers)]
        nodes = dict.fromkeys([*ends, *(node for path in question.standard_paths for node in path.entities)])
        known = [entity for entity in map(self._entity, nodes) if entity]
        about = {node: text for entity in known if WORD in entity.types for node, text in self._about(entity)}
        texts = {e.id: node_text(e, self._ontology, limit=PASSAGE_LIMIT) for e in known if e.text}
        return dict.fromkeys({**texts, **about}.values())

    def _about(self, word: Entity) -> Iterator[tuple[str, str]]:
        """What a word means and where it comes from, each with the word before it."""
        for node in self._store.neighbours(word.id, TOLD_OF_WORD, "out"):
            told = node_text(self._store.entity(node), self._ontology, limit=PASSAGE_LIMIT)
            yield node, f"{word.label} — {told}"
