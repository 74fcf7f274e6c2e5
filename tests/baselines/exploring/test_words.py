"""What nodes are called when a model is shown them, and which node it means by a name."""

from __future__ import annotations

from pathlib import Path

from clwqa_baselines.exploring.settings import ExplorerSettings
from clwqa_baselines.exploring.words import Known, Words
from clwqa_bench.kg.protocol import Path as Way
from tests.baselines.worlds import world


def test_nodes_of_one_name_are_numbered_as_they_are_shown(tmp_path: Path) -> None:
    labels = {"a": "序", "b": "序", "c": "序", "d": "序#2"}
    kg = world(tmp_path, [("t", "r1", node) for node in labels], labels=labels)
    words = Words(Known(kg, kg.ontology), ExplorerSettings())
    assert [words.name(node) for node in "adbca"] == ["序", "序#2", "序#3", "序#4", "序"]
    assert [words.node(name) for name in ("序", "序#2", "序#3", "序#4", "序#5")] == ["a", "d", "b", "c", None]


def test_a_lead_is_called_as_its_end_is_shown(tmp_path: Path) -> None:
    kg = world(tmp_path, [("t", "r1", "a"), ("a", "r2", "b")], labels={"a": "序", "b": "序"})
    words = Words(Known(kg, kg.ontology), ExplorerSettings())
    way = Way(("t", "a", "b"), ("r1", "r2"), ("out", "out"))
    assert words.name("a") == "序"
    lead = words.lead(way)
    assert (lead.name, lead.node, lead.root) == ("序#2", "b", "t")
    assert lead.way == (("r1", "out", "Thing"), ("r2", "out", "Thing"))
