"""Which answers are right: every policy by example, then what has to hold for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import MetricError
from clwqa_bench.grid import align
from clwqa_bench.matching import (
    HEADLINE,
    POLICIES,
    Matches,
    Policy,
    QuestionMatch,
    assign,
    character_f1,
    key_of,
    match_answers,
)
from clwqa_bench.predictions import PredictedAnswer, Prediction
from clwqa_bench.records import Answer, AnswerKind
from clwqa_bench.runs import gold_of

MEANING = "比喻死守经验，不知变通。"
OTHER_MEANING = "比喻做事取舍不当。"


def gold(id: str, label: str, *aliases: str, kind: AnswerKind = "entity") -> Answer:
    return Answer(entity_id=id, label=label, aliases=aliases, kind=kind)


def passage(id: str, text: str) -> Answer:
    return gold(id, text, kind="passage")


def items(*answers: str) -> list[PredictedAnswer]:
    """Answers written "text", or "text <id>"."""
    parts = [answer.removesuffix(">").partition(" <") for answer in answers]
    return [PredictedAnswer(text=text, entity_id=id or None) for text, _, id in parts]


SHIJI = gold("book:史记", "史记", "太史公书")
HANSHU = gold("book:汉书", "汉书")
DAO = gold("word:道", "道")
MEANS = passage("expl:1", MEANING)
BLANK = gold("book:?", "\u200b", " ")

NOVEL = gold("book:西游记", "西游记")
DRAMA = gold("book:西游记/杨景贤", "西游记")
BEARERS = {
    "西游记": ("book:西游记", "book:西游记/杨景贤"),
    "史记": ("book:史记",),
    "太史公书": ("book:史记",),
}


def bearers(surface: str) -> Sequence[str]:
    return BEARERS.get(surface, ())


def credited(policy: str, answers: list[PredictedAnswer], golds: list[Answer]) -> list[int | None]:
    """For each distinct item the gold it was credited to."""
    return list(match_answers(Policy.parse(policy), answers, golds).credited)


# One answer, one gold: is it right under id, alias, alias,text>=0.8, contains?
RIGHT = [
    ("史记 <book:史记>", SHIJI, "yes yes yes yes"),
    ("不知道 <book:史记>", SHIJI, "yes yes yes yes"),
    ("史记", SHIJI, "no yes yes yes"),
    ("《史記》。", SHIJI, "no yes yes yes"),
    ("太史公书", SHIJI, "no yes yes yes"),
    ("汉书", SHIJI, "no no no no"),
    ("史", SHIJI, "no no no no"),
    ("汉书 <book:汉书>", SHIJI, "no no no no"),
    ("史记 <book:汉书>", SHIJI, "no yes yes yes"),
    ("它出自《史记》", SHIJI, "no no no yes"),
    ("不是史记", SHIJI, "no no no yes"),
    ("史记·项羽本纪", SHIJI, "no no no yes"),
    ("道", DAO, "no yes yes yes"),
    ("我不知道", DAO, "no no no no"),
    (MEANING, MEANS, "no yes yes yes"),
    ("比喻死守经验不知变通", MEANS, "no no yes no"),
    ("比喻死守旧经验，不懂得变通。", MEANS, "no no yes no"),
    ("比喻不知变通", MEANS, "no no no no"),
    (OTHER_MEANING, MEANS, "no no no no"),
    ("？？", SHIJI, "no no no no"),
    ("？？", BLANK, "no no no no"),
    ("史记", BLANK, "no no no no"),
    ("空 <book:?>", BLANK, "yes yes yes yes"),
]


@pytest.mark.parametrize(("answer", "right", "expected"), RIGHT)
def test_one_answer_and_one_gold(answer: str, right: Answer, expected: str) -> None:
    policies = ("id", "alias", "alias,text>=0.8", "contains")
    found = [credited(policy, items(answer), [right]) == [0] for policy in policies]
    assert " ".join("yes" if is_right else "no" for is_right in found) == expected


def test_an_entity_is_never_matched_by_similar_text() -> None:
    assert credited("alias,text>=0.1", items("史记太史公书"), [SHIJI]) == [None]


# Several answers and golds under the headline policy: the gold each distinct item is credited to.
ONE_TO_ONE = {
    "each gold once": (items("史记", "汉书"), [HANSHU, SHIJI], [1, 0]),
    "two names of one gold are one credit": (items("太史公书", "史记"), [SHIJI], [0, None]),
    "a name, then the id of the same": (items("太史公书", "史书 <book:史记>"), [SHIJI], [0, None]),
    "an id decides against the text": (items("汉书 <book:史记>", "汉书"), [SHIJI, HANSHU], [0, 1]),
    "repeated text is dropped": (items("史记", "《史记》", "汉书"), [SHIJI], [0, None]),
    "repeated id is dropped": (items("史记 <x>", "别的 <x>", "汉书"), [SHIJI], [0, None]),
    "answers of punctuation are wrong items": (items("？？", "！"), [SHIJI], [None, None]),
    "a passage yields to another": (
        items("比喻死守经验，不知变通", "比喻死守经验。"),
        [passage("expl:1", "比喻死守经验，不知变"), passage("expl:2", "比喻死守经验，不知变通的人")],
        [1, 0],
    ),
    "passages of one text": (items(f"{MEANING} <x>", MEANING), [MEANS, passage("expl:3", MEANING)], [0, 1]),
    "no answers": ([], [SHIJI], []),
    "no golds": (items("史记"), [], [None]),
}  # fmt: skip


@pytest.mark.parametrize(("answers", "golds", "expected"), ONE_TO_ONE.values(), ids=ONE_TO_ONE)
def test_one_to_one(answers: list[PredictedAnswer], golds: list[Answer], expected: list[int | None]) -> None:
    assert credited("alias,text>=0.8", answers, golds) == expected


def test_an_item_makes_room_for_a_later_one() -> None:
    both, second = gold("a", "甲", "乙"), gold("b", "甲")
    assert credited("alias", items("甲", "乙"), [both, second]) == [1, 0]


# ---------------------------------------------------------------------- names that several entities bear

AMBIGUOUS = {
    "by text alone": (items("西游记"), [NOVEL], [None], (0,)),
    "by id": (items("西游记 <book:西游记>"), [NOVEL], [0], ()),
    "by the id of the other": (items("西游记 <book:西游记/杨景贤>"), [NOVEL], [None], ()),
    "by an id of no bearer": (items("西游记 <Q70784>"), [NOVEL], [None], (0,)),
    "an unambiguous name with the id of another book": (items("史记 <book:西游记>"), [SHIJI], [0], ()),
    "every bearer is a gold": (items("西游记"), [NOVEL, DRAMA], [0], ()),
    "an unambiguous name": (items("史记"), [SHIJI], [0], ()),
    "a name that is no gold's": (items("西游记"), [SHIJI], [None], ()),
    "not the only item": (items("红楼梦", "西游记", "史记"), [NOVEL, SHIJI], [None, None, 1], (1,)),
    "after a repeated item": (items("红楼梦", "红楼梦", "西游记"), [NOVEL], [None, None], (2,)),
    "a passage is its own text": (items("西游记"), [passage("expl:1", "西游记")], [0], ()),
    "a literal is its own text": (items("西游记"), [gold("lit:1", "西游记", kind="literal")], [0], ()),
}


@pytest.mark.parametrize(("answers", "golds", "expected", "refused"), AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_ambiguous_names(
    answers: list[PredictedAnswer], golds: list[Answer], expected: list[int | None], refused: tuple[int, ...]
) -> None:
    match = match_answers(HEADLINE, answers, golds, bearers=bearers)
    assert (list(match.credited), match.ambiguous) == (expected, refused)


def test_without_a_graph_no_name_is_ambiguous() -> None:
    match = match_answers(HEADLINE, items("西游记"), [NOVEL])
    assert (match.right, match.ambiguous) == (1, ())


# ---------------------------------------------------------------------- containment, judge


def test_contains_counts_the_golds_too_short_to_look_for() -> None:
    match = match_answers(
        Policy("contains"), items("我不知道《史记》"), [DAO, SHIJI, gold("x", "清", "清朝")]
    )
    assert (match.credited, match.short) == ((1,), 1)


def test_other_policies_exclude_no_gold() -> None:
    assert match_answers(HEADLINE, items("道"), [DAO]).short == 0


def test_the_judge_sees_only_what_no_rule_credits() -> None:
    asked: list[str] = []

    def verdict(text: str) -> bool | None:
        asked.append(text)
        return {"左丘明所作的编年史": True, "论语": False}.get(text)

    answers = items("史记", "西游记", "论语", "某部史书", "左丘明所作的编年史", "春秋")
    golds = [SHIJI, gold("book:左传", "左传"), NOVEL]
    match = match_answers(Policy("judge", 0.8), answers, golds, bearers=bearers, verdict=verdict)
    assert asked == ["论语", "某部史书", "左丘明所作的编年史", "春秋"]
    assert match.credited == (0, None, None, None, 1, None)
    assert (match.unjudged, match.ambiguous) == ((3, 5), (1,))


def test_the_judge_is_not_asked_about_the_id_of_another_bearer() -> None:
    other = items("西游记 <book:西游记/杨景贤>")
    match = match_answers(Policy("judge"), other, [NOVEL], bearers=bearers, verdict=lambda _: True)
    assert (match.credited, match.unjudged) == ((None,), ())


def test_the_judge_is_not_asked_when_every_gold_is_credited() -> None:
    match = match_answers(Policy("judge"), items("史记", "论语"), [SHIJI], verdict=lambda _: True)
    assert (match.credited, match.unjudged) == ((0, None), ())


# ---------------------------------------------------------------------- names of policies


@pytest.mark.parametrize(
    "text", [*POLICIES, "alias,text>=0.8", "judge,text>=0.8", "alias,text>=1", "alias,text>=1e-05"]
)
def test_policies_print_as_they_are_read(text: str) -> None:
    assert str(Policy.parse(text)) == text


@given(st.sampled_from(["alias", "judge"]), st.floats(0, 1, exclude_min=True))
def test_every_policy_survives_printing(name: str, text: float) -> None:
    assert Policy.parse(str(Policy(name, text))) == Policy(name, text)


def test_spellings_of_one_policy_print_alike() -> None:
    assert str(Policy.parse(" alias , text >= 0.80 ")) == str(HEADLINE)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("alias,text>0.8", "write alias,text>=0.8"),
        ("alias,text>=", "write alias,text>=0.8"),
        ("alias,", "write alias,text>=0.8"),
        ("alias,0.8", "write alias,text>=0.8"),
        ("alias,text>=0.8,text>=0.9", "write alias,text>=0.8"),
        ("alias,text>=1.5", "above 0 and up to 1"),
        ("alias,text>=0", "above 0 and up to 1"),
        ("alias,text>=0.0", "above 0 and up to 1"),
        ("alias,text>=nan", "write alias,text>=0.8"),
        ("alias,text>=0_1", "write alias,text>=0.8"),
        ("alias,text>=１", "write alias,text>=0.8"),
        ("alias,text>=+0.8", "write alias,text>=0.8"),
        ("id,text>=0.8", "write 'id' alone"),
        ("exact", "alias is equality of names"),
        ("alis", "did you mean 'alias'"),
        ("Alias", "did you mean 'alias'"),
        ("legacy-pgo", "did you mean 'legacy-pog'"),
        ("", "use one of id, alias"),
    ],
)
def test_a_policy_that_does_not_exist(text: str, fix: str) -> None:
    with pytest.raises(MetricError) as error:
        Policy.parse(text)
    assert fix in error.value.fix


def test_a_legacy_policy_credits_no_items() -> None:
    with pytest.raises(MetricError, match="legacy-pog judges a whole output"):
        match_answers(Policy("legacy-pog"), items("史记"), [SHIJI])


# ---------------------------------------------------------------------- arrays


def test_matches_as_arrays() -> None:
    found = Matches.of(
        [
            QuestionMatch(items=(0, 2, 3), credited=(None, 0, 1), golds=2, ambiguous=(0,)),
            QuestionMatch(items=(), credited=(), golds=1, short=1),
            QuestionMatch(items=(0, 1), credited=(0, None), golds=3, unjudged=(1,)),
        ]
    )
    assert found.golds.tolist() == [2, 1, 3]
    assert found.items.tolist() == [3, 0, 2]
    assert found.right.tolist() == [2, 0, 1]
    assert list(zip(found.rows.tolist(), found.ranks.tolist(), strict=True)) == [(0, 2), (0, 3), (2, 1)]
    assert (found.ambiguous.tolist(), found.unjudged.tolist(), found.short.tolist()) == (
        [1, 0, 0],
        [0, 0, 1],
        [0, 1, 0],
    )


def test_no_questions_are_empty_arrays() -> None:
    found = Matches.of([])
    assert found.rows.shape == found.golds.shape == (0,)
    assert found.rows.dtype == found.ranks.dtype == np.int64


# ---------------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("不知变通", "不知变通", 1.0),
        ("不知变通", "變通 不知！", 1.0),
        ("不知变通", "不知", 2 / 3),
        ("叠叠", "叠", 2 / 3),
        ("ＡＢ", "ab", 1.0),
        ("甲乙", "丙丁", 0.0),
        ("？？", "？？", 0.0),
        ("", "史记", 0.0),
    ],
)
def test_character_f1(one: str, other: str, expected: float) -> None:
    assert character_f1(one, other) == character_f1(other, one) == pytest.approx(expected)


def test_the_threshold_is_included() -> None:
    right = passage("expl:1", "甲乙丙丁戊")
    assert character_f1("甲乙丙丁己", right.label) == 0.8
    assert credited("alias,text>=0.8", items("甲乙丙丁己"), [right]) == [0]
    assert credited("alias,text>=0.81", items("甲乙丙丁己"), [right]) == [None]


# ---------------------------------------------------------------------- what holds for all

TEXTS = ["甲", "乙", "甲乙", "乙丙", "甲乙丙", "？"]
IDS = ["a", "b", "c", "d"]
ANSWERS = st.lists(
    st.builds(PredictedAnswer, text=st.sampled_from(TEXTS), entity_id=st.none() | st.sampled_from(IDS)),
    max_size=6,
)
GOLDS = st.lists(
    st.builds(
        gold,
        st.sampled_from(IDS),
        st.sampled_from(TEXTS),
        st.sampled_from(TEXTS),
        kind=st.sampled_from(["entity", "passage"]),
    ),
    max_size=4,
    unique_by=lambda answer: answer.entity_id,
)
ANY_POLICY = st.sampled_from(["id", "alias", "alias,text>=0.6", "contains"])


@given(ANY_POLICY, ANSWERS, GOLDS, st.data())
def test_order_changes_nothing_that_counts(
    policy: str, answers: list[PredictedAnswer], golds: list[Answer], data: st.DataObject
) -> None:
    match = match_answers(Policy.parse(policy), answers, golds)
    shuffled = match_answers(Policy.parse(policy), answers, data.draw(st.permutations(golds)))
    assert [g is None for g in shuffled.credited] == [g is None for g in match.credited]
    distinct = [answers[item] for item in match.items]
    assert (
        match_answers(Policy.parse(policy), data.draw(st.permutations(distinct)), golds).right == match.right
    )


@given(ANY_POLICY, ANSWERS, GOLDS)
def test_credit_is_one_to_one(policy: str, answers: list[PredictedAnswer], golds: list[Answer]) -> None:
    match = match_answers(Policy.parse(policy), answers, golds)
    taken = [place for place in match.credited if place is not None]
    assert len(set(taken)) == len(taken) == match.right <= min(len(match.items), len(golds))


@given(ANY_POLICY, ANSWERS, GOLDS)
def test_repeating_answers_changes_nothing(
    policy: str, answers: list[PredictedAnswer], golds: list[Answer]
) -> None:
    once = match_answers(Policy.parse(policy), answers, golds)
    assert match_answers(Policy.parse(policy), [*answers, *answers], golds) == once


@given(ANY_POLICY, ANSWERS, GOLDS, st.data())
def test_one_more_answer_takes_nothing_away(
    policy: str, answers: list[PredictedAnswer], golds: list[Answer], data: st.DataObject
) -> None:
    more = data.draw(ANSWERS)
    before = match_answers(Policy.parse(policy), answers, golds)
    after = match_answers(Policy.parse(policy), [*answers, *more], golds)
    assert [g is None for g in after.credited[: len(before.items)]] == [g is None for g in before.credited]


@given(ANSWERS, GOLDS)
def test_every_policy_credits_what_a_stricter_one_does(
    answers: list[PredictedAnswer], golds: list[Answer]
) -> None:
    ladders = (["id", "alias", "alias,text>=0.9", "alias,text>=0.6"], ["id", "alias", "contains"])
    for ladder in ladders:
        right = [match_answers(Policy.parse(policy), answers, golds).right for policy in ladder]
        assert right == sorted(right)


@given(GOLDS)
def test_the_golds_themselves_are_all_right(golds: list[Answer]) -> None:
    answers = [PredictedAnswer(text=answer.label, entity_id=answer.entity_id) for answer in golds]
    for policy in ("id", "alias", "alias,text>=0.8", "contains", "judge"):
        assert match_answers(Policy.parse(policy), answers, golds).right == len(golds)


EDGES = st.integers(1, 6).flatmap(
    lambda golds: st.tuples(
        st.just(golds), st.lists(st.sets(st.integers(0, golds - 1)), min_size=1, max_size=8)
    )
)


@given(EDGES)
def test_assignment_is_as_large_as_scipys_for_every_first_few_items(
    graph: tuple[int, list[set[int]]],
) -> None:
    golds, edges = graph
    found = assign({item: sorted(of_item) for item, of_item in enumerate(edges)}, golds)
    assert len(set(found.values())) == len(found)
    assert all(gold in edges[item] for item, gold in found.items())
    dense = np.array([[gold in of_item for gold in range(golds)] for of_item in edges])
    for first in range(1, len(edges) + 1):
        largest = maximum_bipartite_matching(csr_array(dense[:first]), perm_type="column")
        assert sum(item < first for item in found) == np.count_nonzero(largest >= 0)


# ---------------------------------------------------------------------- the page

PAGE = (Path(__file__).parents[2] / "docs" / "matching.md").read_text(encoding="utf-8")
NAMED = {answer.label: answer for answer in (SHIJI, HANSHU, DAO, MEANS)}


def rows(section: str) -> list[list[str]]:
    """The cells of the table in a section of the page, without ticks around ids; no header."""
    text = PAGE.split(f"## {section}\n")[1].split("\n## ")[0]
    lines = [line.strip("| ").replace("`", "") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")] for line in lines[2:]]


def marks(match: QuestionMatch) -> str:
    return " ".join("✗" if place is None else "✓" for place in match.credited)


@pytest.mark.parametrize(
    ("answer", "id", "right", "marked"), [(*r[:3], r[3:]) for r in rows("One answer, one gold")]
)
def test_page_one_answer(answer: str, id: str, right: str, marked: list[str]) -> None:
    given = [PredictedAnswer(text=answer, entity_id=id or None)]
    policies = map(Policy.parse, ("id", "alias", "alias,text>=0.8", "contains"))
    assert [marks(match_answers(policy, given, [NAMED[right]])) for policy in policies] == marked


@pytest.mark.parametrize(("golds", "answers", "marked", "why"), rows("Several answers"))
def test_page_several_answers(golds: str, answers: str, marked: str, why: str) -> None:
    given = items(
        *(
            f"{text} <{id}>" if id else text
            for text, _, id in (a.partition(" ") for a in answers.split(" / "))
        )
    )
    assert marks(match_answers(HEADLINE, given, [NAMED[name] for name in golds.split(", ")])) == marked, why


@pytest.mark.parametrize(("golds", "answer", "id", "marked"), rows("Names that several entities bear"))
def test_page_ambiguous_names(golds: str, answer: str, id: str, marked: str) -> None:
    named = {"the play": [DRAMA], "the novel and the play": [NOVEL, DRAMA]}[golds]
    given = [PredictedAnswer(text=answer, entity_id=id or None)]
    assert marks(match_answers(HEADLINE, given, named, bearers=bearers)) == marked


# ---------------------------------------------------------------------- the dataset


@pytest.mark.slow
def test_page_what_labels_alone_reach(built: Path) -> None:
    gold = gold_of(Dataset.open(built, verify=False), "test")
    by_label = [
        Prediction(id=q.id, status="ok", answers=tuple(items(*dict.fromkeys(a.label for a in q.answers))))
        for q in gold.questions
    ]
    found = align(gold, by_label).matches(HEADLINE)
    twins = sum(len(q.answers) - len({key_of(a.label) for a in q.answers}) for q in gold.questions)
    assert found.right.sum() + found.ambiguous.sum() + twins == found.golds.sum()
    entities = sum(answer.kind == "entity" for q in gold.questions for answer in q.answers)
    recall, hits = np.mean(found.right / found.golds), np.sum(found.ranks == 1) / len(gold.questions)
    assert f"{found.ambiguous.sum()} of {entities:,} entity golds" in PAGE
    assert f"mean recall\nof {recall:.1%} and Hits@1 of {hits:.1%}".replace("%", " %") in PAGE


@pytest.mark.slow
def test_page_how_many_passages_are_alike(built: Path) -> None:
    answers = [a for q in gold_of(Dataset.open(built, verify=False), "test").questions for a in q.answers]
    pairs = list(combinations(sorted({a.label for a in answers if a.kind == "passage"}), 2))
    close = sum(character_f1(*pair) >= 0.8 for pair in pairs)
    passages = len({passage for pair in pairs for passage in pair})
    assert f"the {passages:,} different passages" in PAGE
    assert f"{len(pairs) / 1e6:.1f} million pairs; {close} of them" in PAGE
