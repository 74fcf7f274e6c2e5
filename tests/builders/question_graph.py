"""A hand-made graph of a few real idioms, small enough to check every answer by eye.

Two things are invented for the tests: the second source of 背水一战, and the gloss it shares with 背城一战.
"""

from __future__ import annotations

import pyarrow as pa

ENTITIES = """
word:破釜沉舟      破釜沉舟      Idiom
word:四面楚歌      四面楚歌      Idiom
word:霸王别姬      霸王别姬      Idiom
word:背水一战      背水一战      Idiom
word:背城一战      背城一战      Idiom
word:守株待兔      守株待兔      Idiom
word:刻舟求剑      刻舟求剑      Idiom
word:十年生死      十年生死      Idiom
word:釜            釜            Character
expl:1             比喻下定最大的决心，不顾一切干到底。  Explanation
expl:2             比喻陷入四面受敌、孤立无援的境地。    Explanation
expl:3             锅                                  Explanation
expl:4             同一条释义                          Explanation
expl:5             同一条释义                          Explanation
quot:1             项羽乃悉引兵渡河，皆沉船，破釜甑，烧庐舍  Quotation
quot:2             项王军壁垓下，夜闻汉军四面楚歌，乃大惊      Quotation
quot:3             因释其耒而守株，冀复得兔                  Quotation
quot:4             韩信乃使万人先行，背水陈。《汉书》同       Quotation
cite:1             老舍《四世同堂》                        Source
chapter:1          史记·项羽本纪  Chapter
chapter:2          史记·淮阴侯列传  Chapter
chapter:3          韩非子·五蠹  Chapter
chapter:4          红楼梦·第七回  Chapter
piece:苏轼/江城子   江城子        Piece
piece:牛峤/江城子   江城子        Piece
piece:苏轼/赤壁赋   赤壁赋        Piece
book:史记          史记          Book
book:韩非子        韩非子        Book
book:红楼梦        红楼梦        Novel
person:司马迁      司马迁        Person
person:韩非        韩非          Person
person:曹雪芹      曹雪芹        Person
person:苏轼        苏轼          Person
person:牛峤        牛峤          Person
period:汉          汉            Dynasty
period:清          清            Dynasty
period:宋          宋            Dynasty
era:1              建元          Era
era:2              建元          Era
category:history_geography   历史地理  SubCategory
category:arts_literature     文学艺术  SubCategory
category:emotions_values     情感价值  SubCategory
category:language_dialects   语言方言  SubCategory
"""

TRIPLES = """
word:破釜沉舟 hasExplanation expl:1
word:四面楚歌 hasExplanation expl:2
word:背水一战 hasExplanation expl:4
word:背城一战 hasExplanation expl:5
word:破釜沉舟 hasComponent word:釜
word:破釜沉舟 hasComponentGloss expl:3
word:釜 hasExplanation expl:3
word:破釜沉舟 hasSource chapter:1
word:四面楚歌 hasSource chapter:1
word:霸王别姬 hasSource chapter:1
word:背水一战 hasSource chapter:2
word:守株待兔 hasSource chapter:3
word:十年生死 hasSource piece:苏轼/江城子
word:背水一战 hasSource piece:苏轼/赤壁赋
word:破釜沉舟 hasQuotation quot:1
word:四面楚歌 hasQuotation quot:2
word:守株待兔 hasQuotation quot:3
word:背城一战 variantOf word:背水一战
word:破釜沉舟 sameMeaningAs word:背水一战
word:破釜沉舟 belongsToCategory category:emotions_values
word:四面楚歌 belongsToCategory category:emotions_values
word:背水一战 belongsToCategory category:emotions_values
word:守株待兔 belongsToCategory category:language_dialects
quot:1 inContentUnit chapter:1
quot:2 inContentUnit chapter:1
quot:3 inContentUnit chapter:3
chapter:1 partOf book:史记
chapter:2 partOf book:史记
chapter:3 partOf book:韩非子
chapter:4 partOf book:红楼梦
book:史记 authoredBy person:司马迁
book:韩非子 authoredBy person:韩非
book:红楼梦 authoredBy person:曹雪芹
piece:苏轼/江城子 authoredBy person:苏轼
piece:牛峤/江城子 authoredBy person:牛峤
piece:苏轼/赤壁赋 authoredBy person:苏轼
book:史记 belongsToCategory category:history_geography
book:红楼梦 belongsToCategory category:arts_literature
person:司马迁 livedIn period:汉
person:曹雪芹 livedIn period:清
person:苏轼 livedIn period:宋
"""

PASSAGES = {"Explanation", "Quotation", "Allusion"}


def mini_tables() -> tuple[pa.Table, pa.Table]:
    """The entity and triple tables (columns as in a graph directory, sorted)."""
    rows = sorted(line.split() for line in ENTITIES.strip().splitlines())
    entities = pa.table(
        {
            "id": [id for id, _, _ in rows],
            "label": [label for _, label, _ in rows],
            "type": [type_ for _, _, type_ in rows],
            "aliases": pa.array([[] for _ in rows], pa.list_(pa.string())),
            "text": [label if type_ in PASSAGES else "" for _, label, type_ in rows],
        }
    )
    return entities, triple_table(line.split() for line in TRIPLES.strip().splitlines())


def triple_table(triples) -> pa.Table:
    """Triples, sorted."""
    rows = sorted(tuple(t) for t in triples)
    names = ("head", "relation", "tail")
    return pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)})
