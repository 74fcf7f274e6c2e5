"""Four questions worked by hand: what docs/metrics.md shows and tests/core/test_metrics.py checks.

Run it to write the tables of the page anew: ``python -m tests.core.metric_example``.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, cast

from clwqa_bench.grid import Gold, GoldQuestion, Grid, align
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.metrics import Metric
from clwqa_bench.predictions import (
    Citation,
    DatasetRef,
    Evidence,
    EvidencePath,
    EvidenceTriple,
    PredictedAnswer,
    Prediction,
)
from clwqa_bench.records import Anchor, Answer, AnswerKind, PathStep, StandardPath, TripleRef

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"

FACTS = {
    ("word:负荆请罪", "mentionsPerson", "person:廉颇"),
    ("word:负荆请罪", "mentionsPerson", "person:蔺相如"),
    ("person:廉颇", "livedIn", "period:战国"),
    ("word:四面楚歌", "hasSource", "chapter:项羽本纪"),
    ("chapter:项羽本纪", "partOf", "book:史记"),
    ("word:买椟还珠", "hasExplanation", "expl:买椟还珠"),
    ("word:买椟还珠", "hasSource", "chapter:外储说左上"),
    ("word:守株待兔", "hasSource", "chapter:五蠹"),
    ("chapter:五蠹", "authoredBy", "person:韩非"),
}


class Facts:
    """The two questions that metrics ask of any graph store."""

    def lookup(self, name: str, types: Any = None) -> tuple[str, ...]:
        nodes = {end for head, _, tail in FACTS for end in (head, tail)} | {"person:赵括"}
        return tuple(sorted(node for node in nodes if node.partition(":")[2] == name.strip("《》")))

    def neighbours(self, node: str, relation: Any = None, direction: str = "both") -> tuple[str, ...]:
        return tuple(tail for head, name, tail in FACTS if (head, name) == (node, relation))


def triple(text: str) -> TripleRef:
    head, relation, tail = text.split()
    return TripleRef(head=head, relation=relation, tail=tail)


def question(id: str, text: str, answers: list[Answer], element: str, *evidence: str) -> GoldQuestion:
    """A question with one standard path to each answer, along the evidence in the order given."""
    triples = [triple(line) for line in evidence]
    paths = []
    for answer in answers:
        walked = [t for t in triples if t.tail == answer.entity_id or len(answers) == 1]
        steps = tuple(PathStep(relation=t.relation, direction="out", type="") for t in walked)
        paths.append(StandardPath(steps=steps, entities=(walked[0].head, *(t.tail for t in walked))))
    anchor = Anchor(entity_id=triples[0].head, mention=triples[0].head.partition(":")[2])
    return GoldQuestion(
        id, text, tuple(answers), f"group:{id}", target_element=element, anchors=(anchor,),
        standard_paths=tuple(paths), evidence=tuple(triples),
    )  # fmt: skip


def gold(id: str, *aliases: str, label: str = "", kind: AnswerKind = "entity") -> Answer:
    return Answer(entity_id=id, label=label or id.partition(":")[2], aliases=aliases, kind=kind)


QUESTIONS = (
    question(
        "q1", "“负荆请罪”讲的是哪两个人的故事？", [gold("person:廉颇"), gold("person:蔺相如")], "Person",
        "word:负荆请罪 mentionsPerson person:廉颇", "word:负荆请罪 mentionsPerson person:蔺相如",
    ),
    question(
        "q2", "“四面楚歌”见于哪部书？", [gold("book:史记", "太史公书")], "Book",
        "word:四面楚歌 hasSource chapter:项羽本纪", "chapter:项羽本纪 partOf book:史记",
    ),
    question(
        "q3", "“买椟还珠”是什么意思？",
        [gold("expl:买椟还珠", label="比喻舍本逐末，取舍不当", kind="passage")], "Explanation",
        "word:买椟还珠 hasExplanation expl:买椟还珠",
    ),
    question(
        "q4", "“守株待兔”的故事是谁写下的？", [gold("person:韩非", "韩非子")], "Person",
        "word:守株待兔 hasSource chapter:五蠹", "chapter:五蠹 authoredBy person:韩非",
    ),
)  # fmt: skip

PREDICTIONS = (
    Prediction(
        id="q1",
        status="ok",
        ranked=True,
        answers=tuple(PredictedAnswer(text=text) for text in ("赵括", "廉颇", "蔺相如")),
        evidence=Evidence(
            paths=(EvidencePath(id="p1", triples=(triple("word:负荆请罪 mentionsPerson person:廉颇"),)),),
            triples=(
                EvidenceTriple(id="t1", triple=triple("word:负荆请罪 mentionsPerson person:赵括")),  # made up
                EvidenceTriple(id="t2", triple=triple("person:廉颇 livedIn period:战国")),
            ),
        ),
        citations=(Citation(marker="[1]", evidence_id="p1"), Citation(marker="[2]", evidence_id="t9")),
    ),
    Prediction(
        id="q2",
        status="ok",
        ranked=True,
        answers=(PredictedAnswer(text="《史记》", entity_id="book:史记", source="parametric"),),
        evidence=Evidence(paths=(EvidencePath(id="p1", triples=QUESTIONS[1].evidence),)),
        citations=(Citation(marker="[1]", evidence_id="p1"),),
    ),
    Prediction(
        id="q3",
        status="ok",
        ranked=True,
        answers=(PredictedAnswer(text="比喻取舍不当。"),),
        evidence=Evidence(
            paths=(EvidencePath(id="p1", triples=(triple("word:买椟还珠 hasSource chapter:外储说左上"),)),)
        ),
    ),
    Prediction(id="q4", status="refused", raw_answer="抱歉，我无法回答。"),
)

GOLD = Gold(
    DatasetRef(name="example", version="1", content="", split="test"),
    QUESTIONS,
    cast(GraphStore, Facts()),
)

WORKED = {
    #                              q1               q2   q3   q4
    "Hits@1": 1 / 4,  #            0                1    0    0     q3 is similar to the gold, but not enough
    "Hits@5": 2 / 4,  #            1                1    0    0
    "E[Hits]@1": 5 / 12,  #        2/3              1    0    0
    "P": 5 / 12,  #                2/3              1    0/1  0
    "R": 2 / 4,  #                 2/2              1    0    0
    "F1": 9 / 20,  #               4/5              1    0    0
    "F1(agg=of-means)": 5 / 11,  # 2 * 5/12 * 1/2 / (5/12 + 1/2)
    "P(agg=micro)": 3 / 5,  #      2 of 3           1/1  0/1  0/0
    "R(agg=micro)": 3 / 5,  #      2 of 2           1/1  0/1  0/1
    "F1(agg=micro)": 3 / 5,
    "EM": 1 / 4,  #                0                1    0    0
    "MRR@10": 3 / 8,  #            1/2              1    0    0
    "MAP@10": 19 / 48,  #          (1/2 + 2/3) / 2  1    0    0
    "Recall@10": 2 / 4,  #         2/2              1    0    0
    "Hits(match=id)@1": 1 / 4,  #  0                1    0    0     only q2 gives an id
    "F1(match=id)": 1 / 4,
    "Coverage": 3 / 4,
    "ParametricShare": 1 / 5,  #   0 of 3           1/1  0/1  0/0
    # 6 characters against 10, all 6 in common; the longest common subsequence of the keys, 11 with the comma, is 6
    "charF1": 12 / 16,
    "ROUGE-L": 12 / 17,
    # 6 of 6 characters, 4 of 5 pairs, 2 of 4 triples, 1 of 3 fours; brevity penalty exp(1 - 11/6)
    "BLEU": (6 / 6 * 4 / 5 * 2 / 4 * 1 / 3) ** 0.25 * math.exp(1 - 11 / 6),
    "BLEU(agg=corpus)": (6 / 6 * 4 / 5 * 2 / 4 * 1 / 3) ** 0.25 * math.exp(1 - 11 / 6),
    #                                        q1    q2    q3    q4
    "EvidenceP": 1 / 3,  #                   1/3   2/2   0/1   0
    "EvidenceR": 3 / 8,  #                   1/2   2/2   0/1   0/2
    "EvidenceF1": 7 / 20,  #                 2/5   1     0     0
    "EvidenceF1(agg=of-means)": 6 / 17,
    "EvidenceF1(agg=micro)": 6 / 13,  #      P 3/6, R 3/7
    "EvidenceP(of=cited)": 2 / 4,  #         1/1   2/2   0     0
    "EvidenceR(of=cited)": 3 / 8,  #         1/2   2/2   0     0
    "EvidenceF1(of=cited)": 5 / 12,  #       2/3   1     0     0
    "EvidencenDCG@10": 0.4032867,  #         1 / (1 + 1/log2(3)) = 0.6131, 1, 0, 0
    "HallucinatedEdges": 1 / 6,  #           1/3   0/2   0/1   -
    "HallucinatedEdges(of=cited)": 0 / 3,
    "PathConnectedness": 2 / 3,  #           1/1   1/1   0/1   -
    "CitationConsistency": 2 / 3,  #         1/2   1/1   -     -
    "AnswerWithoutSupport": 2 / 5,  #        1/3   0/1   1/1   -     蔺相如; the passage of q3
    "CorrectButUnsupported": 1 / 3,  #       1/2   0/1   -     -     蔺相如
}
"""Metric to value, worked out by hand."""


def grid() -> Grid:
    """The four questions with their predictions."""
    return align(GOLD, PREDICTIONS)


def table(group: str) -> str:
    """The metrics of a group on the example, as docs/metrics.md shows them."""
    example = grid()
    lines = ["| metric | q1 | q2 | q3 | q4 | all |", "| --- | --: | --: | --: | --: | --: |"]
    for name in WORKED:
        metric = Metric.parse(name)
        if metric.group == group:
            columns = metric.columns(example)
            value = float(metric.reduce(columns.values[columns.applies].mean(axis=0)))
            cells = ["–" if v != v else f"{v:.3f}" for v in metric.per_question(example).tolist()]
            lines.append(f"| `{name}` | {' | '.join(cells)} | **{value:.3f}** |")
    return "\n".join(lines)


def filled(page: str) -> str:
    """The page with its tables written anew."""
    block = re.compile(r"(<!-- example:(\w+) -->\n).*?(<!-- /example -->)", re.DOTALL)
    return block.sub(lambda found: f"{found[1]}{table(found[2])}\n{found[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
