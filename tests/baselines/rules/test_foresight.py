"""What relations promise to a question, with a linker learned from the wordings of small templates."""

from __future__ import annotations

import pytest

from clwqa_baselines.rules.fitting import NOWHERE
from clwqa_baselines.rules.foresight import Foresight, shares
from clwqa_baselines.rules.type_graph import TypeGraph
from clwqa_baselines.rules.ways import Offer
from clwqa_baselines.tog.tasks import ScoreRelations
from clwqa_bench.dataset import Dataset
from clwqa_bench.linking import Linker, Signature
from clwqa_bench.llm.lexical import Lexical
from clwqa_bench.systems import Resources
from tests import tiny_dataset
from tests.baselines import culture
from tests.baselines.wordings import learned_from

ASKED = "请问“四面楚歌”的出处是哪部典籍？"


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Lexical:
    folder = tmp_path_factory.mktemp("tiny")
    tiny_dataset.write(folder)
    kg = Dataset.open(folder).kg()
    return Lexical(Resources(kg, kg.ontology, learned_from, cache=tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def linker(rules: Lexical) -> Linker:
    return rules.linker()


SOURCE = Offer(label="出自", relation="hasSource", sense="out")
CATEGORY = Offer(label="所属类别", relation="belongsToCategory", sense="out")
OUT_OF_PERIOD = Offer(label="所处时期", relation="livedIn", sense="out")


def test_a_relation_promises_what_its_best_way_to_the_target_does(linker: Linker) -> None:
    foresight = Foresight(linker, ASKED)
    source, period = foresight.promises((), [SOURCE, OUT_OF_PERIOD], 2)
    assert foresight.target == "Book"
    assert source > period
    assert foresight.promises((), [OUT_OF_PERIOD], 1) == [NOWHERE]  # no book in one step


def test_a_way_has_arrived_only_at_the_target(linker: Linker) -> None:
    foresight = Foresight(linker, ASKED)
    chapter: Signature = (("hasSource", "out", "Chapter"),)
    book: Signature = (*chapter, ("partOf", "out", "Book"))
    at_chapter, at_book = foresight.scores([chapter, book])
    assert (at_chapter, at_book > NOWHERE) == (NOWHERE, True)
    assert foresight.beyond([chapter], 1) > NOWHERE == foresight.beyond([chapter], 0)


def test_where_nothing_leads_to_the_target_labels_are_compared(rules: Lexical) -> None:
    task = ScoreRelations(question="它的所属类别？", entity="?", offers=(SOURCE, CATEGORY), width=1, steps=0)
    (best,) = task.by_rule(rules).relations
    assert best.relation == "所属类别"


def test_shares_sum_to_one() -> None:
    assert shares([0.0, 0.0, NOWHERE]) == [0.5, 0.5, 0.0]
    assert shares([NOWHERE, NOWHERE]) == [0.5, 0.5]
    assert shares([]) == []


# ---------------------------------------------------------------------- the type graph


def test_ways_of_the_type_graph_end_at_the_target_or_a_type_above_or_below_it() -> None:
    graph = TypeGraph(culture.ONTOLOGY)
    unit = (("from", "out", "Unit"),)
    assert graph.ways("Word", "Unit", 1) == (unit,)
    assert graph.ways("Idiom", "Word", 0) == graph.ways("Word", "Idiom", 0) == ((),)
    work = (*unit, ("partOf", "out", "Work"))
    over = frozenset({("from", "out"), ("partOf", "out")})
    assert set(graph.ways("Word", "Work", 2, over)) == {(("from", "out", "Work"),), work}
    assert graph.ways("Word", "Work", 2, frozenset({("partOf", "out")})) == ()
    assert graph.ways("?", "Work", 3) == ((),)  # a type that is not known may be anything
