"""Which of the things that ways lead to answers a question."""

from __future__ import annotations

import pytest

from clwqa_baselines.rules.fitting import NOWHERE, Fit, fitting
from clwqa_baselines.rules.ways import may_be
from clwqa_bench.kg.memory import MemoryGraph
from tests.baselines import culture
from tests.baselines.rules.reader import found, out, rules


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    return culture.graph(tmp_path_factory.mktemp("culture"))


BY = out("五蠹 韩非子 韩非", "partOf by"), out("五蠹 韩非子 王先慎", "partOf by")
PART = out("五蠹 韩非子", "partOf")


def test_what_fits_is_all_that_the_best_way_leads_to(kg: MemoryGraph) -> None:
    asked = "五蠹 partOf by？"
    assert fitting(asked, found(kg, PART, *BY), rules(五蠹="Unit")).names == ("韩非", "王先慎")
    assert fitting(asked, found(kg, PART, *BY), rules("Work", 五蠹="Unit")).names == ("韩非子",)
    assert fitting(asked, found(kg, PART, *BY), rules("Quotation", 五蠹="Unit")).names == ()
    assert fitting(asked, (), rules(五蠹="Unit")) == Fit(NOWHERE, ())


def test_ways_from_what_is_named_count_first_and_what_is_shared_before_the_rest(kg: MemoryGraph) -> None:
    other = out("庄子集解 王先慎", "by")
    asked = "五蠹 partOf by"
    assert fitting(asked, found(kg, *BY, other), rules(庄子集解="Work")).names == ("王先慎",)
    both = rules(五蠹="Unit", 庄子集解="Work")
    assert fitting(asked, found(kg, *BY, other), both).names == ("王先慎",)
    apart = out("吕氏春秋 吕不韦", "by")
    assert fitting(asked, found(kg, *BY, apart), rules(五蠹="Unit", 吕氏春秋="Work")).names == (
        "韩非",
        "王先慎",
    )


def test_what_is_named_is_no_answer(kg: MemoryGraph) -> None:
    like = found(kg, out("守株待兔 刻舟求剑", "like"), out("守株待兔 守株缘木", "like"))
    both = rules("Word", 守株待兔="Idiom", 刻舟求剑="Idiom")
    assert fitting("like", like, both).names == ("守株缘木",)


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


def test_a_step_more_has_to_be_worth_it(kg: MemoryGraph) -> None:
    """Two relations the question says, over two steps: 2 * 2 - 2; the topic itself is no way."""
    here = out("五蠹", "")
    assert fitting("partOf by", found(kg, here, *BY), rules(五蠹="Unit")).score == 2.0
