"""Just enough of the GGUF format to take the vocabulary out of a file.

transformers reads configuration and weights of a GGUF file with a reader that makes several objects of every token,
three times over: a minute for a vocabulary of 262,144.  Without the vocabulary it takes seconds.  (The tokenizer is
read from the whole file by another reader, which is fast.)  The format: github.com/ggml-org/ggml, docs/gguf.md.
"""

from __future__ import annotations

import mmap
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clwqa_bench.llm.protocol import LLMError

MAGIC, VERSIONS = b"GGUF", (2, 3)
UINT32, STRING, ARRAY = 4, 8, 9
WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a value, by type
ALIGNMENT = 32  # of the weights, unless the file says otherwise
MOST = 1 << 32  # elements of anything: more is damage

Bytes = bytes | mmap.mmap


@dataclass(frozen=True, slots=True)
class Pair:
    """A key with its value: of which type, and where it begins and ends (`start` is that of the key)."""

    key: str
    type: int
    start: int
    value: int
    end: int

    def number(self, data: Bytes) -> int:
        """The value, if it is a uint32."""
        return struct.unpack_from("<I", data, self.value)[0]

    def text(self, data: Bytes) -> str:
        """The value, if it is a string."""
        return data[self.value + 8 : self.end].decode()


@dataclass(frozen=True, slots=True)
class Header:
    """Everything before the weights: key-value pairs, then from `tensors` to `end` a table of so many tensors."""

    version: int
    pairs: dict[str, Pair]
    count: int
    tensors: int
    end: int


def file_type(path: Path) -> str:
    """The quantisation that a file says of itself, such as "Q4_K_M"; "unknown" if it does not.  Raises LLMError."""
    from gguf import LlamaFileType

    with _mapped(path) as data:
        pair = _header(data).pairs.get("general.file_type")
        number = pair.number(data) if pair else -1
    known = {kind.value: kind.name for kind in LlamaFileType}
    return known.get(number, "unknown").removeprefix("MOSTLY_").removeprefix("ALL_")


def without_vocabulary(source: Path, target: Path) -> None:
    """Copy a file but for the arrays of its tokenizer, whose size is kept.  Raises LLMError for a damaged one."""
    with _mapped(source) as data:
        header = _header(data)
        kept = [data[p.start : p.end] for p in header.pairs.values() if not _is_vocabulary(p)]
        kept += _vocabulary_size(header, data)
        given = header.pairs.get("general.alignment")
        alignment = given.number(data) if given else ALIGNMENT
        table = data[header.tensors : header.end]
    head = struct.pack("<4sIQQ", MAGIC, header.version, header.count, len(kept)) + b"".join(kept) + table
    with source.open("rb") as weights, target.open("wb") as out:
        out.write(head + bytes(-len(head) % alignment))
        weights.seek(header.end + -header.end % alignment)
        shutil.copyfileobj(weights, out, 1 << 20)


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap]:
    """The bytes of a file.  What goes wrong while they are looked at is damage, and an LLMError."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data
    except OSError as error:
        raise LLMError(f"it cannot be read: {error.strerror}", fix="check the path", file=path) from None
    except (struct.error, ValueError, KeyError, IndexError) as error:
        raise damaged(path, str(error)) from None


def damaged(path: Path, why: str) -> LLMError:
    """The error for a file that is not what it should be."""
    return LLMError(
        f"this is no intact GGUF file ({why})", fix="get the file again and compare its SHA-256", file=path
    )


def _header(data: Bytes) -> Header:
    if data[:4] != MAGIC:
        raise ValueError("it does not begin with GGUF")
    version, tensors, pairs = struct.unpack_from("<IQQ", data, 4)
    if version not in VERSIONS:
        raise ValueError(f"its version is {version}")
    at = 4 + 4 + 8 + 8
    found = {}
    for _ in range(min(pairs, MOST)):
        start, at = at, _after(data, at, STRING)
        key = data[start + 8 : at].decode()
        (kind,) = struct.unpack_from("<I", data, at)
        value, at = at + 4, _after(data, at + 4, kind)
        found[key] = Pair(key, kind, start, value, at)
    table = at
    for _ in range(min(tensors, MOST)):
        at = _after(data, at, STRING)
        (dimensions,) = struct.unpack_from("<I", data, at)
        at += 4 + 8 * dimensions + 4 + 8
    if at > len(data):
        raise ValueError("it ends in its header")
    return Header(version, found, tensors, table, at)


def _after(data: Bytes, at: int, kind: int) -> int:
    """Where a value of a type ends."""
    if kind == STRING:
        return at + 8 + struct.unpack_from("<Q", data, at)[0]
    if kind != ARRAY:
        return at + WIDTHS[kind]
    element, count = struct.unpack_from("<IQ", data, at)
    at += 4 + 8
    if element in WIDTHS:
        return at + count * WIDTHS[element]
    for _ in range(min(count, MOST)):
        at = _after(data, at, element)
    return at


def _is_vocabulary(pair: Pair) -> bool:
    return pair.type == ARRAY and pair.key.startswith("tokenizer.")


def _vocabulary_size(header: Header, data: Bytes) -> list[bytes]:
    """The pair that says how many tokens there are, unless the file has it."""
    key = header.pairs["general.architecture"].text(data) + ".vocab_size"
    tokens = header.pairs.get("tokenizer.ggml.tokens")
    if key in header.pairs or tokens is None:
        return []
    (size,) = struct.unpack_from("<Q", data, tokens.value + 4)
    return [struct.pack("<Q", len(key)) + key.encode() + struct.pack("<II", UINT32, size)]
