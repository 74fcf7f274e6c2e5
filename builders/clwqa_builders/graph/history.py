"""The history layer: the period tree, and eras and rulers on which two independent tables agree.

Neither chronology package is free of slips (a ruler's name, an era under a rival court), so an era enters only when
both name it, under the same dynasty, with first years at most one year apart; its ruler is the one printed there.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from clwqa_builders.graph.tables import GraphTables
from clwqa_builders.tables import DynastyPair, EraCorrection, Period

YEAR_TOLERANCE = 1
ABROAD = frozenset(map(str, range(133, 143)))  # ids of the first chronology: Japan, the states of Korea
_CLAN = re.compile("^(?:爱新觉罗|孛儿只斤)(?=.)")


@dataclass(frozen=True, slots=True)
class AgreedEra:
    """An era name that both chronologies give to one dynasty; years are historical (no year 0, BCE negative).

    ``contested`` means that the first chronology knows another era of this name that is not agreed on: the name
    alone does not tell which is meant.
    """

    name: str
    period: str
    begin: int
    end: int
    ruler: str | None
    ruler_title: str | None
    row: str
    contested: bool = False

    @property
    def label(self) -> str:
        """The name, after the period where the name alone is not enough (金·大定)."""
        return f"{self.period}·{self.name}" if self.contested else self.name


def historical_year(astronomical: float) -> int:
    """Astronomical year numbering (0 = 1 BCE) to the historian's (-1 = 1 BCE)."""
    year = int(astronomical)
    return year if year > 0 else year - 1


def agreed_eras(
    eras: Iterable[Mapping[str, str]],
    reigns: Iterable[Mapping[str, str]],
    pairs: Iterable[DynastyPair],
    corrections: Mapping[tuple[str, str, int], EraCorrection],
) -> list[AgreedEra]:
    """Eras of the first table (sanmiao) that the second (Shanghai Library reigns) confirms, ``corrections`` made.

    ``eras`` rows have dyn_id, era_name_simp, era_start_year, era_end_year (astronomical); ``reigns`` rows have
    dynasty, reignTitle, monarch, monarchName, beginYear, endYear (historical).
    """
    by_name: dict[str, list[tuple[int, Mapping[str, str]]]] = defaultdict(list)
    for number, reign in enumerate(reigns):
        if reign["reignTitle"]:
            by_name[reign["reignTitle"]].append((number, reign))
    accepted: dict[tuple[str, str, int], AgreedEra] = {}
    eras = list(eras)
    allowed = [(p.first_id, p.second_name, p.begin, p.end, p.period) for p in pairs]
    for era in eras:
        if not era["era_start_year"] or not era["era_end_year"]:
            continue
        begin = historical_year(float(era["era_start_year"]))
        end = historical_year(float(era["era_end_year"]))
        for number, reign in by_name.get(era["era_name_simp"], ()):
            if abs(begin - int(reign["beginYear"])) > YEAR_TOLERANCE:
                continue
            for first, second, low, high, period in allowed:
                if era["dyn_id"] == first and reign["dynasty"] == second and low <= begin <= high:
                    key = (era["era_name_simp"], period, begin)
                    accepted.setdefault(
                        key,
                        AgreedEra(
                            era["era_name_simp"],
                            period,
                            begin,
                            end,
                            reign["monarchName"] or None,
                            reign["monarch"].removeprefix(period) or None,
                            str(number),
                        ),
                    )
    contested = _contested(eras, accepted)
    found = (replace(era, contested=era.name in contested) for _, era in sorted(accepted.items()))
    return [_corrected(era, corrections) for era in found]


def _contested(eras: Iterable[Mapping[str, str]], accepted: Iterable[tuple[str, str, int]]) -> set[str]:
    """Names of accepted eras that the first chronology also gives to years far from any accepted one."""
    begins: dict[str, list[int]] = defaultdict(list)
    for name, _, begin in accepted:
        begins[name].append(begin)
    named = ((era["era_name_simp"], era["era_start_year"]) for era in eras if era["dyn_id"] not in ABROAD)
    return {
        name
        for name, year in named
        if year and name in begins
        if all(abs(historical_year(float(year)) - b) > YEAR_TOLERANCE for b in begins[name])
    }


def _corrected(era: AgreedEra, corrections: Mapping[tuple[str, str, int], EraCorrection]) -> AgreedEra:
    """The era with its correction, its ruler without the name of the clan (爱新觉罗玄烨 is known as 玄烨)."""
    if right := corrections.get((era.period, era.name, era.begin)):
        return replace(era, end=right.end, ruler=right.ruler, ruler_title=right.ruler_title)
    return replace(era, ruler=_CLAN.sub("", era.ruler) if era.ruler else None)


def read_csv(path: Path) -> list[dict[str, str]]:
    """Rows of a UTF-8 CSV file with a header."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def add_periods(graph: GraphTables, periods: Iterable[Period], origin: str) -> None:
    """The period tree with its years."""
    for period in periods:
        graph.node(
            f"period:{period.id}",
            period.label,
            period.kind,
            origin,
            aliases=period.aliases,
            attributes={
                "begin": None if period.begin is None else str(period.begin),
                "end": None if period.end is None else str(period.end),
            },
        )
    for period in periods:
        if period.parent:
            graph.edge(f"period:{period.id}", "subPeriodOf", f"period:{period.parent}", origin)


def add_eras(graph: GraphTables, eras: Iterable[AgreedEra], origin: str) -> None:
    """Era -> dynasty, era -> ruler, ruler -> dynasty."""
    for era in eras:
        row = f"{origin}#{era.row}"
        node = graph.node(
            f"era:{era.period}/{era.name}/{era.begin}",
            era.label,
            "Era",
            row,
            aliases=[era.name],
            attributes={"begin": str(era.begin), "end": str(era.end)},
        )
        graph.edge(node, "subPeriodOf", f"period:{era.period}", row)
        if era.ruler:
            title = f"{era.period}{era.ruler_title}" if era.ruler_title else None
            ruler = graph.node(
                f"person:{era.ruler}",
                era.ruler,
                "Person",
                row,
                aliases=[title] if title else (),
                attributes={"ruler_title": era.ruler_title},
            )
            graph.edge(node, "proclaimedBy", ruler, row)
            if graph.type_of(f"period:{era.period}") == "Dynasty":  # 十六国 is an age of many realms
                graph.edge(ruler, "ruledIn", f"period:{era.period}", row)
