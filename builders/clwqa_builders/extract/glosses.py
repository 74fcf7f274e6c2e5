"""The explanation field: component glosses, cross references, sense.

::

    gloss     := component sentences? sense
    component := piece ("、" piece)* meaning                  难艰难，劳苦；获收获。
               | piece "，" ("指" | "通" | "同") meaning        鹞子，指纸鸢。

The ： between piece and meaning was deleted, so a component sentence looks like a sentence whose subject is the piece
(骨肉尚未冷透).  Only what shows itself to be a definition is split off; the rest stays in the sense.
"""

from __future__ import annotations

import re

from clwqa_builders.extract.lexicon import Lexicon
from clwqa_builders.extract.quotes import requote
from clwqa_builders.extract.records import CrossRef, CrossRefKind, Gloss

_SENTENCE = re.compile(r"[^。？！]*[。？！]?[”’）]?")
_ENUMERATION = re.compile(r"^[①-⑩]")

# How running text goes on after a noun; a definition does not begin so.
_RUNS_ON = re.compile(
    r"[，。、；：！？”“）（的地得着了过们之其和与跟及或而且但则却也都又还更最很太再就才便即将要会能可应该必须在从向往到对于"
    r"把被让使令给用以为因所是非有无没不未尚已曾正不仅只若如像象似比喻形容]|中的|里|上的|下的|之间|本来|这|那|本义|原来"
)
_STARTS_DEFINITION = re.compile(
    r"[^，]{1,3}名(?:，|$)|指|原指|本指|泛指|特指|借指|代指|比喻|通“?|同“?|古同|即|谓|也作|亦作|又名|又称|俗称|一种|古代|古时|古国|古人|古书|旧时|传说|神话|佛教|道教|"
    r"春秋|战国|秦[国朝]|汉[朝代]|唐[朝代]|宋[朝代]|晋[朝代]|西汉|东汉|西晋|东晋|三国|南朝|北朝|明[朝代]|清[朝代]|用[于作来]|表示|意思|语气|副词|助词|代词|量词|连词|介词|语助|叹词|人名|地名|山名|水名|星名"
)
# How running text goes on after any noun, even a long piece of the word.
_CONTINUES = re.compile(
    r"[的地得着了过们之其和与跟及或而且但则却也都又还就把被让使令像象似]|[上中里下内外]|永远|已经|是|没有"
)
_FIGURATIVE = re.compile(r"比喻|形容|表示|[泛特借旧原也]?指|犹|谓|喻|后|同“|参见|亦作|常|旧时|用[来以于]")
_ENDS_DEFINITION = re.compile(
    r"(?:的样子|貌|的意思|之意|的声音|的代称|的别称|的通称|的统称|的总称|之称|的人|的地方|的东西|之类|的一种|名)$"
)
_FUNCTION_WORDS = frozenset("以于而之其不无有为被所与")
_TRAILING_COMPONENT = re.compile(
    r"(?P<piece>[^，。；]{1,4})，(?P<meaning>(?:指|通|同|借指|喻指|比喻|即)[^。；]{1,24})"
)

_CROSSREF = re.compile(
    r"(?:^|(?<=[。，；！？”）①-⑩]))(?P<kind>犹言|犹如|犹|亦作|也作|又作|亦称|义同|同|参见|详见|见|即)(?P<quote>“?)(?P<target>[^“”。；《》]{3,16}?)(?P<close>[”。；]|$)"
)
_ALSO = re.compile(r"[、，或]“(?P<target>[^”]{3,16})”")
_KINDS: dict[str, CrossRefKind] = {
    "犹言": "犹言", "犹如": "犹", "犹": "犹", "亦作": "亦作", "也作": "亦作", "又作": "亦作", "亦称": "亦作",
    "同": "同", "义同": "同", "参见": "参见", "详见": "参见", "见": "见", "即": "即",
}  # fmt: skip
# Without a closing ” only these kinds point to a word; 同, 见 and 即 also begin running text.
_PLAIN_KINDS = frozenset({"犹言", "犹"})
_SENSE_NUMBER = re.compile(r"[①-⑩]$")


def _piece_at(clause: str, word: str) -> str:
    """The longest contiguous piece of ``word`` at the start of ``clause`` (never the whole word)."""
    for length in range(min(len(word) - 1, len(clause)), 0, -1):
        if clause[:length] in word:
            return clause[:length]
    return ""


def _split_clause(clause: str, word: str) -> tuple[tuple[str, ...], str] | None:
    """(pieces, meaning) of a clause that has the shape of a component gloss; None otherwise."""
    pieces = []
    while piece := _piece_at(clause, word):
        pieces.append(piece)
        clause = clause[len(piece) :]
        if not clause.startswith("、") or not _piece_at(clause[1:], word):
            break
        clause = clause[1:]
    meaning = clause.strip("：， ")
    if not pieces or not meaning or (clause.startswith("，") and not _STARTS_DEFINITION.match(meaning)):
        return None
    return tuple(pieces), meaning


def _runs_together(pieces: tuple[str, ...], meaning: str, bonds: frozenset[str]) -> bool:
    """Whether piece and meaning are really one word (忍|受耻辱, 家|家户户); 重|重新 repeats the piece and is none."""
    if len(pieces) > 1 or _STARTS_DEFINITION.match(meaning):
        return False
    doubled = meaning[0] == pieces[0][-1]
    return meaning[:2] not in bonds if doubled else pieces[0][-1] + meaning[0] in bonds


def _is_definition(pieces: tuple[str, ...], meaning: str) -> bool:
    """Whether a lone clause defines its piece rather than predicating something of it."""
    if _STARTS_DEFINITION.match(meaning) or (len(pieces[0]) > 1 and meaning.startswith(pieces[0])):
        return True
    if _RUNS_ON.match(meaning):
        return False
    if len(pieces) > 1 or _ENDS_DEFINITION.search(meaning):
        return True
    piece = pieces[0]
    synonyms = re.split(r"[，、]", meaning)
    if piece in _FUNCTION_WORDS:
        return len(meaning) <= 2
    if len(synonyms) > 1 and len(piece) + len(synonyms[0]) == len(synonyms[1]) > 3:
        # 砂土飞扬，小石翻滚: two balanced phrases, not a piece and its synonyms.
        return False
    brief = all(0 < len(synonym) <= 4 for synonym in synonyms)
    if len(piece) == 1:
        return brief or piece in meaning[:3]
    return piece == piece[0] * 2 or piece[0] in meaning[:4] or piece[-1] in meaning[:4]


def _paraphrases(pieces: tuple[str, ...], meaning: str, word: str, alone: bool) -> bool:
    """Whether a clause retells the word from its piece on: 鸡|乱飞，狗乱跑; 床上安|张床; ``alone`` also 腰|背弯曲."""
    if len(pieces) > 1 or _STARTS_DEFINITION.match(meaning) or _ENDS_DEFINITION.search(meaning):
        return False
    piece = pieces[0]
    if len(piece) > 1 and len(piece) == len(word) - 1:
        return True
    others = word.replace(piece, "", 1)
    first, *further = re.split(r"[，、]", meaning)
    if further and len(piece) + len(first) == len(further[0]) >= 3 and any(c in others for c in further[0]):
        return True
    return (
        alone
        and not further
        and len(meaning) >= 3
        and meaning[0] in others
        and not meaning.endswith(("声", "名"))
    )


def _defines_by_form(found: list[tuple[tuple[str, ...], str]], word: str, bonds: frozenset[str]) -> bool:
    """Whether clauses look like definitions: nothing runs together, and they are a list or each has the shape."""
    if any(_runs_together(*pair, bonds) or _paraphrases(*pair, word, len(found) == 1) for pair in found):
        return False
    run_on = [m for _, m in found if _RUNS_ON.match(m) and not _STARTS_DEFINITION.match(m)]
    listed = len(found) > 1 and not run_on
    return listed or all(_is_definition(*pair) for pair in found)


def _only_about_its_piece(pieces: tuple[str, ...], meaning: str, word: str) -> bool:
    """Whether a meaning leaves the rest of the word alone, as definitions do (涓滴|小水珠) and paraphrases of the
    whole seldom (龙|居住的深水潭，虎栖身的巢穴)."""
    return not any(character in meaning for character in word if character not in "".join(pieces))


def _defines_by_exclusion(
    found: list[tuple[tuple[str, ...], str]], word: str, following: str, bonds: frozenset[str]
) -> bool:
    """Whether clauses define their pieces, judged by what they leave out; used where their form does not tell.

    A lone character that could begin the running text (贪|心永远没有满足的时候) must be followed by a brief
    synonym, or by a sentence that is itself the paraphrase.
    """
    if any(_CONTINUES.match(m) or _paraphrases(p, m, word, len(found) == 1) for p, m in found):
        return False
    if not all(_only_about_its_piece(pieces, meaning, word) for pieces, meaning in found):
        return False
    # A longer piece whose end and the meaning's beginning make a word was cut in the wrong place (枯木|头, 手足失|去).
    long = [(piece, meaning) for pieces, meaning in found for piece in pieces[-1:] if len(piece) > 1]
    if any(piece[-1] + meaning[0] in bonds or piece[-1] in "不无" for piece, meaning in long):
        return False
    if len(found) > 1 or len(found[0][0]) > 1 or long:
        return True
    (piece,), meaning = found[0]
    synonyms = re.split(r"[，、]", meaning)
    joined = piece + meaning[0] in bonds
    if all(0 < len(synonym) <= 4 for synonym in synonyms):
        return piece not in _FUNCTION_WORDS and not (
            joined and len(synonyms[0]) > 2 and piece not in synonyms[0]
        )
    return not (joined or _RUNS_ON.match(meaning) or _FIGURATIVE.match(following))


def _component_sentence(
    sentence: str, word: str, bonds: frozenset[str], following: str = ""
) -> list[tuple[str, str]] | None:
    """The components a sentence defines; None if it is not made of component glosses alone.

    ``following`` is the sentence after it, "" at the end.
    """
    clauses = [clause for clause in sentence.rstrip("。").split("；") if clause]
    split = [_split_clause(clause, word) for clause in clauses]
    if not clauses or None in split:
        return None
    found = [pair for pair in split if pair]
    pieces = [piece for pieces, _ in found for piece in pieces]
    if len(set(pieces)) != len(pieces):
        return None
    if not _defines_by_form(found, word, bonds) and not (
        following and _defines_by_exclusion(found, word, following, bonds)
    ):
        return None
    return [(piece, meaning) for pieces, meaning in found for piece in pieces]


def _trailing_component(sentence: str, word: str) -> tuple[str, str] | None:
    """A component explained after the sense (鹞子，指纸鸢); None if the sentence is something else."""
    found = _TRAILING_COMPONENT.fullmatch(sentence.rstrip("。"))
    if not found or found["piece"] not in word or found["piece"] == word:
        return None
    return found["piece"], found["meaning"]


def _split_components(text: str, word: str, bonds: frozenset[str]) -> tuple[tuple[tuple[str, str], ...], str]:
    """(components, sense) of a gloss; the sense is the whole text when nothing else would be left of it."""
    sentences = [sentence for sentence in _SENTENCE.findall(text) if sentence]
    components: list[tuple[str, str]] = []
    defined: list[int] = []
    at = 0
    while at < len(sentences) and (
        found := _component_sentence(sentences[at], word, bonds, "".join(sentences[at + 1 : at + 2]))
    ):
        if any(piece == known for piece, _ in found for known, _ in components):
            break
        components.extend(found)
        defined.append(len(found))
        at += 1
    if at == len(sentences) > 1 and defined[-1] == 1:
        # A gloss ends with what the word means, whatever its last sentence looks like.
        components.pop()
        at -= 1
    rest = sentences[at:]
    if not rest:
        # Nothing but definitions: two coordinate ones are the sense (孤臣…；孽子…), a lone one is running text.
        return (tuple(components), text) if len(components) > 1 else ((), text)
    sense = []
    for number, sentence in enumerate(rest):
        trailing = _trailing_component(sentence, word) if number else None
        if trailing:
            components.append(trailing)
        else:
            sense.append(sentence)
    return tuple(components), "".join(sense)


def parse_crossrefs(text: str, word: str = "") -> tuple[CrossRef, ...]:
    """The words a repaired gloss points to (同“X”, 犹言X, 亦作“X”、“Y”), in printed order."""
    refs: dict[tuple[CrossRefKind, str], None] = {}
    for found in _CROSSREF.finditer(text):
        kind = _KINDS[found["kind"]]
        target = found["target"].strip("“")
        if found["close"] != "”":
            target = target.partition("，")[0]
            if found["kind"] not in _PLAIN_KINDS or not 3 <= len(target) <= 8:
                continue
        refs[kind, target] = None
        end = found.end()
        while also := _ALSO.match(text, end):
            refs[kind, also["target"]] = None
            end = also.end()
    return tuple(CrossRef(kind, target.rstrip("①②③④⑤")) for kind, target in refs if target != word)


def parse_gloss(explanation: str, word: str, lexicon: Lexicon) -> Gloss:
    """Parse one repaired explanation.  ``sense`` is never empty when the text is not."""
    text = requote(explanation.strip(), word)
    components, sense = _split_components(text, word, lexicon.bonds)
    return Gloss(text=text, sense=sense, components=components, crossrefs=parse_crossrefs(text, word))
