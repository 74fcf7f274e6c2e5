"""The ``clwqa-bench`` program: the one place where commands from all packages come together.

Commands are entry points.  Listing them reads their source text; only the command that is called is imported,
so ``--help`` is quick and a broken plug-in spoils nothing but itself.

Exit codes: 0 done; 1 a check ran and found errors; 2 bad input, usage or plug-in; 130 interrupted.
With ``--json`` a failing command prints its error as a JSON object on stdout (see ``console.emit_error``).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from clwqa_bench import __version__, console
from clwqa_bench.errors import ClwqaError, ValidationFailed
from clwqa_bench.registry import COMMANDS

SETTINGS = {"help_option_names": ["-h", "--help"]}


class PluginGroup(TyperGroup):
    """A command group whose sub-commands are the entry points of ``clwqa_bench.commands``."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all installed commands."""
        return COMMANDS.names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A stand-in that is good for listing; ``resolve_command`` brings the real one."""
        if cmd_name not in COMMANDS.names():
            return None
        summary = COMMANDS.summary(cmd_name)
        if summary.problem:
            console.warn(f"the command {cmd_name!r} is broken: {summary.problem}")
        return TyperCommand(name=cmd_name, help="(broken)" if summary.problem else summary.text)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that was asked for, and only that one."""
        name, *rest = args
        gc.disable()  # what modules define stays to the end: looking for cycles in it only takes time
        try:
            return name, as_command(name, COMMANDS.load(name)), rest
        finally:
            gc.freeze()  # nor is it looked at later on, when the process ends least of all
            gc.enable()


def as_command(name: str, plugin: Any) -> Any:
    """Turn what an entry point holds (a Typer or a plain function) into a command called ``name``."""
    if isinstance(plugin, typer.Typer):
        command: Any = get_group(plugin)
    else:
        single = typer.Typer(add_completion=False, context_settings=SETTINGS)
        single.command(name)(plugin)
        command = get_command(single)
    command.name = name
    return command


app = typer.Typer(
    cls=PluginGroup, context_settings=SETTINGS, no_args_is_help=True, pretty_exceptions_enable=False
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"clwqa-bench {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Build, look at and check a question-answering benchmark over Chinese culture-loaded words.

    Example: clwqa-bench doctor
    """


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command line (``sys.argv`` by default) and leave with its exit code."""
    console.speak_utf8()
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        app(args, prog_name="clwqa-bench")
        raise SystemExit(0)
    except ClwqaError as error:
        failure, code = error, 1 if isinstance(error, ValidationFailed) else 2
    except OSError as error:
        failure, code = _from_os(error), 2
    console.emit_error(failure, json_mode="--json" in args)
    raise SystemExit(code)


def _from_os(error: OSError) -> ClwqaError:
    return ClwqaError(
        error.strerror or str(error),
        file=error.filename,
        fix="check that the path exists, that you may read or write it, and that the disk is not full",
    )
