"""Why a written question is rejected: a closed set of reasons, each with what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REASONS: Final[Mapping[str, str]] = {
    # of a reply as a whole
    "refused": "the model declines",
    "unparsed": "the reply is not one JSON object",
    "wrong-schema": "the reply is JSON, but not what was asked for",
    "no-question": "the reply holds no question",
    # of the words of a question
    "language": "the question is not Chinese, or not in simplified characters",
    "length": "the question is too short or too long",
    "not-one-question": "the text asks nothing, or asks twice",
    "residue": "numbers of nodes, doubled marks or empty quotes are left in the question",
    # of what it says about the evidence
    "no-answer": "no answer is given",
    "unknown-id": "an answer or a fact is not in the evidence",
    "no-anchor": "the question names nothing that its facts start from",
    "unsupported": "the question names something that its facts do not hold",
    "unclear-anchor": "a name in the question can mean several entities of the graph",
    "leak": "the question names an answer",
    "unreachable": "the facts do not lead from what the question names to every answer",
    "mixed-paths": "the answers are reached in different ways, or have no type in common",
    "step-named": "the question names what lies on the way to the answer",
    "wrong-kind": "the question asks for another kind of thing than the answers are",
    "hops": "the number of hops stated is not that of the path",
    # of what the graph says
    "not-gold": "an answer is not among what the path returns on the graph",
    "ambiguous": "the path also returns what the model was not shown, or another kind of thing",
    "too-many": "the path returns more answers than a question may have",
    "unfit": "an answer or a node on the way is no use in a question (torn text, doubtful title, circular gloss)",
    "no-category": "nothing on the path decides the category",
    # of what is asked already
    "duplicate": "the question is there already, or nearly so",
    "same-fact": "another accepted question asks for the same answers from the same names",
    "two-answers": "the same question is there with other answers",
    "crosses-split": "the question touches fact groups of two splits",
    # of the rules of `validate`
    "invalid": "a rule of `clwqa-bench validate` finds an error",
}


class Rejected(Exception):
    """A question that is not accepted: one of REASONS, and what exactly."""

    def __init__(self, reason: str, detail: str = "") -> None:
        assert reason in REASONS
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail
