"""Linking without a language model: what a question names, what it asks for, and what shape its answer's path has.

``gazetteer`` finds names (``passages`` quoted texts), ``models`` are learned from the train split over ``features``,
``linker`` puts them together, ``evaluation`` measures them.
"""

from clwqa_bench.linking.gazetteer import Gazetteer, Mention
from clwqa_bench.linking.linker import Linked, LinkedAnchor, Linker, open_linker
from clwqa_bench.linking.models import Signature, signature_of

__all__ = [
    "Gazetteer",
    "Linked",
    "LinkedAnchor",
    "Linker",
    "Mention",
    "Signature",
    "open_linker",
    "signature_of",
]
