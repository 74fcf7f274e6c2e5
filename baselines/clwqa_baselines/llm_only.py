"""The language model alone: one call, no graph, no evidence (zero-shot and chain of thought).

Answers keep the model's words and carry no ids, since nothing but the graph could say which entity is meant; they
are scored by text.
"""

from __future__ import annotations

from clwqa_baselines.shared.replies import failed
from clwqa_bench.llm.tasks import AnswerClosedBook
from clwqa_bench.predictions import PredictedAnswer, Prediction, TraceEvent
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Card, Context, System
from clwqa_bench.text import comparison_key, shows

WEAKNESSES = (
    "The model knows what it was trained on: what no text says often, such as the chapter of a phrase, it makes up.",
    "There is no evidence, so nothing tells an answer that is known from one that is guessed.",
    "An answer is words, not an entity: of two that are called the same nobody can say which is meant.",
)


class ZeroShot(System):
    """Asks for the answers at once."""

    name = "zero-shot"
    uses_llm = True
    reasoned = False
    card = Card(
        citation="Brown et al.: Language Models are Few-Shot Learners. NeurIPS 2020 (zero-shot: the question alone)",
        calls="1",
        weaknesses=WEAKNESSES,
        deviations=("Answers are asked for as a list in JSON, most likely first; prompts are our own.",),
    )

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        task = AnswerClosedBook(question=question.text, reasoned=self.reasoned)
        reply = await ctx.ask(task, last=True)
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
    card = Card(
        citation="Wei et al.: Chain-of-Thought Prompting Elicits Reasoning in Large Language Models. NeurIPS 2022; "
        "without examples as in Kojima et al.: Large Language Models are Zero-Shot Reasoners. NeurIPS 2022",
        calls="1",
        weaknesses=(
            *WEAKNESSES,
            "Reasoning that fills the longest reply allowed leaves no room for answers.",
        ),
        deviations=(
            "No examples are shown: the papers' own are of arithmetic and common sense.",
            "Reasoning and answers come in one reply, as fields of JSON; Kojima et al. ask twice.",
        ),
    )
