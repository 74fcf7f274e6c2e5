"""A model that writes what a test tells it to, over real HTTP, and the small dataset it writes about.

A reply is stated in names, as in the evidence the model is shown; numbers are looked up in the prompt it gets:

    wrote("“守株待兔”语出哪一篇？", ["《韩非子·五蠹》"], ["守株待兔 出自 《韩非子·五蠹》"])
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clwqa_bench.dataset import Limits
from clwqa_bench.llm.protocol import Limits as Budget
from clwqa_bench.llm.protocol import Options
from clwqa_bench.runner import Model
from tests import tiny_dataset
from tests.llm.server import Act, Handler, Server, completion
from tests.tiny_dataset import entity

# Besides what tiny_dataset has.  Most of it is invented, so that every check has something to find.
ENTITIES = [
    entity("book:吕氏春秋", "Book"),
    entity("book:乙集", "Book"),
    entity("chapter:吕氏春秋/察今", "Chapter", "吕氏春秋·察今"),
    entity("chapter:吕氏春秋/序意", "Chapter", "吕氏春秋·序意"),
    entity("chapter:乙集/杂说", "Chapter", "乙集·杂说"),
    entity("expl:4", "Explanation", "刻舟求剑比喻拘泥成法。", text="刻舟求剑比喻拘泥成法。"),
    entity("person:吕不韦", "Person"),
    entity("person:高诱", "Person"),
    entity("person:苏轼", "Person"),
    entity("person:牛峤", "Person"),
    entity("piece:苏轼/江城子", "Piece", "江城子"),
    entity("piece:牛峤/江城子", "Piece", "江城子"),
    entity("quot:4", "Quotation", "楚人有涉江者，其剑自舟中坠于水", text="楚人有涉江者，其剑自舟中坠于水"),
    *(entity(f"word:{word}", "Idiom") for word in ("刻舟求剑", "一鸣惊人", "因噎废食", "十年生死", "循表夜涉")),
]  # fmt: skip

TRIPLES = [
    ("book:吕氏春秋", "authoredBy", "person:吕不韦"),
    ("book:吕氏春秋", "authoredBy", "person:高诱"),
    ("book:乙集", "authoredBy", "person:高诱"),
    ("book:吕氏春秋", "belongsToCategory", "category:history_geography"),
    ("chapter:吕氏春秋/察今", "partOf", "book:吕氏春秋"),
    ("chapter:吕氏春秋/序意", "partOf", "book:吕氏春秋"),
    ("chapter:乙集/杂说", "partOf", "book:吕氏春秋"),
    ("chapter:乙集/杂说", "partOf", "book:乙集"),
    ("piece:苏轼/江城子", "authoredBy", "person:苏轼"),
    ("piece:牛峤/江城子", "authoredBy", "person:牛峤"),
    ("word:十年生死", "hasSource", "piece:苏轼/江城子"),
    ("word:刻舟求剑", "hasExplanation", "expl:4"),
    ("word:刻舟求剑", "hasQuotation", "quot:4"),
    ("word:刻舟求剑", "hasSource", "chapter:吕氏春秋/察今"),
    ("word:刻舟求剑", "belongsToCategory", "category:customs_practices"),
    ("word:刻舟求剑", "hasComponent", "word:买椟还珠"),
    ("word:刻舟求剑", "hasComponent", "word:四面楚歌"),
    ("word:循表夜涉", "hasSource", "chapter:吕氏春秋/察今"),
    ("word:一鸣惊人", "hasSource", "chapter:吕氏春秋/序意"),
    ("word:一鸣惊人", "hasSource", "chapter:乙集/杂说"),
    ("word:因噎废食", "hasSource", "chapter:吕氏春秋/序意"),
]


def write_dataset(
    folder: Path,
    *,
    answers: int = 10,
    triples: Iterable[tuple[str, str, str]] = (),
    texts: Mapping[str, str] | None = None,
) -> Path:
    """The dataset: a question of it may have so many answers; with more triples, or other texts by entity."""
    rows = [
        row | {"text": (texts or {}).get(row["id"], row["text"])}
        for row in (*tiny_dataset.ENTITY_ROWS, *ENTITIES)
    ]
    tiny_dataset.write(
        folder,
        entities=sorted(rows, key=lambda row: row["id"]),
        triples=sorted({*tiny_dataset.TRIPLE_ROWS, *TRIPLES, *triples}),
        release=replace(tiny_dataset.RELEASE, limits=Limits(template_share=1.0, answers=answers)),
    )
    return folder


def wrote(
    question: str, answers: Sequence[str], facts: Sequence[str], hops: int | None = None
) -> dict[str, Any]:
    """A written question in names; a name that is not in the evidence is handed on as it is."""
    return {"question": question, "answers": answers, "evidence": facts, "hops": hops or len(facts)}


def writes(by_word: Mapping[str, Iterable[Mapping[str, Any]] | str]) -> Act:
    """Reply to each word as told, and with no question to any other."""

    def act(handler: Handler) -> None:
        shown = evidence_in(handler.body)
        name = {node["id"]: node["name"] for node in shown["nodes"]}
        told = by_word.get(name[shown["word"]], ())
        if isinstance(told, str):
            handler.send(200, completion(told))
            return
        node = {name: id for id, name in name.items()}
        fact = {f"{name[f['head']]} {f['relation']} {name[f['tail']]}": f["id"] for f in shown["facts"]}
        questions = [
            {
                **one,
                "answers": [node.get(answer, answer) for answer in one["answers"]],
                "evidence": [fact.get(text, text) for text in one["evidence"]],
            }
            for one in told
        ]
        handler.send(200, completion(json.dumps({"questions": questions}, ensure_ascii=False)))

    return act


def evidence_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence of a prompt: the last line of JSON in it."""
    lines = body["messages"][1]["content"].splitlines()
    return json.loads(next(line for line in reversed(lines) if "{" in line).partition("：")[2])


def model(server: Server, *, cache: Path | None = None, limits: Budget | None = None, dry: bool = False,
          **settings: str) -> Model:  # fmt: skip
    """A model at the server, each request made once."""
    texts = {"base_url": server.url, "format": "json_object", "repairs": "0", "attempts": "1", **settings}
    options = Options(settings=texts, cache=cache, limits=limits or Budget(), dry=dry)
    return Model("openai:a-writer", options)
