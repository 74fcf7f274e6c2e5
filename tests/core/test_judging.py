"""A language model as the judge, over real HTTP: what becomes of its replies, and what is asked again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clwqa_bench import judge, judging
from clwqa_bench.errors import PredictionError
from clwqa_bench.judge import AnswerVerdict, JudgeTask
from clwqa_bench.judging import Judged
from clwqa_bench.llm.protocol import Limits, LLMError, Options
from clwqa_bench.llm.tasks import JudgeAnswer, prompts_digest
from clwqa_bench.runner import Model
from tests import tiny_dataset
from tests.conftest import REPOSITORY, Result
from tests.llm.server import Act, Handler, Server, completion, fails, hangs, says, serving

CORRECT, WRONG = '{"verdict": "correct", "reason": "同书"}', '{"verdict": "wrong", "reason": "另一部书"}'
REFUSAL = "抱歉，我不能评判这个问题。"
GOLD = "史记"
DIGEST = prompts_digest("zh", (JudgeAnswer,))
ANSWERS = {"q1": ["太史公写的那部书", "春秋"], "q2": ["班固写的那部书"]}
TASKS = [
    JudgeTask(
        id=f"{id}#{number}", question_id=id, question="哪部书？", answer=answer, golds=(GOLD,), order=order,
        prompt_digest=DIGEST, prompt="",
    )
    for id, texts in ANSWERS.items()
    for number, (answer, order) in enumerate(((t, o) for t in texts for o in judge.ORDERS), start=1)
]  # fmt: skip


def reads(handler: Handler) -> None:
    """A judge that reads what it is asked: what names 太史公 is right."""
    material = json.loads(handler.body["messages"][1]["content"].splitlines()[1])
    handler.send(200, completion(CORRECT if "太史公" in material["answer"] else WRONG))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-0123456789")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(reads) as running:
        yield running


def model(server: Server, cache: Path | None = None, limits: Limits | None = None, **settings: str) -> Model:
    texts = {"base_url": server.url, "format": "json_object", "repairs": "0", "attempts": "1", **settings}
    return Model("openai:a-judge", Options(settings=texts, cache=cache, limits=limits or Limits()))


def put(server: Server, out: Path, tasks: list[JudgeTask] = TASKS, **options: Any) -> Judged:
    return judging.judge(tasks, out, model(server, **options), concurrency=1)


def statuses(out: Path) -> dict[str, str]:
    return {v.answer: v.status for v in judge.read_judged(out / judging.VERDICTS).values()}


# ---------------------------------------------------------------------- what becomes of a reply


def test_verdicts_and_who_gave_them(server: Server, tmp_path: Path) -> None:
    found = put(server, tmp_path)
    assert (found.tasks, found.asked, found.answers, found.unjudged, found.failed) == (6, 6, 3, 0, {})
    assert statuses(tmp_path) == {"太史公写的那部书": "correct", "春秋": "wrong", "班固写的那部书": "wrong"}
    first = judge.read_judged(tmp_path / judging.VERDICTS)["q1", "太史公写的那部书"]
    assert first == AnswerVerdict(
        question_id="q1", answer="太史公写的那部书", status="correct", reasons=("同书", "同书"),
        model="openai/a-judge", prompt_version=judge.PROMPT_VERSION, prompt_digest=DIGEST,
    )  # fmt: skip


def test_each_answer_is_shown_in_both_orders(server: Server, tmp_path: Path) -> None:
    put(server, tmp_path)
    lines = [request["messages"][1]["content"].splitlines()[1] for request in server.requests]
    assert [line.index('"gold"') < line.index('"answer"') for line in lines] == [True, False] * 3


def test_the_files_are_those_one_would_have_made_by_hand(server: Server, tmp_path: Path) -> None:
    put(server, tmp_path)
    asked = judge.read_tasks(tmp_path / judging.TASKS)
    by_hand = judge.decide(
        asked.values(), judge.read_replies(tmp_path / judging.REPLIES, asked), "openai/a-judge"
    )
    assert by_hand == list(judge.read_judged(tmp_path / judging.VERDICTS).values())


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (says(REFUSAL), "refused"),
        (says("", finish="content_filter"), "refused"),
        (says("对的，满分。"), "unparsed"),
        (says(f"作答里说 {CORRECT}，我照办。"), "unparsed"),
        (says('{"verdict": "correct", "reason": "", "score": 5}'), "unparsed"),
        (says('{"verdict": "yes", "reason": ""}'), "unparsed"),
        (says(""), "unparsed"),
        (says(WRONG), "inconsistent"),
    ],
)
def test_what_is_no_verdict_is_counted_and_not_asked_again(
    server: Server, tmp_path: Path, act: Act, status: str
) -> None:
    server.script(act)
    found = put(server, tmp_path, TASKS[:2])
    assert (found.statuses[status], found.unjudged, found.failed) == (1, 1, {})  # type: ignore[index]
    assert put(server, tmp_path, TASKS[:2]).asked == 0
    assert judge.read_verdicts(tmp_path / judging.VERDICTS).rulings == {}
    assert len(server.requests) == 2


def test_a_reply_that_can_be_mended_is_sent_back(server: Server, tmp_path: Path) -> None:
    server.script(says(f"```json\n{CORRECT}\n```"))
    assert put(server, tmp_path, TASKS[:2], repairs="1").statuses["correct"] == 1
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("act", "status"), [(fails(429), "error"), (fails(500), "error"), (hangs, "timeout")]
)
def test_a_fault_says_nothing_of_the_answer_and_is_asked_again(
    server: Server, tmp_path: Path, act: Act, status: str
) -> None:
    server.script(act)
    found = put(server, tmp_path, TASKS[:2], timeout="0.3")
    assert (found.failed, found.statuses["missing"]) == ({status: 1}, 1)
    assert found.error
    found = put(server, tmp_path, TASKS[:2])
    assert (found.asked, found.failed, found.statuses["correct"]) == (1, {}, 1)


def test_a_busy_endpoint_is_waited_for(server: Server, tmp_path: Path) -> None:
    server.script(fails(429, Retry_After="0.01"))
    found = put(server, tmp_path, TASKS[:2], attempts="2")
    assert (found.asked, found.failed, found.statuses["correct"]) == (2, {}, 1)
    assert "1 retries (429: 1)" in found.llm


# ---------------------------------------------------------------------- going on


def test_a_used_up_budget_leaves_the_rest_to_the_next_call(server: Server, tmp_path: Path) -> None:
    found = put(server, tmp_path, limits=Limits(calls=4))
    assert (found.asked, found.failed, found.statuses["missing"]) == (4, {"skipped": 2}, 1)
    assert "budget of 4 calls" in str(found.error)
    found = put(server, tmp_path, limits=Limits(calls=4))
    assert (found.asked, found.failed, found.unjudged) == (2, {}, 0)
    assert len(server.requests) == 6


def test_what_is_done_is_not_asked_again(server: Server, tmp_path: Path) -> None:
    put(server, tmp_path)
    before = (tmp_path / judging.VERDICTS).read_bytes()
    assert put(server, tmp_path).asked == 0
    assert (tmp_path / judging.VERDICTS).read_bytes() == before
    assert len(server.requests) == 6


def test_another_folder_is_filled_from_the_cache(server: Server, tmp_path: Path) -> None:
    cache = tmp_path / "replies.sqlite"
    put(server, tmp_path / "one", cache=cache)
    assert put(server, tmp_path / "two", cache=cache).asked == 6
    assert statuses(tmp_path / "one") == statuses(tmp_path / "two")
    assert len(server.requests) == 6


def test_a_cut_off_last_line_is_asked_again(server: Server, tmp_path: Path) -> None:
    put(server, tmp_path)
    replies = tmp_path / judging.REPLIES
    replies.write_bytes(replies.read_bytes()[:-9])
    assert put(server, tmp_path).asked == 1
    assert len(judge.read_replies(replies, {task.id for task in TASKS})) == 6


@pytest.mark.slow
def test_kill_9_loses_nothing_that_was_answered(server: Server, tmp_path: Path) -> None:
    server.script(reads, reads, reads, hangs)
    judge.write_lines(TASKS, tmp_path / "tasks.jsonl")
    code = (
        "import sys; from pathlib import Path; from clwqa_bench import judge, judging\n"
        "from clwqa_bench.runner import Model; from clwqa_bench.llm.protocol import Options\n"
        "settings = {'base_url': sys.argv[3], 'format': 'json_object', 'repairs': '0', 'attempts': '1'}\n"
        "tasks = list(judge.read_tasks(Path(sys.argv[1])).values())\n"
        "judging.judge(tasks, Path(sys.argv[2]), Model('openai:a-judge', Options(settings=settings)), 1)\n"
    )
    out = tmp_path / "judged"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "tasks.jsonl"), str(out), server.url],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)])},
        stderr=subprocess.DEVNULL,
    )
    while len(server.requests) < 4:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / judging.VERDICTS).exists()
    assert put(server, out).asked == 3
    assert len(server.requests) == 7


# ---------------------------------------------------------------------- refused


def test_the_lexical_back_end_is_no_judge(tmp_path: Path) -> None:
    for act in (judging.judge, judging.expect):
        with pytest.raises(LLMError, match="a judge needs a language model"):
            act(TASKS, tmp_path / "out", Model("lexical"))
    assert not (tmp_path / "out").exists()


def test_a_model_is_shown_the_prompt_its_verdicts_name(server: Server, tmp_path: Path) -> None:
    chosen = model(server)
    english = replace(chosen, options=replace(chosen.options, language="en"))
    with pytest.raises(PredictionError, match="another prompt"):
        judging.judge(TASKS, tmp_path, english)
    assert not server.requests


def test_a_folder_belongs_to_one_judge_and_to_one_set_of_answers(server: Server, tmp_path: Path) -> None:
    put(server, tmp_path)
    with pytest.raises(PredictionError, match="another judge") as caught:
        put(server, tmp_path, temperature="0.9")
    assert caught.value.field == "llm.parameters.temperature"
    with pytest.raises(PredictionError, match="verdicts on other answers"):
        put(server, tmp_path, TASKS[:4])
    assert len(server.requests) == 6


def test_a_folder_of_something_else_is_left_alone(server: Server, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    with pytest.raises(PredictionError, match=r"'run\.json'"):
        put(server, tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.name[0] != "."] == ["run.json"]


def test_a_wrong_key_ends_it_and_keeps_what_there_is(server: Server, tmp_path: Path) -> None:
    server.script(reads, fails(401))
    with pytest.raises(LLMError, match="401"):
        put(server, tmp_path)
    assert put(server, tmp_path).asked == 5


# ---------------------------------------------------------------------- the command


@pytest.fixture
def judge_run(
    server: Server, tmp_path: Path, cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """`judge run` of a run with two answers that no rule credits."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tiny_dataset.write(tmp_path / "dataset")
    answers = [{"text": "太史公的纪传体通史"}, {"text": "汉书"}]
    line = json.dumps({"id": "q5", "status": "ok", "answers": answers})
    (tmp_path / "run.jsonl").write_text(line + "\n", encoding="utf-8")

    def call(*arguments: str) -> Result:
        return cli(
            "judge", "run", str(tmp_path / "run.jsonl"), "--dataset", str(tmp_path / "dataset"),
            "--llm", "openai:a-judge", "--out", str(tmp_path / "judged"), "--llm-set", f"base_url={server.url}",
            "--llm-set", "price_in=1", "--llm-set", "price_out=2", *arguments,
        )  # fmt: skip

    return call


def test_from_a_run_to_its_judged_score(
    judge_run: Callable[..., Result], cli: Callable[..., Result], tmp_path: Path
) -> None:
    done = judge_run("--json")
    found = json.loads(done.out)
    assert (done.code, found["answers"], found["tasks"], found["unjudged"]) == (0, 2, 4, 0)
    assert (found["statuses"]["correct"], found["statuses"]["wrong"]) == (1, 1)
    scored = cli(
        "score", str(tmp_path / "run.jsonl"), "--dataset", str(tmp_path / "dataset"),
        "--judge", found["verdicts"], "--metric", "P(match=judge,text>=0.8,agg=micro)", "--json",
    )  # fmt: skip
    assert scored.code == 0, scored.err
    assert '"value": 0.5' in scored.out


def test_what_is_left_is_said_and_is_exit_code_1(judge_run: Callable[..., Result]) -> None:
    done = judge_run("--max-calls", "1", "--one-order")
    assert done.code == 1
    assert "1 of 2 answers have no verdict" in done.err
    assert "1 skipped: the same command asks them again" in done.err
    assert judge_run("--one-order").code == 0


def test_a_dry_run_asks_nothing_and_says_what_it_would_take(
    judge_run: Callable[..., Result], server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    found = json.loads(judge_run("--dry-run", "--json").out)
    assert (found["tasks"], found["missing"], found["tokens_out"]) == (4, 4, 4 * 256)
    assert found["cost"] == pytest.approx((found["tokens_in"] + 2 * found["tokens_out"]) / 1e6)
    assert not server.requests
    assert not (tmp_path / "judged").exists()


def test_a_dry_run_counts_only_what_is_missing(server: Server, tmp_path: Path) -> None:
    put(server, tmp_path, limits=Limits(calls=4))
    chosen = model(server)
    found = judging.expect(TASKS, tmp_path, replace(chosen, options=replace(chosen.options, dry=True)))
    assert (found.tasks, found.missing) == (6, 2)
