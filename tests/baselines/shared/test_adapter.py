"""From native output to answers: each tier by example, and how well the tiers do on labelled outputs.

`pytest tests/baselines/shared/test_adapter.py -k labelled -s` prints precision and recall.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from clwqa_baselines.shared.adapter import Adapted, Adapter, Names
from clwqa_baselines.shared.names import Reader
from clwqa_baselines.shared.wrappers import Section, Unwrapped, outputs
from clwqa_bench.kg.build import write_index
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.linking import Gazetteer
from clwqa_bench.llm.protocol import Reply, ReplyStatus
from clwqa_bench.llm.tasks import Answers, ExtractAnswers
from clwqa_bench.predictions import Evidence, EvidenceText, EvidenceTriple, PredictedAnswer
from clwqa_bench.records import TripleRef
from clwqa_bench.systems import Context
from clwqa_bench.text import comparison_key
from tests.baselines.culture import Double
from tests.tiny_dataset import entity

HERE = Path(__file__).parent
NAMES = {
    "Book": "韩非子 史记 吕氏春秋 战国策 庄子 汉书 论语 孟子 世说新语 三国志 左传 风，花、雪；月集",
    "Novel": "红楼梦 水浒传",
    "Chapter": "韩非子·五蠹 史记·项羽本纪 吕氏春秋·察今 庄子·齐物论",
    "Person": "韩非 司马迁 吕不韦 刘向 庄周 班固 孟轲 刘义庆 陈寿 左丘明 曹雪芹 施耐庵 王先慎 项羽 勾践",
    "Dynasty": "战国 春秋 西汉 东汉 南朝宋 清 明",
    "Idiom": "守株待兔 买椟还珠 四面楚歌 破釜沉舟 刻舟求剑 画蛇添足 朝三暮四 卧薪尝胆",
    "Word": "叶公好龙 滥竽充数 庖丁解牛 井底之蛙",
}
EXPLANATION = "比喻死守经验，不知变通；也指坐等。"
QUESTION = "“守株待兔”所出的书是谁写的？"


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> MemoryGraph:
    """Names that labelled outputs speak of; 庄子 is a book and what 庄周 is called too; two pieces are called 序."""
    rows = [entity(f"{kind}:{name}", kind) for kind, names in NAMES.items() for name in names.split()]
    rows += [entity("Piece:序一", "Piece", "序"), entity("Piece:序二", "Piece", "序")]
    rows += [entity("expl:1", "Explanation", "比喻死守经验…", text=EXPLANATION)]
    rows = [{**row, "aliases": ["庄子"] if row["id"] == "Person:庄周" else []} for row in rows]
    folder = tmp_path_factory.mktemp("names")
    triples = [("Book:韩非子", "authoredBy", "Person:韩非")]
    edges = [{"head": h, "relation": r, "tail": t} for h, r, t in triples]
    write_index(pa.Table.from_pylist(rows), pa.Table.from_pylist(edges), folder)
    return MemoryGraph.open(folder)


SHOWN = Evidence(texts=(EvidenceText(id="p1", text="韩非子，战国韩非所作。"),))


def extracts(*answers: str) -> Double:
    return Double(lambda task: Answers(answers=answers))


def adapted(
    kg: MemoryGraph,
    text: str,
    llm: Double | None = None,
    unwrap: Callable[[str], Unwrapped] | None = None,
    question: str = QUESTION,
    **how: Any,
) -> Adapted:
    ctx = Context(kg=kg, rng=np.random.default_rng(0), llm=llm or extracts())
    found = asyncio.run(Adapter(kg, Reader(None, Gazetteer(kg)), unwrap).adapt(question, text, ctx, **how))
    (event,) = ctx.trace.events
    assert (event.stage, event.op) == ("adapt", found.tier or "")
    return found


def texts(found: Adapted) -> list[str]:
    return [answer.text for answer in found.answers]


# ---------------------------------------------------------------------- tiers


def test_a_native_list_is_taken_as_it_is_each_answer_once(kg: MemoryGraph) -> None:
    found = adapted(kg, "", listed=["《韩非子》", "韩非子", "某书、又一书", " "])
    assert found.tier == "list"
    assert found.answers == (
        PredictedAnswer(text="《韩非子》", entity_id="Book:韩非子", source="parametric"),
        PredictedAnswer(text="某书、又一书", source="parametric"),
    )
    assert found.fields["status"] == "ok"


def test_a_list_of_not_knowing_is_final(kg: MemoryGraph) -> None:
    found = adapted(kg, "作者是韩非。", listed=["无法确定"])
    assert (found.tier, found.answers, found.fields["status"]) == ("list", (), "empty")


def test_an_empty_list_leaves_it_to_the_text(kg: MemoryGraph) -> None:
    assert texts(adapted(kg, "作者是韩非。", extracts("韩非"), listed=[])) == ["韩非"]
    assert adapted(kg, "", listed=[]) == Adapted()


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("Output 1: 作者是韩非。\nOutput 2: 守株待兔->出自->韩非子", Section("作者是韩非。")),
        ("**输出1**：作者是韩非。\n**输出2**：……", Section("作者是韩非。")),
        ("作者是韩非。", None),
    ],
)
def test_the_wrapper_of_mindmap(text: str, inside: Unwrapped) -> None:
    assert outputs(text) == inside


def test_a_section_of_names_alone_is_cut_up(kg: MemoryGraph) -> None:
    llm = extracts()
    found = adapted(kg, "Output 1: 韩非、王先慎\nOutput 2: ……", llm, outputs)
    assert (found.tier, texts(found), llm.asked) == ("wrapper", ["韩非", "王先慎"], [])


def test_what_declines_inside_a_wrapper_is_final(kg: MemoryGraph) -> None:
    llm = extracts("韩非")
    found = adapted(kg, "Output 1: 无法确定\nOutput 2: 韩非也许是作者", llm, outputs)
    assert (found.tier, found.answers, llm.asked) == ("wrapper", (), [])


def test_without_the_wrapper_the_model_extracts(kg: MemoryGraph) -> None:
    llm = extracts("韩非", "老子")  # the second does not stand there
    found = adapted(kg, "作者是韩非[1]。", llm, outputs, evidence=SHOWN)
    assert llm.asked == [ExtractAnswers(question=QUESTION, text="作者是韩非。")]
    assert (found.tier, texts(found)) == ("extractor", ["韩非"])
    assert found.answers[0].source == "adapter"


def test_an_extractor_that_finds_none_is_believed(kg: MemoryGraph) -> None:
    found = adapted(kg, "韩非或王先慎，说不准。", extracts())
    assert (found.tier, found.answers) == ("extractor", ())


def test_an_extractor_that_makes_things_up_is_not(kg: MemoryGraph) -> None:
    found = adapted(kg, "韩非。", extracts("老子"))
    assert (found.tier, texts(found)) == ("dictionary", ["韩非"])


@pytest.mark.parametrize(("status", "flags"), [("timeout", ("llm_error",)), ("unparsed", ("parse_error",))])
def test_a_failed_extractor_leaves_it_to_the_dictionary(
    status: ReplyStatus, flags: tuple[str, ...], kg: MemoryGraph
) -> None:
    llm = Double(lambda task: Reply(status))
    found = adapted(kg, "作者是韩非，不能确定是不是王先慎。", llm, evidence=SHOWN)
    assert (found.tier, texts(found), found.flags) == ("dictionary", ["韩非"], flags)


def test_the_dictionary_leaves_out_what_the_question_says(kg: MemoryGraph) -> None:
    text = "守株待兔出自韩非子，作者韩非是战国人。"
    assert texts(adapted(kg, text, extract=False)) == ["韩非子", "韩非", "战国"]


def test_no_text_no_answer(kg: MemoryGraph) -> None:
    assert adapted(kg, " [1] ") == Adapted()


# ---------------------------------------------------------------------- names


def test_an_ambiguous_name_is_what_was_shown(kg: MemoryGraph) -> None:
    piece = EvidenceText(id="p1", text="……", entity_id="Piece:序二")
    (answer,) = adapted(kg, "", listed=["序"], evidence=Evidence(texts=(piece,))).answers
    assert answer == PredictedAnswer(text="序", entity_id="Piece:序二", support=("p1",))
    assert adapted(kg, "", listed=["序"]).answers[0].entity_id is None


def test_a_passage_is_found_by_its_text_among_what_was_shown(kg: MemoryGraph) -> None:
    triple = TripleRef(head="Idiom:守株待兔", relation="hasExplanation", tail="expl:1")
    evidence = Evidence(triples=(EvidenceTriple(id="t1", triple=triple),))
    (answer,) = adapted(kg, "", listed=[EXPLANATION], evidence=evidence).answers
    assert (answer.entity_id, answer.support) == ("expl:1", ("t1",))


# ---------------------------------------------------------------------- where an answer is from


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("韩非子", "graph"),  # an entity that was shown
        ("韩非", "graph"),  # in its words
        ("《韓非子》", "graph"),  # in other characters, with other marks
        ("韩非、战国", "graph"),  # a list in one string
        ("李白", "parametric"),
        ("史记", "parametric"),  # in the graph, but not shown
        ("韩非、李白", "parametric"),
        ("韩非子作者", "parametric"),  # more than was shown
    ],
)
def test_an_answer_that_no_evidence_shows_is_the_models_own(text: str, source: str, kg: MemoryGraph) -> None:
    piece = EvidenceText(id="p1", text="韩非子，战国韩非所作。", entity_id="Book:韩非子")
    found = adapted(kg, "", listed=[text], evidence=Evidence(texts=(piece,)))
    assert [answer.source for answer in found.answers] == [source]
    assert found.flags == (("parametric",) if source == "parametric" else ())


def test_each_answer_says_where_it_is_from(kg: MemoryGraph) -> None:
    found = adapted(kg, "", listed=["李白", "韩非"], evidence=SHOWN)
    assert [answer.source for answer in found.answers] == ["parametric", "graph"]
    prose = adapted(kg, "韩非，不是别人；也许是刘向。", extracts("韩非", "刘向"), evidence=SHOWN)
    assert [answer.source for answer in prose.answers] == ["adapter", "parametric"]


def test_a_triple_without_words_shows_what_its_ends_are_called(kg: MemoryGraph) -> None:
    triple = TripleRef(head="Piece:序一", relation="partOf", tail="expl:1")
    evidence = Evidence(triples=(EvidenceTriple(id="t1", triple=triple),))
    part = adapted(kg, "", listed=["比喻死守经验，不知变通"], evidence=evidence)
    assert (part.answers[0].source, part.answers[0].support) == ("graph", ())


def test_a_piece_of_a_word_is_not_that_word(kg: MemoryGraph) -> None:
    evidence = Evidence(texts=(EvidenceText(id="p1", text="The capital of Somalia"),))
    (answer,) = adapted(kg, "", listed=["Mali"], evidence=evidence).answers
    assert answer.source == "parametric"


# ---------------------------------------------------------------------- labelled outputs


def rows(file: str) -> list[list[str]]:
    lines = (HERE / file).read_text(encoding="utf-8").splitlines()[1:]
    return [line.replace("\\n", "\n").split("\t") for line in lines]


def figures(found: Sequence[tuple[Sequence[str], str]], what: str) -> tuple[float, float]:
    """Precision and recall over all answers of all outputs, printed."""
    right = given = wanted = 0
    for texts, labels in found:
        keys, golds = set(map(comparison_key, texts)), {comparison_key(x) for x in labels.split(" / ") if x}
        right, given, wanted = right + len(keys & golds), given + len(keys), wanted + len(golds)
    print(f"{what}: {len(found)} outputs, precision {right / given:.3f}, recall {right / wanted:.3f}")
    return right / given, right / wanted


def test_labelled_strings_are_cut_up(kg: MemoryGraph) -> None:
    """The rule alone, also on what is more than names."""
    labelled = rows("adapter_strings.tsv")
    assert len(labelled) >= 100
    cut = Names(kg, Evidence()).cut
    found = [(texts(adapted(kg, "", listed=cut(text))), labels) for text, labels in labelled]
    precision, recall = figures(found, "strings cut up")
    assert precision > 0.95
    assert recall > 0.95


@pytest.mark.parametrize("unwrap", [None, outputs])
def test_labelled_prose_by_dictionary(unwrap: Callable[[str], Unwrapped] | None, kg: MemoryGraph) -> None:
    """What is left if the extractor fails: the worst case of GraphRAG's and MindMap's prose."""
    labelled = rows("adapter_prose.tsv")
    assert len(labelled) >= 100
    found = []
    for question, text, labels in labelled:
        prose = f"Output 1: {text}\nOutput 2: 守株待兔->出自->吕氏春秋->作者->刘义庆" if unwrap else text
        found.append((texts(adapted(kg, prose, unwrap=unwrap, question=question, extract=False)), labels))
    precision, recall = figures(found, "prose, dictionary")
    assert precision > 0.65
    assert recall > 0.95


def test_nothing_that_stands_in_the_prose_is_lost_after_extraction(kg: MemoryGraph) -> None:
    """The labels come back as the extractor's reply: this says nothing of how well a model extracts."""
    for question, text, labels in rows("adapter_prose.tsv"):
        extracted = list(filter(None, labels.split(" / ")))
        found = texts(adapted(kg, text, extracts(*extracted), question=question))
        assert set(map(comparison_key, found)) == set(map(comparison_key, extracted))
