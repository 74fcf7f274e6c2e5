"""The gold answers themselves, with their ids and evidence: the ceiling, and a test of the scorer; never on a board."""

from __future__ import annotations

from itertools import pairwise

from clwqa_bench.predictions import Evidence, EvidencePath, EvidenceTriple, PredictedAnswer, Prediction
from clwqa_bench.records import Question, QuestionView, StandardPath, TripleRef
from clwqa_bench.systems import Context, System


class Oracle(System):
    """Reads the gold of each question; whatever it scores below 1 is a fault of data or scorer."""

    name = "oracle"
    oracle = ("answers",)

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        gold = ctx.gold
        if gold is None:
            raise ValueError("the oracle was given no gold")
        evidence = _evidence(gold)
        answers = tuple(
            PredictedAnswer(
                text=answer.label,
                entity_id=answer.entity_id,
                support=tuple(path.id for path in evidence.paths if _touches(path, answer.entity_id)),
            )
            for answer in gold.answers
        )
        return Prediction(id=question.id, status="ok", ranked=True, answers=answers, evidence=evidence)


def _evidence(gold: Question) -> Evidence:
    """The standard paths, and what of the gold evidence lies on none of them."""
    paths = tuple(
        EvidencePath(id=f"p{number}", triples=_walked(path, gold))
        for number, path in enumerate(gold.standard_paths, start=1)
        if path.steps
    )
    walked = {triple for path in paths for triple in path.triples}
    rest = [triple for triple in gold.evidence if triple not in walked]
    triples = tuple(
        EvidenceTriple(id=f"t{number}", triple=triple) for number, triple in enumerate(rest, start=1)
    )
    return Evidence(paths=paths, triples=triples)


def _walked(path: StandardPath, gold: Question) -> tuple[TripleRef, ...]:
    """The triples of a path as they are stored; a step either way is the one the gold evidence has."""
    triples = []
    for step, (here, there) in zip(path.steps, pairwise(path.entities), strict=True):
        out = TripleRef(head=here, relation=step.relation, tail=there)
        back = TripleRef(head=there, relation=step.relation, tail=here)
        stored = {"out": out, "in": back, "both": out if out in gold.evidence else back}
        triples.append(stored[step.direction])
    return tuple(triples)


def _touches(path: EvidencePath, entity: str) -> bool:
    return any(entity in (triple.head, triple.tail) for triple in path.triples)
