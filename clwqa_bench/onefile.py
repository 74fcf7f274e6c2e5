"""Pages that are one file: they fetch nothing, run no script but their own, and hold data that stays data."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Any

import orjson


def shared(name: str) -> str:
    """The text of `report.css` or `page.js`: look and behaviour that pages share, which go before their own."""
    return resources.files("clwqa_bench.report").joinpath(name).read_text(encoding="utf-8")


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
