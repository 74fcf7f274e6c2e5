"""A random entity of the graph for every question: the floor, what blind guessing scores."""

from __future__ import annotations

from clwqa_bench.predictions import PredictedAnswer, Prediction
from clwqa_bench.records import QuestionView
from clwqa_bench.systems import Context, Resources, System


class RandomEntity(System):
    """Draws uniformly among all entities, not knowing which type is asked for; seeded by run and question."""

    name = "random"

    def prepare(self, resources: Resources) -> None:
        self._entities = sorted(resources.kg.entities())

    async def answer(self, question: QuestionView, ctx: Context) -> Prediction:
        node = self._entities[ctx.rng.integers(len(self._entities))]
        entity = ctx.kg.entity(node)
        answer = PredictedAnswer(text=entity.text or entity.label, entity_id=node)  # a passage has a text
        return Prediction(id=question.id, status="ok", ranked=True, answers=(answer,))
