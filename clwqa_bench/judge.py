"""An optional judge for what no rule credits: tasks out, any model's replies in, verdicts for the policy `judge`.

No model is called here; `judging` does that.  Rules match first and the judge sees the rest only; a reply that is not
exactly the JSON asked for is no verdict, never a score; and no headline number depends on a judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import orjson
from pydantic import Field, ValidationError

from clwqa_bench.errors import PredictionError
from clwqa_bench.grid import Grid
from clwqa_bench.llm.parsing import json_object
from clwqa_bench.llm.tasks import JudgeAnswer, Judgement, Language, prompts_digest, render
from clwqa_bench.matching import HEADLINE, Policy
from clwqa_bench.records import Record
from clwqa_bench.stats.ratings import cohen_kappa

Order = Literal["gold-first", "answer-first"]
Ruling = Literal["correct", "wrong"]
Status = Literal["correct", "wrong", "unparsed", "refused", "inconsistent", "missing"]
RULINGS: Final[tuple[Ruling, ...]] = ("correct", "wrong")
ORDERS: Final[tuple[Order, ...]] = ("gold-first", "answer-first")
STATUSES: Final[tuple[Status, ...]] = (
    "correct", "wrong", "unparsed", "refused", "inconsistent", "missing",
)  # fmt: skip

JUDGED: Final = Policy("judge", HEADLINE.text)
"""The headline policy with a judge after it."""

PROMPT_VERSION: Final = JudgeAnswer.version


class JudgeTask(Record):
    """One answer put to the judge; `prompt` is all the model gets, `golds` are those not credited yet.

    `prompt_digest` changes with any word of the prompt that is not this answer's.
    """

    schema_version: Literal[1] = 1
    id: str = Field(min_length=1, description="What a reply is joined by.")
    question_id: str
    question: str
    answer: str
    golds: tuple[str, ...]
    order: Order
    prompt_version: int = PROMPT_VERSION
    prompt_digest: str = ""
    prompt: str

    @property
    def key(self) -> str:
        return self.id

    def question_asked(self) -> JudgeAnswer:
        """What a language model is asked (`clwqa_bench.llm`)."""
        return JudgeAnswer(question=self.question, golds=self.golds, answer=self.answer, order=self.order)


class JudgeReply(Record):
    """What the model wrote in answer to a task; `refused` if it, or its endpoint, declined."""

    id: str
    reply: str
    refused: bool = False

    @property
    def key(self) -> str:
        return self.id


class AnswerVerdict(Record):
    """What the judge made of an answer.  Only `correct` and `wrong` are verdicts; the rest count as none."""

    schema_version: Literal[1] = 1
    question_id: str
    answer: str
    status: Status
    reasons: tuple[str, ...] = ()
    model: str = Field(min_length=1)
    prompt_version: int = PROMPT_VERSION
    prompt_digest: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.question_id, self.answer


class HumanLabel(Record):
    """What a person says of an answer that was put to the judge."""

    question_id: str
    answer: str
    label: Ruling

    @property
    def key(self) -> tuple[str, str]:
        return self.question_id, self.answer


@dataclass(frozen=True)
class Verdicts:
    """Rulings by (question id, answer text), True for correct, and how many answers have which status."""

    rulings: Mapping[tuple[str, str], bool]
    counts: Mapping[Status, int]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Judge and people on the same answers: counts of each combination, judge named first."""

    both_correct: int
    correct_wrong: int
    wrong_correct: int
    both_wrong: int
    without_verdict: int = 0

    @property
    def n(self) -> int:
        """Answers with both a verdict and a label."""
        return self.both_correct + self.correct_wrong + self.wrong_correct + self.both_wrong

    @property
    def accuracy(self) -> float | None:
        """Share on which both say the same; None without any answer."""
        return (self.both_correct + self.both_wrong) / self.n if self.n else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: agreement beyond chance.  None where chance alone agrees always (one label only)."""
        counts = {
            ("correct", "correct"): self.both_correct,
            ("correct", "wrong"): self.correct_wrong,
            ("wrong", "correct"): self.wrong_correct,
            ("wrong", "wrong"): self.both_wrong,
        }
        return cohen_kappa([pair for pair, count in counts.items() for _ in range(count)])


def make_tasks(
    grid: Grid, orders: Sequence[Order] = ORDERS, language: Language = "zh"
) -> Iterator[JudgeTask]:
    """A task per order for every answer text that the policy `judge` would ask about and that has no ruling yet."""
    digest = prompts_digest(language, (JudgeAnswer,))
    for row, question in enumerate(grid.gold.questions):
        match = grid.match(row, JUDGED)
        credited = set(match.credited)
        golds = tuple(gold.label for place, gold in enumerate(question.answers) if place not in credited)
        texts = dict.fromkeys(grid.answers[row][item].text for item in match.unjudged)
        wanted = [(text, order) for text in texts for order in orders]
        for number, (text, order) in enumerate(wanted, start=1):
            asked = JudgeAnswer(question=question.text, golds=golds, answer=text, order=order)
            yield JudgeTask(
                id=f"{question.id}#{number}",
                question_id=question.id,
                **asked.model_dump(),
                prompt_digest=digest,
                prompt="\n\n".join(message["content"] for message in render(asked, language)),
            )


def parse_reply(text: str) -> Judgement | None:
    """The judgement a reply consists of; None for anything else, however much it looks like one."""
    try:
        return Judgement.model_validate(json_object(text, alone=True))
    except ValueError:  # a ValidationError is one
        return None


def decide(tasks: Iterable[JudgeTask], replies: Mapping[str, JudgeReply], model: str) -> list[AnswerVerdict]:
    """One verdict for every answer, from the replies (by task id) to all of its tasks."""
    by_answer: dict[tuple[str, str], list[JudgeTask]] = {}
    for task in tasks:
        by_answer.setdefault((task.question_id, task.answer), []).append(task)
    return [
        _verdict(asked[0], [replies.get(task.id) for task in asked], model) for asked in by_answer.values()
    ]


def _verdict(task: JudgeTask, replies: Sequence[JudgeReply | None], model: str) -> AnswerVerdict:
    given = [reply for reply in replies if reply is not None]
    texts = [reply.reply for reply in given if not reply.refused]
    read = [judgement for judgement in map(parse_reply, texts) if judgement is not None]
    rulings = {judgement.verdict for judgement in read}
    status: Status
    if len(given) < len(replies):
        status = "missing"
    elif len(texts) < len(given):
        status = "refused"
    elif len(read) < len(texts):
        status = "unparsed"
    else:
        status = rulings.pop() if len(rulings) == 1 else "inconsistent"
    return AnswerVerdict(
        question_id=task.question_id,
        answer=task.answer,
        status=status,
        reasons=tuple(judgement.reason for judgement in read),
        model=model,
        prompt_version=task.prompt_version,
        prompt_digest=task.prompt_digest,
    )


def count_statuses(verdicts: Iterable[AnswerVerdict]) -> dict[Status, int]:
    """How many answers have each status, all statuses listed."""
    found = Counter(verdict.status for verdict in verdicts)
    return {status: found[status] for status in STATUSES}


def agreement(verdicts: Mapping[tuple[str, str], AnswerVerdict], labels: Iterable[HumanLabel]) -> Agreement:
    """Compare verdicts with human labels.  A label of an answer without a verdict is counted and left out."""
    pairs = Counter((verdicts[label.key].status, label.label) for label in labels)
    return Agreement(
        both_correct=pairs["correct", "correct"],
        correct_wrong=pairs["correct", "wrong"],
        wrong_correct=pairs["wrong", "correct"],
        both_wrong=pairs["wrong", "wrong"],
        without_verdict=sum(n for (status, _), n in pairs.items() if status not in RULINGS),
    )


# ---------------------------------------------------------------------- files


Entry = TypeVar("Entry", JudgeTask, JudgeReply, AnswerVerdict, HumanLabel)


def read_tasks(path: Path) -> dict[str, JudgeTask]:
    """Tasks by id, as `clwqa-bench judge export` wrote them.  Raises PredictionError with file, line and field."""
    return _read(path, JudgeTask)


def read_replies(path: Path, tasks: Container[str]) -> dict[str, JudgeReply]:
    """Replies by task id.  Raises PredictionError, also for a reply to no task or two replies to one."""
    return _read(path, JudgeReply, known=tasks)


def read_judged(path: Path) -> dict[tuple[str, str], AnswerVerdict]:
    """Whole verdicts by (question id, answer text).  Raises PredictionError with file, line and field."""
    return _read(path, AnswerVerdict)


def read_verdicts(path: Path) -> Verdicts:
    """The rulings of a verdicts file, which leave out every answer without a verdict, and the counts of all."""
    judged = read_judged(path)
    ruled = {key: verdict.status for key, verdict in judged.items() if verdict.status in RULINGS}
    return Verdicts(
        {key: status == "correct" for key, status in ruled.items()}, count_statuses(judged.values())
    )


def read_labels(path: Path, judged: Container[tuple[str, str]]) -> dict[tuple[str, str], HumanLabel]:
    """Human labels by (question id, answer text).  Raises PredictionError, also for an answer not put to the judge."""
    return _read(path, HumanLabel, known=judged)


def write_lines(records: Iterable[Record], path: Path) -> None:
    """Write JSON lines; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as stream:
        stream.writelines(map(line_of, records))
    partial.replace(path)


def line_of(record: Record) -> bytes:
    """A record as a line of JSON."""
    return orjson.dumps(record.model_dump()) + b"\n"


def _read(path: Path, kind: type[Entry], known: Container[Any] | None = None) -> dict[Any, Entry]:
    """Records by their key, each known and none twice."""
    entries: dict[Any, Entry] = {}
    for number, entry in _lines(path, kind):
        if entry.key in entries:
            problem, fix = "is there twice", "keep one line for each"
        elif known is not None and entry.key not in known:
            problem, fix = "was not asked", "use the files that belong together, from one export"
        else:
            entries[entry.key] = entry
            continue
        raise PredictionError(f"{_shown(entry.key)} {problem}", fix=fix, file=path, line=number)
    return entries


def _lines(path: Path, kind: type[Entry]) -> Iterator[tuple[int, Entry]]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise PredictionError("no such file", fix="name a file of JSON lines", file=path) from None
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, kind.model_validate_json(line, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise PredictionError(
                first["msg"],
                fix=f"write one JSON object per line, in UTF-8, with the fields {', '.join(kind.model_fields)}",
                file=path,
                line=number,
                field=".".join(map(str, first["loc"])) or None,
            ) from None


def _shown(key: str | tuple[str, str]) -> str:
    return key if isinstance(key, str) else f"answer {key[1]!r} to {key[0]}"
