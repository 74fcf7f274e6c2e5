"""Finding the passage of the graph that a text quotes, whole or in part."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.text import comparison_key

GAP = "～"  # stands for the headword, in dictionaries and in questions
SHORTEST, SHORTEST_PIECE = 4, 2  # characters of all pieces, and of the longest
TRIED = 1000  # occurrences of it that are looked at


class Passages:
    """All texts of a graph, laid end to end: a piece of one is found by searching the whole."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._nodes = [node for node, text in texts.items() if text]
        keys = [comparison_key(texts[node]) for node in self._nodes]
        self._joined = "\n".join(["", *keys, ""])  # a key holds no line break
        self._starts = [1]
        for key in keys:
            self._starts.append(self._starts[-1] + len(key) + 1)

    @staticmethod
    def of(graph: GraphStore) -> Passages:
        """The texts of a graph: of the types whose first entity has one, for a type either has them or not."""
        texts: dict[str, str] = {}
        for kind in graph.schema().types:
            for node in graph.by_type(kind, descendants=False):
                text = graph.entity(node).text
                if not text:
                    break
                texts[node] = text
        return Passages(texts)

    def find(self, quoted: str, limit: int) -> tuple[str, ...]:
        """Passages that hold a quotation, the shortest first; if it is the whole of some, these only.

        What a gap (～) stands for may be anything.  A quotation of less than four characters finds nothing.
        """
        pieces = [
            comparison_key(piece) if any(map(str.isalnum, piece)) else "" for piece in quoted.split(GAP)
        ]
        longest = max(pieces, key=len)
        if len(longest) < SHORTEST_PIECE or sum(map(len, pieces)) < SHORTEST:
            return ()
        held = [place for place in self._holding(longest) if _in_order(pieces, self._text(place))]
        whole = [place for place in held if _is_whole(pieces, self._text(place))]
        best = sorted(whole or held, key=lambda place: (len(self._text(place)), place))
        return tuple(self._nodes[place] for place in best[:limit])

    def _holding(self, piece: str) -> Iterator[int]:
        at = -1
        for _ in range(TRIED):
            at = self._joined.find(piece, at + 1)
            if at < 0:
                return
            place = bisect_right(self._starts, at) - 1
            yield place
            at = self._starts[place + 1] - 2  # once per passage

    def _text(self, place: int) -> str:
        return self._joined[self._starts[place] : self._starts[place + 1] - 1]


def _is_whole(pieces: list[str], text: str) -> bool:
    return text.startswith(pieces[0]) and text.endswith(pieces[-1]) and (len(pieces) > 1 or text == pieces[0])


def _in_order(pieces: list[str], text: str) -> bool:
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True
