"""Print random questions of a built dataset, with gold, path and template, for a reader to judge.

    python -m benchmarks.read_questions data/clwqa-100k                        # 200 questions, seed 7
    python -m benchmarks.read_questions data/clwqa-100k --n 50 --seed 11
    python -m benchmarks.read_questions data/clwqa-100k-full --source chinese-poetry   # those that rest on a source

Every stratum (hop x category) gives its share of the questions, and at least one; the same dataset, number and
seed print the same questions.  A question is good when a demanding reader finds it natural, finds one reading
of it, and finds every gold answer right and none missing.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from clwqa_bench.dataset import Dataset
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.records import PathStep, Question, StandardPath

Stratum = tuple[int, str]

ARROWS = {"out": ("-", "->"), "in": ("<-", "-"), "both": ("-", "-")}
CUT = 40  # characters of an entity's name shown inside a path
PATHS = 3  # paths printed of a question with many


def quotas(sizes: Mapping[Stratum, int], n: int) -> dict[Stratum, int]:
    """Share ``n`` out over the strata in proportion to their sizes (largest remainder), at least one to each.

    >>> quotas({(1, "a"): 60, (1, "b"): 39, (2, "a"): 1}, 10)
    {(1, 'a'): 5, (1, 'b'): 4, (2, 'a'): 1}
    """
    given = dict.fromkeys(sizes, 1)
    total = sum(sizes.values())
    while sum(given.values()) < min(n, total):
        open_strata = [s for s in sizes if given[s] < sizes[s]]
        most_lacking = max(open_strata, key=lambda s: (sizes[s] * n / total - given[s], sizes[s]))
        given[most_lacking] += 1
    return given


def sample(questions: Iterable[Question], n: int, seed: int) -> list[Question]:
    """A stratified random sample, in order of hop, category and id."""
    strata: defaultdict[Stratum, list[Question]] = defaultdict(list)
    for question in questions:
        strata[question.hops, question.category].append(question)
    order = sorted(strata)
    wanted = quotas({stratum: len(strata[stratum]) for stratum in order}, n)
    chance = random.Random(seed)
    return [
        question
        for stratum in order
        for question in sorted(chance.sample(sorted(strata[stratum], key=_id), wanted[stratum]), key=_id)
    ]


def resting_on(questions: Iterable[Question], source: str | None) -> Iterable[Question]:
    """Those of which a fact comes from a source; all without one."""
    return (question for question in questions if source is None or source in question.sources)


def sheet(question: Question, number: int, name: Callable[[str], str]) -> str:
    """What the reader sees of a question; ``name`` gives an entity's label."""
    hop, category = question.hops, question.category
    lines = [f"{number}. [{hop} hop, {category}, {question.template_id}, {question.id}]", question.question]
    for answer in question.answers:
        also = f" (also {'、'.join(answer.aliases)})" if answer.aliases else ""
        lines.append(f"   = {answer.label}{also}")
    lines += [f"   {_path(path, name)}" for path in question.standard_paths[:PATHS]]
    if (more := len(question.standard_paths) - PATHS) > 0:
        lines.append(f"   ({more} more paths)")
    return "\n".join(lines)


def names_of(graph: MemoryGraph) -> Callable[[str], str]:
    """Labels of a graph's entities, citation records by their id."""

    def name(id: str) -> str:
        label = graph.entity(id).label or id
        return label if len(label) <= CUT else label[:CUT] + "…"

    return name


def _path(path: StandardPath, name: Callable[[str], str]) -> str:
    first, *others = path.entities
    return name(first) + "".join(_step(step, name(id)) for step, id in zip(path.steps, others, strict=True))


def _step(step: PathStep, name: str) -> str:
    left, right = ARROWS[step.direction]
    return f" {left}{step.relation}{right} {name}"


def _id(question: Question) -> str:
    return question.id


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Print random questions of a dataset to be read and judged.")
    parser.add_argument("dataset", type=Path, help="folder of a built dataset")
    parser.add_argument("--n", type=int, default=200, help="how many questions (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="of the random choice (default: %(default)s)")
    parser.add_argument("--source", metavar="ID", help="only questions whose facts rest on this source")
    options = parser.parse_args(arguments)
    dataset = Dataset.open(options.dataset)
    known = {source.id for source in dataset.manifest.sources}
    if options.source and options.source not in known:
        parser.error(
            f"{options.source} is no source of this dataset; its sources are {', '.join(sorted(known))}"
        )
    name = names_of(dataset.kg())
    chosen = sample(resting_on(dataset.questions(), options.source), options.n, options.seed)
    for number, question in enumerate(chosen, start=1):
        print(sheet(question, number, name), end="\n\n")


if __name__ == "__main__":
    main()
