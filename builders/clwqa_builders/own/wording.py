"""Questions in the words of an ontology: how a walk along relations is said in a language.

A walk becomes nested noun phrases: "the country that has Paris as its capital", and of it "Which currency is the
currency of the country that ...?"  The sentences of a language are data (``wording/*.toml``, or ``[frames]`` of a
``graph.toml``), and so are the words for a relation; where there are none, its label is read as a noun or as a verb.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clwqa_bench.errors import GraphError
from clwqa_bench.ontology import Ontology
from clwqa_builders.own.names import label
from clwqa_builders.own.tables import ABOUT, About, Frames, Wording

FOLDER = Path(__file__).parent / "wording"
ANCHOR = "{x}"
_BRACES = str.maketrans("{}", "()")
_INDEFINITE = re.compile(r"\b([Aa])\(n\)\s+(\W*\w)")

Sense = Literal["out", "in"]


@dataclass(frozen=True, slots=True)
class Said:
    """One step of a walk: the relation, the way it is walked, the type reached; ``single`` if it reaches one thing."""

    relation: str
    sense: Sense
    type: str
    single: bool


@dataclass(frozen=True, slots=True)
class _Words:
    """How one way along a relation is said; see `Wording`."""

    predicate: str
    relative: str
    phrase: str


@dataclass(frozen=True)
class Speaker:
    """Says walks in the language of a graph."""

    ontology: Ontology
    about: About
    frames: Frames

    @classmethod
    def of(cls, ontology: Ontology, about: About, file: Path = Path(ABOUT)) -> Speaker:
        """Raises GraphError, naming ``file``, for a language whose sentences nobody wrote, or words for an unknown
        relation.
        """
        for field, given, known in (
            ("relations", about.relations, ontology.relations),
            ("mentions", about.mentions, ontology.types),
        ):
            for name in sorted(given.keys() - set(known)):
                fix = f"use one of {', '.join(known)}"
                raise GraphError(f"the graph has no {name!r}", fix=fix, file=file, field=field)
        return cls(ontology, about, about.frames or _packaged(about.language, file))

    def questions(self, start: str, walk: Sequence[Said]) -> tuple[str, ...]:
        """The phrasings of the question for what a walk from a type reaches; the anchor's mention goes into {x}."""
        one, some, every = self.frames.articles
        phrase = self.about.mentions.get(start, "{}").replace("{}", ANCHOR)
        for step in walk[:-1]:
            phrase = self._phrase(step, phrase, one if step.single else some)
        last = walk[-1]
        predicate = _filled(self._words(last).predicate, self._slots(last, phrase))
        slots = {
            "{type}": self._label(last.type),
            "{pred}": predicate,
            "{rel}": self._relative(last, phrase),
            "{named}": self._phrase(last, phrase, one if all(step.single for step in walk) else every),
            "{ask}": self._asked(predicate, phrase),
        }
        frames = self.frames.questions
        if predicate.startswith(phrase):
            spare = self.frames.relative_questions[1]
            frames = self.frames.gap_questions
            frames = tuple(spare if "{ask}" in f and not slots["{ask}"] else f for f in frames)
        elif len(walk) > 1 and not predicate.endswith(phrase):  # a long phrase in the middle is hard to read
            frames = self.frames.relative_questions
        return tuple(_sentence(frame, slots) for frame in frames)

    def _asked(self, predicate: str, phrase: str) -> str:
        """A predicate that begins with a phrase, its auxiliary first: "is Alsace located in"; empty if it has none."""
        rest = predicate.removeprefix(phrase).strip()
        first, _, others = rest.partition(" ")
        return f"{first} {phrase} {others}" if re.fullmatch(self.frames.auxiliary, first) else ""

    def _phrase(self, step: Said, other: str, article: str) -> str:
        """A phrase for what a step from ``other`` reaches: "the capital of France", "a country that borders Spain"."""
        words = self._words(step)
        slots = self._slots(step, other) | {"{the}": article}
        one_type = len(self.ontology.signature(step.relation)[step.sense == "out"]) == 1
        if words.phrase and one_type:  # else the type has to be said
            return _filled(words.phrase, slots)
        slots |= {"{type}": self._label(step.type), "{rel}": self._relative(step, other)}
        return _filled(self.frames.phrase, slots)

    def _relative(self, step: Said, other: str) -> str:
        words, slots = self._words(step), self._slots(step, other)
        predicate = _filled(words.predicate, slots)
        return _filled(words.relative, slots) or self.frames.relative.replace("{pred}", predicate)

    def _slots(self, step: Said, other: str) -> dict[str, str]:
        one, some, _ = self.frames.articles
        article = one if step.single else some
        return {"{the}": article, "{label}": self._noun(step.relation), "{}": other}

    def _words(self, step: Said) -> _Words:
        """The words of a step, as ``graph.toml`` says them, else as the kind of its label does."""
        sides = ["forward" if step.sense == "out" else "backward"]
        if self.ontology.symmetric(step.relation):  # both ends are one
            sides = ["backward", "forward"]
        given = self.about.relations.get(step.relation, Wording())
        for words in (given, self._default(step)):
            for side in sides:
                if predicate := getattr(words, side):
                    return _Words(
                        predicate, getattr(words, f"{side}_relative"), getattr(words, f"{side}_phrase")
                    )
        raise AssertionError("the frames of a language have words for both ways")

    def _default(self, step: Said) -> Wording:
        frames, told = self.frames, self._label(step.relation)
        if self._noun(step.relation) == told:
            mutual = self.ontology.symmetric(step.relation) and re.search(frames.mutual, told)
            if mutual or re.search(frames.verbs, told):
                return frames.verb
            if re.search(frames.participles, told):
                return frames.participle
        return frames.same if self._noun(step.relation) == self._label(step.type) else frames.noun

    def _noun(self, relation: str) -> str:
        told = self._label(relation)
        return re.sub(self.frames.drop, "", told) if self.frames.drop else told

    def _label(self, name: str) -> str:
        """A label fit to stand in a phrasing, where braces are slots and nothing is empty."""
        told = label(self.ontology, name, self.about.language).translate(_BRACES)
        return " ".join(told.replace("()", " ").split()) or name


def _packaged(language: str, file: Path) -> Frames:
    path = FOLDER / f"{language}.toml"
    if not path.is_file():
        known = ", ".join(sorted(path.stem for path in FOLDER.glob("*.toml")))
        fix = f"write them as [frames] of {ABOUT} after the pattern of wording/en.toml, or use one of {known}"
        raise GraphError(
            f"there are no sentences for the language {language!r}", fix=fix, file=file, field="language"
        )
    return Frames.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


def _sentence(frame: str, slots: dict[str, str]) -> str:
    """A frame with its slots filled; a(n) becomes a or an."""
    return _INDEFINITE.sub(
        lambda m: f"{m[1]}{'n' if m[2][-1].lower() in 'aeiou' else ''} {m[2]}", _filled(frame, slots)
    )


def _filled(frame: str, slots: dict[str, str]) -> str:
    for slot, words in slots.items():
        frame = frame.replace(slot, words)
    return frame
