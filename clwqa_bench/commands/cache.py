"""Look into the cache of replies: what is in it, why a request is or is not answered from it, and empty it.

Example: clwqa-bench cache stats
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, cast

import orjson
import typer
from pydantic import ValidationError
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from clwqa_bench.commands.common import DATASET, DatasetOption, JsonOption
from clwqa_bench.console import emit
from clwqa_bench.errors import ClwqaError
from clwqa_bench.llm.cache import ReplyCache, default_path
from clwqa_bench.records import Split

app = typer.Typer(no_args_is_help=True, help=__doc__)

CacheOption = Annotated[
    Path | None, typer.Option("--cache", help="The cache file; by default the one that runs use.")
]


class CacheError(ClwqaError):
    """A cache, or a question about it, that does not make sense."""


@app.command()
def stats(cache: CacheOption = None, json: JsonOption = False) -> None:
    """Count the replies kept and the tokens they took, by task and model.

    Example: clwqa-bench cache stats --json
    """
    path = _existing(cache)
    with ReplyCache(path) as replies:
        found = {"file": str(path), "bytes": path.stat().st_size, "replies": replies.stats()}
    emit(found, json, _draw_stats)


@app.command()
def clear(
    cache: CacheOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: JsonOption = False,
) -> None:
    """Forget all replies; they cost money, so you are asked first.

    Example: clwqa-bench cache clear --yes
    """
    path = _existing(cache)
    if not yes:
        typer.confirm(f"Forget all replies in {path}?", abort=True, err=True)
    with ReplyCache(path) as replies:
        found = {"file": str(path), "forgotten": replies.clear()}
    emit(found, json, lambda data: Text(f"{data['forgotten']:,} replies forgotten"))


@app.command()
def explain(
    request: Annotated[
        Path | None,
        typer.Argument(metavar="REQUEST", help='A JSON file {"task": ID, "input": {...}, "llm": {...}}.'),
    ] = None,
    run: Annotated[
        Path | None, typer.Option(help="A run folder, whose model and settings are meant.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="A question of the run.")] = None,
    dataset: DatasetOption = DATASET,
    cache: CacheOption = None,
    json: JsonOption = False,
) -> None:
    """Say whether a request would be answered from the cache, and if not, which part of its key is different.

    "llm" is what `run.json` says under `config.llm`. With --run and --id, every task that any run has asked about
    the question is looked at as that run would ask it.

    Example: clwqa-bench cache explain --run runs/ceaf-glm --id q-000123
    """
    path = _existing(cache)
    with ReplyCache(path) as replies:
        if request is not None and run is None and id is None:
            asked = [_read(request)]
        elif request is None and run is not None and id is not None:
            llm, question = _of_run(run, id, dataset)
            asked = [{**kept, "llm": llm} for kept in replies.inputs(question)]
        else:
            raise typer.BadParameter("give a REQUEST file, or both --run and --id")
        found = [_explain(replies, item) for item in asked]
    emit(found, json, _draw_explanations)


# ---------------------------------------------------------------------- what is asked


def _existing(cache: Path | None) -> Path:
    path = cache or default_path()
    if not path.is_file():
        raise CacheError("there is no cache of replies", fix="run a system with --llm first", file=path)
    return path


def _read(path: Path) -> dict[str, Any]:
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise CacheError(f"the request cannot be read: {error}", fix="give a JSON file", file=path) from None
    if not isinstance(found, dict) or not {"task", "input", "llm"} <= found.keys():
        fix = 'write {"task": ID, "input": {...}, "llm": {...}}'
        raise CacheError("the request lacks task, input or llm", fix=fix, file=path)
    return found


def _of_run(run: Path, id: str, dataset: Path) -> tuple[dict[str, Any], str]:
    """The model of a run, as its manifest describes it, and the text of one of its questions."""
    from clwqa_bench.dataset import Dataset
    from clwqa_bench.runs import read_run

    manifest = read_run(run).manifest
    llm = manifest.config.get("llm") if manifest else None
    if manifest is None or not isinstance(llm, dict) or llm.get("backend") not in ("openai", "local"):
        raise CacheError(
            "this run has asked no model", fix="name a run made with --llm openai:... or local", file=run
        )
    split = cast(Split, manifest.dataset.split)
    for question in Dataset.open(dataset, verify=False).view(split):
        if question.id == id:
            return llm, question.text
    raise CacheError(f"there is no question {id!r} in {split}", fix="use an id of the run", field="id")


def _explain(replies: ReplyCache, asked: dict[str, Any]) -> dict[str, Any]:
    """Explain one request, given as `{"task", "input", "llm"}`."""
    from clwqa_bench.llm.presets import FORMATS
    from clwqa_bench.llm.talk import request_of
    from clwqa_bench.llm.tasks import TASKS, JudgeAnswer, Task, render

    llm = asked["llm"]
    every: tuple[type[Task[Any]], ...] = (*TASKS, JudgeAnswer)
    kinds = {task.id: task for task in every}
    try:
        task = kinds[asked["task"]].model_validate(asked["input"])
        format = llm["format"]
        if format == "auto":
            format = replies.format(llm["endpoint"], llm["model"]) or FORMATS[0]
        request = request_of(task, render(task, llm["language"]), llm, llm["repeat"], format)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise CacheError(
            f"the input does not fit the task: {first['msg']}", fix="see the task", field=field
        ) from None
    except KeyError as error:
        known = f"tasks are {', '.join(kinds)}; llm is as `config.llm` in run.json"
        raise CacheError(f"the request has no or an unknown {error}", fix=known) from None
    return {"task": asked["task"], **asdict(replies.explain(request))}


# ---------------------------------------------------------------------- drawing


def _draw_stats(found: dict[str, Any]) -> RenderableType:
    table = Table(title=f"{found['file']}, {found['bytes']:,} bytes", title_justify="left", box=None)
    for name in ("task", "model", "endpoint"):
        table.add_column(name)
    for name in ("replies", "tokens in", "tokens out", "last"):
        table.add_column(name, justify="right")
    for row in found["replies"]:
        counts = (f"{row[name]:,}" for name in ("replies", "tokens_in", "tokens_out"))
        table.add_row(row["task"], row["model"], row["endpoint"], *counts, row["last"])
    return table


def _draw_explanations(found: list[dict[str, Any]]) -> RenderableType:
    if not found:
        return Text("nothing about this question is kept: every task would be asked")
    return Text("\n").join(_draw_explanation(one) for one in found)


def _draw_explanation(one: dict[str, Any]) -> Text:
    text = Text(f"{one['task']}: ", "bold")
    if one["hit"]:
        return text.append(f"hit, kept since {one['created']}\nkey {one['key']}", "green")
    text.append(f"miss\nkey {one['key']}", "yellow")
    if one["nearest"] is None:
        return text.append("\nno reply to this task is kept", "not bold")
    text.append(f"\nnearest {one['nearest']}, kept since {one['created']}, differs in", "not bold")
    for difference in one["differs"]:
        asked, stored = _first_difference(difference["asked"], difference["stored"])
        text.append(f"\n  {difference['field']}: {asked} (kept: {stored})", "not bold")
    return text


def _first_difference(asked: Any, stored: Any, around: int = 30) -> tuple[str, str]:
    """Two values as text, cut to where they begin to differ."""
    one, other = (orjson.dumps(value).decode() for value in (asked, stored))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    begin = max(0, same - around)
    return _cut(one, begin, same + around), _cut(other, begin, same + around)


def _cut(text: str, begin: int, end: int) -> str:
    return ("…" if begin else "") + text[begin:end] + ("…" if end < len(text) else "")
