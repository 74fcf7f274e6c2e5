"""What nodes are called when a model is shown them, and which node it means by a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from clwqa_baselines.exploring.settings import ExplorerSettings
from clwqa_baselines.exploring.words import Known, Words
from clwqa_bench.kg.protocol import Path as Way
from clwqa_bench.systems import SettingError
from tests.baselines.worlds import world


def test_nodes_of_one_name_are_numbered_as_they_are_shown(tmp_path: Path) -> None:
    labels = {"a": "序", "b": "序", "c": "序", "d": "序#2"}
    kg = world(tmp_path, [("t", "r1", node) for node in labels], labels=labels)
    words = Words(Known(kg, kg.ontology), ExplorerSettings())
    assert [words.name(node) for node in "adbca"] == ["序", "序#2", "序#3", "序#4", "序"]
    assert [words.node(name) for name in ("序", "序#2", "序#3", "序#4", "序#5")] == ["a", "d", "b", "c", None]


CALLED_ALIKE = {"r1": "出自", "r2": "出自", "r3": "源出引文"}


def test_relations_of_one_label_are_told_apart_by_their_names(tmp_path: Path) -> None:
    kg = world(tmp_path, [("t", "r1", "a")], words=CALLED_ALIKE)
    known = Known(kg, kg.ontology)
    assert [known.relation[name] for name in ("r1", "r2", "r3", "r4")] == [
        "出自（r1）",
        "出自（r2）",
        "源出引文",
        "r4",
    ]


def test_relations_are_left_out_by_label_or_name(tmp_path: Path) -> None:
    kg = world(tmp_path, [("t", "r1", "a")], words=CALLED_ALIKE)
    assert Known(kg, kg.ontology).left_out == frozenset()
    assert Known(kg, kg.ontology, "源出引文, r4, 出自（r2）,").left_out == {"r2", "r3", "r4"}


@pytest.mark.parametrize(
    ("listed", "unknown", "fix"),
    [
        ("r4, 源自引文", "源自引文", "did you mean '源出引文'"),
        ("出自", "出自", "did you mean '出自（r2）' or '出自（r1）'"),  # which of the two?
        ("nonsense", "nonsense", "use a label or a name: 出自（r1）, 出自（r2）, 源出引文, r4, date"),
    ],
)
def test_an_unknown_relation_is_refused(tmp_path: Path, listed: str, unknown: str, fix: str) -> None:
    kg = world(tmp_path, [("t", "r1", "a")], words=CALLED_ALIKE)
    with pytest.raises(SettingError) as raised:
        Known(kg, kg.ontology, listed)
    assert (raised.value.what, raised.value.fix) == (f"there is no relation {unknown!r}", fix)
    assert raised.value.field == "unnecessary_relations"


def test_a_lead_is_called_as_its_end_is_shown(tmp_path: Path) -> None:
    kg = world(tmp_path, [("t", "r1", "a"), ("a", "r2", "b")], labels={"a": "序", "b": "序"})
    words = Words(Known(kg, kg.ontology), ExplorerSettings())
    way = Way(("t", "a", "b"), ("r1", "r2"), ("out", "out"))
    assert words.name("a") == "序"
    lead = words.lead(way)
    assert (lead.name, lead.node, lead.root) == ("序#2", "b", "t")
    assert lead.way == (("r1", "out", "Thing"), ("r2", "out", "Thing"))
