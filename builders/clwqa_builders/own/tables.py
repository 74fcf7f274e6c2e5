"""Reading a folder with a graph: entities, triples, perhaps an ontology and a ``graph.toml``.

Every fault is reported with its file, line and column; all bad rows of a table are counted before the first is shown.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from clwqa_bench.errors import GraphError
from clwqa_bench.ontology import Ontology
from clwqa_bench.records import Record
from clwqa_bench.text import shows

SUFFIXES = (".tsv", ".csv", ".parquet")
ENTITY_COLUMNS = {"id": True, "label": True, "type": False, "aliases": False, "text": False}
TRIPLE_COLUMNS = {"head": True, "relation": True, "tail": True}
SEPARATOR = "|"  # between the aliases in one cell
LONGEST_LINE = 100_000  # characters; more is a file that lost its line ends
ONTOLOGY, ABOUT = "ontology.ttl", "graph.toml"
_WRITE = {
    "value_error": "write it as in 'is the capital of {}'",
    "expression": "write it in the syntax of Python's re, as in wording/en.toml",
    "string_pattern_mismatch": "use letters, digits, points and hyphens",
}  # by the kind of fault in graph.toml


def _with_slot(words: str) -> str:
    if words and words.count("{}") != 1:
        raise ValueError(f"{words!r} must have one {{}}, where the other end is named")
    return words


def _compiles(expression: str) -> str:
    try:
        re.compile(expression)
    except re.error as error:
        told = {"text": expression, "why": str(error)}
        raise PydanticCustomError("expression", "'{text}' is no regular expression: {why}", told) from None
    return expression


Words = Annotated[str, AfterValidator(_with_slot)]
"""Words with one {} in them, or none."""
Expression = Annotated[str, AfterValidator(_compiles)]
"""A regular expression."""


class Wording(Record):
    """How a relation is said: predicates in which ``{}`` is the other end, and relative clauses if they differ."""

    forward: Words = Field(default="", description="Said of the tail: 'is the capital of {}'.")
    backward: Words = Field(default="", description="Said of the head: 'has {} as its capital'.")
    forward_relative: Words = ""
    backward_relative: Words = Field(default="", description="Said after the head: 'whose capital is {}'.")
    forward_phrase: Words = Field(default="", description="A name for the tail: '{the} capital of {}'.")
    backward_phrase: Words = ""


class Frames(Record):
    """The sentences of a language; see wording/en.toml."""

    articles: tuple[str, str, str]
    relative: str
    phrase: str
    noun: Wording
    same: Wording = Field(description="For a noun that is also the label of the type it leads to.")
    verb: Wording
    participle: Wording
    verbs: Expression = Field(
        description="A regular expression: labels of relations that are verbs, not nouns."
    )
    participles: Expression = Field(description="The same for participles, which need an auxiliary.")
    mutual: Expression = Field(
        default="$^", description="The same for verbs, of relations that hold both ways."
    )
    drop: Expression = Field(default="", description="What is cut from a label before it is read as a noun.")
    questions: tuple[str, ...] = Field(min_length=4)
    relative_questions: tuple[str, ...] = Field(min_length=4)
    gap_questions: tuple[str, ...] = Field(min_length=4)
    auxiliary: Expression = Field(default="$^", description="The same for words that a question puts first.")


class About(Record):
    """``graph.toml``: where the graph comes from, its language, and better words than its labels."""

    name: str = Field(default="", pattern=r"^[\w.-]*$")
    version: str = Field(default="1", pattern=r"^[\w.+-]+$")
    licence: str = Field(default="not stated", min_length=1)
    provenance: str = Field(default="not stated", min_length=1)
    language: str = "en"
    relations: Mapping[str, Wording] = {}
    mentions: Mapping[str, Words] = Field(
        default={}, description="How entities of a type are named in a sentence: Currency = 'the {}'."
    )
    frames: Frames | None = None


@dataclass(frozen=True, slots=True)
class EntityRow:
    """One entity; ``type`` is empty where the table has none."""

    id: str
    label: str
    type: str
    aliases: tuple[str, ...]
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class TripleRow:
    head: str
    relation: str
    tail: str
    line: int


@dataclass(frozen=True)
class OwnGraph:
    """What a folder says: rows that are sound one by one, ends that exist, types and relations that are known."""

    about: About
    ontology: Ontology | None
    entities: tuple[EntityRow, ...]
    triples: tuple[TripleRow, ...]
    files: Mapping[str, Path]

    @property
    def source(self) -> str:
        """What the provenance of a row begins with."""
        return f"{self.about.name}@{self.about.version}"


def input_files(folder: Path) -> dict[str, Path]:
    """The files of the folder that are read, by their purpose.  Raises GraphError if a table is missing or twice."""
    if not folder.is_dir():
        raise GraphError("no such folder", fix="name the folder that holds the two tables", file=folder)
    found = {name: _table(folder, name) for name in ("entities", "triples")}
    optional = {name: folder / name for name in (ONTOLOGY, ABOUT) if (folder / name).is_file()}
    return {**found, **optional}


def read_graph(folder: Path) -> OwnGraph:
    """Read and check a folder.  Raises GraphError or OntologyError naming file, line, field and fix."""
    files = input_files(folder)
    about = read_about(files[ABOUT]) if ABOUT in files else About()
    if not about.name:
        about = about.model_copy(update={"name": _plain(folder.resolve().name)})
    ontology = Ontology.load(files[ONTOLOGY]) if ONTOLOGY in files else None
    entities = _entities(files["entities"], ontology)
    known = {row.id for row in entities}
    triples = _triples(files["triples"], ontology, known, files["entities"].name)
    return OwnGraph(about, ontology, entities, triples, files)


def read_about(path: Path) -> About:
    """Read ``graph.toml``.  Raises GraphError with the field."""
    try:
        return About.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise GraphError(f"not TOML: {error}", fix="correct the syntax", file=path) from None
    except UnicodeDecodeError:
        raise GraphError("not UTF-8", fix="save it as UTF-8", file=path) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        unknown = first["type"] == "extra_forbidden"
        what = "there is no such field" if unknown else first["msg"].removeprefix("Value error, ")
        fix = _WRITE.get(first["type"], f"the fields are {', '.join(About.model_fields)}")
        raise GraphError(what, fix=fix, file=path, field=place) from None


# ---------------------------------------------------------------------- rows


def _entities(path: Path, ontology: Ontology | None) -> tuple[EntityRow, ...]:
    problems = Problems(path)
    lines: dict[str, int] = {}
    rows = []
    for line, cells in _rows(path, ENTITY_COLUMNS, problems):
        id, label, type_ = cells["id"], cells["label"], cells.get("type", "")
        if not id:
            problems.add(line, "id", "the id is empty", "give every entity an id of its own")
        elif id in lines:
            problems.add(line, "id", f"{id!r} was already in line {lines[id]}", "keep one of the two")
        if not shows(label):
            problems.add(line, "label", "the label is empty", "write the name that people use")
        if type_ and ontology is not None and type_ not in ontology.type_terms:
            problems.add(line, "type", f"{type_!r} is no type of {ONTOLOGY}", _nearest(type_, ontology.types))
        lines.setdefault(id, line)
        aliases = tuple(filter(shows, map(str.strip, cells.get("aliases", "").split(SEPARATOR))))
        rows.append(EntityRow(id, label, type_, tuple(dict.fromkeys(aliases)), cells.get("text", ""), line))
    problems.check()
    if not rows:
        raise GraphError("there is no entity", fix="write a row for every entity", file=path)
    return tuple(rows)


def _triples(path: Path, ontology: Ontology | None, known: set[str], entities: str) -> tuple[TripleRow, ...]:
    problems = Problems(path)
    lines: dict[tuple[str, str, str], int] = {}
    rows = []
    for line, cells in _rows(path, TRIPLE_COLUMNS, problems):
        head, relation, tail = cells["head"], cells["relation"], cells["tail"]
        for end, id in (("head", head), ("tail", tail)):
            if id not in known:
                problems.add(
                    line, end, f"there is no entity {id!r}", f"add it to {entities}, or drop the row"
                )
        if not relation:
            problems.add(line, "relation", "the relation is empty", "name the relation, or drop the row")
        elif ontology is not None:
            _check_relation(relation, ontology, line, problems)
        if head == tail:
            problems.add(line, "tail", f"{head!r} points to itself", "drop the row")
        first = lines.setdefault((head, relation, tail), line)
        if first != line:
            problems.add(line, "relation", f"line {first} already says this", "keep one of the two")
        rows.append(TripleRow(head, relation, tail, line))
    problems.check()
    if not rows:
        raise GraphError("there is no triple", fix="write a row for every fact", file=path)
    return tuple(rows)


def _check_relation(relation: str, ontology: Ontology, line: int, problems: Problems) -> None:
    if relation not in ontology.relation_terms:
        what = f"{relation!r} is no relation of {ONTOLOGY}"
        problems.add(line, "relation", what, _nearest(relation, ontology.relations))
    elif ontology.abstract(relation):
        what = f"{relation!r} is abstract and never stored"
        problems.add(line, "relation", what, f"use one of {', '.join(ontology.sub_relations(relation))}")


@dataclass
class Problems:
    """Faults of one table; `check` raises the first and says where the others are."""

    path: Path
    found: list[tuple[int, str, str, str]] = field(default_factory=list)

    def add(self, line: int, column: str, what: str, fix: str) -> None:
        self.found.append((line, column, what, fix))

    def check(self) -> None:
        """Raise GraphError if anything was found."""
        if not self.found:
            return
        line, column, what, fix = self.found[0]
        others = list(dict.fromkeys(number for number, *_ in self.found[1:]))
        if others:
            shown = ", ".join(map(str, others[:5])) + (", ..." if len(others) > 5 else "")
            more = len(self.found) - 1
            what += f" ({more:,} more fault{'s'[: more > 1]}, in line{'s'[: len(others) > 1]} {shown})"
        raise GraphError(what, fix=fix, file=self.path, line=line, field=column or None)


def _rows(
    path: Path, columns: Mapping[str, bool], problems: Problems
) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, cells by column) of every row with the right number of cells; white space around cells is cut."""
    table = _parquet(path) if path.suffix == ".parquet" else _text(path, problems)
    _, header = next(table, (1, []))
    names = [name.strip() for name in header]
    _check_header(names, columns, path)
    for line, cells in table:
        if len(cells) == len(names):
            yield line, {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
        elif cells:
            what = f"the row has {len(cells)} cells, the header names {len(names)} columns"
            separator = "tab" if path.suffix == ".tsv" else "comma"
            problems.add(line, names[-1], what, f"write one cell per column, with a {separator} between them")


def _check_header(names: Sequence[str], columns: Mapping[str, bool], path: Path) -> None:
    def fail(what: str, fix: str, column: str) -> NoReturn:
        raise GraphError(what, fix=fix, file=path, line=1, field=column or None)

    allowed = f"the columns are {', '.join(columns)}"
    for name in names:
        if name not in columns:
            fail(f"there is no column {name!r}", _nearest(name, tuple(columns)) + f"; {allowed}", name)
        if names.count(name) > 1:
            fail(f"the column {name!r} is there twice", "keep one of the two", name)
    for name, needed in columns.items():
        if needed and name not in names:
            fail(f"the column {name!r} is missing", f"write it into the header; {allowed}", name)


def _text(path: Path, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Rows of a .tsv (cells as they are) or .csv file (cells may be in double quotes)."""
    lines = _lines(path, problems)
    if path.suffix == ".tsv":
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, strict=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        problems.add(
            reader.line_num, "", f"not readable as a table: {error}", "look for a lost quotation mark"
        )


def _lines(path: Path, problems: Problems) -> Iterator[str]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if number == 1 and b"\0" in raw:  # as every second byte is in the header of a table in UTF-16
                fix = "save the table as UTF-8 (in Excel: CSV UTF-8)"
                raise GraphError("the table is in UTF-16 or no text", fix=fix, file=path, line=1)
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                what = f"byte {error.start + 1} of the line is not UTF-8"
                problems.add(number, "", what, "save the table as UTF-8")
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
            if len(line) > LONGEST_LINE:
                what = f"the line has {len(line):,} characters"
                problems.add(number, "", what, "look for lost line ends; a row is one line")
                line = ""
            yield line + "\n"


def _parquet(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Header and rows; lists of aliases are joined as in a text table, nulls are empty."""
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise GraphError(f"not a complete Parquet file ({error})", fix="write it again", file=path) from None
    yield 0, table.column_names
    for number, row in enumerate(table.to_pylist(), start=1):
        yield number, [_cell(value) for value in row.values()]


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return SEPARATOR.join(map(str, value))
    return "" if value is None else str(value)


def _table(folder: Path, name: str) -> Path:
    found = [path for suffix in SUFFIXES if (path := folder / f"{name}{suffix}").is_file()]
    forms = ", ".join(f"{name}{suffix}" for suffix in SUFFIXES)
    if not found:
        raise GraphError(f"no table of {name}", fix=f"write one of {forms}", file=folder)
    if len(found) > 1:
        what = f"{' and '.join(path.name for path in found)} are both there"
        raise GraphError(what, fix="keep one of them", file=folder)
    return found[0]


def _nearest(name: str, known: Sequence[str]) -> str:
    if not known:
        return "add it there"
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}" if close else f"use one of {', '.join(known)}"


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in name) or "graph"
