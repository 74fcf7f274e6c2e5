"""JSON as other people write it: a whole document or one object per line, and fields that may not be there.

Every error names the file, the line where lines mean something, and the field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from clwqa_bench.errors import PredictionError

SHAPES: Mapping[frozenset[str], str] = {
    frozenset({"schema_version", "status"}): "our own predictions: score them without --format",
    frozenset({"results", "question"}): "a result file of PoG or ToG",
    frozenset({"cot_result"}): "a result file of ToG's CoT script",
    frozenset({"prediction", "ground_truth"}): "a prediction file of RoG or GCR",
    frozenset({"QuestionId", "Parses"}): "WebQSP gold",
    frozenset({"ID", "compositionality_type"}): "CWQ gold",
    frozenset({"qid", "question"}): "GrailQA gold",
    frozenset({"id", "prediction"}): "plain JSON lines of predictions",
    frozenset({"id", "answers"}): "plain JSON lines of gold",
}
"""What an object with these fields looks like; the first that fits."""

SHOWN_FIELDS = 8


@dataclass(frozen=True, slots=True)
class Item:
    """A JSON object and where it stands; `path` leads to it from the line or the document, e.g. "[3].Parses[0]"."""

    value: Mapping[str, Any]
    file: Path
    line: int | None = None
    path: str = ""

    def error(self, what: str, fix: str, key: str = "") -> PredictionError:
        """What is wrong with this object, or with one of its fields."""
        field = ".".join(part for part in (self.path, key) if part) or None
        return PredictionError(what, fix=fix, file=self.file, line=self.line, field=field)

    def get(self, key: str) -> Any:
        """The value of a field that has to be there."""
        if key not in self.value:
            fields = ", ".join(list(self.value)[:SHOWN_FIELDS]) or "none"
            looks = shape(self.value)
            raise self.error(
                f"there is no such field; the fields are {fields}",
                f"this looks like {looks}" if looks else "check --format and --gold-format",
                key,
            )
        return self.value[key]

    def text(self, key: str) -> str:
        """A field that holds a text."""
        value = self.get(key)
        if not isinstance(value, str):
            raise self.error(f"{kind(value)} where a text is due", "write the text itself", key)
        return value

    def name(self, key: str) -> str:
        """A field that identifies: a text, or a whole number as its digits."""
        value = self.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value:
            raise self.error(f"{kind(value)} where an id is due", "give every question one id", key)
        return value

    def array(self, key: str) -> list[Any]:
        """A field that holds a list."""
        value = self.get(key)
        if not isinstance(value, list):
            raise self.error(f"{kind(value)} where a list is due", "write a list, also for one", key)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A field that holds a list of texts."""
        values = self.array(key)
        for place, value in enumerate(values):
            if not isinstance(value, str):
                raise self.error(
                    f"{kind(value)} where a text is due", "write the text itself", f"{key}[{place}]"
                )
        return tuple(values)

    def objects(self, key: str) -> list[Item]:
        """A field that holds a list of objects."""
        return [self.inside(key, place, value) for place, value in enumerate(self.array(key))]

    def inside(self, key: str, place: int, value: Any) -> Item:
        """An object of a list in a field."""
        path = ".".join(part for part in (self.path, f"{key}[{place}]") if part)
        if not isinstance(value, dict):
            raise Item({}, self.file, self.line, path).error(
                f"{kind(value)} where an object is due", "check --format and --gold-format"
            )
        return Item(value, self.file, self.line, path)


@dataclass(frozen=True)
class Records:
    """The objects of a file in order; `torn` is the line that was cut off, if the last one was."""

    items: tuple[Item, ...]
    torn: int | None = None


def read_bytes(path: Path) -> bytes:
    """All of a file.  Raises PredictionError if there is none."""
    if not path.is_file():
        raise PredictionError(
            "there is no file here", fix="name the file itself, as the other project wrote it", file=path
        )
    return path.read_bytes()


def decode(data: bytes, path: Path) -> str:
    """UTF-8, with or without a byte order mark; line ends become newlines."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PredictionError(
            f"{_encoding(data)}: byte {error.start + 1} of the file",
            fix="save the file as UTF-8",
            file=path,
            line=line,
        ) from None


def _encoding(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it looks like UTF-16"
    try:
        data.decode("gb18030")
    except UnicodeDecodeError:
        return "it is not UTF-8"
    return "it looks like GB18030 (GBK)"


def records(text: str, path: Path, inside: str | None = None) -> Records:
    """The objects of a JSON list, of JSON lines, or of the list in field `inside` of one JSON object.

    A last line that neither ends nor parses, as a killed run leaves it, is left out and named.
    Raises PredictionError for everything else that is not JSON, NaN included.
    """
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise PredictionError("the file is empty", fix="name a file that has some rows", file=path)
    if lines[0][1].lstrip().startswith("[") or _starts_document(lines):
        return Records(tuple(_document(text, path, inside)))
    found: list[Item] = []
    for number, line in lines:
        try:
            value = parse(line)
        except ValueError as error:
            if number == lines[-1][0] and not text.endswith("\n") and number > 1:
                return Records(tuple(found), number)
            raise _no_json(error, path, number) from None
        if not isinstance(value, dict):
            raise PredictionError(
                f"{kind(value)} where an object is due",
                fix="write one JSON object per line",
                file=path,
                line=number,
            )
        found.append(Item(value, path, number))
    if inside and len(found) == 1 and inside in found[0].value:
        return Records(tuple(found[0].objects(inside)))
    return Records(tuple(found))


def parse(text: str) -> Any:
    """JSON as its standard has it: Python's NaN and Infinity are refused.  Raises ValueError.

    Half of a surrogate pair, which a cut-off emoji leaves and no text may hold, becomes a question mark.
    """
    try:
        value = json.loads(text, parse_constant=_refuse)
        if "\\ud" in text.lower():
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def shape(value: Mapping[str, Any]) -> str:
    """Which known format an object looks like; empty if none."""
    return next((name for keys, name in SHAPES.items() if keys <= value.keys()), "")


def kind(value: object) -> str:
    """What a JSON value is, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "a text", list: "a list", dict: "an object", int: "a number", float: "a number"}
    return "an empty text" if value == "" else names[type(value)]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it has no {constant}")


def _starts_document(lines: list[tuple[int, str]]) -> bool:
    """Whether the first line is the beginning of an object that goes on below."""
    first = lines[0][1].strip()
    return first.startswith("{") and len(lines) > 1 and not first.endswith("}")


def _document(text: str, path: Path, inside: str | None) -> Iterator[Item]:
    try:
        value = parse(text)
    except ValueError as error:
        raise _no_json(error, path, getattr(error, "lineno", None)) from None
    if isinstance(value, dict):
        whole = Item(value, path)
        if inside is None:
            raise whole.error(
                "one object where a list of them is due", "write a JSON list, or one object per line"
            )
        yield from whole.objects(inside)
    else:
        top = Item({}, path)
        yield from (top.inside("", place, element) for place, element in enumerate(value))


def _no_json(error: ValueError, path: Path, line: int | None) -> PredictionError:
    what = str(error)
    if isinstance(error, json.JSONDecodeError):
        what = f"{error.msg[:1].lower()}{error.msg[1:]}, column {error.colno}"
    return PredictionError(
        f"this is not JSON: {what}",
        fix="write one JSON object per line, or one JSON list",
        file=path,
        line=line,
    )
