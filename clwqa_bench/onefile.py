"""Pages that are one file: they fetch nothing, run no script but their own, and hold data that stays data."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import orjson


def inert_json(data: Any) -> str:
    """JSON that cannot end the script element it stands in; strict, so NaN is null."""
    return orjson.dumps(data, default=tuple).decode("utf-8").replace("<", "\\u003c")


def security_policy(script: str, style: str) -> str:
    """A content security policy that allows this script, this style sheet, and nothing else."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
