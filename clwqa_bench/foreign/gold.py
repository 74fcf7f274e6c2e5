"""Gold of public question sets: WebQSP, CWQ, GrailQA, MetaQA, and plain JSON lines.

The version of such a gold is the sha256 of its file, because two copies under one name are seldom the same.
Questions without an answer are kept apart (`left_out`): precision and recall are not defined for them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from clwqa_bench.errors import PredictionError
from clwqa_bench.foreign.reading import Item, decode, read_bytes, records
from clwqa_bench.grid import Gold, GoldQuestion
from clwqa_bench.predictions import DatasetRef
from clwqa_bench.records import Answer, AnswerKind, hop_band

_HOP = re.compile(r"([1-9])[-_ ]?hop", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ForeignQuestion:
    """A question as its file has it.

    `surfaces` are the strings PoG and ToG compare with; `bare` says that the answers are plain texts where ToG's
    script for CWQ expects objects.  `group` is the cluster of the statistics, the question itself if empty.
    """

    id: str
    text: str
    answers: tuple[Answer, ...]
    surfaces: tuple[str, ...]
    strata: tuple[str, ...] = ()
    group: str = ""
    bare: bool = False


@dataclass(frozen=True)
class ForeignGold:
    """All questions of a file in its order, and the part of them that can be scored."""

    ref: DatasetRef
    path: Path
    questions: tuple[ForeignQuestion, ...]

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Ids of the questions that have no answer."""
        return tuple(question.id for question in self.questions if not question.answers)

    @cached_property
    def gold(self) -> Gold:
        """The questions that have an answer.  Raises PredictionError if none has."""
        kept = tuple(map(_gold_question, (q for q in self.questions if q.answers)))
        if not kept:
            raise PredictionError(
                f"none of the {len(self.questions)} questions has a gold answer",
                fix="public test files often come without answers; use the file that has them",
                file=self.path,
            )
        return Gold(self.ref, kept)


def read_gold(path: str | Path, format: str, *, split: str = "test", hops: int | None = None) -> ForeignGold:
    """Read a gold file as its publishers distribute it; `hops` is for MetaQA files whose name does not say it.

    Raises PredictionError naming file, line and field.
    """
    path = Path(path)
    if format not in GOLD_FORMATS:
        raise PredictionError(
            f"there is no gold format {format!r}", fix=f"use one of {', '.join(GOLD_FORMATS)}", file=path
        )
    data = read_bytes(path)
    found = GOLD_FORMATS[format](decode(data, path), path, hops)
    return ForeignGold(reference(format, data, split), path, _unique(found, path))


def reference(name: str, data: bytes, split: str = "test") -> DatasetRef:
    """A file as a dataset: its content is its version."""
    digest = hashlib.sha256(data).hexdigest()
    return DatasetRef(name=name, version=digest[:12], content=digest, split=split)


def text_answers(texts: Iterable[str]) -> tuple[Answer, ...]:
    """Answers that have nothing but a text, which is their id too; repeated ones once, blank ones not at all."""
    return _distinct(_answer(text, text, kind="literal") for text in texts if text.strip())


# --- formats ------------------------------------------------------------------------------------------------


def _json(
    question: Callable[[Item], ForeignQuestion], inside: str | None = None
) -> Callable[[str, Path, int | None], list[tuple[ForeignQuestion, int | None]]]:
    """A reader for files of JSON objects, one per question."""

    def read(text: str, path: Path, _: int | None) -> list[tuple[ForeignQuestion, int | None]]:
        found = records(text, path, inside)
        if found.torn is not None:
            raise PredictionError(
                "the last line is cut off", fix="fetch the gold file again", file=path, line=found.torn
            )
        return [(question(item), item.line) for item in found.items]

    return read


def _webqsp(item: Item) -> ForeignQuestion:
    """The answers of all parses together; the official script takes the best parse instead."""
    parses = item.objects("Parses")
    given = [answer for parse in parses for answer in parse.objects("Answers")]
    chains = (parse.value.get("InferentialChain") for parse in parses)
    hops = next((len(chain) for chain in chains if isinstance(chain, list) and chain), None)
    return ForeignQuestion(
        id=item.name("QuestionId"),
        text=item.text("RawQuestion" if "RawQuestion" in item.value else "ProcessedQuestion"),
        answers=_distinct(
            _freebase(answer, "AnswerType", "AnswerArgument", "EntityName") for answer in given
        ),
        surfaces=tuple(_surface(answer, "EntityName", "AnswerArgument") for answer in given),
        strata=() if hops is None else (f"hops={hop_band(hops)}",),
    )


def _cwq(item: Item) -> ForeignQuestion:
    """Answer objects with aliases, or, as ToG and PoG ship CWQ, the answer as a text.

    Questions made from one WebQSP question form a cluster.
    """
    key = "answers" if "answers" in item.value else "answer"
    value = item.get(key)
    given: list[Any] = value if isinstance(value, list) else [] if value is None else [value]
    bare = any(isinstance(answer, str) for answer in given)
    if bare:
        answers = text_answers(item.texts(key) if isinstance(value, list) else [item.text(key)])
        surfaces = tuple(answer.label for answer in answers)
    else:
        objects = [item.inside(key, place, answer) for place, answer in enumerate(given)]
        answers = _distinct(map(_cwq_answer, objects))
        surfaces = tuple(name for answer in answers for name in (answer.label, *answer.aliases))
    if key == "answers" and isinstance(original := item.value.get("answer"), str):
        surfaces = (*surfaces, original)
    type = item.value.get("compositionality_type")
    return ForeignQuestion(
        id=item.name("ID"),
        text=item.text("question"),
        answers=answers,
        surfaces=surfaces,
        strata=(f"compositionality_type={type}",) if isinstance(type, str) else (),
        group=str(item.value.get("webqsp_ID") or ""),
        bare=bare,
    )


def _cwq_answer(item: Item) -> Answer:
    id = item.value.get("answer_id")
    label = item.value.get("answer") or id
    if not isinstance(label, str):
        raise item.error(
            "an answer without a name and without an id", "check that this is CWQ's own file", "answer"
        )
    aliases = item.texts("aliases") if item.value.get("aliases") is not None else ()
    return _answer(id if isinstance(id, str) and id else label, label, aliases)


def _grailqa(item: Item) -> ForeignQuestion:
    """Strata are GrailQA's own levels of generalisation and the number of edges of the query."""
    given = item.objects("answer") if item.value.get("answer") is not None else []
    strata = {
        key: item.value[key] for key in ("level", "num_edge") if isinstance(item.value.get(key), str | int)
    }
    return ForeignQuestion(
        id=item.name("qid"),
        text=item.text("question"),
        answers=_distinct(_freebase(a, "answer_type", "answer_argument", "entity_name") for a in given),
        surfaces=tuple(_surface(a, "entity_name", "answer_argument") for a in given),
        strata=tuple(f"{key}={value}" for key, value in strata.items()),
    )


def _surface(item: Item, name: str, argument: str) -> str:
    """The name if there is one, also an empty one, as PoG and ToG take it; else the argument."""
    return item.text(name) if item.value.get(name) is not None else item.text(argument)


def _freebase(item: Item, type: str, argument: str, name: str) -> Answer:
    """An entity by id and name, or a value; of a typed value ("2011^^xsd:gYear") the bare form is an alias."""
    id = item.text(argument)
    if not id:
        raise item.error("an empty text where an answer is due", "leave the answer out", argument)
    label = item.value.get(name) or id
    if not isinstance(label, str):
        raise item.error("the name is no text", "write the name, or null", name)
    bare = id.partition("^^")[0]
    return _answer(
        id,
        label,
        (bare,) if bare not in (id, "") else (),
        "entity" if item.value.get(type) == "Entity" else "literal",
    )


def _plain(item: Item) -> ForeignQuestion:
    """Our own simple form: id, question (may be left out), and answers as texts or {text, id, aliases}."""
    answers: list[Answer] = []
    for place, value in enumerate(item.array("answers")):
        if isinstance(value, str):
            answers += text_answers([value])
        else:
            one = item.inside("answers", place, value)
            aliases = one.texts("aliases") if "aliases" in one.value else ()
            label = one.text("text")
            answers.append(_answer(one.name("id") if "id" in one.value else label, label, aliases))
    distinct = _distinct(answers)
    return ForeignQuestion(
        id=item.name("id"),
        text=item.text("question") if "question" in item.value else "",
        answers=distinct,
        surfaces=tuple(name for answer in distinct for name in (answer.label, *answer.aliases)),
    )


def _metaqa(text: str, path: Path, hops: int | None) -> list[tuple[ForeignQuestion, int | None]]:
    """`question with [topic]`, a tab, answers between bars.  The id of a question is the number of its line."""
    named = _HOP.search("/".join(path.absolute().parts[-3:]))
    hop = hops or (int(named[1]) if named else None)
    strata = () if hop is None else (f"hops={hop_band(hop)}",)
    found: list[tuple[ForeignQuestion, int | None]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        question, tab, answers = line.partition("\t")
        if not tab:
            raise PredictionError(
                "there is no tab between question and answers",
                fix="MetaQA's lines read `question with [topic]`, a tab, `answer|answer`",
                file=path,
                line=number,
            )
        given = text_answers(part.strip() for part in answers.split("|"))
        surfaces = tuple(answer.label for answer in given)
        found.append((ForeignQuestion(str(number), question.strip(), given, surfaces, strata), number))
    return found


GOLD_FORMATS: Mapping[str, Callable[[str, Path, int | None], list[tuple[ForeignQuestion, int | None]]]] = (
    MappingProxyType(
        {
            "webqsp": _json(_webqsp, "Questions"),
            "cwq": _json(_cwq),
            "grailqa": _json(_grailqa),
            "metaqa": _metaqa,
            "jsonl": _json(_plain),
        }
    )
)
"""Name -> reader of (text, path, hops) that gives questions and their lines."""


# --- shared -------------------------------------------------------------------------------------------------


def _answer(id: str, label: str, aliases: Iterable[str] = (), kind: AnswerKind = "entity") -> Answer:
    return Answer(entity_id=id, label=label, aliases=tuple(dict.fromkeys(aliases)), kind=kind)


def _distinct(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    return tuple({answer.entity_id: answer for answer in answers}.values())


def _unique(found: list[tuple[ForeignQuestion, int | None]], path: Path) -> tuple[ForeignQuestion, ...]:
    seen: set[str] = set()
    for question, line in found:
        if question.id in seen:
            raise PredictionError(
                f"a second question {question.id}", fix="give every question one id", file=path, line=line
            )
        seen.add(question.id)
    return tuple(question for question, _ in found)


def _gold_question(question: ForeignQuestion) -> GoldQuestion:
    many = "many" if len(question.answers) > 1 else "one"
    return GoldQuestion(
        id=question.id,
        text=question.text,
        answers=question.answers,
        group=question.group or question.id,
        strata=(*question.strata, f"answers={many}"),
    )
