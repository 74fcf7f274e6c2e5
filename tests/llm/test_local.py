"""The local back-end with real code of transformers: tiny random models, and (slow) the bundled one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from clwqa_bench.llm.local import generation, prompting, weights
from clwqa_bench.llm.local.backend import open_local
from clwqa_bench.llm.local.constraint import ITEMS, NUMBER, PROSE, bounded
from clwqa_bench.llm.local.generation import Draw, End, Row, Writer
from clwqa_bench.llm.parsing import read
from clwqa_bench.llm.protocol import Limits, LLMError, Options, Reply
from clwqa_bench.llm.tasks import (
    AnswerClosedBook,
    Constraints,
    ExtractAnswers,
    ExtractConstraints,
    Language,
    Task,
)
from tests.llm import tiny_model as tiny
from tests.llm.asked_model import LABELS, TASKS, do, opened

# ---------------------------------------------------------------------- batches


def written(kind: str, rounds: list[list[str]], tokens: int = 12) -> Iterator[tuple[list[int], list[int]]]:
    """Prompt and reply of rows that join a batch in rounds, two steps apart."""
    tokenizer = tiny.tokenizer()
    writer = Writer(tiny.model(kind), tokenizer)
    writer.ends = []
    loop = asyncio.new_event_loop()
    rows = [
        [
            Row("kind", tokenizer(text)["input_ids"], tokens, 60, None, lambda _: False, loop.create_future())
            for text in texts
        ]
        for texts in rounds
    ]
    for joining in rows:
        writer.step(joining)
        writer.step([])
    while writer.rows:
        writer.step([])
    loop.close()
    for row in (row for joining in rows for row in joining):
        yield row.prompt, row.written


@pytest.mark.parametrize("kind", ["llama", "gemma"])
def test_rows_that_come_and_go_are_written_as_each_alone_by_transformers(kind: str) -> None:
    """Padding, beginnings that were kept, joining and leaving change nothing."""
    import torch

    alike = "这些题目开头都一样：" * 3
    rounds = [
        [alike + "甲"],
        [alike + "乙丙丁", "别的", alike],
        ["x", alike + "乙丙戊己庚辛"],
        [alike + "甲"],
    ]
    model = tiny.model(kind)
    for prompt, reply in written(kind, rounds):
        ids = torch.tensor([prompt])
        alone = model.generate(ids, max_new_tokens=12, do_sample=False, eos_token_id=None)
        assert reply == alone[0, len(prompt) :].tolist()


def test_as_many_at_a_time_as_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    step = generation.Writer.step

    def watched(self: Writer, new: list[Row]) -> list[tuple[Row, End]]:
        sizes.append(len(self.rows) + len(new))
        return step(self, new)

    monkeypatch.setattr(generation.Writer, "step", watched)
    tasks = [ExtractAnswers(question=f"第{n}问", text="李白") for n in range(7)]
    assert len(do(opened(folder, batch=3, constrained=False, max_tokens=5), *tasks)) == 7
    assert max(sizes) == 3


def test_closing_while_replies_are_written_is_quiet(folder: Path) -> None:
    """As after an interrupt: whoever waits is let go, and the loop has nothing to complain of."""
    llm = opened(folder, batch=1, max_tokens=4000)
    complaints: list[dict[str, Any]] = []

    async def close_early() -> list[Any]:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: complaints.append(about))
        asked = [asyncio.create_task(llm.do(task)) for task in TASKS]
        while not llm.options.activity.in_flight:
            await asyncio.sleep(0)
        await llm.close()
        return await asyncio.gather(*asked, return_exceptions=True)

    left = asyncio.run(close_early())
    assert [type(outcome) for outcome in left] == [asyncio.CancelledError] * len(TASKS)
    assert not complaints


# ---------------------------------------------------------------------- temperature


def at(temperature: float | None, folder: Path, repeat: int = 0) -> str:
    """What is written at a temperature of the task, without a schema that would say most of it."""
    llm = opened(folder, Options(repeat=repeat), constrained=False, max_tokens=40)
    (reply,) = do(llm, ExtractAnswers(question="谁？", text="李白", temperature=temperature))
    return reply.raw


def test_a_task_with_a_temperature_is_drawn_and_always_the_same(folder: Path) -> None:
    assert at(2.0, folder) == at(2.0, folder)
    assert len({at(None, folder), at(2.0, folder), at(1.9, folder), at(2.0, folder, repeat=1)}) == 4


def test_a_temperature_of_nothing_is_greedy_and_so_is_almost_nothing(folder: Path) -> None:
    assert at(None, folder) == at(0.0, folder) == at(1e-9, folder)


def test_tokens_are_drawn_as_often_as_they_are_likely_and_never_if_ruled_out() -> None:
    import torch

    logits = torch.log(torch.tensor([0.6, 0.0, 0.3, 0.1]))
    for temperature, shares in ((1.0, [0.6, 0.0, 0.3, 0.1]), (0.5, [0.783, 0.0, 0.196, 0.022])):
        draw = Draw.at(temperature, "seed")
        drawn = [draw.token(logits) for _ in range(4000)]
        assert [drawn.count(token) / 4000 for token in range(4)] == pytest.approx(shares, abs=0.03)
        assert 1 not in drawn


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_what_is_drawn_keeps_to_the_schema(task: Task[Any], folder: Path) -> None:
    (reply,) = do(opened(folder, max_tokens=3000), task.model_copy(update={"temperature": 1.5}))
    assert (reply.status, reply.value) == ("ok", task.Output.model_validate_json(reply.raw))


def test_replies_of_different_temperatures_are_kept_apart(folder: Path, tmp_path: Path) -> None:
    kept = Options(cache=tmp_path / "replies.sqlite")
    tasks = [TASKS[3].model_copy(update={"temperature": one}) for one in (None, 1.5)]
    first = do(opened(folder, kept), *tasks)
    again = do(opened(folder, kept), *tasks, TASKS[3].model_copy(update={"temperature": 0.0}))
    assert [reply.cached for reply in first] == [False, False]
    assert [reply.cached for reply in again] == [True, True, True]
    assert [reply.raw for reply in again] == [first[0].raw, first[1].raw, first[0].raw]


# ---------------------------------------------------------------------- constraint


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
@pytest.mark.parametrize("chat", [None, tiny.CHAT], ids=["plain", "chat"])
def test_even_a_random_model_keeps_to_the_schema(task: Task[Any], chat: str | None, tmp_path: Path) -> None:
    (reply,) = do(opened(tiny.save(tmp_path, chat), max_tokens=3000), task)
    assert reply.status == "ok"
    assert reply.value == task.Output.model_validate_json(reply.raw)
    assert 0 < reply.usage.tokens_out < 3000
    if isinstance(task, ExtractConstraints):
        labels = [reply.value.target_element, *(label for a in reply.value.anchors for label in a.elements)]
        assert set(labels) <= set(LABELS)


def test_without_constraint_it_may_write_anything(folder: Path) -> None:
    (reply,) = do(opened(folder, constrained=False, max_tokens=20), TASKS[3])
    assert (reply.status, reply.usage.tokens_out) == ("unparsed", 20)
    assert "cut off after 20 tokens" in str(reply.error)


def test_bounds_are_for_what_has_none() -> None:
    schema = bounded(TASKS[0].output_schema(), 400)
    anchors = schema["properties"]["anchors"]
    assert anchors["maxItems"] == ITEMS
    assert anchors["items"]["properties"]["elements"]["items"] == {"type": "string", "enum": list(LABELS)}


def test_every_choice_is_bounded() -> None:
    schema = {
        "anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}, {"type": "null"}]
    }
    numbers, text, nothing = bounded(schema, 400)["anyOf"]
    assert (numbers["maxItems"], numbers["items"]["maximum"]) == (ITEMS, NUMBER)
    assert (text["maxLength"], nothing) == (400 // PROSE, {"type": "null"})


@pytest.mark.parametrize("part", [{"type": "array"}, {"$ref": "#/$defs/Thing"}, {}])
def test_what_has_no_bounds_is_named(part: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot be bounded") as error:
        bounded({"type": "object", "properties": {"field": part}}, 400)
    assert str(part) in str(error.value)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_examples_are_what_is_asked_for(task: Task[Any], language: Language) -> None:
    shown = prompting.examples(task, language)
    assert shown
    for example, output in shown:
        assert type(example) is type(task)
        assert read(example, prompting.written(output)).value == output
        if isinstance(example, ExtractConstraints) and isinstance(output, Constraints):
            labels = {output.target_element, *(label for a in output.anchors for label in a.elements)}
            assert labels <= {note.label for note in example.elements}
            assert all(anchor.mention in example.question for anchor in output.anchors)


def test_a_chat_template_without_system_messages_is_asked_with_one_message() -> None:
    refusing = "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}" + tiny.CHAT
    tokenizer = tiny.tokenizer(refusing)
    prompt = prompting.messages(TASKS[3], "zh", chat=True)
    text = tokenizer.decode(prompting.encode(tokenizer, prompt, "zh"))
    assert text == f"<user>{prompt[0]['content']}\n\n{prompt[1]['content']}<assistant>"


# ---------------------------------------------------------------------- accounts


def test_a_reply_is_counted_and_kept(folder: Path, tmp_path: Path) -> None:
    options = Options(cache=tmp_path / "replies.sqlite")
    (first,) = do(opened(folder, options, max_tokens=3000), TASKS[3])
    (again,) = do(opened(folder, options, max_tokens=3000), TASKS[3])
    assert (again.value, again.raw, again.cached) == (first.value, first.raw, True)
    assert (first.usage.attempts, first.usage.cached, first.usage.cost) == (1, 0, 0)
    assert (again.usage.attempts, again.usage.cached, again.usage.tokens_out) == (
        0,
        1,
        first.usage.tokens_out,
    )
    (other,) = do(opened(folder, options, max_tokens=2999), TASKS[3])
    assert not other.cached


@pytest.mark.parametrize("limits", [Limits(calls=2), Limits(tokens=2 * 1300)])
def test_the_budget_holds(folder: Path, limits: Limits) -> None:
    llm = opened(folder, Options(limits=limits), max_tokens=40)
    tasks = [ExtractAnswers(question=f"第{n}问", text="李白") for n in range(4)]
    replies = do(llm, *tasks)
    assert [reply.status for reply in replies].count("skipped") == 2
    assert sum(reply.usage.tokens_in + reply.usage.tokens_out for reply in replies) <= 2 * 1300
    assert llm.options.activity.skipped == 2


def test_a_reply_that_takes_too_long_ends_alone(folder: Path) -> None:
    (reply,) = do(opened(folder, timeout=1e-6), TASKS[2])
    assert (reply.status, reply.value) == ("timeout", None)


def test_one_that_nobody_waits_for_any_more_makes_room(folder: Path) -> None:
    llm = opened(folder, batch=1, max_tokens=4000)

    async def leave_and_ask_again() -> Reply[Any]:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(llm.do(TASKS[2]), 0.2)
        llm.settings = llm.settings.model_copy(update={"max_tokens": 5})
        reply = await llm.do(TASKS[3])
        await llm.close()
        return reply

    assert asyncio.run(leave_and_ask_again()).usage.tokens_out < 20


def test_one_that_nobody_waits_for_is_not_begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    begin = Row.begin

    def watched(row: Row) -> None:
        begun.append(row.kind)
        begin(row)

    monkeypatch.setattr(Row, "begin", watched)
    llm = opened(folder, batch=1, max_tokens=20, constrained=False)

    async def leave_while_waiting() -> None:
        first, second, third = (asyncio.create_task(llm.do(task)) for task in TASKS[1:])
        while llm.options.activity.in_flight < 3:
            await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(first, third)
        await llm.close()

    asyncio.run(leave_while_waiting())
    assert begun == [TASKS[1].id, TASKS[3].id]


def test_a_prompt_longer_than_the_model_reads_is_an_error(folder: Path) -> None:
    (reply,) = do(opened(folder), ExtractAnswers(question="谁？", text="甲" * 3000))
    assert reply.status == "error"
    assert "more than the 8,192" in str(reply.error)


def test_memory_that_runs_out_ends_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out(*_: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr(generation.Writer, "step", run_out)
    with pytest.raises(LLMError, match="not enough memory") as error:
        do(opened(folder), *TASKS)
    assert "batch=1" in error.value.fix


def test_what_replies_depend_on_is_described_and_dry_loads_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = opened(folder).describe()
    monkeypatch.setattr(weights, "load", lambda *_: pytest.fail("a model was loaded"))
    dry = opened(folder, Options(dry=True))
    assert dry.describe() == whole
    assert dry.name == "local/tiny"
    assert dry.estimate(TASKS[2]).tokens_out == AnswerClosedBook.max_tokens
    assert {"model", "revision", "quantisation", "parameters"} <= whole.keys()


# ---------------------------------------------------------------------- the bundled model


@pytest.mark.slow
def test_the_bundled_model_answers_without_network() -> None:
    """Converted in the user's cache, where a later run of the tests finds it."""
    llm = open_local("", None, Options(settings={"max_tokens": "64"}))
    (reply,) = do(llm, AnswerClosedBook(question="法国的首都是哪座城市？"))
    assert llm.name == "local/gemma-3-270m-q4_k_m"
    assert (reply.status, reply.value.reasoning) == ("ok", "")
    assert 0 < reply.usage.tokens_out <= 64
