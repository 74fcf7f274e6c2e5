"""What PoG asks a language model; without one, what an attentive reader of the ontology would reply."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from clwqa_baselines.rules.fitting import NOWHERE, fitting
from clwqa_baselines.rules.foresight import Foresight
from clwqa_baselines.rules.ways import Offer, Reached
from clwqa_bench.linking import Signature
from clwqa_bench.llm.rules import Rules
from clwqa_bench.llm.tasks import Choices, Output, Task, Texts

PROMPTS = Path(__file__).parent / "prompts"

CLOSE: Final = 1.0
"""Without a model: how far below the best likelihood, as a logarithm, a relation is still picked (validation split)."""
FEW: Final = 5
"""Without a model: entities kept of a group that is only passed through, and entities added back."""


class Objectives(Output):
    """What has to be found out, in order."""

    objectives: Texts


class Decompose(Task[Objectives]):
    """Divide a question into sub-objectives; the first call."""

    id = "pog-decompose"
    version = 1
    Output = Objectives
    max_tokens = 1024
    stage = "plan"
    prompts = PROMPTS

    question: str

    def by_rule(self, rules: Rules) -> Objectives:
        """To get from each thing the question names to what it asks for."""
        linker = rules.linker()
        linked = linker.link(self.question)
        target = linker.ontology.label(linked.target_element)
        found = tuple(f"由“{anchor.mention}”找到{target}" for anchor in linked.anchors)
        return Objectives(objectives=found or (self.question,))


class Relations(Output):
    """Relations to walk, as few as will do."""

    relations: Texts


class PickRelations(Task[Relations]):
    """Which relations of an entity to walk; asked for every entity of the frontier."""

    id = "pog-pick-relations"
    version = 1
    Output = Relations
    max_tokens = 1024
    stage = "expand"
    prompts = PROMPTS

    question: str
    objectives: tuple[str, ...]
    entity: str
    offers: tuple[Offer, ...]
    way: Signature = ()  # by which the entity was reached, and how many steps may follow: for rules
    steps: int = 1

    def choices(self) -> Choices:
        """Relations are those offered."""
        return {"relations": [offer.label for offer in self.offers]}

    def by_rule(self, rules: Rules) -> Relations:
        """Those with the best way to the element asked for, and those close to it; none if nothing leads there."""
        values = Foresight(rules.linker(), self.question).promises(self.way, self.offers, self.steps)
        best = max(values, default=NOWHERE)
        close = [
            offer.label
            for value, offer in sorted(zip(values, self.offers, strict=True), key=lambda pair: -pair[0])
            if value > NOWHERE and value >= best - CLOSE
        ]
        return Relations(relations=tuple(close))


class Entities(Output):
    """Names of entities, as few as will do."""

    entities: Texts


class PruneEntities(Task[Entities]):
    """Which entities of a group (those that one relation leads to from one entity) to keep."""

    id = "pog-prune-entities"
    version = 1
    Output = Entities
    max_tokens = 4096
    stage = "prune"
    prompts = PROMPTS

    question: str
    entity: str
    relation: str
    candidates: tuple[Reached, ...]
    steps: int = 0  # that may follow: for rules

    def choices(self) -> Choices:
        """Names are those of the candidates."""
        return {"entities": [lead.name for lead in self.candidates]}

    def by_rule(self, rules: Rules) -> Entities:
        """Those of the type with the best way on.  All of them if they may be answers, else the few whose names have
        most in common with the question."""
        foresight = Foresight(rules.linker(), self.question)
        ways = [lead.way for lead in self.candidates]
        values = foresight.prospects(ways, self.steps)
        best = max(values, default=NOWHERE)
        kept = [lead for lead, value in zip(self.candidates, values, strict=True) if value == best]
        if best == NOWHERE or best not in foresight.scores([lead.way for lead in kept]):
            alike = rules.relevance(self.question, [lead.name for lead in kept])
            nearest = sorted(zip(alike, range(len(kept)), strict=True), key=lambda pair: (-pair[0], pair[1]))
            kept = [kept[place] for _, place in nearest[:FEW]]
        return Entities(entities=tuple(lead.name for lead in kept))


class Fact(Output):
    """What is known of a sub-objective, by its number from 1."""

    objective: int
    known: str


class Memory(Output):
    """What is known so far."""

    facts: tuple[Fact, ...]


class UpdateMemory(Task[Memory]):
    """Write down what is known of each sub-objective, from the memory and the triples of this depth."""

    id = "pog-update-memory"
    version = 1
    Output = Memory
    max_tokens = 4096
    stage = "memory"
    prompts = PROMPTS

    question: str
    objectives: tuple[str, ...]
    memory: str
    lines: tuple[str, ...]
    leads: tuple[Reached, ...] = ()  # ends of the ways of this depth: for rules

    def by_rule(self, rules: Rules) -> Memory:
        """For each sub-objective, what the ways from its topic have come to."""
        topics = list(dict.fromkeys(lead.root for lead in self.leads))
        facts = []
        for topic in topics:
            names = [lead.name for lead in self.leads if lead.root == topic][:FEW]
            number = min(topics.index(topic) + 1, len(self.objectives))
            facts.append(Fact(objective=number, known="、".join(names)))
        return Memory(facts=tuple(facts))


class Verdict(Output):
    """Whether what is known suffices, and the answers."""

    sufficient: bool
    answers: Texts
    reason: str = ""


class Reason(Task[Verdict]):
    """Whether the question can be answered from the memory and the triples of this depth."""

    id = "pog-reason"
    version = 1
    Output = Verdict
    max_tokens = 4096
    stage = "decide"
    prompts = PROMPTS

    question: str
    memory: str
    lines: tuple[str, ...]
    leads: tuple[
        Reached, ...
    ] = ()  # ends of the ways of this depth, and how many steps may follow: for rules
    steps: int = 0

    def by_rule(self, rules: Rules) -> Verdict:
        """Yes if a way has arrived at the element asked for and none of them promises to arrive at it better."""
        foresight = Foresight(rules.linker(), self.question)
        fit = fitting(self.question, self.leads, rules)
        beyond = foresight.beyond([lead.way for lead in self.leads], self.steps)
        enough = bool(fit.names) and beyond <= fit.score
        return Verdict(sufficient=enough, answers=fit.names if enough else ())


class Correction(Output):
    """Whether entities left aside have to be looked at again."""

    add: bool
    reason: str = ""


class JudgeReverse(Task[Correction]):
    """Whether the entities to be expanded next will do, or others have to be added back."""

    id = "pog-judge-reverse"
    version = 1
    Output = Correction
    max_tokens = 1024
    stage = "reflect"
    prompts = PROMPTS

    question: str
    frontier: tuple[Reached, ...]
    memory: str
    triples: tuple[str, ...]
    steps: int = 0  # that may follow: for rules

    def by_rule(self, rules: Rules) -> Correction:
        """Yes if there are steps left and no entity of the frontier leads to the element asked for."""
        ways = [lead.way for lead in self.frontier]
        lost = Foresight(rules.linker(), self.question).beyond(ways, self.steps) == NOWHERE
        return Correction(add=self.steps > 0 and lost)


class AddEntities(Task[Entities]):
    """Which entities of the pool to add back."""

    id = "pog-add-entities"
    version = 1
    Output = Entities
    max_tokens = 1024
    stage = "reflect"
    prompts = PROMPTS

    question: str
    reason: str
    candidates: tuple[Reached, ...]
    memory: str
    steps: int = 0  # that may follow: for rules

    def choices(self) -> Choices:
        """Names are those of the candidates."""
        return {"entities": [lead.name for lead in self.candidates]}

    def by_rule(self, rules: Rules) -> Entities:
        """The first few of those with the best way on to the element asked for."""
        foresight = Foresight(rules.linker(), self.question)
        values = [foresight.beyond([lead.way], self.steps) for lead in self.candidates]
        best = max(values, default=NOWHERE)
        kept = [lead for lead, value in zip(self.candidates, values, strict=True) if value == best > NOWHERE]
        return Entities(entities=tuple(lead.name for lead in kept[:FEW]))


class Concluded(Output):
    """The answers, and the reason for them."""

    answers: Texts
    reason: str = ""


class HalfStop(Task[Concluded]):
    """Answer from what was gathered before exploring came to an end."""

    id = "pog-half-stop"
    version = 1
    Output = Concluded
    max_tokens = 4096
    stage = "answer"
    prompts = PROMPTS

    question: str
    triples: tuple[str, ...]
    leads: tuple[Reached, ...] = ()  # for rules

    def by_rule(self, rules: Rules) -> Concluded:
        """Where the best way ends that has arrived at the element asked for."""
        return Concluded(answers=fitting(self.question, self.leads, rules).names)
