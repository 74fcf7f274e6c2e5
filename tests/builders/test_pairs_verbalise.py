"""Entities, triples and paths in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from clwqa_bench.kg.protocol import Entity, Triple
from clwqa_bench.kg.protocol import Path as Walk
from clwqa_bench.kg.verbalise import node_text, path_text, triple_text
from clwqa_bench.ontology import Ontology

LABELS = {"w": "守株待兔", "u": "韩非子·五蠹", "b": "韩非子"}


@pytest.mark.parametrize(
    ("entity", "expected"),
    [
        (Entity("w", "守株待兔", ("Idiom", "Word"), attributes=(("raw_explanation", "比喻……"),)), "成语：守株待兔"),
        (Entity("e", "比喻死守经验…", ("Explanation",), text="比喻死守\n经验。"), "释义：比喻死守 经验。"),
        (Entity("p", "宋", ("Dynasty",), ("宋代", "宋朝"), attributes=(("begin", "960"), ("end", "1279"))),
         "朝代：宋（又称宋代、宋朝；960—1279年）"),
        (Entity("r", "河平", ("Era",), attributes=(("begin", "-28"), ("end", "-25"))), "年号：河平（前28—前25年）"),
        (Entity("c", "《南史·徐勉传》", ("Source",), attributes=(("role", "origin"),)),
         "出处：《南史·徐勉传》（来源）"),
        (Entity("k", "历史地理", ("SubCategory",), ("history and geography",)), "文化小类：历史地理"),
        (Entity("v", "养儿代老，积谷防饥", ("Proverb",), ("养儿代老积谷防饥",)), "谚语：养儿代老，积谷防饥"),
        (Entity("s", "小寒", ("DictionaryWord",), attributes=(("calendar", "节气"),)), "词：小寒（节气）"),
    ],
)  # fmt: skip
def test_a_node_is_named_by_type_name_and_what_else_identifies_it(entity: Entity, expected: str) -> None:
    assert node_text(entity) == expected


ENGLISH = """
@prefix : <urn:clwqa:ontology#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Reign a owl:Class ; rdfs:label "reign"@en .
"""


def test_another_language_has_other_marks(tmp_path: Path) -> None:
    (tmp_path / "ontology.ttl").write_text(ENGLISH, encoding="utf-8")
    years = (("begin", "-27"), ("end", "14"))
    reign = Entity("r", "Augustus", ("Reign",), ("Octavian", "Caesar"), attributes=years)
    shown = node_text(reign, Ontology.load(tmp_path / "ontology.ttl"))
    assert shown == "reign: Augustus (also Octavian, Caesar; 27 BC–14)"


def test_a_long_passage_is_cut() -> None:
    assert node_text(Entity("q", "", ("Quotation",), text="兔" * 99), limit=10) == f"引文：{'兔' * 9}…"


def test_a_triple_reads_as_it_is_stored() -> None:
    assert triple_text(Triple("w", "hasSource", "u"), LABELS.__getitem__) == "守株待兔 —出自→ 韩非子·五蠹"


def test_a_path_shows_which_way_its_edges_point() -> None:
    path = Walk(("b", "u", "w"), ("partOf", "hasSource"), ("in", "in"))
    assert path_text(path, LABELS.__getitem__) == "韩非子 ←属于作品— 韩非子·五蠹 ←出自— 守株待兔"
    assert path_text(Walk(("w",)), LABELS.__getitem__) == "守株待兔"
