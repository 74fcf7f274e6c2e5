"""Scoring pairs on the graph of a few real idioms: what the rubric claims, what is drawn, and that it is repeatable."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from clwqa_bench.errors import BuildError
from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.ontology import Ontology
from clwqa_builders.pairs.asked import CLOSED, COLUMNS, SHARED, Asked, deal, sample
from clwqa_builders.pairs.claims import claims
from clwqa_builders.pairs.draw import PER_BAND, PER_QUESTION, Candidate, draw, quotas
from clwqa_builders.pairs.make import Made, candidates, make_pairs
from clwqa_builders.pairs.negatives import Negatives
from clwqa_builders.pairs.nodes import Nodes, Pool
from clwqa_builders.pairs.rubric import load_rubric
from clwqa_builders.questions.columns import GraphColumns
from tests.builders.question_graph import mini_tables

REPOSITORY = Path(__file__).resolve().parents[2]
ONTOLOGY = Ontology.load()
RUBRIC = load_rubric(ONTOLOGY)
SEED = 7

AUTHOR = Asked("q1", "“破釜沉舟”所出的书是谁写的？", "author.book", "author", "Person",
               ("word:破釜沉舟",), ("chapter:1", "book:史记"), ("person:司马迁",))  # fmt: skip
UNIT = Asked("q2", "“守株待兔”出自何篇？", "source.word-chapter", "source", "Chapter",
             ("word:守株待兔",), (), ("chapter:3",))  # fmt: skip
MEANING = Asked("q3", "“背城一战”是什么意思？", "meaning.word-explanation", "meaning", "Explanation",
                ("word:背城一战",), (), ("expl:5",))  # fmt: skip
QUESTIONS = (AUTHOR, UNIT, MEANING)


@pytest.fixture(scope="module")
def columns() -> GraphColumns:
    return GraphColumns.of_tables(*mini_tables())


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    folder = tmp_path_factory.mktemp("kg")
    write_index(*mini_tables(), folder, ONTOLOGY)
    return MemoryGraph.open(folder)


@pytest.fixture(scope="module")
def nodes(graph: MemoryGraph, columns: GraphColumns) -> Nodes:
    """Every node open to every part."""
    return Nodes.of(graph, columns, np.full(len(columns), SHARED))


def rows(*asked: Asked, split: str = "train", groups: dict[str, str] | None = None) -> pa.Table:
    """Question records as far as they are read; the group is that of the first anchor unless given."""
    return pa.Table.from_pylist(
        [
            {
                "id": q.id,
                "question": q.text,
                "split": split,
                "group_id": f"group:{(groups or {}).get(q.id, q.anchors[0])}",
                "template_id": q.template,
                "family": q.family,
                "target_element": q.target,
                "anchors": [{"entity_id": node} for node in q.anchors],
                "answers": [{"entity_id": node} for node in q.answers],
                "standard_paths": [{"entities": [*q.anchors, *q.path, *q.answers]}],
            }
            for q in asked
        ],
        schema=COLUMNS,
    )


# --- the rubric ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (AUTHOR, {
            "person:司马迁": "L5 answer", "word:背水一战": "L4 sibling-word", "book:史记": "L3 path-provenance",
            "chapter:1": "L3 path-provenance", "quot:1": "L3 passage-in-unit", "period:汉": "L2 period-of-person",
            "expl:1": "L2 meaning-around", "category:emotions_values": "L2 category-of-word",
            "category:history_geography": "L2 category-of-work",
        }),
        (UNIT, {
            "chapter:3": "L5 answer", "book:韩非子": "L3 work-of-answer", "quot:3": "L3 passage-in-unit",
            "person:韩非": "L2 creator-of-whole", "category:language_dialects": "L2 category-of-word",
        }),
        (MEANING, {
            "expl:5": "L5 answer", "word:背水一战": "L4 sibling-word", "expl:4": "L4 sibling-explanation",
        }),
    ],
    ids=lambda value: value.id if isinstance(value, Asked) else "",
)  # fmt: skip
def test_the_rubric_claims_nodes(asked: Asked, expected: dict[str, str], nodes: Nodes) -> None:
    found = claims(asked, RUBRIC, nodes)
    assert {node: f"{rules[0].band} {rules[0].id}" for node, rules in found.items()} == expected


def test_the_first_rule_that_claims_decides(nodes: Nodes) -> None:
    """The work on the path also contains a unit of it, and the author found is also the answer."""
    found = claims(AUTHOR, RUBRIC, nodes)
    assert [rule.id for rule in found["book:史记"]] == ["path-provenance", "work-around", "work-of-source"]
    assert [rule.band for rule in found["person:司马迁"]] == ["L5", "L2", "L2"]


def test_every_rule_is_found_by_its_description() -> None:
    assert all(rule.entry.description.endswith(".") for rule in RUBRIC.rules)
    assert {rule.band for rule in RUBRIC.claiming} == {"L5", "L4", "L3", "L2"}
    assert {rule.band for rule in RUBRIC.drawing} == {"L1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('id = "a"\nband = "L6"\ndescription = "x."\nstart = "answers"', "a.band"),
        ('id = "a"\nband = "L5"\ndescription = "x."', "either starts somewhere or draws"),
        ('id = "a"\nband = "L5"\ndescription = "x."\nstart = "all"\nwalk = "w:Word -hasPoet-> p:Person"', "hasPoet"),
        ('id = "a"\nband = "L5"\ndescription = "x."\nstart = "all"\nnodes = ["Sentense"]', "Sentense"),
        ('id = "a"\nband = "L5"\ndescription = "x."\nstart = "all"\nwalk = "w:Word -hasSource-> u:Piece"\ntake = "z"',
         "names no variable: z"),
    ],
    ids=["band", "neither", "relation", "type", "variable"],
)  # fmt: skip
def test_a_rule_that_does_not_fit_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "rubric.toml").write_text(f"[[rule]]\n{text}\n", encoding="utf-8")
    with pytest.raises(BuildError, match=message) as error:
        load_rubric(ONTOLOGY, tmp_path / "rubric.toml")
    assert error.value.file == str(tmp_path / "rubric.toml")


def test_a_gloss_that_reads_like_the_answer_is_no_pair(nodes: Nodes) -> None:
    """背水一战 and 背城一战 have the same gloss in this graph: one text must not be both answer and near miss."""
    found = {c.entity: c.band for c in candidates(MEANING, RUBRIC, Pool.of(nodes, 0), SEED) if c.band != "L1"}
    assert found == {"expl:5": "L5", "word:背水一战": "L4"}


# --- irrelevant nodes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.id)
def test_what_is_claimed_is_never_irrelevant(asked: Asked, nodes: Nodes) -> None:
    claimed = claims(asked, RUBRIC, nodes)
    negatives = Negatives(Pool.of(nodes, 0), SEED, asked, claimed)
    drawn = {node for rule in RUBRIC.drawing for node in negatives.draw(rule.entry.draw, 20)}  # type: ignore[arg-type]
    assert drawn
    assert drawn.isdisjoint({*claimed, *asked.anchors, *asked.path, *asked.answers})


def test_another_chapter_of_the_work_is_not_irrelevant_where_the_work_is_gold(nodes: Nodes) -> None:
    negatives = Negatives(Pool.of(nodes, 0), SEED, AUTHOR, claims(AUTHOR, RUBRIC, nodes))
    chapters = {node for node in negatives.draw("same-type", 40) if node.startswith("chapter:")}
    assert chapters == {"chapter:3", "chapter:4"}  # not chapter:2, which is of the same book


# --- parts --------------------------------------------------------------------------------------------------


def test_a_fact_group_is_dealt_to_one_part(columns: GraphColumns) -> None:
    parts = deal(rows(*QUESTIONS), columns, SEED)
    of = dict(zip(columns.ids, parts.of_entity.tolist(), strict=True))
    assert len({of[n] for n in ("word:破釜沉舟", "word:背水一战", "word:背城一战", "expl:1", "quot:1")}) == 1
    assert {of[n] for n in ("book:史记", "person:司马迁", "period:汉", "word:釜", "expl:3")} == {SHARED}
    assert parts.of_question.tolist() == [of["word:破釜沉舟"], of["word:守株待兔"], of["word:背城一战"]]


def test_what_the_test_split_tells_is_closed(columns: GraphColumns) -> None:
    table = pa.concat_tables([rows(UNIT, MEANING), rows(AUTHOR, split="test")])
    parts = deal(table, columns, SEED)
    assert parts.of_question[1:].tolist() == [CLOSED, CLOSED]  # 背城一战 is of the family of 破釜沉舟
    assert parts.of_question[0] != CLOSED
    assert parts.of_entity[columns.index_of["expl:1"]] == CLOSED


def test_questions_are_sampled_over_templates() -> None:
    many = [
        Asked(f"q{i}", "", "common" if i else "rare", "f", "Person", ("a",), (), ("b",)) for i in range(9)
    ]
    chosen = list(sample(rows(*many), np.zeros(9, dtype=np.int64), 0, 2, SEED))
    assert {asked.template for asked in chosen} == {"common", "rare"}


# --- the draw -----------------------------------------------------------------------------------------------


def supply() -> list[Candidate]:
    """Forty questions with six nodes for every claiming rule and every drawing rule."""
    asked = [Asked(f"q{i}", f"问{i}？", f"t{i % 4}", "f", "Person", ("a",), (), ("b",)) for i in range(40)]
    kinds = ("Person", "Book", "Chapter")
    return [
        Candidate(q, f"{rule.id}:{n}:{q.id}", kinds[n % 3], (rule,))
        for q in asked
        for rule in RUBRIC.rules
        for n in range(6)
    ]


def test_the_draw_is_exact_even_and_within_its_caps() -> None:
    drawn = draw(supply(), 103, SEED, str)
    assert Counter(c.band for c in drawn) == quotas(103)
    assert len({(c.asked.id, c.entity) for c in drawn}) == 103
    elements = Counter((c.band, c.element) for c in drawn if c.band != "L1")
    assert max(elements.values()) - min(elements.values()) <= 1
    assert max(Counter(c.asked.id for c in drawn).values()) <= PER_QUESTION
    assert max(Counter((c.asked.id, c.band) for c in drawn).values()) <= PER_BAND


def test_two_nodes_of_the_same_words_are_not_drawn_for_one_question() -> None:
    drawn = draw(supply(), 50, SEED, lambda node: node.split(":")[0])
    assert len({(c.asked.id, c.entity.split(":")[0]) for c in drawn}) == 50


def test_a_short_supply_is_told() -> None:
    with pytest.raises(BuildError, match="of 100,000 scoring pairs"):
        draw(supply(), 100_000, SEED, str)


def test_the_order_of_the_candidates_does_not_matter() -> None:
    assert draw(supply()[::-1], 60, SEED, str) == draw(supply(), 60, SEED, str)


# --- all of it ----------------------------------------------------------------------------------------------


def made(nodes: Nodes, workers: int = 1) -> Made:
    part = np.array([0, 0, 2])
    return make_pairs(rows(*QUESTIONS), part, nodes, RUBRIC, SEED, {"train": 4, "test": 3}, workers)


def test_pairs_are_made_for_every_split(nodes: Nodes) -> None:
    pairs = made(nodes).pairs
    assert Counter(pair.split for pair in pairs) == {"train": 4, "test": 3}
    assert {pair.question_id for pair in pairs if pair.split == "test"} <= {"q3"}
    assert [pair.id for pair in pairs] == sorted({pair.id for pair in pairs})


def test_a_dispute_is_put_on_the_sheet(nodes: Nodes) -> None:
    result = made(nodes)
    by_id = {pair.id: pair for pair in result.pairs}
    for pair_id, _, _, _, _, told, band, rule in result.disputed:
        assert told.startswith(f"{band} {rule}; ")
        assert by_id[pair_id].band == band


def test_made_pairs_survive_being_written(nodes: Nodes) -> None:
    result = made(nodes)
    assert Made.from_json(result.to_json()) == result


def test_workers_do_not_matter(nodes: Nodes) -> None:
    assert made(nodes, workers=2) == made(nodes)


def test_the_hash_seed_does_not_matter(nodes: Nodes, tmp_path: Path) -> None:
    """Candidates come in the same order from a process with another hash seed."""
    write_index(*mini_tables(), tmp_path, ONTOLOGY)
    here = [c.entity for c in candidates(AUTHOR, RUBRIC, Pool.of(nodes, 0), SEED)]
    code = (
        "import sys, numpy as np\n"
        "from tests.builders import test_pairs as t\n"
        "columns = t.GraphColumns.of_tables(*t.mini_tables())\n"
        "nodes = t.Nodes.of(t.MemoryGraph.open(sys.argv[1]), columns, np.full(len(columns), t.SHARED))\n"
        "print(*[c.entity for c in t.candidates(t.AUTHOR, t.RUBRIC, t.Pool.of(nodes, 0), t.SEED)], sep='\\n')\n"
    )
    search = os.pathsep.join(
        [str(REPOSITORY), str(REPOSITORY / "builders"), os.environ.get("PYTHONPATH", "")]
    )
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": other, "PYTHONPATH": search, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, encoding="utf-8")
    assert done.stdout.splitlines() == here


def test_the_page_prints_the_rubric() -> None:
    page = (REPOSITORY / "docs" / "scoring-pairs.md").read_text(encoding="utf-8").splitlines()
    told = [f"| {rule.band} | `{rule.id}` | {rule.entry.description} |" for rule in RUBRIC.rules]
    assert [
        line for line in page if line.startswith(("| L5 |", "| L4 |", "| L3 |", "| L2 |", "| L1 |"))
    ] == told
