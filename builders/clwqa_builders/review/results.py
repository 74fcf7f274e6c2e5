"""What the rulings say: rates with intervals, agreement, what is disputed, and the verdict that each item ends with.

An item's verdict on a criterion is the adjudicator's if there is one, else the one all its annotators give. While they
disagree the item counts with the mean of what they say and is listed as open.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean
from typing import Any, Final

from clwqa_bench.records import BAND_LABELS
from clwqa_bench.stats.ratings import (
    Share,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    observed_agreement,
    share,
)
from clwqa_builders.pairs.adjudicated import Decision, plain
from clwqa_builders.review.folder import Review, latest
from clwqa_builders.review.forms import UNSURE, Form
from clwqa_builders.review.records import Item, Plan, Role, Ruling, refuse_person
from clwqa_builders.review.sheets import Sheet

ALL: Final = "all"
"""The criterion that holds when every other does."""
DIMENSIONS: Final = {
    "questions": ("category", "hops", "method", "generator", "template", "split"),
    "pairs": ("band", "element", "rule", "split"),
}
Measure = Callable[[str, str | None], float | None]


@dataclass(frozen=True)
class Findings:
    """A review's items with everything said of them."""

    plan: Plan
    form: Form
    items: Mapping[str, Item]
    rulings: Mapping[tuple[Role, str, str], Ruling]

    @classmethod
    def of(cls, review: Review) -> Findings:
        return cls(review.plan, review.form, review.items, latest(review.rulings()))

    @cached_property
    def _by_item(self) -> dict[str, list[Ruling]]:
        found: defaultdict[str, list[Ruling]] = defaultdict(list)
        for (role, _, item), ruling in self.rulings.items():
            if role == "annotator":
                found[item].append(ruling)
        return found

    @cached_property
    def _settled(self) -> dict[str, Ruling]:
        """By item: the adjudicator's ruling that was imported last."""
        return {item: ruling for (role, _, item), ruling in self.rulings.items() if role == "adjudicator"}

    @cached_property
    def drawn(self) -> Counter[str]:
        """Items by the stratum they were drawn from."""
        return Counter(item.cell for item in self.items.values())

    def settled(self, item: str) -> Ruling | None:
        """The adjudicator's ruling on an item."""
        return self._settled.get(item)

    def said(self, item: str) -> list[Ruling]:
        """The annotators' rulings on an item."""
        return self._by_item.get(item, [])

    def given(self, item: str, criterion: str) -> dict[str, str]:
        """Verdicts by annotator."""
        return {r.annotator: r.verdicts[criterion] for r in self.said(item) if criterion in r.verdicts}

    def verdict(self, item: str, criterion: str) -> str | None:
        """The verdict an item ends with; None while it is not read or open."""
        settled = self._settled.get(item)
        if settled and criterion in settled.verdicts:
            return settled.verdicts[criterion]
        verdicts = set(self.given(item, criterion).values())
        return verdicts.pop() if len(verdicts) == 1 else None

    def disputed(self) -> list[Item]:
        """Items on which annotators differ on some criterion, settled or not, in the order of the sample."""
        return [
            item
            for id, item in self.items.items()
            if any(len(set(self.given(id, c.id).values())) > 1 for c in self.form.criteria)
        ]

    def is_open(self, item: str) -> bool:
        """Whether annotators differ on a criterion that nobody has settled."""
        return any(self.given(item, c.id) and self.verdict(item, c.id) is None for c in self.form.criteria)

    def value(self, item: Item, criterion: str, measure: Measure) -> float | None:
        """What an item counts for on a criterion, 0 to 1; None if it is not read or nobody could tell."""
        if criterion == ALL:
            values = [self.value(item, c.id, measure) for c in self.form.criteria]
            known = [value for value in values if value is not None]
            return min(known) if known and (len(known) == len(values) or 0.0 in known) else None
        settled = self.verdict(item.id, criterion)
        verdicts = [settled] if settled else list(self.given(item.id, criterion).values())
        values = [measure(verdict, item.expected) for verdict in verdicts]
        known = [value for value in values if value is not None]
        return fmean(known) if known else None


# ---------------------------------------------------------------------- the report


def report(found: Findings) -> dict[str, Any]:
    """Everything that `review.json` holds; JSON-able, the same for the same rulings."""
    disputed = found.disputed()
    open_items = [item.id for item in disputed if found.is_open(item.id)]
    return {
        "schema_version": 1,
        "review": found.plan.id,
        "kind": found.plan.kind,
        "dataset": dict(found.plan.dataset),
        "drawn": found.plan.drawn,
        "seed": found.plan.seed,
        "population": sum(found.plan.cells.values()),
        "items": len(found.items),
        "read": sum(bool(found.said(id)) for id in found.items),
        "annotators": {
            person: {"given": len(ids), "read": sum(("annotator", person, id) in found.rulings for id in ids)}
            for person, ids in found.plan.assigned.items()
        },
        "adjudicators": sorted({person for role, person, _ in found.rulings if role == "adjudicator"}),
        "rates": {criterion: _rates(found, criterion) for criterion in _criteria(found.form)},
        "agreement": {c.id: _agreement(found, c.id) for c in found.form.criteria},
        "disagreements": {"items": len(disputed), "open": open_items},
        "failed": list(_failed(found)),
        **({"bands": _bands(found)} if found.plan.kind == "pairs" else {}),
    }


def _criteria(form: Form) -> list[str]:
    names = [criterion.id for criterion in form.criteria]
    return [*names, ALL] if len(names) > 1 else names


def _rates(found: Findings, criterion: str) -> dict[str, Any]:
    """Rates over all items and per stratum; how often each verdict was what an item ended with."""
    rates: dict[str, Any] = {"overall": _pair_of_shares(found, criterion, found.items.values())}
    if criterion != ALL:
        ended = Counter(found.verdict(id, criterion) for id in found.items if found.given(id, criterion))
        rates["verdicts"] = {choice.code: ended[choice.code] for choice in found.form.choices}
        rates["verdicts"]["open"] = ended[None]
    rates["by"] = {
        dimension: {
            name: _pair_of_shares(found, criterion, items) for name, items in _strata(found, dimension)
        }
        for dimension in DIMENSIONS[found.plan.kind]
    }
    return rates


def _strata(found: Findings, dimension: str) -> list[tuple[str, list[Item]]]:
    strata: defaultdict[str, list[Item]] = defaultdict(list)
    for item in found.items.values():
        strata[item.strata[dimension]].append(item)
    return sorted(strata.items())


def _pair_of_shares(found: Findings, criterion: str, items: Iterable[Item]) -> dict[str, Any]:
    own = list(items)
    return {
        "strict": _share(found, criterion, own, found.form.strict),
        "lenient": _share(found, criterion, own, found.form.lenient),
    }


def _share(
    found: Findings, criterion: str, items: Sequence[Item], measure: Measure
) -> dict[str, float | int] | None:
    """A rate, every item weighing as many of the population as it stands for."""
    values, weights = list[float](), list[float]()
    for item in items:
        value = found.value(item, criterion, measure)
        if value is not None:
            values.append(value)
            weights.append(found.plan.cells[item.cell] / found.drawn[item.cell])
    return _rounded(share(values, weights))


def _rounded(found: Share | None) -> dict[str, float | int] | None:
    if found is None:
        return None
    bounds = {name: round(getattr(found, name), 4) for name in ("value", "low", "high")}
    return {**bounds, "n": found.n}


def _agreement(found: Findings, criterion: str) -> dict[str, Any]:
    """Agreement of annotators on what two or more have read; `unsure` is a verdict like others but has no rank."""
    given = [verdicts for id in found.items if len(verdicts := found.given(id, criterion)) > 1]
    ratings = [list(verdicts.values()) for verdicts in given]
    ranked = [[verdict for verdict in own if verdict != UNSURE] for own in ratings]
    pairs = {}
    for one, other in combinations(found.plan.assigned, 2):
        both = [
            (verdicts[one], verdicts[other]) for verdicts in given if one in verdicts and other in verdicts
        ]
        if both:
            pairs[f"{one} / {other}"] = {"n": len(both), "kappa": cohen_kappa(both)}
    return {
        "items": len(given),
        "observed": observed_agreement(ratings),
        "cohen": pairs,
        "fleiss": fleiss_kappa(ratings),
        "krippendorff": krippendorff_alpha(ranked, found.form.order),
    }


def _failed(found: Findings) -> Iterator[dict[str, Any]]:
    """Items that ended with a verdict against them, and why: to be dropped or mended."""
    for id, item in found.items.items():
        verdicts = {c.id: found.verdict(id, c.id) for c in found.form.criteria}
        against = {
            criterion: verdict
            for criterion, verdict in verdicts.items()
            if verdict and found.form.lenient(verdict, item.expected) == 0.0
        }
        if against:
            settled = found.settled(id)
            comments = [r.comment for r in (*found.said(id), *([settled] if settled else [])) if r.comment]
            expected = {"expected": item.expected} if item.expected else {}
            yield {"id": id, "question": item.question, "verdicts": against, **expected, "comments": comments}


def _bands(found: Findings) -> dict[str, Any]:
    """The bands of the rubric against those the pairs ended with, how far their labels are apart, which differ."""
    ended = {id: (item.expected or "", found.verdict(id, "band")) for id, item in found.items.items()}
    known = {id: (rule, band) for id, (rule, band) in ended.items() if band and band != UNSURE}
    counts = Counter(known.values())
    apart = [abs(_label(rule) - _label(verdict)) for rule, verdict in known.values()]
    return {
        "rubric_by_reader": {r: {v: counts[r, v] for v in BAND_LABELS} for r in BAND_LABELS},
        "kappa": cohen_kappa(list(known.values())),
        "alpha": krippendorff_alpha(list(known.values()), found.form.order),
        "mean_label_difference": round(fmean(apart), 4) if apart else None,
        "differing": {
            id: {"rubric": rule, "reader": band} for id, (rule, band) in known.items() if rule != band
        },
    }


def decisions(found: Findings) -> Iterator[Decision]:
    """The bands of pairs that an adjudicator gave, or two annotators and more alike."""
    for id, item in found.items.items():
        verdict, settled = found.verdict(id, "band"), found.settled(id)
        band = next((band for band in BAND_LABELS if band == verdict), None)
        by_adjudicator = settled is not None and "band" in settled.verdicts
        readers = len(found.given(id, "band"))
        if band and (by_adjudicator or readers > 1):
            yield Decision(
                pair_id=id,
                band=band,
                decided_by="the adjudicator" if by_adjudicator else f"{readers} annotators",
                review=found.plan.id,
                question=plain(item.question),
                node_text=plain(item.node),
            )


def _label(band: str) -> float:
    return next(label for name, label in BAND_LABELS.items() if name == band)


def open_sheet(found: Findings, review: Review, person: str) -> list[Sheet]:
    """What waits for an adjudicator, with what everybody said; no sheet where nothing does."""
    refuse_person(person)
    waiting = [item for item in found.disputed() if found.is_open(item.id)]
    said = {item.id: found.said(item.id) for item in waiting}
    return [Sheet(review, person, "adjudicator", waiting, said)] if waiting else []
