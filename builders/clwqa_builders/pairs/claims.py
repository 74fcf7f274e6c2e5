"""Which nodes the rules of the rubric find around a question's gold path, and who wins when several do."""

from __future__ import annotations

from collections.abc import Mapping

from clwqa_builders.pairs.asked import Asked
from clwqa_builders.pairs.nodes import Nodes
from clwqa_builders.pairs.rubric import Rubric, Rule

Claims = Mapping[str, tuple[Rule, ...]]
"""By node: the rules that claim it, in order of precedence, so that the first one decides."""


def claims(asked: Asked, rubric: Rubric, nodes: Nodes) -> Claims:
    """Every node but the anchors that some rule claims for the question."""
    found: dict[str, list[Rule]] = {}
    named = _named(asked)
    for rule in rubric.claiming:
        if rule.suits(asked.target, asked.family):
            for node in _found(rule, named, nodes):
                found.setdefault(node, []).append(rule)
    return {node: tuple(rules) for node, rules in found.items() if node not in asked.anchors}


def _found(rule: Rule, named: Mapping[str, tuple[str, ...]], nodes: Nodes) -> dict[str, None]:
    """The nodes one rule finds, in the order of the graph store."""
    starts = named[rule.entry.start or "all"]
    if rule.walk is None:
        return {node: None for node in starts if nodes.type_of[node] in rule.nodes}
    walk, ends = rule.walk, rule.entry.ends
    starts = tuple(node for node in starts if nodes.type_of[node] in walk.first)
    if not starts:
        return {}
    return {
        path.nodes[walk.take]: None
        for path in nodes.graph.follow(starts, walk.steps)
        if ends is None or path.nodes[-1] in named[ends]
    }


def _named(asked: Asked) -> dict[str, tuple[str, ...]]:
    """The nodes of a question by the names that rules call them."""
    return {
        "answers": asked.answers,
        "anchors": asked.anchors,
        "path": asked.path,
        "asked": asked.anchors + asked.path,
        "gold": asked.path + asked.answers,
        "all": asked.anchors + asked.path + asked.answers,
    }
