"""Linking on the dataset that can be read: names, quotations, and what a fitted linker makes of a question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import DatasetError
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.kg.protocol import Path as Walk
from clwqa_bench.linking import Gazetteer, Linker, open_linker, signature_of
from clwqa_bench.linking.evaluation import measure
from clwqa_bench.linking.features import Grams, grams, masked
from clwqa_bench.linking.models import Elements, describe
from clwqa_bench.linking.passages import Passages
from clwqa_bench.systems import Resources
from tests import tiny_dataset as tiny

SOURCE_OF = (("hasSource", "out", "Chapter"),)
BOOK_OF = (*SOURCE_OF, ("partOf", "out", "Book"))
WRITER_OF = (*BOOK_OF, ("authoredBy", "out", "Person"))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("linking") / "tiny"
    tiny.write(folder)
    return Dataset.open(folder)


@pytest.fixture(scope="module")
def graph(dataset: Dataset) -> GraphStore:
    return dataset.kg()


@pytest.fixture(scope="module")
def linker(dataset: Dataset, graph: GraphStore) -> Linker:
    return Linker.fit(dataset.questions("train"), graph, tiny.ONTOLOGY)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("“守株待兔”是什么意思？", [("守株待兔", "word:守株待兔")]),
        ("守株待兔是什么意思？", [("守株待兔", "word:守株待兔")]),
        ("《史记》是谁写的？", [("《史记》", "book:史记")]),
        ("《史记·项羽本纪》是谁写的？", [("《史记·项羽本纪》", "chapter:史记/项羽本纪")]),
        ("《史记》项羽本纪是谁写的？", [("《史记》项羽本纪", "chapter:史记/项羽本纪")]),
        ("韩非《韩非子》讲什么？", [("韩非《韩非子》", "book:韩非子")]),
        ("词典注“见《韩非子》”，这是什么书？", [("《韩非子》", "book:韩非子")]),
        ("“兔走触株，折颈而死”出自哪里？", [("兔走触株，折颈而死", "quot:1")]),
        ("“夜闻汉军四面”见于何书？", [("夜闻汉军四面", "quot:3")]),
        ("“兔走～，折颈而死”缺了什么？", [("兔走～，折颈而死", "quot:1")]),
        ("“守株待兔”和“破釜沉舟”呢？", [("守株待兔", "word:守株待兔"), ("破釜沉舟", "word:破釜沉舟")]),
        ("“查无此语的一句话”说的是司马迁吗？", [("司马迁", "person:司马迁")]),
        ("“查无司马迁的一句”呢？", []),
        ("这是什么意思？", []),
    ],
)
def test_mentions(graph: GraphStore, text: str, expected: list[tuple[str, str]]) -> None:
    found = Gazetteer(graph).mentions(text)
    assert [(mention.text, *mention.bearers) for mention in found] == expected
    assert all(text[mention.start : mention.end] == mention.text for mention in found)


@pytest.mark.parametrize("mention", ["韩非《韩非子》", "《韩非子》", "韩非子", "“韩非子”"])
def test_a_mention_alone_means_what_it_means_in_a_question(graph: GraphStore, mention: str) -> None:
    assert Gazetteer(graph).bearers(mention) == ("book:韩非子",)


def test_words_that_are_common_in_questions_name_nothing(graph: GraphStore) -> None:
    gazetteer = Gazetteer(graph, common=gazetteer_names(graph))
    assert gazetteer.mentions("司马迁是谁？") == ()
    assert [m.text for m in gazetteer.mentions("“司马迁”是谁？")] == ["司马迁"]


def gazetteer_names(graph: GraphStore) -> set[str]:
    found = Gazetteer(graph).names(["请问司马迁是谁？"])
    assert found == {"司马迁"}
    return found


@pytest.mark.parametrize(
    ("quoted", "expected"),
    [
        ("春风又绿江南岸", ("short", "long")),  # a part of both, the shorter first
        ("京口瓜洲一水间，春风又绿江南岸", ("short",)),  # the whole of one
        ("京口～一水间，春风又绿江南岸。", ("short",)),
        ("一水间，～，明月何时照我还", ("long",)),
        ("明月～京口", ()),  # the pieces in another order
        ("江南岸", ()),  # too short to tell
        ("～", ()),
    ],
)
def test_passages(quoted: str, expected: tuple[str, ...]) -> None:
    short = "京口瓜洲一水间，春风又绿江南岸。"
    passages = Passages({"long": f"诗云：{short}明月何时照我还？", "short": short, "none": ""})
    assert passages.find(quoted, 5) == expected


@given(st.text("日月山川，。", min_size=4), st.data())
def test_a_passage_is_found_by_any_piece_of_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 4))
    piece = text[start : data.draw(st.integers(start + 4, len(text)))]
    letters = sum(map(str.isalnum, piece))
    found = Passages({"other": "风花雪月", "this": text}).find(piece, 5)
    assert found == ("this",) or letters < 4


# ---------------------------------------------------------------------- the linker


def test_a_question_is_linked(linker: Linker) -> None:
    linked = linker.link("“四面楚歌”见于哪部书？")
    (anchor,) = linked.anchors
    assert (anchor.mention, anchor.entities, anchor.element) == (
        "四面楚歌",
        ("word:四面楚歌",),
        "CultureLoadedWord",
    )
    assert linked.target_element == "Book"


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("成语“四面楚歌”出自何篇？", SOURCE_OF),
        ("“四面楚歌”见于哪部书？", BOOK_OF),
        ("“买椟还珠”所出的书是谁写的？", WRITER_OF),
    ],
)
def test_the_shape_of_the_path_is_told_from_the_wording(linker: Linker, question: str, best: object) -> None:
    shapes = [SOURCE_OF, BOOK_OF, WRITER_OF]
    scores = linker.scores(question, shapes)  # type: ignore[arg-type]
    assert shapes[int(np.argmax(scores))] == best


def test_a_signature_never_seen_is_scored_by_its_parts(linker: Linker) -> None:
    ends_alike = (("inContentUnit", "out", "Chapter"), ("partOf", "out", "Book"))
    ends_apart = (("inContentUnit", "out", "Chapter"), ("datedTo", "out", "Dynasty"))
    alike, apart, nothing = linker.scores("“四面楚歌”见于哪部书？", [ends_alike, ends_apart, ()])
    assert alike > apart
    assert nothing == 0


def test_features_do_not_tell_the_directions_of_a_symmetric_relation() -> None:
    there, back = ((("variantOf", way, "Idiom"),) for way in ("out", "in"))
    assert describe(there, tiny.ONTOLOGY) == describe(back, tiny.ONTOLOGY)
    assert ("step", "hasCreator", "out") in describe(WRITER_OF, tiny.ONTOLOGY)


def test_the_signature_of_a_walk_is_that_of_its_gold_path(dataset: Dataset, graph: GraphStore) -> None:
    (path,) = next(dataset.questions("train")).standard_paths
    walk = Walk(path.entities, ("hasSource",), ("out",))
    assert signature_of(walk, {node: graph.types(node)[0] for node in walk.nodes}) == signature_of(path)


def test_fitting_does_not_depend_on_the_order_and_survives_the_disk(
    dataset: Dataset, graph: GraphStore, linker: Linker, tmp_path: Path
) -> None:
    turned = Linker.fit(reversed(list(dataset.questions("train"))), graph, tiny.ONTOLOGY)
    turned.save(tmp_path)
    read = Linker.load(tmp_path, graph, tiny.ONTOLOGY)
    for question in dataset.questions():
        assert read.link(question.question) == linker.link(question.question)
        paths = [signature_of(path) for path in question.standard_paths]
        assert read.scores(question.question, paths) == linker.scores(question.question, paths)


def test_a_linker_is_learned_once_per_dataset(dataset: Dataset, graph: GraphStore, tmp_path: Path) -> None:
    asked = []

    def train():  # type: ignore[no-untyped-def]
        asked.append("train")
        return dataset.questions("train")

    resources = Resources(kg=graph, ontology=tiny.ONTOLOGY, train=train, cache=tmp_path)
    first = open_linker(resources)
    assert open_linker(resources) is first
    del first
    assert open_linker(resources).link("“守株待兔”见于哪部书？").anchors
    assert asked == ["train"]


def test_figures_of_questions_it_was_taught(dataset: Dataset, linker: Linker) -> None:
    figures = measure(linker, list(dataset.questions("train")), tiny.ONTOLOGY)
    assert figures.questions == 4
    assert figures.anchor_f1 == figures.anchor_sets == figures.target_element == figures.signature_at_1 == 1


# ---------------------------------------------------------------------- models


def test_masked_names_are_apart_from_the_words_around_them() -> None:
    assert masked("甲乙丙丁", [(0, 1), (2, 4)], "◆◇") == "◆乙◇"
    assert grams("甲乙") == {"甲", "乙", "甲乙"}


def test_rare_grams_weigh_more_and_vectors_have_length_one() -> None:
    fitted = Grams.fit(["甲乙", "甲乙", "甲丙", "甲丁"])
    assert fitted.vocabulary == ("乙", "甲", "甲乙")
    columns, values = fitted.vector("甲乙丁")
    assert columns.tolist() == [0, 1, 2]
    assert values[0] > values[1]
    assert np.linalg.norm(values) == pytest.approx(1)
    assert fitted.vector("戊")[0].size == 0


@pytest.mark.parametrize("labels", [["书"], ["书", "人"], ["书", "人", "时"]])
def test_elements_learn_one_two_or_more_labels(labels: list[str]) -> None:
    from collections import Counter

    texts = {f"问{label}{end}": Counter([label]) for label in labels for end in ("？", "吗？", "呢？")}
    model = Elements.fit(texts)
    for text, wanted in texts.items():
        scores = model.scores(text)
        assert [max(scores, key=scores.__getitem__)] == list(wanted)


def test_nothing_is_learned_from_nothing(graph: GraphStore) -> None:
    with pytest.raises(DatasetError, match=r"train split has no questions .*Fix: use a dataset with a train"):
        Linker.fit([], graph, tiny.ONTOLOGY)
