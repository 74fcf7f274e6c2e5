"""Boards that nobody handed anything in to: entries drawn at random, as large and as varied as real ones.

Right and wrong are drawn per question from a skill, a difficulty that all systems share, and chance; headline scores
are worked out from them, and the rest is made to go with them.
"""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clwqa_bench.metrics import Metric
from clwqa_bench.predictions import DatasetRef, RunManifest
from clwqa_leaderboard.board import BOARD, BUNDLE, ENTRY, OUTCOMES, Stored, as_json
from clwqa_leaderboard.disclosure import Disclosure
from clwqa_leaderboard.entry import Board, Cost, Entry, Loss, Miss, Number, Outcomes, Profile, columns
from clwqa_leaderboard.probes import Finding
from clwqa_leaderboard.scores import METRICS

HEADLINE = ("Hits@1", "P", "R", "F1", "F1(agg=of-means)", "EM")
CATEGORIES = (
    "arts_literature",
    "customs_practices",
    "history_geography",
    "language_dialects",
    "religion_beliefs",
)
OPERATIONS = ("basic", "relationship", "negation", "counting")
INDICATORS = {
    "anchor-f1": "(i) anchor entities, F1",
    "coverage": "(iii) supporting path retrieved",
    "retention": "(iv) supporting path kept, if retrieved",
}
STAGES = ("right", "right, unsupported", "linking", "retrieval", "ranking", "answering")
TODAY = datetime.date(2026, 11, 30)


@dataclass(frozen=True)
class Unwritten(Stored):
    """An entry that lies nowhere yet."""

    told: Outcomes

    @property
    def outcomes(self) -> Outcomes:
        return self.told


@dataclass
class MadeUp:
    """A board of so many questions, and the entries drawn for it so far."""

    questions: int = 240
    seed: int = 7
    stored: list[Unwritten] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        n = self.questions
        self.difficulty = self.rng.normal(size=n)
        hops = self.rng.choice(["1", "2", "3", "4+"], size=n, p=[0.45, 0.33, 0.15, 0.07])
        kinds = (self.rng.choice(CATEGORIES, size=n), self.rng.choice(OPERATIONS, size=n))
        self.strata = [
            (f"hops={hop}", f"category={category}", f"operation={operation}")
            for hop, category, operation in zip(hops, *kinds, strict=True)
        ]
        self.golds = 1 + self.rng.binomial(3, 0.03, size=n)
        self.groups = np.unique(self.rng.integers(max(2, n // 4), size=n), return_inverse=True)[1]
        ref = DatasetRef(
            name="clwqa-made-up", version="1.0.0", content="c0ffee" * 6, graph="9" * 36, split="test"
        )
        self.board = Board(
            key="clwqa-made-up-1.0.0-test-suite1-0123456789ab",
            ref=ref,
            suite="1",
            questions=n,
            withheld=False,
            golds=tuple(self.golds.tolist()),
            groups=tuple(self.groups.tolist()),
        )

    # ------------------------------------------------------------------ drawing

    def outcomes(self, skill: float, asked: int, *, ranked: bool = True) -> Outcomes:
        """Each answer is right if skill outweighs difficulty and chance; some questions have two answers or none."""
        golds = self.golds[:asked]
        right = (skill + self.rng.normal(size=asked) > self.difficulty[:asked]).astype(int)
        right = np.where(right == 1, np.minimum(golds, 1 + self.rng.binomial(3, 0.5, size=asked)), 0)
        items = np.maximum(right, self.rng.choice([0, 1, 1, 1, 2, 3], size=asked))
        first = (right > 0) & (self.rng.random(asked) < 0.9)
        return Outcomes(
            first=tuple(first.astype(int).tolist()) if ranked else (),
            right=tuple(right.tolist()),
            items=tuple(items.tolist()),
            marks=tuple(self.rng.integers(2**16, size=asked).tolist()),
        )

    def entry(
        self,
        system: str = "demo",
        skill: float = 0.0,
        *,
        asked: int | None = None,
        standing: Any = "ranked",
        ranked: bool = True,
        profile: bool = True,
        manifest: dict[str, Any] | None = None,
        said: dict[str, Any] | None = None,
        **changes: Any,
    ) -> Entry:
        """Draw an entry and put it on the board; `manifest` and `said` change what its records say."""
        asked = asked or self.questions
        outcomes = self.outcomes(skill, asked, ranked=ranked)
        digest = hashlib.sha256(f"{system} {len(self.stored)} {self.seed}".encode()).hexdigest()
        scores = self.scores(outcomes, asked)
        share = scores[str(Metric.parse("R"))]["all"].value
        fields: dict[str, Any] = {
            "id": f"{system}@{digest[:12]}",
            "board": self.board.key,
            "standing": standing,
            "contents": digest,
            "bundle": digest[::-1],
            "signed_by": "",
            "manifest": self.manifest(system, asked, manifest or {}),
            "disclosure": self.disclosure(system, said or {}),
            "questions": asked,
            "statuses": {"ok": asked - asked // 10, "timeout": asked // 10},
            "notes": {"predictions_without_evidence": 3},
            "scores": scores,
            "left_out": {} if ranked else {str(Metric.parse("Hits@1")): "answers are in no declared order"},
            "cost": self.cost(),
            "profile": self.profile(share, asked) if profile else None,
            "misses": self.misses(outcomes),
            "remarks": (
                Finding(probe="usage", level="remark", what="no tokens are counted", ids=("q00001",)),
            ),
            "answers": digest,
        }
        entry = Entry.model_validate({**fields, **changes})
        self.stored.append(Unwritten(Path(entry.id), entry, outcomes))
        return entry

    def manifest(self, system: str, asked: int, changes: dict[str, Any]) -> RunManifest:
        fields = {
            "system": system,
            "backbone": str(
                self.rng.choice(["none/lexical", "local/SmolLM2-135M-Instruct", "openai/glm-4-flash"])
            ),
            "config": {"d_max": 3, "top_k": 3, "prompt_language": "zh", "seed": self.seed},
            "dataset": self.board.ref,
            "code_version": "0.1.0",
            "sample": asked if asked != self.questions else None,
        }
        return RunManifest(**{**fields, **changes})

    def disclosure(self, title: str, changes: dict[str, Any]) -> Disclosure:
        fields = {
            "title": f"{title} 问答",
            "authors": "A. Author, B. Author",
            "date": TODAY,
            "code": str(self.rng.choice(["open", "closed"])),
            "model": str(self.rng.choice(["none", "open", "closed"])),
            "description": "先把问句中的词语链接到图谱，再沿关系找路径，按相关度排序后作答。",
            "training": "No training; two thresholds were tuned on the validation split.",
            "test_seen": "no",
            "knowledge": "The model's own.",
            "hardware": "Two cores, 8 GB.",
            "url": "https://example.org/paper",
        }
        return Disclosure(**{**fields, **changes})

    def scores(self, outcomes: Outcomes, asked: int) -> dict[str, dict[str, Number]]:
        """Headline scores as they are, the others a little off the recall."""
        found: dict[str, dict[str, Number]] = {}
        for metric in METRICS:
            name = str(metric)
            if metric in map(Metric.parse, HEADLINE):
                if name == str(Metric.parse("Hits@1")) and not outcomes.first:
                    continue
                values = columns(metric, outcomes, self.golds[:asked]).values
            else:
                right = np.array(outcomes.right) / self.golds[:asked]
                values = (right * self.rng.uniform(0.4, 1.0))[:, None]
            found[name] = self.by_stratum(values, metric)
        return found

    def by_stratum(self, values: NDArray[np.float64], metric: Metric) -> dict[str, Number]:
        rows: dict[str, list[int]] = {"all": list(range(len(values)))}
        for row in range(len(values)):
            for stratum in self.strata[row]:
                rows.setdefault(stratum, []).append(row)
        return {stratum: _number(values[chosen], metric) for stratum, chosen in rows.items()}

    def cost(self) -> Cost:
        calls = float(self.rng.choice([0, 1, 3.4, 12.7]))
        return Cost(
            calls=calls,
            cached=calls / 4,
            tokens_in=calls * 812.5,
            tokens_out=calls * 41.2,
            seconds=0.01 + calls * 1.37,
            cost=calls * 0.00021,
        )

    def profile(self, share: float, asked: int) -> Profile:
        value = min(1.0, share + 0.1)
        number = Number(value=value, n=asked, low=value - 0.01, high=min(1.0, value + 0.01))
        right = round(asked * share)
        lost = self.rng.multinomial(asked - right, [0.1, 0.3, 0.3, 0.2, 0.1])
        counts = zip(STAGES, (right, *lost.tolist()), strict=True)
        return Profile(
            indicators=dict.fromkeys(INDICATORS, number),
            labels=INDICATORS,
            not_traced={"element-match": "anchor labels"},
            waterfall=tuple(Loss(stage=s, questions=n, percent=round(100 * n / asked, 1)) for s, n in counts),
        )

    def misses(self, outcomes: Outcomes) -> tuple[Miss, ...]:
        asked = len(outcomes.right)
        order = np.random.default_rng(0).permutation(self.questions)
        missed = [row for row in order.tolist() if row < asked and not outcomes.right[row]][:20]
        return tuple(
            Miss(
                id=f"q{row:05d}",
                question=f"成语“四面楚歌”所说的第{row}件事见于哪部史书的哪一篇？",
                strata=self.strata[row],
                gold=("史记·项羽本纪",),
                answers=("汉书", "资治通鉴") if row % 3 else (),
                verdict="wrong" if row % 3 else "failed",
                status="ok" if row % 3 else "timeout",
                lost="retrieval",
            )
            for row in missed
        )

    # ------------------------------------------------------------------ writing

    def write(self, submissions: Path) -> Path:
        """Write the board below the folder of all boards, as `add` does; returns the board's folder."""
        folder = submissions / self.board.key
        folder.mkdir(parents=True)
        (folder / BOARD).write_bytes(as_json(self.board, indent=False))
        for one in self.stored:
            write_entry(folder, one)
        return folder


def write_entry(board: Path, stored: Unwritten) -> None:
    folder = board / stored.entry.id
    folder.mkdir()
    (folder / BUNDLE).write_bytes(b"PK")
    (folder / ENTRY).write_bytes(as_json(stored.entry))
    (folder / OUTCOMES).write_bytes(as_json(stored.outcomes, indent=False))


def many(number: int, questions: int, seed: int = 7) -> MadeUp:
    """A board with so many ranked entries, and the two reference lines."""
    made = MadeUp(questions, seed)
    for i in range(number):
        made.entry(f"system-{i:03d}", made.rng.normal(0.0, 0.6))
    made.entry("oracle", 9.0, standing="reference", profile=False)
    made.entry("random", -3.0, standing="reference", profile=False)
    return made


def _number(values: NDArray[np.float64], metric: Metric) -> Number:
    """A number with an interval that is about as wide as the real one."""
    single = values.shape[1] == 1
    mean = float(values.mean() if single else metric.reduce(values.mean(axis=0)))
    each = values[:, 0] if single else metric.reduce(values)
    margin = 1.96 * float(each.std()) / len(values) ** 0.5
    return Number(value=mean, n=len(values), low=max(0.0, mean - margin), high=min(1.0, mean + margin))
