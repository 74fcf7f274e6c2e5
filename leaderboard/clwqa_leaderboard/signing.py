"""Signatures over SHA256SUMS with an SSH key, made and checked by OpenSSH itself (`ssh-keygen -Y`)."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from clwqa_leaderboard.errors import SubmissionError

NAMESPACE = "clwqa-bundle"


def sign(message: bytes, key: Path) -> bytes:
    """A signature by a private key (or by the agent's, if `key` is a public one).  Raises SubmissionError."""
    if not key.is_file():
        raise SubmissionError("there is no such key", fix="name a file made by ssh-keygen", file=key)
    done = _keygen("sign", "-f", str(key), message=message)
    if done.returncode:
        raise SubmissionError(
            f"cannot sign: {_last(done.stderr)}", fix="name an SSH key that you may read and use", file=key
        )
    return done.stdout


def signer(message: bytes, signature: bytes, place: Path) -> str:
    """The fingerprint (SHA256:...) of the key that signed.  Raises SubmissionError if the signature is not good.

    Whose key it is, a fingerprint does not tell; entries with one fingerprint are by one key.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "signature"
        file.write_bytes(signature)
        done = _keygen("check-novalidate", "-s", str(file), message=message)
    found = re.search(r"\bkey (SHA256:[A-Za-z0-9+/]{43})", done.stdout.decode("utf-8", "replace"))
    if done.returncode or not found:
        raise SubmissionError(
            f"the signature is not good: {_last(done.stderr)}", fix="pack and sign the run again", file=place
        )
    return found[1]


def _keygen(action: str, *options: str, message: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", action, "-n", NAMESPACE, *options],
            input=message,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise SubmissionError(
            "ssh-keygen is not installed, so signatures can be neither made nor checked",
            fix="install OpenSSH",
        ) from None


def _last(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "ssh-keygen gives no reason"
