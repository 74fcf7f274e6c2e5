"""The records every part of the toolkit exchanges: one question, and what a system may see of it.

All records are frozen pydantic models; sequences are tuples, so a record is hashable and safe to share between
threads. `SCHEMA_VERSION` names the layout written to disk; a reader refuses a newer one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1
"""Layout of the question records and the dataset folder; raised by any change a reader could notice."""

AnswerKind = Literal["entity", "passage", "literal"]
Direction = Literal["out", "in", "both"]
Method = Literal["template", "llm"]
Split = Literal["train", "validation", "test"]
Band = Literal["L5", "L4", "L3", "L2", "L1"]

Operation = Literal[
    "basic", "relationship", "negation", "aggregation", "counting", "superlative", "ranking", "comparison"
]

SPLITS: tuple[Split, ...] = ("train", "validation", "test")
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
"""What has to be done with what is retrieved (taxonomy of the HubLink paper, sec. 3.1): the families of the extension
set's questions.
"""
BAND_LABELS: Mapping[Band, float] = {"L5": 0.9, "L4": 0.7, "L3": 0.5, "L2": 0.3, "L1": 0.1}
"""The soft label of each relevance band, the middle of its fifth of [0, 1] (seed paper sec. 4.3.1)."""


class Record(BaseModel):
    """Base of all records: immutable, and an unknown field is an error rather than silently dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_serialization_defaults_required=True)


class Answer(Record):
    """One gold answer. A `passage` is judged by its text, an `entity` by id, label or alias."""

    entity_id: str = Field(min_length=1, description="Entity of the graph; a literal has a stable pseudo id.")
    label: str = Field(description="The answer as printed; for a passage its whole text.")
    aliases: tuple[str, ...] = ()
    kind: AnswerKind = "entity"


class Anchor(Record):
    """An entity the question starts from, and how the question names it."""

    entity_id: str = Field(min_length=1)
    mention: str = Field(description="The words in the question that name the entity.")
    elements: tuple[str, ...] = Field(
        default=(), description="Cultural elements (ontology types) of the anchor."
    )


class PathStep(Record):
    """One step of a standard path: the relation, the way it is walked, the type it arrives at."""

    relation: str
    direction: Direction
    type: str


class StandardPath(Record):
    """A path from an anchor to an answer: n steps over n + 1 entities, anchor first."""

    steps: tuple[PathStep, ...]
    entities: tuple[str, ...]


class TripleRef(Record):
    """A triple of the graph, as stored (head -> tail)."""

    head: str
    relation: str
    tail: str


class Generator(Record):
    """How the wording came about: filled into a template, or written by a model from recorded evidence."""

    method: Method = "template"
    template_id: str | None = None
    model: str | None = None
    prompt_id: str | None = None


class Query(Record):
    """The question's pattern in the two query languages; both return exactly the gold entity ids."""

    cypher: str
    sparql: str


class QuestionView(Record):
    """All that a system may see of a question."""

    id: str
    text: str


class Question(Record):
    """A question with its gold answers and everything needed to check them again on the graph.

    `hops` is the length of the longest way from an anchor to the answer; `group_id` names the fact group that
    must not be divided between splits; `sources` are ids in the source catalogue (they carry the licences).
    """

    id: str = Field(min_length=1)
    question: str
    answers: tuple[Answer, ...] = Field(min_length=1)
    hops: int = Field(ge=1)
    category: str
    upper_category: str
    category_basis: str
    group_id: str
    template_id: str | None = None
    family: str
    anchors: tuple[Anchor, ...]
    target_element: str
    standard_paths: tuple[StandardPath, ...]
    cypher: str
    sparql: str
    evidence: tuple[TripleRef, ...]
    sources: tuple[str, ...]
    generator: Generator = Generator()
    split: Split
    views: tuple[str, ...] = Field(default=(), description="Extra test views, e.g. unseen-source.")

    @property
    def query(self) -> Query:
        return Query(cypher=self.cypher, sparql=self.sparql)

    @property
    def operation(self) -> Operation | None:
        """The reasoning operation asked for; None outside the extension set."""
        return next((name for name in OPERATIONS if name == self.family), None)

    def view(self) -> QuestionView:
        """The question as a system sees it: no gold, no strata, no template, no provenance."""
        return QuestionView(id=self.id, text=self.question)


class ScoringPair(Record):
    """How much a node of the graph helps to answer a question, on the five-band scale.

    Bands: L5 bears the answer, L4 is close in meaning to it, L3 supports where it comes from, L2 localises, L1 is
    irrelevant; `rule` is the rule of the rubric that says so. `split` is that of the pairs, which has nothing to do
    with the split of the question: no pair is about a question of the QA test split.
    """

    id: str = Field(min_length=1)
    question_id: str
    question: str
    entity_id: str
    node_text: str = Field(description="The node in words, as `kg.verbalise.node_text` prints it.")
    element: str = Field(description="Cultural element (ontology type) of the node.")
    band: Band
    label: float = Field(ge=0, le=1)
    rule: str
    split: Split


def hop_band(hops: int) -> str:
    """The reporting band of a hop count: "1", "2", "3" or "4+" (seed paper sec. 5.1)."""
    return "4+" if hops >= 4 else str(hops)


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of one line of the JSONL mirror."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:clwqa:schema:question:{SCHEMA_VERSION}",
        **Question.model_json_schema(mode="serialization"),
    }
