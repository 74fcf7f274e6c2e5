"""Counts against the manifest's targets and limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from clwqa_bench.records import hop_band
from clwqa_builders.validate.model import Fault, rule
from clwqa_builders.validate.tables import DatasetTables


@rule("marginals", "error", "The number of questions of each hop band is the manifest's target.")
def marginals(tables: DatasetTables) -> Iterator[Fault]:
    reached = Counter(map(hop_band, tables.column("hops")))
    targets = tables.manifest.targets.hops
    for band in sorted({*targets, *reached}) if targets else ():
        if reached[band] != targets.get(band, 0):
            yield Fault(
                "", f"hops.{band}", f"{reached[band]} questions, the target is {targets.get(band, 0)}"
            )


@rule(
    "split-shares",
    "warning",
    "Each split holds its share of every hop x category stratum that is large enough.",
)
def split_shares(tables: DatasetTables) -> Iterator[Fault]:
    limits = tables.manifest.limits
    strata = list(zip(map(hop_band, tables.column("hops")), tables.column("category"), strict=True))
    sizes = Counter(strata)
    parts = Counter(zip(strata, tables.column("split"), strict=True))
    for (band, category), size in sorted(sizes.items()):
        for split, share in tables.manifest.targets.splits.items() if size >= limits.stratum else ():
            found = parts[(band, category), split] / size
            if abs(found - share) > limits.split_tolerance:
                yield Fault(
                    "",
                    f"{band} x {category}",
                    f"{100 * found:.2f} % of {size} in {split}, target {100 * share:.0f} %",
                )


@rule("template-share", "error", "No template makes up more of its hop band than the manifest's limit.")
def template_share(tables: DatasetTables) -> Iterator[Fault]:
    limit = tables.manifest.limits.template_share
    bands = list(map(hop_band, tables.column("hops")))
    sizes = Counter(bands)
    placed = zip(bands, tables.column("template_id"), strict=True)
    of_templates = Counter((band, template) for band, template in placed if template is not None)
    for (band, template), count in sorted(of_templates.items()):
        if count > limit * sizes[band]:
            share = f"{100 * count / sizes[band]:.1f} %"
            yield Fault(
                "", f"hops.{band}", f"template {template} has {share}, the limit is {100 * limit:.0f} %"
            )


@rule("word-share", "error", "No word is an anchor of more questions than the manifest's limit.")
def word_share(tables: DatasetTables) -> Iterator[Fault]:
    limit = tables.manifest.limits.questions_per_word
    known = tables.ontology
    words = known.with_descendants(["Word"] if "Word" in known.type_terms else known.types)
    _, anchors = tables.exploded("anchors", "entity_id")
    counts = pc.value_counts(anchors)
    for i in np.flatnonzero(counts.field("counts").to_numpy() > limit).tolist():
        word = counts.field("values")[i].as_py()
        if tables.type_of.get(word) in words:
            yield Fault(
                "",
                "anchors",
                f"{word} is asked about {counts.field('counts')[i].as_py()} times, the limit is {limit}",
            )
