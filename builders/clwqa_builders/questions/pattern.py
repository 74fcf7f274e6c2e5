"""The pattern language of question templates: a conjunctive query over types and relations.

A pattern is a list of chains; each step of a chain is one edge::

    w:Idiom -hasSource-> u:Chapter -partOf-> b:Book
    b -authoredBy|compiledBy-> a:Person
    w <-hasSource- v:Idiom

``-r->`` follows the stored direction, ``<-r-`` walks it backwards, ``-r-`` is the undirected form that
symmetric relations need.  A variable's types are written once, at any of its places; a type includes its
descendants.  All variables of a pattern stand for different entities.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from clwqa_bench.errors import TemplateError
from clwqa_bench.ontology import Ontology

NAME = r"[^\W\d]\w*"  # of a type or relation: what Cypher and SPARQL take without quotes
_NODE = re.compile(rf"\s*(?P<name>[a-z][a-z0-9_]*)(?::(?P<types>{NAME}(?:\|{NAME})*))?\s*")
_ARROW = re.compile(rf"(?P<back><?)-(?P<relations>{NAME}(?:\|{NAME})*)-(?P<forth>>?)")


@dataclass(frozen=True, slots=True)
class Edge:
    """``head -relations-> tail`` between two variables; any one of the relations will do."""

    head: str
    relations: tuple[str, ...]
    tail: str
    symmetric: bool = False

    def touches(self, variable: str) -> bool:
        return variable in (self.head, self.tail)

    def other(self, variable: str) -> str:
        return self.tail if variable == self.head else self.head

    def __str__(self) -> str:
        return f"{self.head} -{'|'.join(self.relations)}-{'' if self.symmetric else '>'} {self.tail}"


@dataclass(frozen=True)
class Pattern:
    """A connected conjunctive query.

    ``variables`` maps each variable to the types written for it, ``admitted`` to these types and all their
    descendants.  Both keep the order of first mention.
    """

    variables: Mapping[str, tuple[str, ...]]
    admitted: Mapping[str, frozenset[str]]
    edges: tuple[Edge, ...]

    @cached_property
    def rivals(self) -> tuple[tuple[str, str], ...]:
        """Pairs of variables that could be the same entity by type and so must be told apart."""
        pairs = combinations(self.variables, 2)
        return tuple((a, b) for a, b in pairs if self.admitted[a] & self.admitted[b])

    def walk(self, start: str, goal: str) -> tuple[Edge, ...]:
        """The edges of the shortest way between two variables, the first written one among equals."""
        if (start, goal) not in self._walks:
            self._walks[start, goal] = self._shortest(start, goal)
        return self._walks[start, goal]

    @cached_property
    def _walks(self) -> dict[tuple[str, str], tuple[Edge, ...]]:
        return {}

    def _shortest(self, start: str, goal: str) -> tuple[Edge, ...]:
        queue: deque[tuple[str, tuple[Edge, ...]]] = deque([(start, ())])
        seen = {start}
        while queue:
            here, way = queue.popleft()
            if here == goal:
                return way
            for edge in self.edges:
                if edge.touches(here) and (there := edge.other(here)) not in seen:
                    seen.add(there)
                    queue.append((there, (*way, edge)))
        raise ValueError(f"{goal} cannot be reached from {start}")

    def along(self, walk: Iterable[Edge]) -> Pattern:
        """The part of the pattern that consists of these edges."""
        edges = tuple(walk)
        names = [n for n in self.variables if any(e.touches(n) for e in edges)]
        return Pattern({n: self.variables[n] for n in names}, {n: self.admitted[n] for n in names}, edges)

    def hops(self, anchors: Iterable[str], answer: str) -> int:
        """Length of the longest of the shortest ways anchor -> answer (seed paper sec. 5.1 counts edges)."""
        return max(len(self.walk(anchor, answer)) for anchor in anchors)


def parse_pattern(lines: Sequence[str], ontology: Ontology) -> Pattern:
    """Parse chains and check them against the ontology.

    Raises TemplateError (field ``pattern``) for a syntax error, a variable without a type or with two, an
    edge its relation's signature does not allow, and a pattern that falls apart; OntologyError for an unknown
    name.
    """
    types: dict[str, tuple[str, ...]] = {}
    edges: list[Edge] = []
    for line in lines:
        edges.extend(_parse_chain(line, types, ontology))
    if not edges:
        raise _error("the pattern has no edge", "write a step such as w:Word -hasExplanation-> e:Explanation")
    if untyped := [name for name, given in types.items() if not given]:
        raise _error(f"variable {untyped[0]} has no type", f"write its type once, as in {untyped[0]}:Person")
    admitted = {name: ontology.with_descendants(given) for name, given in types.items()}
    pattern = Pattern(types, admitted, tuple(edges))
    for edge in edges:
        _check_signature(edge, pattern, ontology)
    _check_connected(pattern)
    return pattern


def _parse_chain(line: str, types: dict[str, tuple[str, ...]], ontology: Ontology) -> list[Edge]:
    """The edges of one line; ``types`` collects the variables."""
    node = _NODE.match(line)
    edges: list[Edge] = []
    while node is not None:
        here = _declare(node, types)
        if node.end() == len(line) and edges:
            return edges
        arrow = _ARROW.match(line, node.end())
        node = _NODE.match(line, arrow.end()) if arrow else None
        if arrow and node:
            edges.append(_edge(here, arrow, node["name"], ontology))
    raise _error(f"cannot read the step in {line!r}", "write variable:Type -relation-> variable:Type")


def _declare(node: re.Match[str], types: dict[str, tuple[str, ...]]) -> str:
    name, given = node["name"], tuple((node["types"] or "").split("|")) if node["types"] else ()
    if given and types.get(name):
        raise _error(f"variable {name} is given a type twice", f"write {name} alone after its first mention")
    types[name] = types.get(name) or given
    return name


def _edge(here: str, arrow: re.Match[str], there: str, ontology: Ontology) -> Edge:
    relations = tuple(arrow["relations"].split("|"))
    back, forth = bool(arrow["back"]), bool(arrow["forth"])
    symmetric = {ontology.symmetric(r) for r in relations}
    if back and forth:
        raise _error(
            f"an edge {arrow[0]} points both ways",
            "keep one arrow head, or none if the relation is symmetric",
        )
    if symmetric != {not (back or forth)}:
        name = arrow["relations"]
        fix = f"write -{name}-" if True in symmetric else f"write -{name}-> or <-{name}-"
        raise _error(f"the direction of {arrow[0]} does not fit the relation", fix)
    if here == there:
        raise _error(f"variable {here} points to itself", "use two variables")
    return Edge(there, relations, here) if back else Edge(here, relations, there, symmetric=not forth)


def _check_signature(edge: Edge, pattern: Pattern, ontology: Ontology) -> None:
    """Every relation and every written type of the edge must be able to take part in a triple."""
    ends = {r: tuple(map(ontology.with_descendants, ontology.signature(r))) for r in edge.relations}
    for relation, (domain, range_) in ends.items():
        if ontology.abstract(relation):
            fix = f"write {'|'.join(ontology.sub_relations(relation))}"
            raise _error(f"{relation} is abstract, so no triple has it", fix)
        if not (pattern.admitted[edge.head] & domain and pattern.admitted[edge.tail] & range_):
            heads, tails = map("/".join, ontology.signature(relation))
            raise _error(
                f"{edge} can never match: {relation} leads from {heads} to {tails}",
                "turn the edge round, or change the relation or the types",
            )
    for name, side in ((edge.head, 0), (edge.tail, 1)):
        allowed = frozenset().union(*(end[side] for end in ends.values()))
        for type_ in pattern.variables[name]:
            if allowed.isdisjoint(ontology.with_descendants((type_,))):
                raise _error(
                    f"type {type_} of {name} can never match in {edge}", f"remove {type_} from {name}"
                )


def _check_connected(pattern: Pattern) -> None:
    reached, frontier = set[str](), [next(iter(pattern.variables))]
    while frontier:
        here = frontier.pop()
        reached.add(here)
        frontier += [e.other(here) for e in pattern.edges if e.touches(here) and e.other(here) not in reached]
    if loose := sorted(set(pattern.variables) - reached):
        raise _error(
            f"{', '.join(loose)} hang apart from the rest", "join all steps through shared variables"
        )


def _error(what: str, fix: str) -> TemplateError:
    return TemplateError(what, fix=fix, field="pattern")
