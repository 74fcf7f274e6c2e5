"""A dataset in which generated questions have taken the place of template questions; its counts stay what they were."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from clwqa_bench.dataset import Dataset, Manifest
from clwqa_bench.errors import BuildError, DatasetError
from clwqa_bench.kg.build import read_tables
from clwqa_bench.records import Question, hop_band
from clwqa_builders.generate.folder import QUESTIONS, Identity, read_identity, refuse_other_dataset
from clwqa_builders.generate.ids import read_ids
from clwqa_builders.output.manifest import ADJUDICATED, Release, require_main, write_dataset
from clwqa_builders.pairs.make import Made
from clwqa_builders.validate.report import require_valid

Cell = tuple[str, str, str]
SHEET, SUPPLY, INDEX = "scoring_pairs/adjudication.tsv", "supply.json", "kg/index"


@dataclass(frozen=True, slots=True)
class Mixed:
    """A dataset with generated questions: `generated` of `questions`; `left_over` found no place, `left_out` were not
    to have one."""

    folder: Path
    questions: int
    generated: int
    left_over: int
    left_out: int


def exchange(
    questions: Sequence[Question],
    generated: Iterable[Question],
    share: float,
    *,
    keep: Collection[str] = (),
    per_word: int = 12,
) -> list[Question]:
    """The questions with at most this share of them replaced by generated ones, sorted by id.

    One takes the place of a template question of its own split, hop band and category, if there is one about the same
    anchor that one.  Questions of an extra view, and those in `keep`, stay.  No anchor gets more than `per_word`
    questions.
    """
    staying = {question.id: question for question in questions}
    places = _Places(
        q for q in questions if not q.views and q.id not in keep and q.generator.method == "template"
    )
    asked = Counter(anchor for question in questions for anchor in _anchors(question))
    wanted = int(share * len(questions))
    for new in sorted(generated, key=lambda question: question.id):
        old = places.find(new) if wanted else None
        if old is None:
            continue
        leaving, coming = _anchors(old), _anchors(new)
        if any(asked[anchor] >= per_word for anchor in coming - leaving):
            continue
        asked.subtract(leaving)
        asked.update(coming)
        places.taken.add(old.id)
        del staying[old.id]
        staying[new.id] = new
        wanted -= 1
    return sorted(staying.values(), key=lambda question: question.id)


class _Places:
    """Template questions that may give way, by cell, and by cell and anchors; `taken` are those that have."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self.taken: set[str] = set()
        self._of_cell = defaultdict[Cell, list[Question]](list)
        self._about = defaultdict[tuple[Cell, frozenset[str]], list[Question]](list)
        for question in sorted(questions, key=lambda one: hashlib.sha256(one.id.encode()).digest()):
            self._of_cell[_cell(question)].append(question)
            self._about[_cell(question), _anchors(question)].append(question)

    def find(self, new: Question) -> Question | None:
        """The question whose place a generated one takes: one about the same, else any of its cell."""
        for free in (self._about[_cell(new), _anchors(new)], self._of_cell[_cell(new)]):
            while free and free[-1].id in self.taken:
                free.pop()
            if free:
                return free[-1]
        return None


def _anchors(question: Question) -> frozenset[str]:
    return frozenset(anchor.entity_id for anchor in question.anchors)


def _cell(question: Question) -> Cell:
    return question.split, hop_band(question.hops), question.category


def mix(
    dataset: Path,
    generation: Path,
    out: Path,
    share: float,
    *,
    without: Path | None = None,
    templates_dir: Path | None = None,
    workers: int = 1,
) -> Mixed:
    """Write the dataset with generated questions into `out`, validated before it is put there.

    `without` is a file with ids of generated questions, one on a line, that stay out.

    Raises BuildError when the generation was made from another dataset or `out` holds something already, DatasetError
    when the dataset is an extension set or of somebody's own graph, or `without` names other questions,
    ValidationFailed when a rule finds an error.
    """
    opened = Dataset.open(dataset)
    require_main(opened.manifest.config, dataset)
    identity = read_identity(generation)
    refuse_other_dataset(
        generation, {name: opened.manifest.content.get(name, "") for name in identity.dataset}
    )
    if out.exists() and any(out.iterdir()):
        raise BuildError("the folder holds something already", fix="name a new or empty folder", file=out)
    written = read_generated(generation / QUESTIONS)
    known = {question.id for question in written}
    failed = read_ids(without, known, "the generated questions") if without else ()
    generated = [question for question in written if question.id not in failed]
    pairs = tuple(opened.pairs())
    limit = opened.manifest.limits.questions_per_word
    mixed = exchange(
        tuple(opened.questions()), generated, share, keep={pair.question_id for pair in pairs}, per_word=limit
    )
    taken = sum(question.generator.method == "llm" for question in mixed)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".mix-") as scratch:
        fresh = Path(scratch) / "dataset"
        made = Made(pairs, _sheet(dataset / SHEET), _sheet(dataset / ADJUDICATED))
        release = _release(
            opened.manifest, dataset, identity, taken / len(mixed) if mixed else 0.0, len(failed)
        )
        _copy_others(dataset, fresh)
        write_dataset(
            fresh, mixed, *read_tables(dataset / "kg"), dataset / "ontology.ttl", release, workers, made
        )
        fix = "correct what is behind them; nothing was written"
        require_valid(fresh, fix, workers, templates_dir=templates_dir)
        if out.exists():
            out.rmdir()
        fresh.rename(out)
    return Mixed(out, len(mixed), taken, len(generated) - taken, len(failed))


def read_generated(path: Path) -> list[Question]:
    """The accepted questions of a generation.  Raises DatasetError naming the line of one that is damaged."""
    found = []
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        fix = "let `clwqa-bench generate` come to its end"
        raise DatasetError("there are no accepted questions", fix=fix, file=path) from None
    for number, line in enumerate(lines, start=1):
        try:
            found.append(Question.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"])) or None
            fix = "make it again with `clwqa-bench generate --replay`"
            raise DatasetError(first["msg"], fix=fix, file=path, line=number, field=field) from None
    return found


def _release(manifest: Manifest, dataset: Path, identity: Identity, share: float, left_out: int) -> Release:
    """What the card and the manifest say: as before, and who wrote what."""
    config: Mapping[str, Any] = manifest.config
    supply = orjson.loads((dataset / SUPPLY).read_bytes())["category"] if (dataset / SUPPLY).exists() else {}
    return Release(
        name=manifest.name,
        version=manifest.version,
        seed=manifest.seed,
        code_version=manifest.code_version,
        sources=manifest.sources,
        config={
            **config,
            "llm": identity.model,
            "llm_prompt": identity.prompt,
            "llm_share": round(share, 6),
            "llm_left_out": left_out,
        },
        targets=manifest.targets,
        limits=manifest.limits,
        supply=supply,
    )


def _sheet(path: Path) -> tuple[Any, ...]:
    """The rows of a sheet about pairs, without its header."""
    rows = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
    return tuple(tuple(row.split("\t")) for row in rows)


def _copy_others(dataset: Path, fresh: Path) -> None:
    """What does not change and is not written anew: the index of the graph, and what could have been asked."""
    if (dataset / INDEX).is_dir():
        shutil.copytree(dataset / INDEX, fresh / INDEX)
    if (dataset / SUPPLY).exists():
        fresh.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(dataset / SUPPLY, fresh / SUPPLY)
