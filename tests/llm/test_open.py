"""Opening a language model by its name: this package's own and others', and what is said of one that is not there."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from clwqa_bench import judging, llm
from clwqa_bench.judge import JudgeTask
from clwqa_bench.llm import open_llm
from clwqa_bench.llm.protocol import Limits, LLMError, Options
from clwqa_bench.llm.tasks import Answers, JudgeAnswer, prompts_digest
from clwqa_bench.registry import PluginError, Registry
from clwqa_bench.runner import Model
from tests.conftest import REPOSITORY
from tests.llm.play import TASK

GROUP = "clwqa_bench.llms"
OURS = {
    "lexical": "clwqa_bench.llm.lexical:open_lexical",
    "local": "clwqa_bench.llm.local.backend:open_local",
    "openai": "clwqa_bench.llm.openai:open_openai",
}
PAGE = (REPOSITORY / "docs" / "extend" / "llm.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first block of the page in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def registry(install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install back-ends, ours among them: `registry({"parrot": "parrot:open"}, {"parrot.py": ...})`."""

    def add(entries: dict[str, str], files: dict[str, str]) -> None:
        lines = "\n".join(f"{name} = {value}" for name, value in (OURS | entries).items())
        install("madeup-llms", "1.0", files, f"[{GROUP}]\n{lines}\n")
        monkeypatch.setattr(llm, "LLMS", Registry(GROUP, "language model"))

    return add


@pytest.fixture
def program(registry: Callable[..., None]) -> None:
    """The worked example of the page, installed as the page says."""
    entries = tomllib.loads(block("toml"))["project"]["entry-points"][GROUP]
    registry(entries, {"program_llm.py": block("python")})


def test_our_own_are_found_like_all_others(registry: Callable[..., None]) -> None:
    registry({}, {})
    assert all(callable(llm.LLMS.load(name)) for name in OURS)
    assert open_llm("lexical", options=Options(dry=True)).name == "none/lexical"
    assert open_llm("openai:glm-4-flash", options=Options(dry=True)).name == "openai/glm-4-flash"


@pytest.mark.parametrize(
    ("spec", "fix"),
    [("lexicl", "did you mean 'lexical'"), ("", "lexical, local, openai"), ("gpt-9", "openai")],
)
def test_an_unknown_one_is_an_error_that_names_the_known(
    registry: Callable[..., None], spec: str, fix: str
) -> None:
    registry({}, {})
    with pytest.raises(PluginError, match="there is no language model") as error:
        open_llm(spec)
    assert fix in error.value.fix


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import madeup_dependency", "cannot be loaded: ModuleNotFoundError"),
        ("opens = 1", "is not a function"),
    ],
)
def test_one_that_is_broken_is_named(registry: Callable[..., None], code: str, what: str) -> None:
    registry({"broken": "madeup_broken:opens"}, {"madeup_broken.py": code})
    with pytest.raises(PluginError, match=f"language model 'broken'.* {what}"):
        open_llm("broken:x")
    assert open_llm("openai:glm-4-flash", options=Options(dry=True))


# --- the worked example -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("program")
def test_the_program_of_the_page_does_tasks() -> None:
    parrot = open_llm("""program:echo '{"answers": ["李白"]}'""", options=Options(limits=Limits(calls=1)))
    first, second = asyncio.run(parrot.do(TASK)), asyncio.run(parrot.do(TASK))
    assert (first.status, first.value) == ("ok", Answers(answers=("李白",)))
    assert (second.status, second.error) == ("skipped", "the budget of 1 calls does not allow another call")
    with pytest.raises(LLMError, match="no program is named"):
        open_llm("program")


@pytest.mark.usefixtures("program")
def test_the_program_of_the_page_may_be_a_judge(tmp_path: Path) -> None:
    task = JudgeTask(
        id="q#1", question_id="q", question="？", answer="春秋", golds=("史记",), order="gold-first", prompt="",
        prompt_digest=prompts_digest("zh", (JudgeAnswer,)),
    )  # fmt: skip
    model = Model("""program:echo '{"verdict": "wrong", "reason": "另一部书"}'""")
    found = judging.judge([task], tmp_path / "judged", model)
    assert (found.statuses["wrong"], found.unjudged) == (1, 0)
