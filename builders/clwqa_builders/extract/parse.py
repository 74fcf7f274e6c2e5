"""From raw rows to parsed rows, with one process or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain

from clwqa_builders.extract.derivations import parse_derivation
from clwqa_builders.extract.examples import parse_example
from clwqa_builders.extract.glosses import parse_gloss
from clwqa_builders.extract.lexicon import Lexicon
from clwqa_builders.extract.records import ParsedRow, RawRow
from clwqa_builders.extract.repair import repair_row
from clwqa_builders.parallel import parallel_map

_CHUNK = 1000
_CITATION_FIELDS = (
    "section", "locator", "author", "period", "genre", "quotation", "commentary", "via", "quotes_work",
)  # fmt: skip


def parse_row(row: RawRow, lexicon: Lexicon) -> ParsedRow:
    """Repair and parse one row.  Pure: the same row and lexicon give the same result."""
    derivation, example, explanation = repair_row(row)
    return ParsedRow(
        raw=row,
        derivation=parse_derivation(derivation, row.word, lexicon),
        example=parse_example(example, row.word, lexicon),
        gloss=parse_gloss(explanation, row.word, lexicon),
    )


def _parse_chunk(rows: Sequence[RawRow], lexicon: Lexicon) -> list[ParsedRow]:
    return [parse_row(row, lexicon) for row in rows]


def parse_rows(rows: Iterable[RawRow], lexicon: Lexicon, workers: int = 1) -> list[ParsedRow]:
    """Parse all rows in their order; the result does not depend on ``workers``."""
    rows = list(rows)
    chunks = [rows[at : at + _CHUNK] for at in range(0, len(rows), _CHUNK)]
    parsed = parallel_map(partial(_parse_chunk, lexicon=lexicon), chunks, workers)
    return list(chain.from_iterable(parsed))


def coverage(rows: Iterable[ParsedRow]) -> dict[str, int]:
    """How many rows carry what: kinds of derivation, fields of the first citation, examples,
    cross references, component glosses.  ``unparsed`` counts non-empty derivations that yielded nothing.
    """
    count: Counter[str] = Counter()
    for row in rows:
        derivation = row.derivation
        count["rows"] += 1
        count[f"derivation {derivation.kind}"] += 1
        count["derivation unparsed"] += derivation.kind == "none" and row.raw.derivation.strip() not in (
            "",
            "无",
        )
        count["citations"] += len(derivation.citations)
        count["rows with several citations"] += len(derivation.citations) > 1
        count["allusion told"] += derivation.allusion is not None
        if derivation.citations:
            first = derivation.citations[0]
            count["rows with a citation"] += 1
            count["section or locator"] += bool(first.section or first.locator)
            for name in _CITATION_FIELDS:
                count[name] += getattr(first, name) is not None
        if row.example:
            count["examples"] += 1
            count["example citations"] += row.example.citation is not None
            count["example authors"] += bool(row.example.citation and row.example.citation.author)
            count["example periods"] += bool(row.example.citation and row.example.citation.period)
        for ref in row.gloss.crossrefs:
            count[f"crossref {ref.kind}"] += 1
        count["rows with component glosses"] += bool(row.gloss.components)
        count["component glosses"] += len(row.gloss.components)
    return dict(count)
