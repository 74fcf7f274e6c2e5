"""The repository's own tables, checked by hand: works, persons, periods, tunes and known misprints."""

from clwqa_builders.tables.loader import (
    Book,
    DynastyPair,
    EraCorrection,
    Period,
    load_author_aliases,
    load_books,
    load_dynasty_pairs,
    load_era_corrections,
    load_false_variants,
    load_periods,
    load_person_periods,
    load_same_title_works,
    load_title_typos,
    load_tunes,
    load_work_kinds,
)

__all__ = [
    "Book",
    "DynastyPair",
    "EraCorrection",
    "Period",
    "load_author_aliases",
    "load_books",
    "load_dynasty_pairs",
    "load_era_corrections",
    "load_false_variants",
    "load_periods",
    "load_person_periods",
    "load_same_title_works",
    "load_title_typos",
    "load_tunes",
    "load_work_kinds",
]
