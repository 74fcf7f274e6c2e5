"""The OpenAI-compatible back-end against a real HTTP server that misbehaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest

from clwqa_bench.llm import open_llm
from clwqa_bench.llm.chat import MAX_BODY
from clwqa_bench.llm.parsing import MAX_TEXT
from clwqa_bench.llm.protocol import Limits, LLMError, Options
from clwqa_bench.llm.tasks import AnswerClosedBook, Answers, ExtractAnswers
from tests.llm.play import KEY, OTHER, TASK, FakeClock, backend, do, do_in_turn
from tests.llm.server import (
    Act,
    Server,
    breaks_off,
    completion,
    drips,
    drops,
    fails,
    hangs,
    lingers,
    says,
    sends,
    serving,
)

GOOD = '{"answers": ["李白"]}'


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as running:
        yield running


def test_a_reply_and_what_it_cost(server: Server) -> None:
    (reply,) = do(backend(server, price_in=1, price_out=10))
    assert (reply.status, reply.value, reply.raw) == ("ok", Answers(answers=("李白",)), GOOD)
    usage = reply.usage
    assert (usage.calls, usage.attempts, usage.tokens_in, usage.tokens_out, usage.cached) == (
        1,
        1,
        100,
        20,
        0,
    )
    assert usage.cost == pytest.approx((100 * 1 + 20 * 10) / 1e6)


def test_what_is_sent(server: Server) -> None:
    do(backend(server, temperature=0.5, extra='{"enable_thinking": false}', sampling_seed=7))
    (body,) = server.requests
    assert [message["role"] for message in body.pop("messages")] == ["system", "user"]
    assert body == {
        "model": "test-model",
        "max_tokens": TASK.max_tokens,
        "temperature": 0.5,
        "seed": 7,
        "enable_thinking": False,
        "response_format": {"type": "json_object"},
    }
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(("own", "sent"), [(None, 0.5), (0.0, 0.0), (0.9, 0.9)])
def test_a_task_may_have_a_temperature_of_its_own(server: Server, own: float | None, sent: float) -> None:
    do(backend(server, temperature=0.5), TASK.model_copy(update={"temperature": own}))
    assert server.requests[0]["temperature"] == sent


def test_an_endpoint_that_takes_no_temperature_is_sent_none(server: Server) -> None:
    do(backend(server, extra='{"temperature": null}'), TASK.model_copy(update={"temperature": 0.9}))
    assert "temperature" not in server.requests[0]


def test_null_leaves_a_parameter_out(server: Server) -> None:
    do(backend(server, extra='{"temperature": null, "max_tokens": null, "max_completion_tokens": 900}'))
    sent = server.requests[0]
    assert sent["max_completion_tokens"] == 900
    assert not {"temperature", "max_tokens"} & sent.keys()


# ---------------------------------------------------------------------- retries


@pytest.mark.parametrize(
    ("acts", "reason"),
    [
        ([fails(429)], "429"),
        ([fails(500), fails(500)], "500"),
        ([fails(503)], "503"),
        ([drops], "connection"),
        ([breaks_off], "connection"),
        ([sends(completion(GOOD)[:-30])], "broken response"),
        ([sends("<html>busy</html>")], "broken response"),
        ([sends('{"choices": []}')], "broken response"),
    ],
)
def test_a_passing_fault_costs_attempts_only(server: Server, acts: list[Act], reason: str) -> None:
    server.script(*acts)
    llm = backend(server)
    (reply,) = do(llm)
    assert (reply.status, reply.usage.calls, reply.usage.attempts) == ("ok", 1, 1 + len(acts))
    assert llm.options.activity.retries == {reason: len(acts)}


@pytest.mark.parametrize("act", [hangs, drips])
def test_a_timeout_covers_the_whole_response(server: Server, act: Act) -> None:
    server.script(act)
    llm = backend(server, timeout=0.15)
    (reply,) = do(llm)
    assert (reply.status, reply.usage.attempts) == ("ok", 2)
    assert llm.options.activity.retries == {"timeout": 1}


@pytest.mark.parametrize(
    ("act", "status"), [(fails(500, "overloaded"), "error"), (drips, "timeout"), (breaks_off, "error")]
)
def test_attempts_are_bounded(server: Server, act: Act, status: str) -> None:
    server.always = act
    (reply,) = do(backend(server, attempts=3, timeout=0.1))
    assert (reply.status, reply.usage.attempts, reply.value, bool(reply.error)) == (status, 3, None, True)


def test_waits_as_long_as_retry_after_says_in_seconds_or_until_a_date(server: Server) -> None:
    clock = FakeClock()
    server.script(fails(429, Retry_After="7"), fails(429, Retry_After=formatdate(1000 + 7 + 30, usegmt=True)))
    (reply,) = do(backend(server, clock))
    assert reply.status == "ok"
    assert clock.slept == [7.0, 30.0]


def test_while_the_endpoint_says_wait_nobody_else_begins(server: Server) -> None:
    clock = FakeClock()
    server.script(fails(429, Retry_After="50"))
    replies = do(backend(server, clock, concurrency=1), TASK, OTHER)
    assert [(reply.status, reply.usage.attempts) for reply in replies] == [("ok", 2), ("ok", 1)]
    assert clock.slept == [50.0, 50.0], "the second question waits as well, and was never turned away"


def test_a_date_beyond_all_time_is_no_date_and_the_question_is_asked_again(server: Server) -> None:
    clock = FakeClock()
    server.script(fails(429, Retry_After="Mon, 01 Jan 2024 00:00:00 +99999999999999"))
    (reply,) = do(backend(server, clock))
    assert (reply.status, reply.usage.attempts) == ("ok", 2)
    assert 0.5 <= clock.slept[0] < 1.0


def test_backs_off_exponentially_with_chance_from_a_seed(server: Server) -> None:
    waits = []
    for _ in range(2):
        clock = FakeClock()
        server.script(*[fails(429)] * 4)
        do(backend(server, clock))
        waits.append(clock.slept)
    assert waits[0] == waits[1]
    for attempt, wait in enumerate(waits[0]):
        assert 0.5 * 2**attempt <= wait < 2**attempt


def test_does_not_wait_for_hours(server: Server) -> None:
    clock = FakeClock()
    server.script(fails(429, Retry_After="7200"))
    (reply,) = do(backend(server, clock))
    assert (reply.status, clock.slept) == ("error", [])
    assert "7,200 s" in str(reply.error)


# ---------------------------------------------------------------------- faults of everybody's


@pytest.mark.parametrize("status", [301, 401, 402, 403, 404])
def test_what_no_request_survives_is_an_error_that_names_the_variable_and_not_the_key(
    server: Server, status: int
) -> None:
    server.always = fails(status, f"Incorrect API key provided: {KEY}")
    with pytest.raises(LLMError) as caught:
        do(backend(server))
    assert len(server.requests) == 1
    assert KEY not in str(caught.value)
    assert status == 404 or "OPENAI_API_KEY" in str(caught.value)


def test_an_account_without_balance_is_not_asked_again(server: Server) -> None:
    server.always = fails(429, "You exceeded your quota", code="insufficient_quota")
    with pytest.raises(LLMError, match="quota"):
        do(backend(server))
    assert len(server.requests) == 1


def test_a_request_that_was_never_understood_is_an_error(server: Server) -> None:
    server.always = fails(400, "Model Not Exist")
    with pytest.raises(LLMError, match="Model Not Exist"):
        do(backend(server))
    assert len(server.requests) == 1


def test_a_question_the_endpoint_rejects_fails_alone(server: Server) -> None:
    server.script(says(GOOD), fails(400, "too long", code="context_length_exceeded"))
    first, second = do_in_turn(backend(server), TASK, OTHER)
    assert (first.status, second.status, second.error) == ("ok", "error", "HTTP 400: too long")


def test_an_address_where_nobody_listens_is_an_error() -> None:
    with serving() as server:
        llm = backend(server, attempts=2)
    with pytest.raises(LLMError, match="cannot be reached"):
        do(llm)


def test_a_missing_key_is_said_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    with pytest.raises(LLMError, match="DEEPSEEK_API_KEY"):
        open_llm("openai:deepseek-v3")
    assert open_llm("openai:deepseek-v3", options=Options(dry=True)).estimate(TASK).cost > 0


# ---------------------------------------------------------------------- replies that cannot be used


@pytest.mark.parametrize(
    "bad",
    [
        says("答案是李白。"),
        says('{"answers": ["李白"'),
        says('{"answers": "李白"}'),
        says('{"answer": "李白"}'),
        says('["李白"]'),
        says(""),
        says(None),
        says('{"answers": ["李'),
        says("{" * 60_000),
    ],
)
def test_what_cannot_be_read_is_sent_back_with_the_reason(server: Server, bad: Act) -> None:
    server.script(bad)
    llm = backend(server)
    (reply,) = do(llm)
    assert (reply.status, reply.usage.calls, reply.usage.attempts) == ("ok", 1, 2)
    assert reply.usage.tokens_in == 200
    assert llm.options.activity.repairs == 1
    messages = server.requests[1]["messages"]
    assert messages[-1]["role"] == "user"
    assert "无法读取" in messages[-1]["content"]


def test_repair_ends_after_two_rounds(server: Server) -> None:
    server.always = says("答案是李白。")
    (reply,) = do(backend(server))
    assert (reply.status, reply.raw, len(server.requests)) == ("unparsed", "答案是李白。", 3)
    assert reply.error == "there is no JSON object in it"


@pytest.mark.parametrize(
    "act",
    [
        says("抱歉，我不能回答这个问题。"),
        says("I'm sorry, but I can't help with that."),
        says("", finish="content_filter"),
        says("写到一半", finish="sensitive"),
        says(None, refusal="I will not."),
        fails(400, "Input data may contain inappropriate content.", code="data_inspection_failed"),
    ],
)
def test_a_refusal_is_a_status_of_its_own_and_not_repaired(server: Server, act: Act) -> None:
    server.always = act
    (reply,) = do(backend(server))
    assert (reply.status, reply.value, len(server.requests)) == ("refused", None, 1)


@pytest.mark.parametrize("size", [1_000_000, MAX_BODY])
def test_a_completion_without_end_is_cut(server: Server, size: int) -> None:
    server.always = says(json.dumps({"answers": ["甲" * (size // 6)]}))
    (reply,) = do(backend(server))
    assert (reply.status, len(server.requests)) == ("unparsed", 1)
    assert len(reply.raw) <= MAX_TEXT


@pytest.mark.parametrize("usage", ["many", 7, ["prompt_tokens"], None, {"prompt_tokens": "100"}])
def test_a_good_reply_counted_oddly_is_kept_and_its_tokens_estimated(server: Server, usage: object) -> None:
    body = json.loads(completion(GOOD))
    server.always = sends(json.dumps({**body, "usage": usage}))
    llm = backend(server)
    (reply,) = do(llm)
    assert (reply.status, reply.value, reply.usage.attempts) == ("ok", Answers(answers=("李白",)), 1)
    assert reply.usage.tokens_in == llm.estimate(TASK).tokens_in


def test_a_reply_in_parts_is_read_as_one(server: Server) -> None:
    parts = [
        {"type": "thinking", "text": "who wrote it?"},
        {"type": "text", "text": GOOD[:8]},
        {"type": "text", "text": None},
        "stray",
        {"type": "text", "text": GOOD[8:]},
    ]
    body = json.loads(completion(None))
    body["choices"][0]["message"]["content"] = parts
    server.always = sends(json.dumps(body))
    (reply,) = do(backend(server))
    assert (reply.status, reply.raw, len(server.requests)) == ("ok", GOOD, 1)


# ---------------------------------------------------------------------- how JSON is asked for


def test_the_format_is_negotiated_once_and_remembered(server: Server, tmp_path: Path) -> None:
    unavailable = fails(400, "This response_format type is unavailable now")
    server.script(unavailable)
    tasks = [ExtractAnswers(question=f"第{n}问", text="李白") for n in range(5)]
    assert {reply.status for reply in do(backend(server, cache=tmp_path / "c", format="auto"), *tasks)} == {
        "ok"
    }
    asked = [body["response_format"]["type"] for body in server.requests]
    assert asked == ["json_schema", *["json_object"] * 5]

    do(backend(server, cache=tmp_path / "c", format="auto"), OTHER)
    assert server.requests[-1]["response_format"] == {"type": "json_object"}


def test_an_endpoint_without_any_json_mode_is_asked_by_the_prompt(server: Server) -> None:
    server.script(fails(400), fails(422))
    (reply,) = do(backend(server, format="auto"))
    assert reply.status == "ok"
    assert "response_format" not in server.requests[-1]


def test_the_schema_is_sent_where_it_is_taken(server: Server) -> None:
    do(backend(server, format="auto"))
    sent = server.requests[0]["response_format"]["json_schema"]
    assert (sent["name"], sent["strict"], sent["schema"]) == (TASK.id, True, TASK.output_schema())


# ---------------------------------------------------------------------- limits


def test_never_more_requests_at_a_time_than_allowed(server: Server) -> None:
    server.always = lingers(0.02)
    tasks = [ExtractAnswers(question=f"第{n}问", text="李白") for n in range(12)]
    llm = backend(server, concurrency=3)
    assert {reply.status for reply in do(llm, *tasks)} == {"ok"}
    assert server.most_in_flight == 3
    assert llm.options.activity.requests == 12


@pytest.mark.parametrize(
    "limits",
    [
        Limits(calls=2),
        Limits(tokens=2 * (100 + 20) + 700),
        Limits(cost=(2 * (100 + 20) + 700) / 1e6),
    ],
)
def test_when_the_budget_is_used_up_nothing_more_is_asked(server: Server, limits: Limits) -> None:
    llm = backend(server, limits=limits, price_in=1, price_out=1)
    replies = do_in_turn(llm, *[ExtractAnswers(question=f"第{n}问", text="李白") for n in range(5)])
    statuses = [reply.status for reply in replies]
    assert statuses[0] == "ok"
    assert statuses[-1] == "skipped"
    assert statuses == sorted(statuses)
    assert len(server.requests) == statuses.count("ok") == 2 + (limits.calls is None)
    assert llm.options.activity.skipped == statuses.count("skipped")


def test_requests_under_way_together_do_not_exceed_the_budget(server: Server) -> None:
    tasks = [ExtractAnswers(question=f"第{n}问", text="李白") for n in range(8)]
    replies = do(backend(server, limits=Limits(calls=3)), *tasks)
    assert len(server.requests) == 3
    assert [reply.status for reply in replies].count("skipped") == 5


def test_a_repair_the_budget_does_not_allow_leaves_the_reply_unparsed(server: Server) -> None:
    server.always = says("李白")
    (reply,) = do(backend(server, limits=Limits(calls=1)))
    assert (reply.status, reply.raw, len(server.requests)) == ("unparsed", "李白", 1)


def test_estimate_bounds_what_the_endpoint_may_take(server: Server) -> None:
    llm = backend(server, price_in=2, price_out=8)
    estimate = llm.estimate(AnswerClosedBook(question="何谓“沉鱼落雁”？"))
    assert 100 < estimate.tokens_in < 400
    assert estimate.tokens_out == AnswerClosedBook.max_tokens
    assert estimate.cost == pytest.approx((estimate.tokens_in * 2 + estimate.tokens_out * 8) / 1e6)
    assert not server.requests


# ---------------------------------------------------------------------- secrets


def test_the_key_stays_out_of_everything_that_is_kept(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script(
        fails(500, f"key {KEY} overloaded"),
        says(f'{{"answers": ["{KEY}"]}}'),
        fails(413, f"key {KEY} is bad"),
    )
    llm = backend(server, cache=tmp_path / "replies.sqlite")
    replies = do_in_turn(llm, TASK, OTHER)
    assert [reply.status for reply in replies] == ["ok", "error"]
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    seen = repr(replies) + repr(llm.describe()) + repr(llm.options) + "".join(capsys.readouterr())
    assert KEY.encode() not in kept
    assert KEY not in seen


def test_a_placeholder_of_a_key_is_no_secret(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server.script(says('{"answers": ["none"]}'))
    (reply,) = do(backend(server))
    assert reply.value == Answers(answers=("none",))
