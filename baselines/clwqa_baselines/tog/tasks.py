"""What ToG asks a language model; without one, what an attentive reader of the ontology would reply."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from clwqa_baselines.rules.fitting import NOWHERE, fitting
from clwqa_baselines.rules.foresight import Foresight, shares
from clwqa_baselines.rules.ways import Offer, Reached
from clwqa_baselines.shared.scores import Scale
from clwqa_bench.linking import Signature
from clwqa_bench.llm.rules import Rules
from clwqa_bench.llm.tasks import Choices, Output, Task, Texts

PROMPTS = Path(__file__).parent / "prompts"

Share = Annotated[float, Scale(0, 1)]


class RelationScore(Output):
    """How much a relation helps, from 0 to 1."""

    relation: str
    score: Share


class RelationScores(Output):
    """The relations worth walking, best first; their scores sum to 1."""

    relations: tuple[RelationScore, ...]


class ScoreRelations(Task[RelationScores]):
    """Which relations of an entity lead towards the answer; asked for every entity of the frontier."""

    id = "tog-score-relations"
    version = 1
    Output = RelationScores
    max_tokens = 256
    stage = "expand"
    prompts = PROMPTS

    question: str
    entity: str
    offers: tuple[Offer, ...]
    width: int
    way: Signature = ()  # by which the entity was reached, and how many steps may follow: for rules
    steps: int = 1

    def output_schema(self) -> dict[str, Any]:
        """As for every task; no more relations than `width`."""
        schema = super().output_schema()
        schema["properties"]["relations"]["maxItems"] = self.width
        return schema

    def choices(self) -> Choices:
        """Relations are those offered."""
        return {"relations.relation": [offer.label for offer in self.offers]}

    def by_rule(self, rules: Rules) -> RelationScores:
        """Likelihoods of the best way over each relation to the element asked for; if none leads there, how much
        the relations' labels resemble the question."""
        foresight = Foresight(rules.linker(), self.question)
        values = foresight.promises(self.way, self.offers, self.steps)
        if max(values, default=NOWHERE) == NOWHERE:
            values = list(rules.relevance(self.question, [offer.label for offer in self.offers]))
        scored = sorted(zip(shares(values), self.offers, strict=True), key=lambda pair: -pair[0])
        return RelationScores(
            relations=tuple(
                RelationScore(relation=offer.label, score=score) for score, offer in scored[: self.width]
            )
        )


class EntityScores(Output):
    """A score for each candidate, in the order given; they sum to 1."""

    scores: tuple[Share, ...]


class ScoreEntities(Task[EntityScores]):
    """How much each entity that a relation leads to helps; asked if there are several."""

    id = "tog-score-entities"
    version = 1
    Output = EntityScores
    max_tokens = 256
    stage = "prune"
    prompts = PROMPTS

    question: str
    entity: str
    relation: str
    candidates: tuple[Reached, ...]
    steps: int = 0  # that may follow: for rules

    def output_schema(self) -> dict[str, Any]:
        """As for every task; as many scores as there are candidates."""
        schema = super().output_schema()
        number = len(self.candidates)
        schema["properties"]["scores"] |= {"minItems": number, "maxItems": number}
        return schema

    def by_rule(self, rules: Rules) -> EntityScores:
        """Likelihoods of the best way on from each by its type; of one type, by words shared with the question."""
        foresight = Foresight(rules.linker(), self.question)
        likely = shares(foresight.prospects([lead.way for lead in self.candidates], self.steps))
        alike = rules.relevance(self.question, [lead.name for lead in self.candidates])
        weights = [share * (1 + words) for share, words in zip(likely, alike, strict=True)]
        return EntityScores(scores=tuple(weight / sum(weights) for weight in weights))


class Sufficiency(Output):
    """Whether the triples suffice, and if so the answers.  The verdict stands first, as in the published prompt."""

    sufficient: bool
    reason: str = ""
    answers: Texts


class Sufficient(Task[Sufficiency]):
    """Whether the triples gathered so far answer the question; asked once per depth."""

    id = "tog-sufficient"
    version = 1
    Output = Sufficiency
    max_tokens = 1024
    stage = "decide"
    prompts = PROMPTS

    question: str
    triples: tuple[str, ...]
    leads: tuple[Reached, ...] = ()  # ends of all ways gathered, and how many steps may follow: for rules
    steps: int = 0

    def by_rule(self, rules: Rules) -> Sufficiency:
        """Yes if a way has arrived at the element asked for and none gathered promises to arrive at it better."""
        foresight = Foresight(rules.linker(), self.question)
        fit = fitting(self.question, self.leads, rules)
        longest = max((len(lead.way) for lead in self.leads), default=0)
        frontier = [lead.way for lead in self.leads if len(lead.way) == longest]
        if not fit.names or foresight.beyond(frontier, self.steps) > fit.score:
            return Sufficiency(sufficient=False, answers=())
        return Sufficiency(sufficient=True, answers=fit.names)


class Concluded(Output):
    """The answers, after the reason for them."""

    reason: str = ""
    answers: Texts


class HalfStop(Task[Concluded]):
    """Answer from what was gathered before exploring came to an end."""

    id = "tog-half-stop"
    version = 1
    Output = Concluded
    max_tokens = 1024
    stage = "answer"
    prompts = PROMPTS

    question: str
    triples: tuple[str, ...]
    leads: tuple[Reached, ...] = ()  # for rules

    def by_rule(self, rules: Rules) -> Concluded:
        """Where the best way ends that has arrived at the element asked for."""
        return Concluded(answers=fitting(self.question, self.leads, rules).names)
