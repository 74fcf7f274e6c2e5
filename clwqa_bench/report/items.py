"""The questions of a report page as compact JSON values: what was asked, what is right, what each run said.

Entities and relations are numbered once and named in two tables.  A path is a flat list: entity, step, entity, ...;
a step is 3 * relation + way, where way is 0 forwards, 1 backwards, 2 either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clwqa_bench.diagnostics import Diagnosis
from clwqa_bench.errors import GraphError
from clwqa_bench.grid import GoldQuestion
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.matching import HEADLINE, QuestionMatch
from clwqa_bench.ontology import Ontology
from clwqa_bench.predictions import Evidence, Prediction, StageUsage
from clwqa_bench.records import StandardPath, TripleRef
from clwqa_bench.report.names import VERDICTS, relation_name
from clwqa_bench.scoring import Scored

ANSWERS, PATHS, TEXTS, CHARACTERS = 60, 8, 4, 1_200
"""How much of one prediction the page shows: answers, paths, texts, and characters of any one text."""

_WAYS = {"out": 0, "in": 1, "both": 2}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which questions the page holds: all, those some run did not get right, at most `limit` (the first by id)."""

    errors_only: bool = False
    limit: int | None = None


EVERYTHING = Selection()


@dataclass
class _Names:
    """Numbers for entities and relations, in order of first use."""

    graph: GraphStore | None
    ontology: Ontology | None
    labels: Mapping[str, str]  # from the gold, for when there is no graph to ask
    entities: dict[str, int] = field(default_factory=dict)
    relations: dict[str, int] = field(default_factory=dict)

    def entity(self, id: str) -> int:
        return self.entities.setdefault(id, len(self.entities))

    def step(self, relation: str, way: int) -> int:
        return 3 * self.relations.setdefault(relation, len(self.relations)) + way

    def tables(self) -> dict[str, Any]:
        """[id, label, 1 if the graph has it] by entity number; [name, zh, en] by relation number."""
        return {
            "entities": [self._entity_row(id) for id in self.entities],
            "relations": [[name, *relation_name(name, self.ontology)] for name in self.relations],
        }

    def _entity_row(self, id: str) -> list[Any]:
        if self.graph is None:
            return [id, self.labels.get(id, id), 1]
        try:
            return [id, self.graph.entity(id).label, 1]
        except GraphError:
            return [id, self.labels.get(id, id), 0]


def browser_data(
    scored: Sequence[Scored],
    ontology: Ontology | None,
    selection: Selection,
    lost: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    """Everything the error browser of a page needs, as JSON values; all runs are on the same questions.

    `lost` holds, for each run, the stage that lost a question by the question's id.
    """
    gold = scored[0].grid.gold
    judged = [_judged(run) for run in scored]
    rows = _chosen(judged, selection)
    asked = [gold.questions[row] for row in rows]
    names = _Names(gold.graph, ontology, _labels(asked))
    number = {name: place for place, name in enumerate(gold.strata)}
    questions = [_question(question, number, names) for question in asked]
    runs = [
        [_item(run, row, *matches[row], names, stages) for row in rows]
        for run, matches, stages in zip(scored, judged, lost, strict=True)
    ]
    return {
        "strata": list(gold.strata),
        "verdicts": list(VERDICTS),
        "questions": questions,
        "runs": runs,
        **names.tables(),
    }


def lost_at(diagnosis: Diagnosis | None) -> dict[str, str]:
    """The stage of the waterfall by question; those answered right have none."""
    stages = diagnosis.questions if diagnosis else {}
    return {id: stage for stage, ids in stages.items() for id in ids}


def verdict_of(match: QuestionMatch, *, answered: bool) -> str:
    """One of VERDICTS: "partly" if some gold is missing or something wrong was added."""
    if not answered:
        return "failed"
    if match.right == 0:
        return "wrong"
    return "right" if match.right == match.golds == len(match.items) else "partly"


def walk(triples: Sequence[TripleRef]) -> Iterator[list[tuple[str, str, str, int]]]:
    """Cut triples into connected runs of (from, relation, to, way): way 1 where a triple is walked from its tail.

    The first triple of a run starts at the end that the second does not share.
    """
    run: list[tuple[str, str, str, int]] = []
    for place, triple in enumerate(triples):
        at = run[-1][2] if run else None
        if at is not None and at not in (triple.head, triple.tail):
            yield run
            run, at = [], None
        if at is None:
            after = triples[place + 1] if place + 1 < len(triples) else None
            at = _start(triple, after)
        forwards = at == triple.head
        there = triple.tail if forwards else triple.head
        run.append((at, triple.relation, there, 0 if forwards else 1))
    if run:
        yield run


def _start(triple: TripleRef, after: TripleRef | None) -> str:
    shared = after is not None and triple.head in (after.head, after.tail)
    return triple.tail if shared and after and triple.tail not in (after.head, after.tail) else triple.head


def _judged(run: Scored) -> list[tuple[QuestionMatch, str]]:
    """What became of every question under the headline policy, and its verdict."""
    matches = [run.grid.match(row, HEADLINE) for row in range(len(run.grid))]
    outcomes = zip(matches, run.grid.outcomes, strict=True)
    return [(match, verdict_of(match, answered=outcome == "ok")) for match, outcome in outcomes]


def _chosen(judged: Sequence[Sequence[tuple[QuestionMatch, str]]], selection: Selection) -> list[int]:
    rows = range(len(judged[0]))
    kept = [row for row in rows if not selection.errors_only or any(run[row][1] != "right" for run in judged)]
    return kept[: selection.limit]


def _labels(questions: Sequence[GoldQuestion]) -> dict[str, str]:
    """Names of entities that the gold itself tells."""
    found = {anchor.entity_id: anchor.mention for question in questions for anchor in question.anchors}
    return found | {answer.entity_id: answer.label for question in questions for answer in question.answers}


def _question(question: GoldQuestion, number: Mapping[str, int], names: _Names) -> dict[str, Any]:
    return {
        "id": question.id,
        "text": question.text,
        "strata": [number[name] for name in question.strata],
        "gold": [
            [answer.label, names.entity(answer.entity_id), *answer.aliases] for answer in question.answers
        ],
        "paths": [_standard(path, names) for path in question.standard_paths[:PATHS]],
    }


def _standard(path: StandardPath, names: _Names) -> list[int]:
    flat = [names.entity(path.entities[0])]
    for step, there in zip(path.steps, path.entities[1:], strict=True):
        flat += [names.step(step.relation, _WAYS[step.direction]), names.entity(there)]
    return flat


def _item(
    run: Scored, row: int, match: QuestionMatch, verdict: str, names: _Names, stages: Mapping[str, str]
) -> dict[str, Any]:
    """One prediction; keys without content are left out."""
    outcome, id = run.grid.outcomes[row], run.grid.gold.questions[row].id
    f1 = round(2 * match.right / (len(match.items) + match.golds), 4)
    item: dict[str, Any] = {"verdict": list(VERDICTS).index(verdict), "status": outcome, "f1": f1}
    if id in stages:
        item["lost"] = stages[id]
    prediction = run.grid.predictions[row]
    if prediction is None:
        return item
    item |= _answers(prediction, match, names)
    item |= _evidence(prediction.evidence, names)
    item |= {
        "raw": _cut(prediction.raw_answer or ""),
        "error": _cut(prediction.error or ""),
        "flags": list(prediction.flags),
        "usage": _usage(prediction.usage),
    }
    return {key: value for key, value in item.items() if value not in ("", [], None)}


def _answers(prediction: Prediction, match: QuestionMatch, names: _Names) -> dict[str, Any]:
    """[text, entity or -1, gold credited or -1, 1 if several entities bear the name, 2 if said before]."""
    credited = dict(zip(match.items, match.credited, strict=True))
    rows = []
    for place, answer in enumerate(prediction.answers[:ANSWERS]):
        gold = credited.get(place)
        remark = 1 if place in match.ambiguous else 0 if place in credited else 2
        entity = -1 if answer.entity_id is None else names.entity(answer.entity_id)
        rows.append([_cut(answer.text), entity, -1 if gold is None else gold, remark])
    return {"answers": rows, "more_answers": max(0, len(prediction.answers) - ANSWERS) or None}


def _evidence(evidence: Evidence, names: _Names) -> dict[str, Any]:
    pieces = [
        *(list(path.triples) for path in evidence.paths),
        *([piece.triple] for piece in evidence.triples),
    ]
    drawn = [_flat(run, names) for triples in pieces[:PATHS] for run in walk(triples)]
    texts = [_cut(piece.text) for piece in evidence.texts[:TEXTS]]
    more = len(pieces) - len(pieces[:PATHS]) + len(evidence.texts) - len(texts)
    return {"paths": drawn, "texts": texts, "more_evidence": more or None}


def _flat(run: Sequence[tuple[str, str, str, int]], names: _Names) -> list[int]:
    flat = [names.entity(run[0][0])]
    for _, relation, there, way in run:
        flat += [names.step(relation, way), names.entity(there)]
    return flat


def _usage(usage: Mapping[str, StageUsage]) -> list[Any] | None:
    """[calls, from the cache, tokens in, tokens out, seconds] of all stages together."""
    stages = usage.values()
    total = [
        sum(stage.calls for stage in stages),
        sum(stage.cached for stage in stages),
        sum(stage.tokens_in for stage in stages),
        sum(stage.tokens_out for stage in stages),
        round(sum(stage.seconds for stage in stages), 3),
    ]
    return total if any(total) else None


def _cut(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]} … (+{len(text) - CHARACTERS})"
