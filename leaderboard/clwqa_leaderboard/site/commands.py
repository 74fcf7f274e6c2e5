"""The site of the boards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clwqa_bench.commands.common import JsonOption
from clwqa_bench.console import emit, progress
from clwqa_leaderboard.board import SUBMISSIONS
from clwqa_leaderboard.errors import SubmissionError

if TYPE_CHECKING:
    from clwqa_leaderboard.site.folder import Opened


def render(
    out: Annotated[
        Path, typer.Option(metavar="SITE", help="The folder to write; an older site is replaced.")
    ],
    board: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="The folder of a board; may be repeated.  Without it, all boards."),
    ] = None,
    submissions: Annotated[Path, typer.Option(help="The folder of all boards.")] = SUBMISSIONS,
    bundles: Annotated[
        str, typer.Option(metavar="URL", help="Where bundles can be had: URL/BOARD/ENTRY/bundle.zip.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Write boards as a static site: one folder of files that needs no server.

    Example: clwqa-bench leaderboard render --out site
    """
    from clwqa_leaderboard.site.folder import Opened, check_target, find_boards, write_site

    check_target(out)
    if bundles and not bundles.startswith(("https://", "http://")):
        raise SubmissionError("not an address", fix="begin it with https://", field="--bundles")
    folders = list({path.resolve(): path for path in board or find_boards(submissions)}.values())
    if not folders:
        raise SubmissionError(
            "there is no board here", fix="`clwqa-bench leaderboard add` makes one", file=submissions
        )
    opened: list[Opened] = []
    with progress("read boards", len(folders)) as bar:
        for folder in folders:
            opened.append(Opened.read(folder))
            bar.advance()
    size = write_site(opened, out, bundles)
    found = {
        "site": out,
        "boards": [one.board.key for one in opened],
        "entries": sum(len(one.stored) for one in opened),
        "bytes": size,
    }
    emit(found, json, lambda found: f"{out}/index.html, entries: {found['entries']:,}, bytes: {size:,}")
