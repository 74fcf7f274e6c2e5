"""From what a model wrote to a pattern: which nodes are named, how the facts lead to the answers, what that returns.

The model states facts; what follows from them is worked out here.  The nodes named in the question are its anchors.
The shortest ways over the stated facts, anchor to answer, make a pattern of the template language, in which several
answers reached alike are one variable.  Its execution on the whole graph gives the gold answers.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Triple
from clwqa_bench.ontology import Ontology
from clwqa_bench.text import comparison_key
from clwqa_builders.generate.evidence import Evidence
from clwqa_builders.generate.names import Named, Names
from clwqa_builders.generate.reasons import Rejected
from clwqa_builders.generate.task import WrittenQuestion
from clwqa_builders.generate.wording import check_kind, check_script, check_words
from clwqa_builders.questions.instances import SHORTEST_WORD
from clwqa_builders.questions.pattern import Edge, Pattern
from clwqa_builders.questions.select import PASSAGE_TYPES
from clwqa_builders.questions.solve import answers, solutions

Column = tuple[str, ...]
"""What one variable stands for: its entity on the way to each answer stated."""


@dataclass(frozen=True)
class Step:
    """A fact as it is walked to `node`."""

    triple: Triple
    node: str


@dataclass(frozen=True)
class Derived:
    """A question as a pattern: `anchors` are entities by variable, `mentions` the words that name them."""

    pattern: Pattern
    anchors: Mapping[str, str]
    mentions: Mapping[str, str]
    answer: str
    gold: tuple[str, ...]
    target_element: str

    @property
    def hops(self) -> int:
        return self.pattern.hops(self.anchors, self.answer)


@dataclass(frozen=True)
class Deriver:
    """Derives patterns over one graph.  `limit` is the most answers a question may have."""

    graph: MemoryGraph
    names: Names
    limit: int

    @property
    def ontology(self) -> Ontology:
        return self.graph.ontology

    def derive(self, written: WrittenQuestion, evidence: Evidence) -> Derived:
        """What a question comes to on the graph.  Raises Rejected with the first reason against it."""
        check_words(written.question)
        stated, facts = self._stated(written, evidence)
        anchors = self._anchors(written.question, stated, facts, evidence)
        check_script(written.question, [anchor.mention for anchor in anchors])
        ways = {anchor.node: [_way(anchor.node, answer, facts) for answer in stated] for anchor in anchors}
        check_kind(written.question, self._types(stated), self.ontology.types)
        derived = self._pattern(anchors, ways, stated)
        self._check_gold(derived, stated, evidence)
        self._check_fair(written.question, derived)
        if written.hops != derived.hops:
            raise Rejected("hops", f"stated {written.hops}, the path has {derived.hops}")
        return derived

    # ------------------------------------------------------------------ what is stated

    def _stated(self, written: WrittenQuestion, evidence: Evidence) -> tuple[list[str], list[Triple]]:
        """Answers and facts, without repetitions."""
        for ids, known in ((written.answers, evidence.node_of), (written.evidence, evidence.triple_of)):
            if strays := [id for id in ids if id not in known]:
                raise Rejected("unknown-id", strays[0])
        if not written.answers:
            raise Rejected("no-answer")
        stated = dict.fromkeys(evidence.node_of[id] for id in written.answers)
        return list(stated), [evidence.triple_of[id] for id in dict.fromkeys(written.evidence)]

    def _anchors(
        self, question: str, stated: Sequence[str], facts: Sequence[Triple], evidence: Evidence
    ) -> list[Named]:
        """The nodes the question names."""
        held = {end for fact in facts for end in (fact.head, fact.tail)}
        named = self.names.named(question, evidence.nodes, hidden=stated)
        if leaks := [one.mention for one in named if one.node in stated]:
            raise Rejected("leak", leaks[0])
        if strays := [one.mention for one in named if one.node not in held]:
            raise Rejected("unsupported" if len(strays) < len(named) else "no-anchor", strays[0])
        if not named:
            raise Rejected("no-anchor")
        if unclear := [one.mention for one in named if not one.clear]:
            raise Rejected("unclear-anchor", unclear[0])
        return named

    def _types(self, nodes: Sequence[str]) -> frozenset[str]:
        return frozenset(type_ for node in nodes for type_ in self.graph.types(node))

    # ------------------------------------------------------------------ the pattern

    def _pattern(
        self, anchors: Sequence[Named], ways: Mapping[str, list[tuple[Step, ...]]], stated: Sequence[str]
    ) -> Derived:
        """Fold the ways into one pattern and execute it."""
        names: dict[Column, str] = {}
        edges: dict[Edge, None] = {}

        def variable(column: Column) -> str:
            return names.setdefault(column, f"x{len(names) + 1}")

        bound = {variable((anchor.node,) * len(stated)): anchor for anchor in anchors}
        for anchor in anchors:
            own = ways[anchor.node]
            if len({tuple(map(self._shape, way)) for way in own}) > 1:
                raise Rejected("mixed-paths", f"from {anchor.mention}")
            here: Column = (anchor.node,) * len(stated)
            for steps in zip(*own, strict=True):
                there = tuple(step.node for step in steps)
                edges[self._edge(variable(here), variable(there), *self._shape(steps[0]))] = None
                here = there
        answer = variable(tuple(stated))
        crossed = [named.mention for one, named in bound.items() if _is_passed(named.node, anchors, ways)]
        if crossed:
            raise Rejected("step-named", crossed[0])
        pattern = self._typed(tuple(names.values()), tuple(edges))
        fixed = {one: named.node for one, named in bound.items()}
        gold = tuple(sorted(answers(pattern, self.graph, fixed, answer)))
        mentions = {one: named.mention for one, named in bound.items()}
        return Derived(pattern, fixed, mentions, answer, gold, self._target(gold or tuple(stated)))

    def _shape(self, step: Step) -> tuple[str, bool]:
        """Relation, and whether it is walked forwards; one that holds both ways always is."""
        relation = step.triple.relation
        return relation, step.triple.tail == step.node or self.ontology.symmetric(relation)

    def _edge(self, here: str, there: str, relation: str, forwards: bool) -> Edge:
        head, tail = (here, there) if forwards else (there, here)
        return Edge(head, (relation,), tail, self.ontology.symmetric(relation))

    def _typed(self, names: Sequence[str], edges: tuple[Edge, ...]) -> Pattern:
        """The pattern with the widest types that the signatures of the relations leave to each variable."""
        every = self.ontology
        variables, admitted = {}, {}
        for name in names:
            allowed = frozenset(every.types)
            for edge in edges:
                domains, ranges = every.signature(edge.relations[0])
                if edge.touches(name):
                    ends = (*domains, *ranges) if edge.symmetric else domains if edge.head == name else ranges
                    allowed &= every.with_descendants(ends)
            variables[name] = tuple(t for t in every.types if t in allowed and every.parent(t) not in allowed)
            admitted[name] = allowed
        return Pattern(variables, admitted, edges)

    def _target(self, gold: Sequence[str]) -> str:
        """The narrowest type of all answers."""
        first, *others = (self.graph.types(node) for node in gold)
        common = [type_ for type_ in first if all(type_ in types for types in others)]
        if not common:
            raise Rejected("mixed-paths", "the answers have no type in common")
        return common[0]

    # ------------------------------------------------------------------ what it returns

    def _check_gold(self, derived: Derived, stated: Sequence[str], evidence: Evidence) -> None:
        """Answers that were shown and left out are added; one the model could not know makes it ambiguous."""
        if missing := [node for node in stated if node not in derived.gold]:
            raise Rejected("not-gold", self.graph.label(missing[0]))
        if len(derived.gold) > self.limit:
            raise Rejected("too-many", f"{len(derived.gold)}, the limit is {self.limit}")
        own = {self.graph.types(node)[0] for node in stated}
        for node in derived.gold:
            if node not in evidence.nodes or self.graph.types(node)[0] not in own:
                raise Rejected("ambiguous", f"also {self.graph.label(node)}")

    def _check_fair(self, question: str, derived: Derived) -> None:
        """The rules of the templates: nothing is given away, and nothing doubtful is asked or passed."""
        key = comparison_key(question)
        gold = frozenset(derived.gold)
        if told := next((name for node in gold for name in self.names.revealing(node) if name in key), None):
            raise Rejected("leak", told)
        if answer := next((node for node in derived.gold if not self._is_fit(node, derived)), None):
            raise Rejected("unfit", self.graph.label(answer))
        ends = {*gold, *derived.anchors.values()}
        met = {
            node for one in solutions(derived.pattern, self.graph, derived.anchors) for node in one.values()
        }
        if doubtful := sorted(node for node in met if self.names.is_doubtful(node)):
            raise Rejected("unfit", self.graph.label(doubtful[0]))
        for node in sorted(met - ends):
            if "Person" in self.graph.types(node) and any(n in key for n in self.names.revealing(node)):
                raise Rejected("step-named", self.graph.label(node))

    def _is_fit(self, node: str, derived: Derived) -> bool:
        own = self.graph.types(node)[0]
        if own in PASSAGE_TYPES and not self.names.is_sound(node):
            return False
        text = self.graph.entity(node).text
        circular = own == "Explanation" and any(
            len(mention) >= SHORTEST_WORD and mention in text for mention in derived.mentions.values()
        )
        return self.names.is_telling(node) and not circular


def _way(anchor: str, answer: str, facts: Sequence[Triple]) -> tuple[Step, ...]:
    """The shortest way over the facts, the first stated among equals.  Raises Rejected if there is none."""
    steps: defaultdict[str, list[Step]] = defaultdict(list)
    for fact in facts:
        steps[fact.head].append(Step(fact, fact.tail))
        steps[fact.tail].append(Step(fact, fact.head))
    queue: deque[tuple[str, tuple[Step, ...]]] = deque([(anchor, ())])
    seen = {anchor}
    while queue:
        here, way = queue.popleft()
        if here == answer:
            return way
        for step in steps[here]:
            if step.node not in seen:
                seen.add(step.node)
                queue.append((step.node, (*way, step)))
    raise Rejected("unreachable", f"{answer} from {anchor}")


def _is_passed(node: str, anchors: Sequence[Named], ways: Mapping[str, list[tuple[Step, ...]]]) -> bool:
    """Whether a node named lies on the way from another one."""
    others = (ways[anchor.node] for anchor in anchors if anchor.node != node)
    return any(step.node == node for own in others for way in own for step in way)
