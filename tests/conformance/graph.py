"""A small graph for the conformance suite, drawn so that every answer can be worked out by hand.

        ant ══(same, see, see back)══ bee          bee (a second one)   elk      守株待兔 ─ vain wait
       ╱   ╲                           │              no edges       no edges
    hub    ch. 1                     ch. 2
   ╱ │ ╲      ╲                     ╱
 ode w01..w06   Fox; hen, and | owl/“pig” ── Bob
  │ ╲                 │                       │          cat ⟲ ← dog
 cat  Ann ────────── (author)                 │           │
       ╲                                      │          ode
        era ──────────────────────────────────╯

Labels sort by code point: Ann Bob Fox.. ant bee bee cat ch.1 ch.2 dog elk era hub ode "vain wait" w01.. 守..
"""

from __future__ import annotations

import pyarrow as pa

FOX = "Fox; hen, and | owl/“pig”"  # a name with every separator in it

_ENTITIES = [
    {"id": "i6", "label": "守株待兔", "type": "Idiom", "aliases": ["守株伺兔"],
     "attributes": [{"key": "pinyin", "value": "shǒu zhū dài tù"}], "provenance": "hand@1#1"},
    {"id": "e1", "label": "vain wait", "type": "Explanation", "text": "to wait for luck\nto strike \"twice\""},
    {"id": "i1", "label": "ant", "type": "Idiom", "aliases": ["emmet", "pismire"]},
    {"id": "i5", "label": "bee", "type": "DictionaryWord"},
    {"id": "i2", "label": "bee", "type": "Idiom"},
    {"id": "i3", "label": "cat", "type": "Xiehouyu"},
    {"id": "i4", "label": "dog", "type": "Proverb"},
    {"id": "lone", "label": "elk", "type": "Idiom"},
    *({"id": f"w{n}", "label": f"w0{n}", "type": "Idiom"} for n in range(1, 7)),
    {"id": "c1", "label": "ch. 1", "type": "Chapter"},
    {"id": "c2", "label": "ch. 2", "type": "Chapter"},
    {"id": "p1", "label": "ode", "type": "Piece"},
    {"id": "b 1", "label": FOX, "type": "Book"},
    {"id": "hub", "label": "hub", "type": "Book"},
    {"id": "per1", "label": "Ann", "type": "Person"},
    {"id": "per2", "label": "Bob", "type": "Person"},
    {"id": "d1", "label": "era", "type": "Dynasty"},
]  # fmt: skip

# "b_1" stands for the id "b 1", which has a space in it
_TRIPLES = """
i1 hasSource c1
i1 hasSource hub
i1 sameMeaningAs i2
i1 seeAlso i2
i2 seeAlso i1
i2 hasSource c2
i3 seeAlso i3
i3 hasSource p1
i4 seeAlso i3
i6 hasExplanation e1
c1 partOf b_1
c2 partOf b_1
p1 partOf hub
b_1 authoredBy per1
b_1 compiledBy per2
p1 authoredBy per1
per1 livedIn d1
per2 livedIn d1
w1 hasSource hub
w2 hasSource hub
w3 hasSource hub
w4 hasSource hub
w5 hasSource hub
w6 hasSource hub
"""


def tables() -> tuple[pa.Table, pa.Table]:
    """(entities, triples) as a builder would hand them over."""
    empty = {"aliases": [], "text": "", "attributes": [], "provenance": ""}
    edges = [line.split() for line in _TRIPLES.strip().split("\n")]
    triples = [{"head": h.replace("_", " "), "relation": r, "tail": t.replace("_", " ")} for h, r, t in edges]
    return pa.Table.from_pylist([empty | row for row in _ENTITIES]), pa.Table.from_pylist(triples)
