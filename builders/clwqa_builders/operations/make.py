"""Question records of the extension set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from clwqa_bench.literals import number, truth
from clwqa_bench.records import Answer, Generator, Question, StandardPath, TripleRef
from clwqa_builders.operations.draw import Drawn
from clwqa_builders.operations.templates import OperationTemplate
from clwqa_builders.questions.compile import Anchors
from clwqa_builders.questions.instances import BASES
from clwqa_builders.questions.make import Maker
from clwqa_builders.questions.solve import in_order, solutions, standard_paths


def make_question(maker: Maker, drawn: Drawn) -> Question:
    """The record; its paths and evidence come from executing the pattern on the store."""
    case, ids = drawn.case, maker.columns.ids
    template, spec = case.template, case.template.spec
    named = [ids[anchor] for anchor in case.anchors]
    bound = template.bind(named)
    assert bound is not None
    key = hashlib.sha256("\x1f".join((template.id, *named)).encode("utf-8")).digest()
    phrasing = spec.phrasings[int.from_bytes(key[-4:], "big") % len(spec.phrasings)]
    paths, evidence = support(template, maker, bound)
    category = ids[case.category].removeprefix("category:")
    return Question(
        id=f"clwqa-{key.hex()[:12]}",
        question=wording(phrasing, dict(zip(template.slots, case.mentions, strict=True))),
        answers=tuple(_answer(maker, template, gold) for gold in case.gold),
        hops=template.hops,
        category=category,
        upper_category=maker.upper[category],
        category_basis=BASES[case.basis],
        group_id=f"group:{ids[drawn.group]}",
        template_id=template.id,
        family=spec.family,
        anchors=tuple(maker.anchor(id, text) for id, text in zip(named, case.mentions, strict=True)),
        target_element=spec.target_element,
        standard_paths=paths,
        cypher=template.cypher(bound),
        sparql=template.sparql(bound),
        evidence=evidence,
        sources=maker.cited(evidence),
        generator=Generator(method="template", template_id=template.id),
        split=drawn.split,
    )


def wording(phrasing: str, mentions: Mapping[str, str]) -> str:
    """The question; between titles in brackets stands no mark of enumeration (GB/T 15834, 4.5.3.5).

    >>> wording("{a}、{b}、{c}", {"a": "《史记》", "b": "《汉书》", "c": "巴金《家》"})
    '《史记》《汉书》、巴金《家》'
    """
    return phrasing.format_map(mentions).replace("》、《", "》《")


def _answer(maker: Maker, template: OperationTemplate, gold: str) -> Answer:
    value = gold.partition(":")[2]
    match template.operation.kind:
        case "number":
            return number(float(value), template.spec.unit)
        case "truth":
            return truth(gold == truth(True).entity_id)
        case _:
            return maker.answer(maker.columns.index_of[gold])


def support(
    template: OperationTemplate, maker: Maker, anchors: Anchors
) -> tuple[tuple[StandardPath, ...], tuple[TripleRef, ...]]:
    """The ways from every anchor to what has to be reached, and all triples that have a say in the answer.

    What a negation leaves out has one too: by its triples it is known to be out.
    """
    paths: set[StandardPath] = set()
    triples: set[TripleRef] = set()
    for bound in template.bindings(anchors):
        found = standard_paths(template.pattern, maker.store, bound, template.end)
        paths.update(found[0])
        triples.update(found[1])
        triples.update(_exclusions(template, maker, bound))
    return in_order(paths, triples)


def _exclusions(template: OperationTemplate, maker: Maker, bound: dict[str, str]) -> Iterable[TripleRef]:
    if template.without is None:
        return
    end = [*template.without.variables][-1]
    for row in solutions(template.pattern, maker.store, bound):
        shared = {name: row[name] for name in template.without.variables if name in row}
        yield from standard_paths(template.without, maker.store, shared, end)[1]
