"""Entities, triples and paths in words: the one way in which systems, prompts and scorers read the graph.

Pure functions.  What they print depends on the entity and the ontology alone, never on a question, so no text can
give away whether a node is an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clwqa_bench.kg.protocol import Entity, Path, Sense, Triple
from clwqa_bench.ontology import Ontology
from clwqa_bench.text import comparison_key


@dataclass(frozen=True, slots=True)
class _Marks:
    """The punctuation of a language, and how it says that something has other names."""

    colon: str
    brackets: tuple[str, str]
    between: str
    also: str
    comma: str
    years: str
    before: str  # the turn of the era


CHINESE = _Marks("：", ("（", "）"), "；", "又称", "、", "{}—{}年", "前{}")
OTHER = _Marks(": ", (" (", ")"), "; ", "also ", ", ", "{}–{}", "{} BC")
TEXT_LIMIT = 120
"""Characters of a passage that are printed; nine passages in ten are shorter."""
ALIASES = 3
PLAIN = ("ruler_title", "genre", "calendar")
"""Attributes that are printed as they are."""
ROLES = {"origin": "来源", "example": "用例"}

Names = Callable[[str], str]
"""What to call an entity, by id: its label, or its whole node text."""


def node_text(entity: Entity, ontology: Ontology | None = None, *, limit: int = TEXT_LIMIT) -> str:
    """An entity as ``type：name（what else identifies it）`` with the type's label, on one line.

    A passage (explanation, quotation, allusion) is given by its text, at most ``limit`` characters of it, anything
    else by its label.  In brackets: other names, the years of a period, the role of a citation record.  The packaged
    ontology is used when none is given.

        朝代：宋（又称两宋、宋代、宋朝；960—1279年）
    """
    words = ontology or Ontology.load()
    name = " ".join((entity.text or entity.label).split())
    marks = CHINESE if words.is_chinese else OTHER
    more = marks.between.join(_details(entity, marks))
    left, right = marks.brackets
    return (
        f"{words.label(entity.type)}{marks.colon}{cut(name, limit)}{f'{left}{more}{right}' if more else ''}"
    )


def triple_text(triple: Triple, name: Names, ontology: Ontology | None = None) -> str:
    """A triple as it is stored: ``守株待兔 —出自→ 韩非子·五蠹``."""
    return path_text(Path((triple.head, triple.tail), (triple.relation,), ("out",)), name, ontology)


def path_text(path: Path, name: Names, ontology: Ontology | None = None) -> str:
    """A walk from its first node; an edge walked backwards points backwards: ``史记 ←属于作品— 史记·项羽本纪``."""
    words = ontology or Ontology.load()
    steps = zip(path.relations, path.senses, path.nodes[1:], strict=True)
    return name(path.nodes[0]) + "".join(
        f" {_arrow(words.label(relation), sense)} {name(node)}" for relation, sense, node in steps
    )


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters, the last one an ellipsis where something is left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _details(entity: Entity, marks: _Marks) -> list[str]:
    attributes = dict(entity.attributes)
    found = []
    if others := _other_names(entity, pinyin=marks is CHINESE):
        found.append(f"{marks.also}{marks.comma.join(others[:ALIASES])}")
    if "begin" in attributes or "end" in attributes:
        found.append(marks.years.format(*(_year(attributes.get(end, ""), marks) for end in ("begin", "end"))))
    found += [attributes[key] for key in PLAIN if key in attributes]
    if role := ROLES.get(attributes.get("role", "")):
        found.append(role)
    return found


def _other_names(entity: Entity, *, pinyin: bool) -> list[str]:
    """Aliases that a reader would call other names: no pinyin, not the label differently punctuated."""
    known = _letters(entity.label)
    return [a for a in entity.aliases if not (pinyin and a.isascii()) and _letters(a) != known]


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, comparison_key(name)))


def _year(year: str, marks: _Marks) -> str:
    return marks.before.format(year[1:]) if year.startswith("-") else year


def _arrow(relation: str, sense: Sense) -> str:
    return f"—{relation}→" if sense == "out" else f"←{relation}—"
