"""What `--llm lexical` makes of the tasks of BYOKG-RAG: plans over the type graph, and what fits a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from clwqa_baselines.byokg_rag.graph import Relations
from clwqa_baselines.byokg_rag.routes import Offered, routes, standing
from clwqa_baselines.byokg_rag.tasks import ChooseNext, Generate, Line, LinkToGraph, SelectRelations
from clwqa_baselines.fitting import Reached, fitting, may_be, reached
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Path
from clwqa_bench.linking.linker import Linked, LinkedAnchor
from clwqa_bench.llm.rules import relevance
from tests.baselines import culture


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


@dataclass(eq=False)
class Reader:
    """A linker that sees these anchors and target, and prefers ways over what the question says; shorter ones first."""

    target: str
    anchors: tuple[LinkedAnchor, ...]
    ontology = culture.ONTOLOGY

    def link(self, question: str) -> Linked:
        return Linked(self.anchors, self.target, question)

    def scores(self, question: str, ways: Sequence[Any]) -> list[float]:
        return [sum(step[0] in question for step in way) - 0.6 * len(way) for way in ways]


@dataclass
class Double:
    reader: Reader

    def linker(self) -> Any:
        return self.reader

    def relevance(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return relevance(question, texts)


def rules(target: str = "Person", **anchors: str) -> Double:
    """Anchors by id, each with its element."""
    found = tuple(LinkedAnchor(mention, (mention,), element) for mention, element in anchors.items())
    return Double(Reader(target, found))


def offered(kg: MemoryGraph, inverse: bool = False) -> tuple[Offered, ...]:
    moves = Relations(kg, kg.ontology, inverse).moves
    return tuple(Offered(label=label, relation=m.relation, sense=m.sense) for label, m in moves.items())


def found(kg: MemoryGraph, *walks: Path) -> tuple[Reached, ...]:
    return tuple(reached(walk, kg, kg.label) for walk in walks)


def out(nodes: str, relations: str) -> Path:
    steps = tuple(relations.split())
    return Path(tuple(nodes.split()), steps, tuple("out" for _ in steps))


BY = out("五蠹 韩非子 韩非", "partOf by"), out("五蠹 韩非子 王先慎", "partOf by")
PART = out("五蠹 韩非子", "partOf")


def test_what_fits_is_all_that_the_best_way_leads_to(kg: MemoryGraph) -> None:
    asked = "五蠹 partOf by？"
    assert fitting(asked, found(kg, PART, *BY), rules(五蠹="Unit")) == ("韩非", "王先慎")
    assert fitting(asked, found(kg, PART, *BY), rules("Work", 五蠹="Unit")) == ("韩非子",)
    assert fitting(asked, found(kg, PART, *BY), rules("Quotation", 五蠹="Unit")) == ()
    assert fitting(asked, (), rules(五蠹="Unit")) == ()


def test_ways_from_what_is_named_count_first_and_what_is_shared_before_the_rest(kg: MemoryGraph) -> None:
    other = out("庄子集解 王先慎", "by")
    asked = "五蠹 partOf by"
    assert fitting(asked, found(kg, *BY, other), rules(庄子集解="Work")) == ("王先慎",)
    both = rules(五蠹="Unit", 庄子集解="Work")
    assert fitting(asked, found(kg, *BY, other), both) == ("王先慎",)
    apart = out("吕氏春秋 吕不韦", "by")
    assert fitting(asked, found(kg, *BY, apart), rules(五蠹="Unit", 吕氏春秋="Work")) == ("韩非", "王先慎")


def test_what_is_named_is_no_answer(kg: MemoryGraph) -> None:
    like = found(kg, out("守株待兔 刻舟求剑", "like"), out("守株待兔 守株缘木", "like"))
    both = rules("Word", 守株待兔="Idiom", 刻舟求剑="Idiom")
    assert fitting("like", like, both) == ("守株缘木",)


@pytest.mark.parametrize(
    ("type_", "target", "may"),
    [
        ("Idiom", "Word", True),
        ("Word", "Idiom", True),
        ("Work", "Word", False),
        ("", "Word", True),
        ("Work", "?", True),
    ],
)
def test_types_that_are_not_known_fit_anything(type_: str, target: str, may: bool) -> None:
    assert may_be(type_, target, culture.ONTOLOGY) is may


def test_routes_lead_from_the_anchor_to_the_target_over_what_is_offered(kg: MemoryGraph) -> None:
    asked = "“守株待兔”from的书partOf by？"
    assert routes(asked, offered(kg), rules(守株待兔="Word"))[0] == ("from", "partOf", "by")
    assert routes(asked, offered(kg), rules("Word", 韩非="Person")) == ()  # nothing leads back
    back = routes("by from", offered(kg, inverse=True), rules("Word", 韩非="Person"))
    assert back[0] == ("^by", "^from")
    assert routes(asked, offered(kg), rules()) == ()


def test_standing_tells_what_has_arrived_and_what_goes_on(kg: MemoryGraph) -> None:
    asked, reader, known = "from partOf", rules("Work", 守株待兔="Word"), offered(kg)
    first = found(kg, out("守株待兔 五蠹", "from"))  # `from` alone is a route as well, but 五蠹 is no work
    assert standing(asked, first, known, reader) == ([], ["五蠹"])
    second = found(kg, out("守株待兔 五蠹 韩非子", "from partOf"))
    assert standing(asked, (*first, *second), known, reader) == (["韩非子"], [])


def test_the_rules_walk_a_route_and_stop_where_it_ends(kg: MemoryGraph) -> None:
    asked, reader, known = "“守株待兔”from的书partOf", rules("Work", 守株待兔="Word"), offered(kg)
    first = LinkToGraph(question=asked, relations=known).by_rule(reader)
    assert (first.entities, first.paths[0], first.answers) == (("守株待兔",), ("from", "partOf"), ())
    here = tuple(one for one in known if one.label in ("from", "quotes"))
    select = SelectRelations(question=asked, entities=("守株待兔",), relations=here, known=known)
    assert select.by_rule(reader).relations == ("from",)
    line = Line(text="a", reached=found(kg, out("守株待兔 五蠹", "from")))
    step = ChooseNext(question=asked, context=(line,), names=("五蠹",), known=known).by_rule(reader)
    assert (step.entities, step.finished) == (("五蠹",), False)
    more = Line(text="b", reached=found(kg, out("守株待兔 五蠹 韩非子", "from partOf")))
    step = ChooseNext(question=asked, context=(line, more), names=(), known=known).by_rule(reader)
    assert step.finished
    later = LinkToGraph(question=asked, relations=known, context=(line, more), first=False).by_rule(reader)
    assert later.finished
    assert Generate(question=asked, context=(line, more)).by_rule(reader).answers == ("韩非子",)
