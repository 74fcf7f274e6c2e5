"""What nodes, relations and triples are called when a model is shown them, and which node it means by a name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from difflib import get_close_matches

from clwqa_baselines.exploring.settings import ExplorerSettings
from clwqa_baselines.rules.ways import Reached, reached
from clwqa_baselines.shared.names import namer, relation_labels
from clwqa_bench.kg.protocol import GraphStore, Path
from clwqa_bench.kg.verbalise import cut
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import TripleRef
from clwqa_bench.systems import SettingError


class Known:
    """What there is to say of nodes and relations, whatever the question; made once, in `prepare`."""

    def __init__(self, graph: GraphStore, ontology: Ontology, left_out: str = "") -> None:
        """`left_out` lists relations by label or name, with commas between them.

        Raises SettingError for one that the ontology does not have.
        """
        self.graph = graph
        self.name = namer(graph)
        """Of a node: what a reader would call it, "" if it is unnamed."""
        self.relation = relation_labels(ontology)
        """The ontology's word for each relation; with its name where another is called the same."""
        self.left_out = frozenset(map(self._meant, filter(None, map(str.strip, left_out.split(",")))))
        """Relations that are never offered."""

    def _meant(self, name: str) -> str:
        """The relation of a label or a name."""
        known = {label: relation for relation, label in self.relation.items()}
        known |= {relation: relation for relation in self.relation}
        if name not in known:
            near = " or ".join(map(repr, get_close_matches(name, known, n=3, cutoff=0.5)))
            labels = ", ".join(self.relation.values())
            raise SettingError(
                f"there is no relation {name!r}",
                fix=f"did you mean {near}" if near else f"use a label or a name: {labels}",
                field="unnecessary_relations",
            )
        return known[name]


@dataclass
class Words:
    """What nodes, relations and triples of one question are called.  No two nodes shown have the same name: the second
    one called 序 is 序#2, so that whatever a model writes is one node.
    """

    known: Known
    settings: ExplorerSettings
    _name: dict[str, str] = field(default_factory=dict)
    _node: dict[str, str] = field(default_factory=dict)
    _times: Counter[str] = field(default_factory=Counter)

    def name(self, node: str) -> str:
        """The name of a node: the text of a passage, any other's label; its id where it has neither."""
        if node not in self._name:
            plain = name = cut(self.known.name(node) or node, self.settings.passage_chars)
            while name in self._node:
                self._times[plain] += 1
                name = f"{plain}#{self._times[plain] + 1}"
            self._name[node], self._node[name] = name, node
        return self._name[node]

    def node(self, name: str) -> str | None:
        """The node that was shown under a name."""
        return self._node.get(name)

    def triple(self, triple: TripleRef) -> str:
        """A triple as it is stored."""
        label = self.known.relation[triple.relation]
        return self.settings.separator.join((self.name(triple.head), label, self.name(triple.tail)))

    def lead(self, path: Path) -> Reached:
        """Where a way has come."""
        return reached(path, self.known.graph, self.name)
