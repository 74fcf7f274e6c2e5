"""Answering from reports: the most similar ones, or batches of them by map and reduce, all or those rated relevant."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clwqa_baselines.graphrag.communities import TOP
from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.index import Index
from clwqa_baselines.graphrag.tasks import MapReports, Point, Points, RateReport, Rating, ReportRow
from clwqa_baselines.shared.replies import spared
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import OutputT
from clwqa_bench.systems import Context

UNRATED = 1  # what a report is rated whose rating failed


def batches(index: Index, rows: Sequence[int], config: GraphRagConfig) -> list[tuple[ReportRow, ...]]:
    """Reports shuffled, dealt out by tokens, and in each batch those first that touch most relationships.

    A report longer than a batch is one of its own.
    """
    shuffled = list(rows)
    random.Random(config.shuffle_seed).shuffle(shuffled)
    dealt: list[list[int]] = []
    room = -1
    for row in shuffled:
        tokens = int(index.reports.tokens[row])
        if not dealt or tokens > room:
            dealt.append([])
            room = config.batch_tokens
        room -= tokens
        dealt[-1].append(row)
    return [tuple(_weighed(index, batch)) for batch in dealt]


def _weighed(index: Index, batch: Sequence[int]) -> list[ReportRow]:
    weight = index.weight
    found = [
        row.model_copy(update={"weight": float(weight[row.number])}) for row in map(index.reports.row, batch)
    ]
    return sorted(found, key=lambda row: (-row.weight, -row.rating, row.number))


# ---------------------------------------------------------------------- map


@dataclass(frozen=True, slots=True)
class Mapped:
    """The points of all batches with a score above 0, the best first, and the replies they are from: fewer than there
    are batches if the question may take no more.
    """

    points: tuple[Point, ...]
    replies: tuple[Reply[Points], ...]

    @property
    def failure(self) -> Reply[Points] | None:
        """Why the question ends here: the budget is used up, or no reply says anything of the reports."""
        failed = [reply for reply in self.replies if reply.value is None]
        if len(failed) == len(self.replies) and failed:
            return failed[0]
        return skipped(failed)


def skipped(replies: Iterable[Reply[OutputT]]) -> Reply[OutputT] | None:
    """A reply that was not asked for since the budget is used up: whatever else is asked would be too."""
    return next((reply for reply in replies if reply.status == "skipped"), None)


async def map_reports(
    question: str, of: Sequence[tuple[ReportRow, ...]], config: GraphRagConfig, ctx: Context
) -> Mapped:
    """Ask for the points of every batch; one whose reply failed has none."""
    tasks = [MapReports(question=question, reports=batch, words=config.map_words) for batch in of]
    replies = await asyncio.gather(*(spared(task, ctx) for task in tasks))
    found = [
        Point(analyst=analyst, description=point.description, score=point.score)
        for analyst, reply in enumerate(replies, start=1)
        for point in (reply.value.points if reply and reply.value else ())
        if point.score > 0
    ]
    found.sort(key=lambda point: -point.score)  # of equal ones the earlier batch stays first
    return Mapped(tuple(found), tuple(reply for reply in replies if reply))


# ---------------------------------------------------------------------- dynamic selection


@dataclass
class Selected:
    """Reports found relevant, how many were rated, and the ratings that failed; `cut` if not all could be rated.

    `failure` is why the question ends here, if it does.
    """

    rows: list[int] = field(default_factory=list)
    rated: int = 0
    failed: int = 0
    cut: bool = False
    failure: Reply[Rating] | None = None


class Selector:
    """Dynamic selection: reports are rated from the top, and below what is relevant."""

    def __init__(self, index: Index, config: GraphRagConfig) -> None:
        self._index, self._config = index, config
        self._levels: dict[int, list[int]] = {}
        for community in index.reports.community.tolist():
            self._levels.setdefault(int(index.communities.level[community]), []).append(community)

    async def select(self, question: str, ctx: Context) -> Selected:
        """Rate level after level; where nothing is relevant yet, the whole next one down to `max_level`."""
        config, parent = self._config, self._index.communities.parent
        children, rows = self._index.communities.children, self._index.reports.of
        relevant: dict[int, None] = {}
        found = Selected()
        level, queue = 0, self._levels.get(0, [])
        while queue:
            ratings = await self._rate(question, queue, found, ctx)
            if found.failure:
                return found
            queue = []
            for community, rating in ratings.items():
                if rating < config.threshold:
                    continue
                relevant[community] = None
                queue += [child for child in children.get(community, ()) if child in rows]
                if not config.keep_parent and (above := int(parent[community])) != TOP:
                    relevant.pop(above, None)
            level += 1
            if not queue and not relevant and level <= config.max_level:
                queue = self._levels.get(level, [])
        found.rows = [rows[community] for community in relevant]
        return found

    async def _rate(
        self, question: str, communities: Sequence[int], found: Selected, ctx: Context
    ) -> dict[int, int]:
        """Ratings by community, of as many as may still be rated."""
        most = self._config.max_rated
        some = communities if most is None else communities[: max(0, most - found.rated)]
        found.rated += len(some)
        found.cut |= len(some) < len(communities)
        rows = [self._index.reports.row(self._index.reports.of[community]) for community in some]
        tasks = [
            RateReport(question=question, title=row.title, content=row.content)
            for row in rows
            for _ in range(self._config.repeats)
        ]
        replies = await asyncio.gather(*(spared(task, ctx) for task in tasks))
        given = [reply for reply in replies if reply]
        found.failed += sum(reply.value is None for reply in given)
        found.failure = skipped(given)
        repeats = self._config.repeats
        of_each = (replies[at * repeats : (at + 1) * repeats] for at in range(len(some)))
        return {
            community: _commonest([reply for reply in few if reply])
            for community, few in zip(some, of_each, strict=True)
            if any(few)
        }


def _commonest(replies: Sequence[Reply[Rating]]) -> int:
    """The rating given most often, of equal ones the highest."""
    counts = Counter(reply.value.rating if reply.value else UNRATED for reply in replies)
    return max(counts, key=lambda rating: (counts[rating], rating))
