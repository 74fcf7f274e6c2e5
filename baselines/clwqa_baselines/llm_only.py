"""The language model alone: one call, no graph, no evidence (zero-shot and chain of thought).

Answers keep the model's words and carry no ids, since nothing but the graph could say which entity is meant; they
are scored by text.
"""

from __future__ import annotations

from clwqa_baselines.shared.replies import failed
from clwqa_bench.llm.tasks import AnswerClosedBook
from clwqa_bench.predictions import PredictedAnswer, Prediction, TraceEvent
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Context, System
from clwqa_bench.text import comparison_key, shows


class ZeroShot(System):
    """Asks for the answers at once."""

    name = "zero-shot"
    uses_llm = True
    reasoned = False

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        reply = await ctx.ask(AnswerClosedBook(question=question.text, reasoned=self.reasoned))
        ctx.trace.add(TraceEvent(stage="answer"))
        if reply.value is None:
            return failed(question.id, reply)
        texts = {comparison_key(text): text for text in reversed(reply.value.answers) if shows(text)}
        answers = tuple(PredictedAnswer(text=text, source="parametric") for text in reversed(texts.values()))
        return Prediction(
            id=question.id,
            status="ok" if answers else "empty",
            ranked=True,
            answers=answers,
            raw_answer=reply.raw,
            native_format="json",
            flags=("parametric",),
        )


class ChainOfThought(ZeroShot):
    """Asks for the reasoning first and the answers after it, in the same reply."""

    name = "cot"
    reasoned = True
