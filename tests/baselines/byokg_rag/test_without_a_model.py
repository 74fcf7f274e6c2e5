"""What `--llm lexical` makes of the tasks of BYOKG-RAG: plans over the type graph, and what fits a question."""

from __future__ import annotations

import pytest

from clwqa_baselines.byokg_rag.cypher import along_ways
from clwqa_baselines.byokg_rag.graph import Relations
from clwqa_baselines.byokg_rag.routes import routes, standing
from clwqa_baselines.byokg_rag.tasks import (
    ChooseNext,
    Generate,
    Line,
    LinkToGraph,
    SelectRelations,
    WriteQueries,
)
from clwqa_baselines.rules.ways import Offer
from clwqa_bench.kg.memory import MemoryGraph
from tests.baselines import culture
from tests.baselines.rules.reader import found, out, rules


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


def offered(kg: MemoryGraph, inverse: bool = False) -> tuple[Offer, ...]:
    moves = Relations(kg, kg.ontology, inverse).moves
    return tuple(Offer(label=label, relation=m.relation, sense=m.sense) for label, m in moves.items())


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


# ---------------------------------------------------------------------- queries

STEPS = "-[:`from`]->(:`Unit`)-[:`partOf`]->(:`Work`)"
FROM_PART_OF = f"UNWIND ['守株待兔'] AS id MATCH p = (:Entity {{id: id}}){STEPS} RETURN p"


def test_queries_follow_ways_in_both_directions(kg: MemoryGraph) -> None:
    ahead = along_ways("“守株待兔”from的书partOf", offered(kg), rules("Work", 守株待兔="Word"))
    assert ahead[0] == FROM_PART_OF
    both = offered(kg, inverse=True)
    (back, *_) = along_ways("by partOf", both, rules("Unit", **{"O'Neill": "Person"}))
    way = "<-[:`by`]-(:`Work`)<-[:`partOf`]-(:`Unit`)"
    assert back == f"UNWIND ['O\\'Neill'] AS id MATCH p = (:Entity {{id: id}}){way} RETURN p"
    assert along_ways("by", both, rules()) == ()


def test_the_next_way_is_tried_until_one_finds_something(kg: MemoryGraph) -> None:
    asked, reader = "“守株待兔”from的书partOf", rules("Work", 守株待兔="Word")
    task = WriteQueries(question=asked, patterns=(), known=offered(kg))
    first = task.by_rule(reader)
    assert (first.linking, first.main, first.finished) == ("", FROM_PART_OF, False)
    failed = task.model_copy(update={"feedback": (f"{FROM_PART_OF}\n(no rows)",)})
    second = failed.by_rule(reader)
    assert second.main in along_ways(asked, task.known, reader)[1:]
    led = found(kg, out("守株待兔 五蠹 韩非子", "from partOf"))
    assert failed.model_copy(update={"found": led}).by_rule(reader).finished
