"""The errors a user can meet: each says what is wrong, where, and how to put it right."""

from __future__ import annotations

from pathlib import Path


class ClwqaError(Exception):
    """Base of every error this project raises on purpose.

    ``what`` and ``fix`` are phrases without a final full stop.  ``file``, ``line`` (from 1) and ``field``
    name the place when it is known.  ``str()`` reads ``FILE:LINE: field F: what. Fix: fix.``.
    """

    def __init__(
        self,
        what: str,
        *,
        fix: str,
        file: str | Path | None = None,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix
        self.file = None if file is None else str(file)
        self.line = line
        self.field = field

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        parts = [place] if place else []
        if self.field is not None:
            parts.append(f"field {self.field}")
        parts.append(f"{self.what.rstrip('.')}. Fix: {self.fix.rstrip('.')}.")
        return ": ".join(parts)

    def as_dict(self) -> dict[str, str | int | None]:
        """The same information as a JSON object (what ``--json`` prints)."""
        return {
            "error": type(self).__name__,
            "what": self.what,
            "fix": self.fix,
            "file": self.file,
            "line": self.line,
            "field": self.field,
        }

    def __reduce__(self) -> tuple[object, ...]:
        # Exception pickles by its positional arguments only; worker processes must keep the place and fix.
        place = {"file": self.file, "line": self.line, "field": self.field}
        return (_rebuild, (type(self), self.what, self.fix, place))


def _rebuild(kind: type[ClwqaError], what: str, fix: str, place: dict[str, str | int | None]) -> ClwqaError:
    return kind(what, fix=fix, **place)  # type: ignore[arg-type]


class SourceError(ClwqaError):
    """A raw source is missing, changed or unreadable."""


class OntologyError(ClwqaError):
    """An unknown type or relation, or an ontology file that does not hold together."""


class GraphError(ClwqaError):
    """A graph that cannot be built, opened or asked this way."""


class TemplateError(ClwqaError):
    """A question template that does not parse or does not fit the ontology."""


class BuildError(ClwqaError):
    """A build stage that cannot go on."""


class DatasetError(ClwqaError):
    """A dataset file that is missing or does not follow its schema."""


class PredictionError(ClwqaError):
    """Predictions, a run or gold that cannot be scored as they are."""


class MetricError(ClwqaError):
    """A metric or policy that does not exist, or that does not fit the predictions."""


class ValidationFailed(ClwqaError):
    """A check ran to its end and found errors (exit code 1)."""
