"""From the questions and the graph to the scoring pairs and the adjudication sheet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from types import MappingProxyType

import orjson
import pyarrow as pa

from clwqa_bench.kg.verbalise import node_text
from clwqa_bench.records import BAND_LABELS, SPLITS, ScoringPair, Split
from clwqa_builders.pairs.adjudicated import Decisions, decided
from clwqa_builders.pairs.asked import Asked, Ints, hashed, sample
from clwqa_builders.pairs.claims import claims
from clwqa_builders.pairs.draw import Candidate, draw
from clwqa_builders.pairs.negatives import Negatives
from clwqa_builders.pairs.nodes import Nodes, Pool
from clwqa_builders.pairs.rubric import Rubric, Rule
from clwqa_builders.parallel import parallel_map

PAIR_TARGETS: Mapping[str, int] = {"train": 2_466, "validation": 616, "test": 2_055}  # seed paper sec. 5.2
QUESTIONS = 0.6  # questions looked at per pair wanted
PER_RULE, PER_DRAW = 3, 1  # nodes of one question taken up per rule that claims, per rule that draws
SHEET = ("pair_id", "question_id", "entity_id", "question", "node_text", "claims", "band", "rule")

NO_DECISIONS: Decisions = MappingProxyType({})
SheetRow = tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """The pairs, sorted by id, and two tables about some of them: the adjudication sheet (columns of SHEET), and what
    people have decided (columns of `adjudicated`)."""

    pairs: tuple[ScoringPair, ...]
    disputed: tuple[SheetRow, ...]
    adjudicated: tuple[SheetRow, ...] = ()

    def to_json(self) -> bytes:
        pairs = [pair.model_dump() for pair in self.pairs]
        return orjson.dumps({"pairs": pairs, "disputed": self.disputed, "adjudicated": self.adjudicated})

    @classmethod
    def from_json(cls, text: bytes) -> Made:
        """The inverse of :meth:`to_json`."""
        data = orjson.loads(text)
        tables = (tuple(map(tuple, data[name])) for name in ("disputed", "adjudicated"))
        return cls(tuple(map(ScoringPair.model_validate, data["pairs"])), *tables)


NO_PAIRS = Made((), ())


def make_pairs(
    questions: pa.Table,
    of_question: Ints,
    nodes: Nodes,
    rubric: Rubric,
    seed: int,
    targets: Mapping[str, int] = PAIR_TARGETS,
    workers: int = 1,
    decisions: Decisions = NO_DECISIONS,
) -> Made:
    """Exactly the wished number of pairs for each split; see `docs/scoring-pairs.md`.

    ``questions`` and ``of_question`` (the part of each) come from :mod:`clwqa_builders.pairs.asked`. A pair that may be
    drawn has the band of its decision, if people took one. Deterministic in its arguments.
    """

    def work(part: int) -> list[tuple[ScoringPair, SheetRow | None]]:
        wanted = targets.get(SPLITS[part], 0)
        looked_at = sample(questions, of_question, part, round(wanted * QUESTIONS), seed)
        return _pairs_of_part(part, looked_at, wanted, nodes, rubric, seed, decisions)

    made = sorted(chain.from_iterable(parallel_map(work, range(len(SPLITS)), workers)), key=_id)
    return Made(
        tuple(pair for pair, _ in made),
        tuple(row for _, row in made if row),
        tuple(decisions[pair.id].row for pair, _ in made if pair.id in decisions),
    )


def _id(made: tuple[ScoringPair, SheetRow | None]) -> str:
    return made[0].id


def _pairs_of_part(
    part: int,
    looked_at: Iterable[Asked],
    wanted: int,
    nodes: Nodes,
    rubric: Rubric,
    seed: int,
    decisions: Decisions,
) -> list[tuple[ScoringPair, SheetRow | None]]:
    """The pairs of one split, each with its row of the adjudication sheet where it needs one."""
    pool = Pool.of(nodes, part)
    found = [
        candidate
        for asked in looked_at
        for candidate in candidates(asked, rubric, pool, seed)
        if nodes.usable(candidate.entity, part)
    ]

    @cache
    def text_of(node: str) -> str:
        return node_text(nodes.graph.entity(node), nodes.graph.ontology)

    for place, candidate in enumerate(found):
        if decision := decisions.get(candidate.id):
            found[place] = decided(candidate, decision, text_of(candidate.entity))
    made: list[tuple[ScoringPair, SheetRow | None]] = []
    for candidate in draw(found, wanted, seed, text_of):
        pair = _pair(candidate, SPLITS[part], text_of(candidate.entity))
        disputed = len({rule.band for rule in candidate.rules}) > 1
        made.append((pair, _sheet_row(pair, candidate.rules) if disputed else None))
    return made


def candidates(asked: Asked, rubric: Rubric, pool: Pool, seed: int) -> Iterator[Candidate]:
    """Every pair of one question that may be drawn: at most PER_RULE nodes of each deciding rule.

    A node that reads like one of a higher band (two words may have one and the same gloss) is left out.
    """
    claimed, type_of = claims(asked, rubric, pool.nodes), pool.nodes.type_of
    by_rule: dict[str, list[str]] = {}
    band_of: dict[tuple[str, ...], str] = {}
    for node, rules in sorted(claimed.items(), key=lambda claim: claim[1][0].band, reverse=True):
        if band_of.setdefault(pool.nodes.words_of(node), rules[0].band) == rules[0].band:
            by_rule.setdefault(rules[0].id, []).append(node)
    for nodes in by_rule.values():
        for node in sorted(nodes, key=lambda node: hashed(seed, asked.id, node))[:PER_RULE]:
            yield Candidate(asked, node, type_of[node], claimed[node])
    negatives = Negatives(pool, seed, asked, claimed)
    for rule in rubric.drawing:
        if rule.entry.draw is not None and rule.suits(asked.target, asked.family):
            for node in negatives.draw(rule.entry.draw, PER_DRAW):
                yield Candidate(asked, node, type_of[node], (rule,))


def _pair(candidate: Candidate, split: Split, text: str) -> ScoringPair:
    asked, rule = candidate.asked, candidate.rules[0]
    return ScoringPair(
        id=candidate.id,
        question_id=asked.id,
        question=asked.text,
        entity_id=candidate.entity,
        node_text=text,
        element=candidate.element,
        band=rule.band,
        label=BAND_LABELS[rule.band],
        rule=rule.id,
        split=split,
    )


def _sheet_row(pair: ScoringPair, rules: Iterable[Rule]) -> SheetRow:
    told = "; ".join(f"{rule.band} {rule.id}" for rule in rules)
    return (
        pair.id,
        pair.question_id,
        pair.entity_id,
        pair.question,
        pair.node_text,
        told,
        pair.band,
        pair.rule,
    )
