"""The commonest gold answers of the train split for every question: what knowing the prior alone scores."""

from __future__ import annotations

from collections import Counter

from pydantic import Field

from clwqa_bench.predictions import PredictedAnswer, Prediction
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Context, Resources, Settings, System


class Majority(System):
    """Counts gold answers over the train split and answers with the most frequent; equal ones by id."""

    name = "majority"

    class Config(Settings):
        answers: int = Field(default=1, ge=1, description="How many answers to give, commonest first.")

    config: Config

    def prepare(self, resources: Resources) -> None:
        counts = Counter(
            (answer.entity_id, answer.label) for question in resources.train() for answer in question.answers
        )
        commonest = sorted(counts, key=lambda answer: (-counts[answer], answer))[: self.config.answers]
        self._answers = tuple(PredictedAnswer(text=label, entity_id=node) for node, label in commonest)

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        return Prediction(id=question.id, status="ok", ranked=True, answers=self._answers)
