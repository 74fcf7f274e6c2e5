"""List the systems that are installed, and say what one does and can be set to.

Example: clwqa-bench systems info kg-lookup
"""

from __future__ import annotations

import inspect
import sys
from importlib import resources
from typing import Annotated, Any

import orjson
import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clwqa_bench.commands.common import JsonOption
from clwqa_bench.console import emit
from clwqa_bench.registry import SYSTEMS
from clwqa_bench.systems import System, system_class

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command("list")
def list_systems(json: JsonOption = False) -> None:
    """List the systems that are installed; none of them is loaded.

    Example: clwqa-bench systems list
    """
    summaries = {name: SYSTEMS.summary(name) for name in SYSTEMS.names()}
    found = [{"name": name, "summary": s.text, "problem": s.problem} for name, s in summaries.items()]
    emit(found, json, _draw_list)


@app.command()
def info(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="A name from `systems list`.")],
    json: JsonOption = False,
) -> None:
    """Say what a system does and which settings it has.

    Example: clwqa-bench systems info kg-lookup
    """
    emit(describe(system_class(system)), json, _draw_system)


def describe(kind: type[System]) -> dict[str, Any]:
    """A system's description, version, settings, whether it asks a language model, and the stages that it replaces
    (`oracle`) or lets be replaced (`oracles`) by gold.
    """
    properties = kind.Config.model_json_schema().get("properties", {})
    settings = [
        {
            "name": name,
            "default": field.get_default(call_default_factory=True),
            "description": field.description or "",
            **{k: v for k, v in properties[name].items() if k not in ("title", "default", "description")},
        }
        for name, field in kind.Config.model_fields.items()
    ]
    module = inspect.getdoc(inspect.getmodule(kind)) or ""
    return {
        "name": kind.name,
        "summary": module.partition("\n")[0],
        "description": inspect.getdoc(kind) or "",
        "version": kind.version,
        "uses_llm": kind.uses_llm,
        "oracle": list(kind.oracle),
        "oracles": list(kind.oracles),
        "card": kind.card.model_dump(mode="json") if kind.card else None,
        "measured": measured(kind),
        "settings": settings,
    }


def measured(kind: type[System]) -> dict[str, Any] | None:
    """What a question took when its authors measured it: `measured.json` of the package it comes with."""
    package = sys.modules[kind.__module__.partition(".")[0]]
    if not hasattr(package, "__path__"):
        return None
    file = resources.files(package) / "measured.json"
    return orjson.loads(file.read_bytes()).get(kind.name) if file.is_file() else None


def _draw_list(found: list[dict[str, Any]]) -> RenderableType:
    if not found:
        return Text("no system is installed")
    table = Table.grid(padding=(0, 2))
    for system in found:
        text = f"(broken: {system['problem']})" if system["problem"] else system["summary"]
        table.add_row(Text(system["name"], "bold"), Text(text))
    return table


def _draw_system(found: dict[str, Any]) -> RenderableType:
    lines = [
        Text(f"{found['name']} {found['version']}", "bold"),
        Text(found["summary"]),
        Text(found["description"]),
    ]
    if found["oracle"]:
        lines.append(Text(f"sees gold ({', '.join(found['oracle'])}): never on a board", "yellow"))
    if found["uses_llm"]:
        lines.append(
            Text("asks a language model: --llm lexical, openai:PRESET_OR_MODEL, local or local:FILE_OR_NAME")
        )
    if found["oracles"]:
        lines.append(Text(f"can take from the gold: {', '.join(f'--oracle {o}' for o in found['oracles'])}"))
    if found["measured"]:
        lines.append(
            Text(
                "took {calls:.1f} calls and {seconds:.4f} s per question "
                "({backbone}, {questions:,} questions of {dataset})".format(**found["measured"])
            )
        )
    settings = Table.grid(padding=(0, 2))
    for setting in found["settings"]:
        settings.add_row(Text(f"--set {setting['name']}={setting['default']}"), Text(setting["description"]))
    return Group(*lines, _draw_card(found["card"]), settings) if found["card"] else Group(*lines, settings)


def _draw_card(card: dict[str, Any]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, told in card.items():
        for text in [told] if isinstance(told, str) else told:
            table.add_row(Text(name, "bold"), Text(text))
            name = ""
    return table
