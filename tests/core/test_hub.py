"""What a fault of the Hub says: its own words in one line, whatever was raised, and nothing that lets anybody in."""

from __future__ import annotations

import sys
import traceback
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from clwqa_bench.errors import DatasetError
from clwqa_bench.hub import HubError, asking, connect, reason

TOKEN = "hf_secretsecretsecret"
PRESIGNED = "https://bucket.example.org/object?X-Signature=letmein&X-Expires=900"
API = HfApi(endpoint="http://127.0.0.1:1", token=TOKEN)


def refusal(status: int, said: str | None = None, message: str = "Client error") -> HfHubHTTPError:
    """What the client raises for an answer; its request holds the token, as a real one does."""
    request = SimpleNamespace(url=PRESIGNED, headers={"Authorization": f"Bearer {TOKEN}"})
    answer: Any = SimpleNamespace(status_code=status, headers={}, request=request)
    return HfHubHTTPError(message, response=answer, server_message=said)


def raised(error: BaseException) -> HubError:
    with pytest.raises(HubError) as found, asking(API, "look at", "org/data", again="wait"):
        raise error
    return found.value


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError(), "RuntimeError"),
        (RuntimeError(" \n"), "RuntimeError"),
        (RuntimeError("first\nsecond"), "first"),
        (RuntimeError(f"odd header: Bearer {TOKEN}"), "odd header: Bearer ***"),
        (
            RuntimeError(f"cannot reach {PRESIGNED} today"),
            "cannot reach https://bucket.example.org/object today",
        ),
        (refusal(500, "too busy"), "too busy"),
        (refusal(500, ""), "Client error"),
    ],
)
def test_the_reason_is_one_line_without_secrets(error: BaseException, said: str) -> None:
    assert reason(error, TOKEN) == said


@pytest.mark.parametrize(
    ("error", "what", "fix"),
    [
        (TimeoutError(), "could not look at org/data: TimeoutError", "wait"),
        (refusal(503, "closed"), "could not look at org/data: 503 closed", "wait"),
        (refusal(401, "who?"), "the Hub does not accept this token", "hf auth login"),
        (refusal(403, "read only"), "this token may not look at org/data: 403 read only", "for org"),
    ],
)
def test_a_fault_says_what_was_wanted_and_what_may_help(error: BaseException, what: str, fix: str) -> None:
    found = raised(error)
    assert found.what == what
    assert fix in found.fix


def test_no_traceback_leads_to_the_request() -> None:
    try:
        raise RuntimeError(f"while sending to {PRESIGNED}") from refusal(500, f"echo {TOKEN}")
    except RuntimeError as error:
        found = raised(error)
    told = "".join(traceback.format_exception(found))
    assert "500 echo ***" in told
    assert TOKEN not in told
    assert "letmein" not in told
    assert found.__cause__ is None


def test_an_error_of_our_own_stays_what_it_is() -> None:
    with pytest.raises(DatasetError), asking(API, "look at", "org/data"):
        raise DatasetError("damaged", fix="build it again")


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(HubError, match="not installed") as error:
        connect()
    assert "clwqa-bench[hub]" in error.value.fix
