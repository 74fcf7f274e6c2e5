"""A small character BERT that knows nothing before it is trained: quick enough for CI, and needs no download."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WIDTH, LAYERS, HEADS, POSITIONS = 128, 2, 4, 256
SEEN = 2  # a character that occurs once is unknown, so that something is learned of unknown ones


def characters(texts: Iterable[str]) -> str:
    """The characters that occur at least twice, by code point."""
    counts = Counter(character for text in texts for character in unicodedata.normalize("NFKC", text).lower())
    return "".join(sorted(character for character, count in counts.items() if count >= SEEN))


def character_model(known: str, seed: int) -> PreTrainedModel:
    """2 layers of width 128 with random weights."""
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=len(SPECIAL) + len(known),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
        max_position_embeddings=POSITIONS,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return BertModel(config, add_pooling_layer=False)


def character_tokenizer(known: str) -> PreTrainedTokenizerBase:
    """One token a character, compatibility forms and case folded; pairs as BERT has them."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    pad, unknown, first, between = SPECIAL
    ids = {token: place for place, token in enumerate((*SPECIAL, *known))}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=unknown))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {between}",
        pair=f"{first} $A {between} $B:1 {between}:1",
        special_tokens=[(token, ids[token]) for token in (first, between)],
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unknown,
        cls_token=first,
        sep_token=between,
        model_max_length=POSITIONS,
    )
