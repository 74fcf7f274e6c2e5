"""The last step of systems that retrieve once and ask once: from evidence to a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clwqa_baselines.shared.adapter import Adapter
from clwqa_baselines.shared.replies import failed
from clwqa_bench.llm.protocol import Reply
from clwqa_bench.llm.tasks import AnswerClosedBook, ClosedBookAnswer, EvidenceAnswer, Task
from clwqa_bench.predictions import Citation, Evidence, Flag, Prediction, TraceEvent
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Context

UNINFORMED: tuple[Flag, ...] = ("no_evidence", "parametric")


async def answered(
    question: QuestionView,
    task: Task[EvidenceAnswer] | None,
    ctx: Context,
    adapter: Adapter,
    *,
    evidence: Evidence,
    **fields: Any,
) -> Prediction:
    """What the model answers to a task that shows the evidence, numbered from 1 in its order.

    Without a task there is no evidence: the question is asked closed-book and flagged.  A call that fails is the
    status of the prediction.  Answers that no evidence shows flag it `parametric`.  `fields` are the prediction's.
    """
    pieces = [triple.id for triple in evidence.triples] + [text.id for text in evidence.texts]
    fields |= {"evidence": evidence, "flags": () if task else UNINFORMED}
    reply: Reply[EvidenceAnswer] | Reply[ClosedBookAnswer]
    closed = AnswerClosedBook(question=question.text)
    reply = await (ctx.ask(task, last=True) if task else ctx.ask(closed, last=True))
    ctx.trace.add(TraceEvent(stage="answer", op=reply.status))
    if reply.value is None:
        return failed(question.id, reply, **fields)
    if isinstance(reply.value, EvidenceAnswer):
        numbers = dict.fromkeys(reply.value.citations)
        fields["citations"] = tuple(_cited(number, pieces) for number in numbers)
    adapted = await adapter.adapt(question.text, "", ctx, listed=reply.value.answers, evidence=evidence)
    fields["flags"] = tuple(dict.fromkeys((*fields["flags"], *adapted.flags)))
    return Prediction(id=question.id, raw_answer=reply.raw, native_format="json", **fields, **adapted.fields)


def _cited(number: int, pieces: Sequence[str]) -> Citation:
    """A citation by number; one of nothing that was shown is kept and marked."""
    ok = 1 <= number <= len(pieces)
    return Citation(marker=f"[{number}]", evidence_id=pieces[number - 1] if ok else str(number), ok=ok)
