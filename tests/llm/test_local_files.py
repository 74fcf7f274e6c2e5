"""Where a local model is read from: GGUF files made into safetensors, folders, the Hub, and what is wrong with them."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path

import pytest

pytest.importorskip("torch")

from clwqa_bench.llm.local import weights
from clwqa_bench.llm.local.backend import open_local
from clwqa_bench.llm.protocol import LLMError, Options
from tests.llm import tiny_model as tiny
from tests.llm.asked_model import TASKS, do, opened


def test_a_gguf_file_is_converted_once(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiny.write_gguf(tmp_path / "tiny.gguf")
    llm = opened(path, max_tokens=3000)
    (reply,) = do(llm, TASKS[3])
    assert (reply.status, llm.name) == ("ok", "local/tiny")
    assert llm.describe()["quantisation"] == "F32"
    (made,) = (entry for entry in home.iterdir() if entry.is_dir())
    monkeypatch.setattr(weights, "_convert", lambda *_: pytest.fail("converted again"))
    assert weights.find(str(path)).folder() == made


def test_what_is_made_of_a_gguf_file_is_the_model(tmp_path: Path, home: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    made = weights.find(str(tiny.write_gguf(tmp_path / "tiny.gguf"))).folder()
    ids = AutoTokenizer.from_pretrained(made)("画蛇添足", return_tensors="pt", add_special_tokens=False)[
        "input_ids"
    ]
    assert ids.tolist() == [tiny.tokenizer()("画蛇添足")["input_ids"]]
    with torch.inference_mode():
        expected = tiny.model()(ids).logits
        found = AutoModelForCausalLM.from_pretrained(made)(ids).logits
    assert torch.allclose(expected, found, atol=1e-4)


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from clwqa_bench.llm.local import weights
    die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    setattr(*{"halfway": (weights, "_convert"), "at the end": (Path, "rename")}[sys.argv[2]], die)
    weights.find(sys.argv[1]).folder()
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["halfway", "at the end"])
def test_a_conversion_that_was_killed_is_done_again(tmp_path: Path, home: Path, when: str) -> None:
    path = tiny.write_gguf(tmp_path / "tiny.gguf")
    code = textwrap.dedent(KILLED)
    killed = subprocess.run([sys.executable, "-c", code, str(path), when], env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [entry.name for entry in home.glob("*.tmp-*")]
    made = weights.find(str(path)).folder()
    assert (made / "model.safetensors").is_file()
    assert [entry for entry in home.iterdir() if entry.is_dir()] == [made]


@pytest.mark.slow
def test_two_processes_convert_once(tmp_path: Path, home: Path) -> None:
    path = tiny.write_gguf(tmp_path / "tiny.gguf")
    code = "import sys; from clwqa_bench.llm.local import weights; weights.find(sys.argv[1]).folder()"
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("converting" in text for text in said) == 1


@pytest.mark.parametrize("size", [0, 3, 100, 5000, -1000])
def test_a_damaged_gguf_file_is_named(tmp_path: Path, home: Path, size: int) -> None:
    path = tiny.write_gguf(tmp_path / "tiny.gguf")
    os.truncate(path, size if size >= 0 else path.stat().st_size + size)
    with pytest.raises(LLMError, match="no intact GGUF") as error:
        opened(path)
    assert error.value.file == str(path)
    assert not [entry for entry in home.glob("*") if entry.is_dir()]


def test_a_gguf_file_with_a_broken_vocabulary_is_named(tmp_path: Path, home: Path) -> None:
    path = tiny.write_gguf(tmp_path / "tiny.gguf", merges=["no such"])
    with pytest.raises(
        LLMError, match=r"no intact GGUF.*its tokenizer cannot be read: .*out of vocabulary"
    ) as error:
        opened(path)
    assert error.value.file == str(path)


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def spoilt(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(b"{")  # type: ignore[func-returns-value]


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (without("model.safetensors"), "no weights"),
        (without("config.json"), "configuration"),
        (spoilt("config.json"), "configuration"),
        (without("tokenizer.json"), "tokenizer"),
        (spoilt("tokenizer.json"), "tokenizer"),
        (spoilt("model.safetensors"), "model cannot be read"),
    ],
)
def test_a_folder_that_is_not_whole_is_named(
    tmp_path: Path, spoil: Callable[[Path], None], what: str
) -> None:
    folder = tiny.save(tmp_path / "tiny")
    spoil(folder)
    with pytest.raises(LLMError, match=what) as error:
        opened(folder)
    assert str(folder) in str(error.value.file)


def test_a_vocabulary_that_does_not_fit_its_merges_is_an_error(tmp_path: Path) -> None:
    file = tiny.save(tmp_path / "tiny") / "tokenizer.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    content["model"]["merges"].append(["no such", "tokens"])
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(LLMError, match=r"tokenizer cannot be read: .*out of vocabulary"):
        opened(file.parent)


def test_a_folder_is_hashed_again_only_if_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny.save(tmp_path / "tiny")
    revision = weights.find(str(folder)).revision
    hashed: list[str] = []
    digest = hashlib.file_digest

    def watched(file: BufferedReader, kind: str) -> object:
        hashed.append(Path(file.name).name)
        return digest(file, kind)

    monkeypatch.setattr(hashlib, "file_digest", watched)
    assert (weights.find(str(folder)).revision, hashed) == (revision, [])
    with (folder / "config.json").open("a", encoding="utf-8") as config:
        config.write("\n")
    assert weights.find(str(folder)).revision != revision
    assert hashed == ["config.json"]


def test_weights_that_are_missing_are_not_made_up(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    file = tiny.save(tmp_path / "tiny") / "model.safetensors"
    kept = load_file(file)
    del kept["model.layers.1.mlp.up_proj.weight"]
    save_file(kept, file, metadata={"format": "pt"})
    with pytest.raises(LLMError, match=r"no weights for model\.layers\.1\.mlp\.up_proj\.weight"):
        opened(file.parent)


def test_a_device_that_is_not_there_is_an_error(folder: Path) -> None:
    with pytest.raises(LLMError, match="cannot be loaded"):
        opened(folder, device="cuda:77")


@pytest.mark.parametrize("name", ["/no/such/folder", "./model.gguf", "a/b/c", "no such name!"])
def test_a_model_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(LLMError) as error:
        open_local(name, None, Options())
    assert name.removeprefix("./") in str(error.value)


def test_the_hub_out_of_reach_is_said(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(LLMError, match="cannot be had from the Hub") as error:
        open_local("clwqa-bench/no-such-model", None, Options())
    assert "network" in error.value.fix


@pytest.mark.parametrize("package", ["torch", weights.BUNDLED])
def test_a_package_that_is_missing_is_named_with_the_extra(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = weights.find_spec
    monkeypatch.setattr(weights, "find_spec", lambda name: None if name == package else find(name))
    with pytest.raises(LLMError) as error:
        open_local("", None, Options())
    assert "clwqa-bench[neural]" in error.value.fix
