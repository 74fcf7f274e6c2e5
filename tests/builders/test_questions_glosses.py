"""Which glosses, component glosses and titles are fit for a question."""

from __future__ import annotations

import doctest

import pytest

from clwqa_builders.questions import glosses, titles
from clwqa_builders.questions.glosses import alike, is_only_reference, is_torn, runs_on, stands_alone
from clwqa_builders.questions.titles import may_be_one, misprints


@pytest.mark.parametrize("module", [glosses, titles], ids=lambda m: m.__name__)
def test_the_examples_in_the_docstrings_hold(module) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("gloss", "empty"),
    [
        ("犹玉石俱焚。", True),
        ("同“鸾凤分飞”。", True),
        ("参见“十围五攻”", True),
        ("同“早”", False),  # a character used for another: that is its meaning
        ("犹如鱼群相接", False),
        ("指流落四方。同“东播西流”。", False),
    ],
)
def test_a_mere_reference_explains_nothing(gloss: str, empty: bool) -> None:
    assert is_only_reference(gloss) is empty


@pytest.mark.parametrize(
    ("gloss", "alone"),
    [
        ("后指相爱的情人或夫妻", False),
        ("亦指才华横溢", False),
        ("①形容声音大。②形容人的名声很大", False),
        ("火热可以灼手。同‘炙手可热’", False),
        ("通‘粂’", False),
        ("犹言飞觥献斝。指频频传杯", False),
        ("原指水势大，后形容声势浩大", True),
        ("背着别人做事", True),
    ],
)
def test_a_gloss_in_a_question_needs_no_dictionary_around_it(gloss: str, alone: bool) -> None:
    assert stands_alone(gloss) is alone


@pytest.mark.parametrize(
    ("gloss", "word", "run_on"),
    [
        ("怨仇恨。极深极大的仇恨。", "深仇重怨", True),
        ("迁客被贬谪到外地的官吏；骚人诗人。贬黜流放的官吏。", "迁客骚人", True),
        ("进一寸，退一尺。比喻得到的少。", "进寸退尺", False),
        ("不容人分辩解释。", "不容分说", False),
        ("呼天抢地。形容悲痛之极。", "触地号天", False),
        ("榭建在高土台上的敞屋。一层层高台。", "层台累榭", True),
        ("急促的呼吸还没有平稳下来。喘息呼吸急促。", "喘息未定", True),
    ],
)
def test_a_lost_colon_is_noticed(gloss: str, word: str, run_on: bool) -> None:
    assert runs_on(gloss, word) is run_on


@pytest.mark.parametrize(
    ("gloss", "component", "word", "torn"),
    [
        ("圆则缺", "月", "月满则亏", True),
        ("震动", "震", "撼天震地", False),
        ("设置，设施", "措", "刑措不用", False),
        ("古代盛酒的器皿", "卮", "玉卮无当", False),
    ],
)
def test_a_component_gloss_is_whole(gloss: str, component: str, word: str, torn: bool) -> None:
    assert is_torn(gloss, component, word) is torn


def test_glosses_that_say_the_same_are_found() -> None:
    texts = [
        "饥饿像火烧肚肠。形容饥饿得难以忍受。",
        "形容饥饿得难以忍受。",
        "树木的枝梢上生根。比喻不合事理，不可能。",
        "自始至终一个样子。",
        "自始至终，一个样子，从不改变。",
    ]
    assert alike(texts).tolist() == [True, True, False, True, True]
    assert alike([]).tolist() == []


def test_spellings_of_one_title() -> None:
    assert may_be_one("二十二史札记", "廿二史札记")
    assert may_be_one("为萧扬州荐士表", "为萧扬州荐荐士表")
    assert not may_be_one("乞巧赋", "打鸭")


def test_misprints_are_the_rarer_of_two_titles_and_dates_are_none() -> None:
    chapters = [("吕不韦列传", 7), ("李不韦列传", 1), ("昭公元年", 5), ("定公元年", 1), ("列传第三", 1)]
    assert list(misprints([chapters, [("女状元", 1), ("女将元", 1)]])) == [(0, 1)]
