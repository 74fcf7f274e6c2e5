"""Which of a dictionary's glosses can be shown to a reader, and which tell one word from all others."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

# 同“X”, 犹X, 参见“X”; but 犹如, 犹豫 and a word's own 同 are plain words.
_REFERENCE = re.compile(r"[同即见通]‘|[亦也又]作‘|犹(?![如豫疑似])|参[见看阅]|[同即见通]“|[亦也又]作“")
_ONLY_REFERENCE = re.compile(
    r"(?:[同即见通]|[亦也又]作)[“‘][^”’]{2,}[”’][。，]?"
    r"|(?:犹言?(?![如豫疑似])|参[见看阅])[“‘]?[^，。；：]+[”’]?[。，]?"
)
_SECOND_SENSE = re.compile(r"[后亦也又](?!背|面|代|生|人|来者)|[①②]")
_OPENING = re.compile(r"^(?:原|旧时|旧|后|常|多|现)?(?:用来|用以|用)?(?:比喻|形容|泛指|指|谓|表示|借指|极言)")
_RUN_ON = 10  # most characters of a part and its meaning whose colon is lost: 怨仇恨。极深极大的仇恨

LONG_GLOSS = 8
ALIKE = 0.5  # share of a gloss's character pairs that another word's gloss has too
CONTAINED = 0.75
FEWEST_PAIRS = 4
BLOCK = 1_000


def is_only_reference(gloss: str) -> bool:
    """Whether a gloss explains nothing by itself.

    >>> is_only_reference("犹玉石俱焚。"), is_only_reference("同“早”"), is_only_reference("犹豫不决。")
    (True, False, False)
    """
    return _ONLY_REFERENCE.fullmatch(gloss) is not None


def stands_alone(gloss: str) -> bool:
    """Whether a gloss reads as the meaning of a word without the dictionary around it.

    >>> stands_alone("后指相爱的情人或夫妻"), stands_alone("指流落四方。同‘东播西流’"), stands_alone("犹如梦中")
    (False, False, True)
    """
    return not _SECOND_SENSE.match(gloss) and not _REFERENCE.search(gloss)


def runs_on(gloss: str, word: str) -> bool:
    """Whether a part of the word and what that part means stand in the gloss without a colon between.

    >>> runs_on("怨仇恨。极深极大的仇恨。", "深仇重怨"), runs_on("令使，让；神往心神向往。使人向往。", "令人神往")
    (True, True)
    >>> runs_on("送走旧的，迎来新的。", "送旧迎新"), runs_on("学政到达主考。宗师学政。", "宗师案临")
    (False, True)
    """
    *earlier, last = gloss.rstrip("。").split("。")
    if not earlier:
        return False
    first = earlier[0]
    if first.startswith(("“", "‘")) or (gloss[0] in word and "；" in first):
        return "；" in first
    begins = gloss[0] in word and "，" not in first and len(first) <= _RUN_ON
    return begins or (last[:2] in word and 2 < len(last) <= _RUN_ON)


def is_torn(gloss: str, component: str, word: str) -> bool:
    """Whether a component's gloss is cut off from the gloss of the whole word: it goes on with the word's other
    characters, meets the component again, or begins in the middle of a compound.

    >>> is_torn("丝垂，莺声娇", "柳", "柳亸莺娇"), is_torn("碰肩，脚连脚", "肩", "肩摩踵接")
    (True, True)
    >>> is_torn("巴，瘦面颊", "尖嘴", "尖嘴猴腮"), is_torn("庄重，严肃", "庄", "亦庄亦谐")
    (True, False)
    """
    clauses = gloss.split("，")
    if set(word).difference(component) & set(gloss):
        return True
    if len(clauses) == 1:
        return False
    return any(component in clause[1:] for clause in clauses) or (len(component) > 1 and len(clauses[0]) == 1)


def alike(glosses: Sequence[str]) -> NDArray[np.bool_]:
    """Mark the glosses that another of them says in nearly the same words: no one could tell which word is meant.

    Compared are the pairs of neighbouring characters after an opening such as 比喻; shape (len(glosses),).
    """
    pairs = [_pairs(gloss) for gloss in glosses]
    number: dict[str, int] = {}
    columns = [number.setdefault(pair, len(number)) for row in pairs for pair in sorted(row)]
    size = np.array([len(row) for row in pairs], dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(size)])
    shape = (len(pairs), max(1, len(number)))
    table = csr_array(
        (np.ones(len(columns), dtype=np.int32), np.array(columns, dtype=np.int64), ends), shape=shape
    )
    across = table.T.tocsr()
    found = np.zeros(len(pairs), dtype=bool)
    for start in range(0, len(pairs), BLOCK):
        shared = (table[start : start + BLOCK] @ across).tocoo()
        one, other = shared.coords[0] + start, shared.coords[1]
        near = shared.data >= ALIKE * size[one]
        near |= (size[other] >= FEWEST_PAIRS) & (shared.data >= CONTAINED * size[other])
        found[one[near & (one != other)]] = True
    return found


def _pairs(gloss: str) -> set[str]:
    letters = "".join(filter(str.isalnum, _OPENING.sub("", gloss)))
    return {letters[i : i + 2] for i in range(len(letters) - 1)}
