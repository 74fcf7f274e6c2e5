"""Questions to learn a linker from: every wording of the small templates."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from clwqa_bench.records import Question
from tests import tiny_dataset

WAYS = {
    "守株待兔": "hasSource>chapter:韩非子/五蠹 partOf>book:韩非子 authoredBy>person:韩非 livedIn>period:战国",
    "破釜沉舟": "hasSource>chapter:史记/项羽本纪 partOf>book:史记 authoredBy>person:司马迁 livedIn>period:汉",
}
STEPS = {"source.chapter": 1, "source.book": 2, "author.book": 3, "period.author": 4}


def learned_from() -> Iterator[Question]:
    """Every wording of the small templates, for two words that are not asked about."""
    phrasings = {
        entry["id"]: entry["phrasings"] for entry in tomllib.loads(tiny_dataset.TEMPLATES)["template"]
    }
    for template, steps in STEPS.items():
        for number, phrasing in enumerate(phrasings[template]):
            for word, way in WAYS.items():
                id, path = f"{template}/{number}/{word}", " ".join(way.split()[:steps])
                text = phrasing.format(w=word)
                yield tiny_dataset.question(id, "train", template, text, word, path)
