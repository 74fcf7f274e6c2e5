"""Walks are said in sentences, by labels alone or in the words of a graph.toml."""

from __future__ import annotations

import pytest

from clwqa_bench.ontology import Ontology, Relation, Term
from clwqa_builders.own.tables import About, Wording
from clwqa_builders.own.wording import Said, Speaker


def ontology(**labels: str) -> Ontology:
    types = {name: Term(name, (("en", name.lower()),), (), None) for name in ("City", "Country", "Currency")}
    relations = {
        name: Relation(
            name,
            (("en", text),),
            (),
            None,
            ("Country",),
            ("City",),
            symmetric=name == "borders",
            abstract=False,
        )
        for name, text in labels.items()
    }
    return Ontology(types, relations)


WORDS = ontology(
    capital="capital",
    hasCurrency="has currency",
    borders="borders",
    locatedIn="located in",
    isOwned="is owned by",
    chief="chief {port}",
    knows="knows",
    hollow="hollow {}",
)


SAID = """\
capital out City True | Which city is the capital of {x} | Name the capital of {x}
capital in Country True | Which country has {x} as the capital | Name the country with {x} as the capital
hasCurrency out Currency False | Which currency belongs to {x} | Name every currency of {x}
hasCurrency in Country False | Which country has {x} as a currency | Name every country with {x} as a currency
borders out Country False | Which country borders {x} | Name every country that borders {x}
locatedIn in City False | Which city is located in {x} | Name every city that is located in {x}
locatedIn out Country True | Which country is {x} located in | Name the country that {x} is located in
isOwned in City False | Which city is owned by {x} | Name every city that is owned by {x}
isOwned out City False | Which city is {x} owned by | Name every city that {x} is owned by
knows out City False | Can you name every city that {x} knows | Name every city that {x} knows
knows in Country False | Which country knows {x} | Name every country that knows {x}
hollow out City True | Which city is the hollow of {x} | Name the hollow of {x}
chief out City False | Which city is a chief (port) of {x} | Name every chief (port) of {x}
"""


@pytest.mark.parametrize("row", SAID.splitlines())
def test_labels_are_read_as_nouns_or_verbs(row: str) -> None:
    step, first, third = row.split(" | ")
    relation, sense, type_, single = step.split()
    said = Speaker.of(WORDS, About()).questions(
        "Country", [Said(relation, "out" if sense == "out" else "in", type_, single == "True")]
    )
    assert (said[0], said[2]) == (f"{first}?", f"{third}.")
    assert len(set(said)) == 4


def test_a_walk_is_nested_phrases() -> None:
    walk = [Said("capital", "in", "Country", True), Said("borders", "out", "Country", False)]
    walk.append(Said("hasCurrency", "out", "Currency", False))
    said = Speaker.of(WORDS, About()).questions("City", walk)
    assert said[2] == "Name every currency of a country that borders the country with {x} as the capital."


def test_the_words_of_the_graph_come_first() -> None:
    words = Wording(forward="is used in {}", backward="uses {}")
    about = About(relations={"hasCurrency": words}, mentions={"Currency": "the {}"})
    speaker = Speaker.of(WORDS, about)
    assert (
        speaker.questions("Country", [Said("hasCurrency", "out", "Currency", False)])[0]
        == "Which currency is used in {x}?"
    )
    walk = [Said("hasCurrency", "in", "Country", False), Said("capital", "out", "City", True)]
    assert (
        speaker.questions("Currency", walk)[0] == "Which city is the capital of a country that uses the {x}?"
    )


def test_chinese_has_its_own_sentences() -> None:
    said = Speaker.of(WORDS, About(language="zh")).questions("City", [Said("capital", "in", "Country", True)])
    assert said[1] == "以{x}为capital的country是什么？"


def test_chinese_verbs_are_verbs() -> None:
    speaker = Speaker.of(ontology(likes="认识"), About(language="zh"))
    assert speaker.questions("Country", [Said("likes", "out", "City", False)])[0] == "{x}认识的city是什么？"
    assert speaker.questions("City", [Said("likes", "in", "Country", False)])[0] == "哪个country认识{x}？"


def test_an_becomes_a_before_a_consonant() -> None:
    words = ontology(island="island", port="port")
    speaker = Speaker.of(words, About())
    for name, article in (("island", "an island"), ("port", "a port")):
        assert article in speaker.questions("Country", [Said(name, "out", "City", False)])[0]
