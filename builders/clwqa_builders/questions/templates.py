"""Question templates: reading, checking, and the words of a question."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clwqa_bench.errors import ClwqaError, TemplateError
from clwqa_bench.ontology import Ontology
from clwqa_builders.questions.compile import Anchors, to_cypher, to_sparql
from clwqa_builders.questions.pattern import Pattern, parse_pattern
from clwqa_builders.questions.solve import Store, answers
from clwqa_builders.sources.catalogue import Profile

TEMPLATE_DIR = Path(__file__).parent / "templates"
MAX_ANSWERS = 10
WORKS = ("ContentUnit", "CulturalSource")
WORDS = ("CultureLoadedWord",)
MIN_PHRASINGS = 4
SEVERAL = 3
_SLOT = re.compile(r"\{([^{}]*)\}")
_RULE = re.compile(r"(source|content|type):([a-z][a-z0-9_]*)|fixed:([a-z_]+)")

Basis = Literal["source", "content", "fixed", "type"]


class Entry(BaseModel):
    """Part of a template file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Identified(Protocol):
    """What has an id."""

    @property
    def id(self) -> str: ...


S = TypeVar("S", bound=Entry)
T = TypeVar("T", bound=Identified)


class Filters(Entry):
    """Which of a pattern's instances may be asked.

    Lengths count the characters of an anchor's mention.  ``mask`` maps a passage anchor to the word variable
    that must occur in it and is replaced by ～.  ``max_shared`` bounds the characters an answer's label may
    share with the anchors' mentions.  ``without`` lists substrings an anchor's mention must not contain.
    ``only`` demands that a variable's entity has one single neighbour by a relation ("hasSource"), by any of
    several ("variantOf|sameMeaningAs") or against one ("<hasSource"), so that "the source of w" is not said of
    a word with several; ``several`` demands at least SEVERAL of them, so that a person is known by a bare name.
    ``pair`` names a variable through which two like anchors meet: of all pairs only a ring (each with the
    next) is asked.
    """

    min_answers: int = Field(default=1, ge=1, le=MAX_ANSWERS)
    max_answers: int = Field(default=MAX_ANSWERS, ge=1, le=MAX_ANSWERS)
    min_chars: Mapping[str, int] = {}
    max_chars: Mapping[str, int] = {}
    mask: Mapping[str, str] = {}
    max_shared: int | None = None
    without: Mapping[str, tuple[str, ...]] = {}
    only: Mapping[str, str] = {}
    several: Mapping[str, str] = {}
    pair: str | None = None


class TemplateSpec(Entry):
    """One template as written in a TOML file."""

    id: str = Field(pattern=r"^[a-z]+(\.[a-z0-9_-]+)+$")
    family: str
    hops: int = Field(ge=1)
    pattern: tuple[str, ...]
    anchors: tuple[str, ...] = Field(min_length=1)
    answer: str
    target_element: str
    answer_kind: Literal["entity", "passage"] = "entity"
    category: tuple[str, ...] = Field(min_length=1)
    phrasings: tuple[str, ...] = Field(min_length=MIN_PHRASINGS)
    filters: Filters = Filters()


@dataclass(frozen=True)
class CategoryRule:
    """Where a category comes from: the domain of a work, the content of a word, construction, or an entity's type
    (on graphs that have no categories).
    """

    basis: Basis
    value: str
    """A category slug for fixed, else a variable."""


@dataclass(frozen=True)
class Template:
    """A checked template."""

    spec: TemplateSpec
    pattern: Pattern
    rules: tuple[CategoryRule, ...]
    """Tried in order; the first that yields a category decides."""

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def family(self) -> str:
        return self.spec.family

    @property
    def hops(self) -> int:
        return self.spec.hops

    @property
    def anchors(self) -> tuple[str, ...]:
        return self.spec.anchors

    @property
    def answer(self) -> str:
        return self.spec.answer

    @property
    def filters(self) -> Filters:
        return self.spec.filters

    @cached_property
    def phrasings(self) -> tuple[str, ...]:
        return self.spec.phrasings

    def bind(self, ids: Sequence[str]) -> Anchors | None:
        """A question's anchors by variable; None if there are not as many."""
        return dict(zip(self.anchors, ids, strict=True)) if len(ids) == len(self.anchors) else None

    def gold(self, store: Store, anchors: Anchors) -> tuple[str, ...]:
        """The ids of the gold answers, sorted, by executing the pattern on a store."""
        bound = {name: id for name, id in anchors.items() if isinstance(id, str)}
        return tuple(sorted(answers(self.pattern, store, bound, self.answer)))

    def cypher(self, anchors: Anchors) -> str:
        return to_cypher(self.pattern, anchors, self.answer)

    def sparql(self, anchors: Anchors) -> str:
        return to_sparql(self.pattern, anchors, self.answer)


def question_text(template: Template, mentions: Mapping[str, str], phrasing: int) -> str:
    """The question in the given phrasing (counted modulo their number); ``mentions`` names every anchor."""
    return template.phrasings[phrasing % len(template.phrasings)].format_map(mentions)


def load_templates(
    ontology: Ontology, directory: Path = TEMPLATE_DIR, *, profile: Profile = "full"
) -> tuple[Template, ...]:
    """All templates of a directory's TOML files, sorted by id.

    Those in its folder ``full`` ask about what only the full profile has; the core profile does not draw from them.

    Raises TemplateError that names the file, the template and the field.
    """
    folders = [directory, directory / "full"] if profile == "full" else [directory]
    paths = [path for folder in folders for path in sorted(folder.glob("*.toml"))]
    return read_templates(paths, lambda entry: parse_template(entry, ontology))


def read_templates(paths: Iterable[Path], parse: Callable[[Mapping[str, Any]], T]) -> tuple[T, ...]:
    """What ``parse`` makes of the entries of TOML files, sorted by id.

    Raises TemplateError that names the file, the template and the field.
    """
    found: dict[str, T] = {}
    for path in paths:
        try:
            entries = tomllib.loads(path.read_text(encoding="utf-8")).get("template", [])
        except tomllib.TOMLDecodeError as error:
            raise TemplateError(str(error), fix="correct the TOML syntax", file=path) from error
        for number, entry in enumerate(entries, start=1):
            name = entry.get("id", f"no. {number}")
            try:
                template = parse(entry)
            except ClwqaError as error:
                what = f"template {name}: {error.what}"
                raise TemplateError(what, fix=error.fix, file=path, field=error.field) from error
            if template.id in found:
                what = f"template {name} is defined twice"
                raise TemplateError(what, fix="rename one", file=path, field="id")
            found[template.id] = template
    return tuple(found[id] for id in sorted(found))


def read_spec(kind: type[S], entry: Mapping[str, Any]) -> S:
    """The fields of an entry; raises TemplateError with the first that is wrong."""
    try:
        return kind.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        fix = f"the fields are {', '.join(kind.model_fields)}"
        raise TemplateError(first["msg"], fix=fix, field=place) from error


def parse_template(entry: Mapping[str, Any], ontology: Ontology) -> Template:
    """Check one entry of a template file; raises TemplateError with the field, or OntologyError."""
    spec = read_spec(TemplateSpec, entry)
    pattern = parse_pattern(spec.pattern, ontology)
    _check_variables(spec, pattern, ontology)
    check_phrasings(spec.phrasings, spec.anchors)
    return Template(spec, pattern, tuple(category_rule(text, pattern, ontology) for text in spec.category))


def _check_variables(spec: TemplateSpec, pattern: Pattern, ontology: Ontology) -> None:
    filters = spec.filters
    anchored = {*filters.min_chars, *filters.max_chars, *filters.mask, *filters.without}
    filtered = (
        *anchored,
        *filters.only,
        *filters.several,
        *filters.mask.values(),
        *([filters.pair] if filters.pair else []),
    )
    for relations in (*filters.only.values(), *filters.several.values()):
        for relation in relations.removeprefix("<").split("|"):
            ontology.signature(relation)
    for field, names in (("anchors", spec.anchors), ("answer", (spec.answer,)), ("filters", filtered)):
        if unknown := [n for n in names if n not in pattern.variables]:
            raise TemplateError(
                f"no variable {unknown[0]} in the pattern", fix="name a variable of it", field=field
            )
    if loose := anchored - set(spec.anchors):
        what = f"{min(loose)} is filtered by its mention but is no anchor"
        raise TemplateError(what, fix="name an anchor", field="filters")
    if spec.answer in spec.anchors:
        what = f"{spec.answer} is both anchor and answer"
        raise TemplateError(what, fix="ask for another variable", field="answer")
    if filters.pair and len(spec.anchors) != 2:
        raise TemplateError("pair needs exactly two anchors", fix="remove it", field="filters.pair")
    types = pattern.variables[spec.answer]
    if not set(types) <= ontology.with_descendants((spec.target_element,)):
        what = f"answers are {'|'.join(types)}, not {spec.target_element}"
        raise TemplateError(what, fix="name a type that covers them all", field="target_element")
    if spec.hops != (hops := pattern.hops(spec.anchors, spec.answer)):
        what = f"declared {spec.hops} hops, the pattern has {hops}"
        raise TemplateError(what, fix=f"write hops = {hops}", field="hops")


def check_phrasings(phrasings: Sequence[str], slots: Sequence[str]) -> None:
    """Every phrasing has every slot once, and no two are the same; else TemplateError."""
    for text in phrasings:
        if sorted(_SLOT.findall(text)) != sorted(slots):
            fix = f"use {' and '.join(f'{{{slot}}}' for slot in slots)}"
            raise TemplateError(f"{text!r} must name each anchor once", fix=fix, field="phrasings")
    if len(set(phrasings)) < len(phrasings):
        raise TemplateError("a phrasing is written twice", fix="vary it", field="phrasings")


def category_rule(text: str, pattern: Pattern, ontology: Ontology) -> CategoryRule:
    match = _RULE.fullmatch(text)
    if match is None:
        fix = "write source:VARIABLE, content:VARIABLE, fixed:SLUG or, without categories, type:VARIABLE"
        raise TemplateError(f"cannot read {text!r}", fix=fix, field="category")
    if slug := match[3]:
        if slug not in {c.slug for c in ontology.categories if c.upper}:
            raise TemplateError(f"no sub-category {slug}", fix="use a slug of the ontology", field="category")
        return CategoryRule("fixed", slug)
    if match[1] == "type" and match[2] in pattern.variables and not ontology.categories:
        return CategoryRule("type", match[2])
    basis: Basis = "source" if match[1] == "source" else "content"
    tops = WORKS if basis == "source" else WORDS
    if not pattern.admitted.get(match[2], frozenset()) & ontology.with_descendants(tops):
        what = f"{match[2]} is no {' or '.join(tops)} of the pattern"
        raise TemplateError(what, fix="name such a variable", field="category")
    return CategoryRule(basis, match[2])
