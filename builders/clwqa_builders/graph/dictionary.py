"""The layer of dictionary words: meaning, work, passage and story, and the category its marker settles."""

from __future__ import annotations

from collections.abc import Iterable

from clwqa_builders.extract.canonical import Canonicaliser
from clwqa_builders.extract.headwords import Headword
from clwqa_builders.graph.tables import GraphTables, digest, short
from clwqa_builders.graph.words import add_citation, add_crossref, cjk_only

TAKEN = ("Idiom", "Proverb", "Character", "Xiehouyu", "Sentence")  # words the other sources know better


def add_headwords(graph: GraphTables, words: Iterable[Headword], canon: Canonicaliser, origin: str) -> None:
    """Every headword that no other source has; cross references only between words that are in the graph."""
    fresh = [w for w in words if not (graph.has(id := f"word:{w.sense.word}") and graph.type_of(id) in TAKEN)]
    for word in fresh:
        _add_headword(graph, word, canon, f"{origin}#{word.sense.row}")
    for word in fresh:
        for ref in word.sense.crossrefs:
            if graph.has(f"word:{ref.target}"):
                add_crossref(graph, word.sense.word, ref, f"{origin}#{word.sense.row}")


def _add_headword(graph: GraphTables, headword: Headword, canon: Canonicaliser, origin: str) -> None:
    sense = headword.sense
    word = graph.node(
        f"word:{sense.word}",
        sense.word,
        "DictionaryWord",
        origin,
        attributes={"category_marker": headword.marker},
    )
    if sense.meaning:
        meaning = graph.node(
            f"expl:{digest(sense.word, sense.meaning)}",
            short(sense.meaning),
            "Explanation",
            origin,
            text=sense.meaning,
        )
        graph.edge(word, "hasExplanation", meaning, origin)
    if headword.category:
        graph.edge(word, "belongsToCategory", f"category:{headword.category}", origin)
    if sense.citation:
        add_citation(graph, word, sense.citation, canon, origin, role="origin", ordinal=1)
    if sense.citation and sense.story:
        story = f"allusion:{digest(cjk_only(sense.story))}"
        graph.node(story, short(sense.story), "Allusion", origin, text=sense.story)
        graph.edge(word, "hasAllusion", story, origin)
        graph.edge(story, "inContentUnit", canon.place(sense.citation).id, origin)
