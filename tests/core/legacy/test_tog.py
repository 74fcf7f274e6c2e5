"""ToG: what is between the first braces, whatever that is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clwqa_bench.legacy import LegacyCrash, LegacyRow, tog


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("{Yes}. 出自{韩非子}。", "Yes"),
        ("出自{韩非子}。", "韩非子"),
        ("出自韩非子。", "出自韩非子。"),
        ("", ""),
        ("{}", ""),
        ("先 } 后 {韩非子}", ""),
        ("{韩非子", "韩非"),
        ("{", ""),
    ],
    ids=[
        "a correct early stop compares Yes", "braces", "no brace: the whole text", "nothing", "empty braces",
        "closed before opened", "never closed: the last character is lost", "only opened",
    ],
)  # fmt: skip
def test_extraction(text: str, compared: str) -> None:
    assert tog.extract(text) == compared


@pytest.mark.parametrize("text", ["", "{}", "先 } 后 {韩非子}", "{"])
@pytest.mark.parametrize("gold", ["韩非子", "道", "a very long title"])
def test_an_empty_extract_hits_every_gold(text: str, gold: str) -> None:
    (score,) = tog.evaluate([LegacyRow(text, (gold,))])
    assert score.hit == 1.0
    assert score.note.endswith("empty prediction")


def test_yes_is_right_where_the_gold_holds_it() -> None:
    (score,) = tog.evaluate([LegacyRow("{Yes}, {道}", ("Eyes Wide Shut",))])
    assert (score.hit, score.note) == (1.0, "braces: fragment of the gold")


@pytest.mark.parametrize("text", ["However, I cannot tell.", "Sorry {无}", "抱歉，我不知道"])
def test_constraints_refuse_never_skips(text: str) -> None:
    row = LegacyRow(text, ("道",))
    assert tog.evaluate([row], constraints_refuse=True) == tog.evaluate([row])
    assert tog.total([row], constraints_refuse=True).n == 1


def test_null_is_neither_right_nor_wrong_and_stays_in_the_denominator() -> None:
    rows = [LegacyRow(text, ("Nullarbor",)) for text in ("{NULL}", "{Nullarbor}", "{London}", "{London}")]
    assert tog.evaluate(rows)[0].note == "NULL: neither right nor wrong"
    total = tog.total(rows)
    assert total.values == {"Exact Match": 0.25, "right": 1, "wrong": 2}
    assert (total.n, total.denominator) == (4, "all rows in the output file, duplicates and NULL included")


@pytest.mark.parametrize("text", ["{Null}", "{ NULL }", "NULL"])
def test_anything_but_the_literal_in_braces_is_compared(text: str) -> None:
    assert tog.evaluate([LegacyRow(text, ("Nullarbor",))])[0].hit == 1.0


def test_golds_of_cwq() -> None:
    answers = [{"answer": "李白", "aliases": ["太白"]}, {"answer": "杜甫", "aliases": []}]
    assert tog.cwq_golds(answers) == ("太白", "李白", "杜甫")


def test_cwq_answers_that_are_strings_crash() -> None:
    with pytest.raises(LegacyCrash, match="ToG crashes on row 7: a CWQ answer is no object"):
        tog.cwq_golds(["李白"], number=7)


def test_no_rows() -> None:
    with pytest.raises(LegacyCrash, match="ToG divides by zero"):
        tog.total([])


@given(st.text())
def test_every_text_is_scored(text: str) -> None:
    (score,) = tog.evaluate([LegacyRow(text, ("道",))])
    assert score.hit in (0.0, 1.0)
