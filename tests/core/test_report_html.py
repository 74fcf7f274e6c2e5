"""The report page as text: what it holds, and that nothing a system says can get out of its place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from clwqa_bench.errors import GraphError
from clwqa_bench.grid import Gold, align
from clwqa_bench.kg.protocol import Entity
from clwqa_bench.metrics import select
from clwqa_bench.predictions import EvidencePath, PredictedAnswer, Prediction
from clwqa_bench.records import TripleRef
from clwqa_bench.report.items import Selection, walk
from clwqa_bench.scoring import score
from tests.core.report_example import ATTACK, SIZE, gold, page, predictions, run


def data_of(text: str) -> dict[str, Any]:
    [found] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    parsed: dict[str, Any] = json.loads(found, parse_constant=pytest.fail)
    return parsed


@pytest.fixture(scope="module")
def whole() -> str:
    return page(run())


def test_the_page_needs_nothing_but_itself(whole: str) -> None:
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", whole)
    assert "@import" not in whole
    assert "url(" not in whole
    assert "default-src &#39;none&#39;" in whole


def test_its_security_policy_allows_exactly_its_own_style_and_script(whole: str) -> None:
    for kind, element in (("script-src", r"<script>(.*?)</script>"), ("style-src", r"<style>(.*?)</style>")):
        [content] = re.findall(element, whole, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")
        assert f"{kind} 'sha256-{digest}'" in unescape(whole)


def test_what_a_system_says_ends_no_element_and_is_kept_whole(whole: str) -> None:
    assert ATTACK not in whole
    assert len(re.findall(r"<script", whole)) == 2
    item = data_of(whole)["runs"][0][3]
    assert item["answers"][0][0] == ATTACK


@pytest.mark.parametrize("attack", [ATTACK, "'\"><b onclick=x>", "{{ 7 * 7 }}", "<!--<script>"])
def test_a_run_may_be_called_anything(attack: str) -> None:
    text = page(run(attack), run("b"))
    titles = re.findall(r'<h2 class="title">(.*?)</h2>', text)
    assert [unescape(title) for title in titles] == [attack, "b"]
    assert "<" not in titles[0]
    assert len(re.findall(r"<script", text)) == 2


def test_items_say_what_became_of_each_question(whole: str) -> None:
    data = data_of(whole)
    verdicts = [data["verdicts"][item["verdict"]] for item in data["runs"][0]]
    assert verdicts[:6] == ["right", "partly", "wrong", "wrong", "failed", "failed"]
    assert [item["status"] for item in data["runs"][0][3:6]] == ["ok", "timeout", "missing"]
    assert data["runs"][0][1]["answers"] == [["史记", -1, 0, 0], ["论语", -1, -1, 0]]


def test_paths_are_numbers_into_two_tables(whole: str) -> None:
    data = data_of(whole)
    [path] = data["questions"][0]["paths"]
    labels = [data["entities"][code][0] for code in path[::2]]
    steps = [data["relations"][code // 3] for code in path[1::2]]
    assert labels == ["word:守株待兔", "chapter:五蠹", "book:韩非子"]
    assert [name for name, *_ in steps] == ["hasSource", "partOf"]
    assert data["runs"][0][0]["paths"] == [path]


@pytest.mark.parametrize(
    ("selection", "shown"),
    [
        (Selection(), SIZE), (Selection(limit=7), 7), (Selection(errors_only=True), SIZE * 5 // 6),
        (Selection(errors_only=True, limit=10_000), SIZE * 5 // 6),
    ],
)  # fmt: skip
def test_a_page_with_a_part_of_the_questions_says_so(selection: Selection, shown: int) -> None:
    text = page(run(), selection=selection)
    assert len(data_of(text)["questions"]) == shown
    assert ("holds a part" in text) == (shown < SIZE)


def test_several_runs_share_the_questions() -> None:
    right = run("perfect", given=[_right(p) for p in predictions()])
    text = page(run("demo"), right, selection=Selection(errors_only=True))
    data = data_of(text)
    assert len(data["runs"]) == 2
    assert len(data["questions"]) == len(data["runs"][0]) == len(data["runs"][1]) == SIZE * 5 // 6
    assert text.count("data-tab=") == 2


def test_a_run_without_predictions_and_strata_has_a_page() -> None:
    bare = Gold(
        gold(4).ref, tuple(replace(question, strata=(), standard_paths=()) for question in gold(4).questions)
    )
    text = page(score(align(bare, []), select(["headline"]), resamples=100))
    assert data_of(text)["dimensions"] == []
    assert "NaN" not in text


def test_notes_and_marks_are_explained_in_two_languages() -> None:
    grid = align(gold(4), [])
    text = page(score(grid, select(["headline"]), resamples=100, notes={"torn_line": 3, "unjudged": 1}))
    assert 'data-en="line 3 of the predictions is cut off; its question counts as missing"' in text
    assert "1 个答案未经裁判裁定，不计分" in text
    assert '<span class="interval">§</span>' in text  # nothing is answered, so every resample is 0
    assert "§ that all resamples agree." in text


def test_the_same_runs_make_the_same_page() -> None:
    assert page(run(size=12)) == page(run(size=12))


class TwoBooksOfOneName:
    """As much of a graph as the page asks for: 史记 is a book and an opera, and nothing else is known."""

    def lookup(self, name: str, types: object = None) -> tuple[str, ...]:
        return ("book:史记", "opera:史记") if name == "史记" else ()

    def entity(self, id: str) -> Entity:
        if id != "book:史记":
            raise GraphError(f"no {id}", fix="look elsewhere")
        return Entity(id=id, label="史记（书）", types=("Book",))


def test_a_name_of_several_entities_is_marked_and_what_the_graph_lacks_too() -> None:
    doubtful = Gold(gold(2).ref, gold(2).questions[1:], TwoBooksOfOneName())  # type: ignore[arg-type]
    data = data_of(page(score(align(doubtful, predictions(2)[1:]), select(["EM"]), resamples=100)))
    [item] = data["runs"][0]
    assert item["answers"][0] == ["史记", -1, -1, 1]
    assert ["book:史记", "史记（书）", 1] in data["entities"]
    assert ["chapter:项羽本纪", "chapter:项羽本纪", 0] in data["entities"]


def triple(text: str) -> TripleRef:
    head, relation, tail = text.split()
    return TripleRef(head=head, relation=relation, tail=tail)


@pytest.mark.parametrize(
    ("triples", "walks"),
    [
        ([], []),
        (["a r b"], [["a r> b"]]),
        (["a r b", "b s c"], [["a r> b", "b s> c"]]),
        (["b r a", "b s c"], [["a r< b", "b s> c"]]),
        (["b r a", "c s b"], [["a r< b", "b s< c"]]),
        (["a r b", "c s d"], [["a r> b"], ["c s> d"]]),
        (["a r b", "a s b"], [["a r> b", "b s< a"]]),
        (["a r a"], [["a r> a"]]),
    ],
)
def test_triples_are_drawn_in_the_order_they_are_walked(triples: list[str], walks: list[list[str]]) -> None:
    found = [
        [f"{a} {r}{'<' if way else '>'} {b}" for a, r, b, way in run] for run in walk([*map(triple, triples)])
    ]
    assert found == walks


def _right(prediction: Prediction) -> Prediction:
    book = next(q for q in gold().questions if q.id == prediction.id).answers[0]
    answer = PredictedAnswer(text=book.label, entity_id=book.entity_id)
    return prediction.model_copy(update={"status": "ok", "answers": (answer,), "error": None})


def test_long_evidence_is_cut_and_the_page_says_how_much() -> None:
    first = predictions(6)[0]
    path = first.evidence.paths[0]
    many = first.evidence.model_copy(
        update={"paths": tuple(EvidencePath(id=str(n), triples=path.triples) for n in range(50))}
    )
    text = page(run(size=6, given=[first.model_copy(update={"evidence": many})]))
    item = data_of(text)["runs"][0][0]
    assert len(item["paths"]) == 8
    assert item["more_evidence"] == 42
