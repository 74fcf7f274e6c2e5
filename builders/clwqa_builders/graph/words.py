"""The word layer: one parsed row -> its word, meanings, components, citations, examples and cross references."""

from __future__ import annotations

import re

from clwqa_builders.extract.canonical import Canonicaliser, Place, Work, creator_relation
from clwqa_builders.extract.records import Citation, CrossRef, Example, Gloss, ParsedRow
from clwqa_builders.graph.tables import GraphTables, digest, short

_CJK = re.compile(r"[㐀-鿿豈-﫿\U00020000-\U0003ffff〇]")
_XREF_RELATION = {
    "同": "sameMeaningAs",
    "犹言": "sameMeaningAs",
    "犹": "sameMeaningAs",
    "即": "sameMeaningAs",
    "亦作": "variantOf",
    "见": "seeAlso",
    "参见": "seeAlso",
}


MIN_QUOTATION = 2  # han characters; less is a remnant


def cjk_only(text: str) -> str:
    """The han characters of a text: the identity of a quotation."""
    return "".join(_CJK.findall(text))


def word_type(word: str) -> str:
    """Idiom up to eight characters in one breath; a sentence-like saying (a comma, or longer) is a Proverb."""
    return "Proverb" if re.search(r"[，,；。]", word) or len(word) > 8 else "Idiom"


def add_word(
    graph: GraphTables,
    row: ParsedRow,
    canon: Canonicaliser,
    versions: dict[str, str],
    spelling: str | None = None,
) -> None:
    """Everything one row says, added to the graph; ``spelling`` is the word with its commas, when it has any."""
    raw = row.raw
    origin = f"{raw.source}@{versions[raw.source]}#{raw.row_id}"
    label = spelling or raw.word
    word = graph.node(
        f"word:{raw.word}",
        label,
        word_type(label),
        origin,
        aliases=[raw.word],
        attributes={
            "pinyin": raw.pinyin,
            "raw_derivation": raw.derivation,
            "raw_example": raw.example,
            "raw_explanation": raw.explanation,
        },
    )
    _add_gloss(graph, word, raw.word, row.gloss, origin)
    for ordinal, citation in enumerate(row.derivation.citations, 1):
        add_citation(graph, word, citation, canon, origin, role="origin", ordinal=ordinal)
    if row.derivation.allusion:
        _add_allusion(graph, word, row, canon, origin)
    if row.example is not None and row.example.citation is not None:
        citation = _filled_in(row.example, raw.word)
        add_citation(graph, word, citation, canon, origin, role="example", ordinal=1)


def add_crossrefs(graph: GraphTables, row: ParsedRow, versions: dict[str, str]) -> None:
    """Word-word edges; a target that has no entry of its own becomes a bare Word node."""
    origin = f"{row.raw.source}@{versions[row.raw.source]}#{row.raw.row_id}"
    for ref in (*row.gloss.crossrefs, *row.derivation.crossrefs):
        add_crossref(graph, row.raw.word, ref, origin)


def add_crossref(graph: GraphTables, word: str, ref: CrossRef, origin: str) -> None:
    """One cross reference; symmetric relations are stored once."""
    if ref.target == word:
        return
    target = f"word:{ref.target}"
    if not graph.has(target):
        graph.node(target, ref.target, "Word", origin)
    relation = _XREF_RELATION[ref.kind]
    if graph.has_symmetric(f"word:{word}", "variantOf", target):
        return  # a variant means the same: one edge says it
    if relation == "seeAlso":
        graph.edge(f"word:{word}", relation, target, origin)
    else:
        graph.symmetric(f"word:{word}", relation, target, origin)


def _filled_in(example: Example, word: str) -> Citation:
    """The example's citation, quoting the example sentence with the word written out for ～."""
    citation, text = example.citation, example.text
    assert citation is not None
    quotation = text.replace("～", word) if text else None
    return Citation(**{**{f: getattr(citation, f) for f in Citation.__slots__}, "quotation": quotation})


def _add_gloss(graph: GraphTables, word: str, label: str, gloss: Gloss, origin: str) -> None:
    if gloss.sense:
        meaning = graph.node(
            f"expl:{digest(label, gloss.sense)}",
            short(gloss.sense),
            "Explanation",
            origin,
            text=gloss.sense,
            attributes={"gloss": gloss.text},
        )
        graph.edge(word, "hasExplanation", meaning, origin)
    for piece, text in gloss.components:
        kind = "Character" if len(piece) == 1 else "DictionaryWord"
        component = graph.node(f"word:{piece}", piece, kind, origin)
        meaning = graph.node(f"expl:{digest(piece, text)}", short(text), "Explanation", origin, text=text)
        graph.edge(word, "hasComponent", component, origin)
        graph.edge(component, "hasExplanation", meaning, origin)
        graph.edge(word, "hasComponentGloss", meaning, origin)


def add_citation(
    graph: GraphTables,
    word: str,
    citation: Citation,
    canon: Canonicaliser,
    origin: str,
    *,
    role: str,
    ordinal: int,
) -> None:
    """One citation of a word: its record, the place it points to, and the passage it quotes."""
    place = canon.place(citation)
    add_place(graph, place, citation, canon, origin)
    record = graph.node(
        f"cite:{digest(word, role, str(ordinal), place.id, citation.quotation or '')}",
        citation_label(citation),
        "Source",
        origin,
        attributes={
            "role": role,
            "ordinal": str(ordinal),
            "genre": citation.genre,
            "via": citation.via,
            "quotes_work": citation.quotes_work,
            "commentary": citation.commentary,
            "author_as_printed": citation.author,
            "period_as_printed": citation.period,
            "author_contradicts_table": place.conflict,
        },
    )
    graph.edge(word, "hasCitation" if role == "origin" else "hasExample", record, origin)
    graph.edge(record, "citesWork", place.id, origin)
    if role == "origin":
        graph.edge(word, "hasSource", place.id, origin)
    if citation.quotation and len(cjk_only(citation.quotation)) >= MIN_QUOTATION:
        quotation = graph.node(
            f"quot:{digest(cjk_only(citation.quotation))}",
            short(citation.quotation),
            "Quotation",
            origin,
            text=citation.quotation,
        )
        graph.edge(record, "citesQuotation", quotation, origin)
        graph.edge(quotation, "inContentUnit", place.id, origin)
        if role == "origin":
            graph.edge(word, "hasQuotation", quotation, origin)


def _add_allusion(graph: GraphTables, word: str, row: ParsedRow, canon: Canonicaliser, origin: str) -> None:
    story = row.derivation.allusion
    assert story is not None
    allusion = graph.node(f"allusion:{digest(cjk_only(story))}", short(story), "Allusion", origin, text=story)
    graph.edge(word, "hasAllusion", allusion, origin)
    for citation in row.derivation.citations:
        if citation.narrative:
            graph.edge(allusion, "inContentUnit", canon.place(citation).id, origin)


def citation_label(citation: Citation) -> str:
    """A citation as a reader prints it: 南朝·宋·刘义庆《世说新语·贤媛》."""
    head = "·".join(p for p in (citation.period, citation.author) if p)
    title = citation.title + (f"·{citation.section}" if citation.section else "")
    return f"{head}《{title}》{citation.locator or ''}"


def add_place(
    graph: GraphTables, place: Place, citation: Citation, canon: Canonicaliser, origin: str
) -> None:
    """The work, its creators and period, and the unit."""
    add_work(graph, place.work, creator_relation(place.work, citation), canon, origin)
    if place.unit is not None:
        graph.node(
            place.unit.id,
            place.unit.label,
            place.unit.kind,
            origin,
            attributes={"section": citation.section, "locator": citation.locator},
        )
        graph.edge(place.unit.id, "partOf", place.work.id, origin)
    elif place.work.kind == "Piece":
        graph.node(place.work.id, place.work.title, "Piece", origin, attributes={"genre": citation.genre})


def add_work(graph: GraphTables, work: Work, creator: str, canon: Canonicaliser, origin: str) -> None:
    """A work with its creators, its period and its source domain."""
    graph.node(
        work.id,
        work.title,
        work.kind,
        origin,
        aliases=work.aliases,
        attributes={"author_checked": "yes" if work.curated else None},
    )
    for name in work.authors:
        person = graph.node(f"person:{name}", name, "Person", origin)
        graph.edge(work.id, creator, person, origin)
        if period := canon.person_period(name):
            graph.edge(person, "livedIn", f"period:{period}", origin)
    if work.period:
        graph.edge(work.id, "datedTo", f"period:{work.period}", origin)
    if work.domain:
        graph.edge(work.id, "belongsToCategory", f"category:{work.domain}", origin)
