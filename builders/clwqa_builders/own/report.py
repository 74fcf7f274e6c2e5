"""``induction.json``: what was given and what was found about a graph, how sure it is, and what was left out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from clwqa_builders.own.schema import Schema, is_open

DOUBTFUL = 0.5  # confidence below which a type that was found is listed


def report(schema: Schema) -> dict[str, Any]:
    """Plain data; lines are those of the tables."""
    return {
        "types": _types(schema),
        "signatures": [_signature(schema, name) for name in schema.signatures],
        "mirrored": int((~schema.numbered.fresh).sum()),
        "exceptions": [_exception(schema, i) for i in np.flatnonzero(~schema.follows).tolist()],
    }


def _types(schema: Schema) -> dict[str, Any]:
    rows, confidence = schema.numbered.graph.entities, schema.typed.confidence
    missing = np.array([not row.type for row in rows])
    found = missing & (confidence > 0)
    return {
        "given": int((~missing).sum()),
        "found": int(found.sum()),
        "without": int((missing & ~found).sum()),
        "mean_confidence": round(float(confidence[found].mean()), 4) if found.any() else None,
        "entities": dict(sorted(Counter(schema.types).items())),
        "doubtful": [
            {
                "line": rows[i].line,
                "id": rows[i].id,
                "type": schema.typed.name(i),
                "confidence": round(float(confidence[i]), 3),
            }
            for i in np.flatnonzero(missing & (confidence < DOUBTFUL)).tolist()
        ],
    }


def _signature(schema: Schema, relation: str) -> dict[str, Any]:
    signature, names = schema.signatures[relation], schema.typed.names
    return {
        "relation": relation,
        "given": not any(is_open(relation, schema.numbered.given)),
        "symmetric": schema.ontology.symmetric(relation),
        "pairs": [{"head": names[h], "tail": names[t], "triples": n} for h, t, n in signature.pairs],
        "triples": signature.triples,
        "coverage": round(signature.coverage, 4),
        "confidence": round(signature.confidence, 4),
    }


def _exception(schema: Schema, triple: int) -> dict[str, Any]:
    graph = schema.numbered
    row = graph.graph.triples[triple]
    ends = int(graph.heads[triple]), int(graph.tails[triple])
    return {
        "line": row.line,
        "head": row.head,
        "relation": row.relation,
        "tail": row.tail,
        "types": [schema.typed.name(end) for end in ends],
    }
