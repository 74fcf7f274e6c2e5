"""What a system hands in for one question: its answers, the evidence it showed, and how it got there.

A prediction is one JSON line, also when the system failed; `Status` is a closed set, so that a broken key is never
mistaken for a weak system.  Only a status of `ok` carries answers; every other one counts as no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat, StringConstraints, field_validator, model_validator

from clwqa_bench.records import Record, TripleRef
from clwqa_bench.text import shows

PREDICTION_SCHEMA = 1
"""Layout of prediction lines and run manifests; raised by any change a reader could notice."""

Status = Literal["ok", "empty", "refused", "unparsed", "error", "timeout", "skipped"]
STATUSES: tuple[Status, ...] = ("ok", "empty", "refused", "unparsed", "error", "timeout", "skipped")

Stage = Literal[
    "link", "plan", "type_paths", "expand", "retrieve", "rank", "prune",
    "memory", "reflect", "refine", "decide", "answer", "adapt",
]  # fmt: skip
"""Stages of the trace, common to all systems, so that one set of indicators fits them all."""

Flag = Literal[
    "parametric", "half_stop", "relaxed", "forward_enumeration", "no_evidence", "parse_error", "llm_error",
    "context_overflow", "truncated", "exception",
]  # fmt: skip

Named = Annotated[str, StringConstraints(min_length=1)]


class PredictedAnswer(Record):
    """One answer: a text, and the entity it stands for if the system knows it."""

    text: str = Field(min_length=1, description="The answer as a reader would see it.")
    entity_id: Named | None = None
    rank: int | None = Field(
        default=None, ge=1, description="Place in the order given, from 1; may be left out."
    )
    score: FiniteFloat | None = Field(default=None, description="The system's own; it does not reorder.")
    support: tuple[str, ...] = Field(default=(), description="Ids of evidence the answer rests on.")
    source: Literal["graph", "parametric", "adapter"] = "graph"

    @field_validator("text")
    @classmethod
    def _visible(cls, text: str) -> str:
        if not shows(text):
            raise ValueError("the answer shows nothing")
        return text


class EvidencePath(Record):
    """A path as shown to the model, walked triple by triple."""

    id: Named
    triples: tuple[TripleRef, ...] = Field(min_length=1)
    text: str = ""
    score: FiniteFloat | None = None


class EvidenceTriple(Record):
    """A single triple as shown to the model."""

    id: Named
    triple: TripleRef
    text: str = ""
    score: FiniteFloat | None = None


class EvidenceText(Record):
    """A passage, or a unit of text of another kind (community report, hub), as shown to the model."""

    id: Named
    text: str
    kind: Literal["passage", "community", "hub", "subgraph"] = "passage"
    entity_id: str | None = Field(default=None, description="The entity whose text this is, if any.")
    score: FiniteFloat | None = None


class Evidence(Record):
    """Everything shown to the model, each list in the order shown."""

    paths: tuple[EvidencePath, ...] = ()
    triples: tuple[EvidenceTriple, ...] = ()
    texts: tuple[EvidenceText, ...] = ()

    def ids(self) -> frozenset[str]:
        """Ids of all pieces of evidence."""
        pieces: tuple[EvidencePath | EvidenceTriple | EvidenceText, ...] = (
            *self.paths,
            *self.triples,
            *self.texts,
        )
        return frozenset(piece.id for piece in pieces)

    def shown(self) -> tuple[TripleRef, ...]:
        """All distinct triples shown, in order: those of the paths first."""
        of_paths = (triple for path in self.paths for triple in path.triples)
        return tuple(dict.fromkeys((*of_paths, *(piece.triple for piece in self.triples))))


class Citation(Record):
    """A marker in the answer text and the piece of evidence it means."""

    marker: str
    evidence_id: str
    ok: bool = Field(default=True, description="False if the marker resolves to nothing that was shown.")


class StageUsage(Record):
    """What one stage cost.  Tokens are the endpoint's counts, seconds are wall time, cost is in US dollars."""

    calls: int = Field(default=0, ge=0)
    attempts: int = Field(default=0, ge=0)
    cached: int = Field(default=0, ge=0, description="Calls answered from the cache.")
    tokens_in: int = Field(default=0, ge=0)
    tokens_out: int = Field(default=0, ge=0)
    seconds: FiniteFloat = Field(default=0.0, ge=0)
    cost: FiniteFloat = Field(default=0.0, ge=0)


class Label(Record):
    """An element label a system decided on: of one anchor, or of the answer sought (`entity_id` None)."""

    element: str
    entity_id: str | None = None


class TraceEvent(Record):
    """One step of the pipeline, with what came out of it.  `total` is the full count if a list was cut."""

    stage: Stage
    op: str = ""
    depth: int | None = None
    entities: tuple[str, ...] = Field(default=(), description="Anchors linked, frontier reached, ...")
    elements: tuple[Label, ...] = ()
    paths: tuple[EvidencePath, ...] = ()
    triples: tuple[TripleRef, ...] = ()
    texts: tuple[EvidenceText, ...] = ()
    dropped: tuple[str, ...] = Field(default=(), description="Ids of what this step cut off.")
    total: int | None = None
    detail: Mapping[str, Any] = {}
    call_id: str | None = None
    ms: FiniteFloat | None = None


class Prediction(Record):
    """The result of one question, one line of JSON."""

    schema_version: Literal[1] = 1
    id: str = Field(min_length=1, description="The question's id; results are joined by it and nothing else.")
    status: Status
    ranked: bool = Field(
        default=False, description="True if the order of the answers is the system's own ranking."
    )
    answers: tuple[PredictedAnswer, ...] = ()
    evidence: Evidence = Evidence()
    citations: tuple[Citation, ...] = ()
    raw_answer: str | None = Field(default=None, description="The final text, unmodified.")
    native_format: Literal["json", "braces", "tags", "lines", "prose", "letter"] | None = None
    usage: Mapping[str, StageUsage] = Field(default={}, description="By stage.")
    trace: tuple[TraceEvent, ...] = ()
    flags: tuple[Flag, ...] = ()
    topics: tuple[str, ...] = Field(default=(), description="Entities the system started from.")
    adapter: str | None = Field(default=None, description="Tier that turned text into answers, if any did.")
    error: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Prediction:
        if (self.status == "ok") != bool(self.answers):
            what = "without answers" if self.status == "ok" else "with answers"
            raise ValueError(f"status {self.status!r} {what}: answers belong to status 'ok' and to no other")
        for place, answer in enumerate(self.answers, start=1):
            if answer.rank not in (None, place):
                raise ValueError(f"answer {place} says rank {answer.rank}: list answers in the order of rank")
        return self


class DatasetRef(Record):
    """Which questions a run was asked: the dataset by version and content, and the split."""

    name: str
    version: str
    content: str = Field(description="Digest of the questions, as in the dataset's manifest.")
    graph: str = Field(default="", description="Digest of the graph, likewise; names are looked up in it.")
    split: str


class RunManifest(Record):
    """`run.json`: who answered what, and with which settings; the identity of a run."""

    schema_version: Literal[1] = 1
    system: Named
    variant: str = ""
    backbone: str = Field(default="none/lexical", description="Language model, or none/lexical.")
    config: Mapping[str, Any] = {}
    dataset: DatasetRef
    code_version: str
    seed: int = 0
    oracle: tuple[str, ...] = Field(default=(), description="Stages replaced by gold; never on a board.")
    sample: int | None = Field(default=None, ge=1, description="Questions asked, if not the whole split.")
    shard: str | None = Field(
        default=None,
        pattern=r"^[1-9]\d*/[1-9]\d*$",
        description="Part of the questions asked here, as in 2/8.",
    )

    @property
    def title(self) -> str:
        """How tables name the run: system, variant and backbone."""
        name = f"{self.system}-{self.variant}" if self.variant else self.system
        return f"{name} [{self.backbone}]"


def json_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schemas (draft 2020-12) of a prediction line and of a run manifest, by name."""
    return {
        name: {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:clwqa:schema:{name}:{PREDICTION_SCHEMA}",
            **record.model_json_schema(mode="validation"),
        }
        for name, record in (("prediction", Prediction), ("run", RunManifest))
    }
