"""What MindMap asks a language model: name entities, put evidence into sentences, answer with a mind map."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from clwqa_baselines.rules.fitting import fitting
from clwqa_baselines.rules.ways import Reached
from clwqa_bench.llm.rules import Rules
from clwqa_bench.llm.tasks import Choices, Output, Task, Texts
from clwqa_bench.records import Record

PROMPTS = Path(__file__).parent / "prompts"


class Entities(Output):
    """Words of the question that name something."""

    entities: Texts


class ExtractEntities(Task[Entities]):
    """Name the entities of a question, in its order."""

    id = "mindmap-extract"
    version = 1
    Output = Entities
    max_tokens = 256
    stage = "link"
    prompts: ClassVar[Path] = PROMPTS

    question: str

    def by_rule(self, rules: Rules) -> Entities:
        """What the linker sees named."""
        anchors = rules.linker().link(self.question).anchors
        return Entities(entities=tuple(anchor.mention for anchor in anchors))


class Piece(Record):
    """A numbered piece of evidence.  Prompts show number and text; where it leads to is for rules."""

    number: int
    text: str
    reached: tuple[Reached, ...] = ()


class Sentence(Output):
    """A piece of evidence in words."""

    number: int
    text: str


class Sentences(Output):
    """Evidence in words, each piece under its number."""

    sentences: tuple[Sentence, ...]


class Verbalise(Task[Sentences]):
    """Put paths, or rows of neighbours, into sentences."""

    id = "mindmap-verbalise"
    version = 1
    Output = Sentences
    max_tokens = 1024
    stage = "refine"
    prompts: ClassVar[Path] = PROMPTS

    kind: Literal["paths", "neighbours"]
    pieces: tuple[Piece, ...]

    def choices(self) -> Choices:
        """Numbers are those of the pieces."""
        return {"sentences.number": [piece.number for piece in self.pieces]}

    def by_rule(self, rules: Rules) -> Sentences:
        """The evidence as it is."""
        return Sentences(sentences=tuple(Sentence(number=p.number, text=p.text) for p in self.pieces))


class MindMapAnswer(Output):
    """The three outputs of MindMap: the answer, how evidence leads to it, and that as a tree."""

    answer: str
    inference: str
    tree: str

    @property
    def native(self) -> str:
        """As the published prompt has them written."""
        outputs = (self.answer, self.inference, self.tree)
        return "\n\n".join(f"Output {number}:\n{text}" for number, text in enumerate(outputs, start=1))


class AnswerWithMindMap(Task[MindMapAnswer]):
    """Answer from path evidence [P1], ... and neighbour evidence [N1], ...; show how, and draw it."""

    id = "mindmap-answer"
    version = 1
    Output = MindMapAnswer
    max_tokens = 2048
    stage = "answer"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    paths: tuple[Piece, ...] = ()
    neighbours: tuple[Piece, ...] = ()

    def by_rule(self, rules: Rules) -> MindMapAnswer:
        """What fits best, a name a line; the pieces that name it, each as a branch."""
        marked = list(self._marked())
        found = (one for _, piece in marked for one in piece.reached)
        names = dict.fromkeys(fitting(self.question, found, rules).names)
        used = [(mark, piece) for mark, piece in marked if any(one.name in names for one in piece.reached)]
        return MindMapAnswer(
            answer="\n".join(names),
            inference="\n".join(f"{piece.text} [{mark}]" for mark, piece in used),
            tree="\n".join([self.question, *(f"└── {piece.text} [{mark}]" for mark, piece in used)]),
        )

    def _marked(self) -> Iterator[tuple[str, Piece]]:
        yield from ((f"P{piece.number}", piece) for piece in self.paths)
        yield from ((f"N{piece.number}", piece) for piece in self.neighbours)


class Sureness(Output):
    """How sure it is that a text does what was asked, from 0 to 1."""

    score: float


class Probe(Task[Sureness]):
    """Say how well a text serves to answer a question."""

    id = "mindmap-probe"
    version = 1
    Output = Sureness
    max_tokens = 16
    stage = "reflect"
    prompts: ClassVar[Path] = PROMPTS

    question: str
    text: str

    def by_rule(self, rules: Rules) -> Sureness:
        """Sure of anything but nothing."""
        return Sureness(score=float(bool(self.text.strip())))
