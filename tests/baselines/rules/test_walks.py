"""Reading answers off a few triples by rule, with a linker learned from the tiny dataset."""

from __future__ import annotations

import pytest

from clwqa_baselines.rules.walks import edge, read_off
from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.protocol import Triple
from clwqa_bench.llm.lexical import Lexical
from clwqa_bench.systems import Resources
from tests import tiny_dataset

WORD, UNIT, BOOK, AUTHOR = "word:守株待兔", "chapter:韩非子/五蠹", "book:韩非子", "person:韩非"
SOURCE, PART = Triple(WORD, "hasSource", UNIT), Triple(UNIT, "partOf", BOOK)
BY, ELSEWHERE = Triple(BOOK, "authoredBy", AUTHOR), Triple("book:史记", "authoredBy", "person:司马迁")


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Lexical:
    folder = tmp_path_factory.mktemp("tiny")
    tiny_dataset.write(folder)
    dataset = Dataset.open(folder)
    kg = dataset.kg()
    cache = tmp_path_factory.mktemp("cache")
    return Lexical(Resources(kg, kg.ontology, lambda: dataset.questions("train"), cache=cache))


@pytest.mark.parametrize(
    ("question", "triples", "answers"),
    [
        ("成语“守株待兔”出自何篇？", [SOURCE], ("韩非子·五蠹",)),
        ("“守株待兔”见于哪部书？", [SOURCE, PART], ("韩非子",)),  # two steps put together
        ("“守株待兔”见于哪部书？", [SOURCE], ()),  # no book is shown
        (
            "“守株待兔”所出的书是谁写的？",
            [ELSEWHERE, BY, SOURCE, PART],
            ("韩非",),
        ),  # not what leads from elsewhere
        (
            "“守株待兔”所出的书是谁写的？",
            [ELSEWHERE],
            ("司马迁",),
        ),  # nothing of what is named: the rule guesses
        ("“守株待兔”见于哪部书？", [], ()),
    ],
)
def test_read_off(question: str, triples: list[Triple], answers: tuple[str, ...], rules: Lexical) -> None:
    assert rules.resources is not None
    graph = rules.resources.kg
    edges = [edge(triple, graph, lambda node: graph.entity(node).label) for triple in triples]
    assert tuple(one.name for one in read_off(question, edges, rules, guessing=True)) == answers


def test_answers_know_the_edges_they_are_read_off(rules: Lexical) -> None:
    assert rules.resources is not None
    graph = rules.resources.kg
    edges = [edge(t, graph, graph.label) for t in (ELSEWHERE, PART, SOURCE)]
    (book,) = read_off("“守株待兔”见于哪部书？", edges, rules)
    assert (book.name, book.edges) == ("韩非子", (2, 1))


def test_without_guessing_what_leads_from_elsewhere_is_no_answer(rules: Lexical) -> None:
    assert rules.resources is not None
    graph = rules.resources.kg
    edges = [edge(ELSEWHERE, graph, graph.label)]
    assert read_off("“守株待兔”所出的书是谁写的？", edges, rules) == ()
