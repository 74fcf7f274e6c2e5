"""Have people read what was built, and say what they found.

`export` draws a sample and writes a sheet for every reader, as a spreadsheet and as a page to open in a browser;
`import` takes what they send back; `report` tells rates, agreement and what is disputed.

Example: clwqa-bench review export --n 200 --annotator 甲 --annotator 乙 --out reviews/first
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from clwqa_bench.commands.common import DATASET, JsonOption
from clwqa_bench.console import emit, say, warn
from clwqa_bench.records import Method, Split
from clwqa_builders.review.forms import Kind

app = typer.Typer(no_args_is_help=True, help=__doc__)

FolderArgument = Annotated[Path, typer.Argument(metavar="REVIEW", help="A folder that `export` has written.")]
WHICH, WHO = "What is read", "Who reads"


@app.command()
def export(
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder of its own.")],
    annotator: Annotated[
        list[str], typer.Option(help="Name of a reader; once for each.", rich_help_panel=WHO)
    ],
    overlap: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of the items that all readers read.", rich_help_panel=WHO),
    ] = 0.2,
    dataset: Annotated[Path, typer.Option("--dataset", "-d", help="The dataset folder to read.")] = DATASET,
    what: Annotated[
        Kind, typer.Option(help="Questions, or scoring pairs.", rich_help_panel=WHICH)
    ] = "questions",
    number: Annotated[
        int | None, typer.Option("--n", min=1, help="So many items.", rich_help_panel=WHICH)
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="This share of them; 0.1 if nothing is said.", rich_help_panel=WHICH),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option(help="Exactly those that a file lists, one id per line.", rich_help_panel=WHICH),
    ] = None,
    split: Annotated[Split | None, typer.Option(help="Only this split.", rich_help_panel=WHICH)] = None,
    method: Annotated[
        Method | None, typer.Option(help="Only questions made this way.", rich_help_panel=WHICH)
    ] = None,
    generated: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The questions of a generation (`clwqa-bench generate`) on the dataset's graph.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    disputed: Annotated[
        bool,
        typer.Option(
            "--disputed", help="Only pairs that rules of several bands claim.", rich_help_panel=WHICH
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.", rich_help_panel=WHICH)] = 0,
    json: JsonOption = False,
) -> None:
    """Draw a sample and write a sheet for every reader: CSV, XLSX and a page for the browser.

    The sample is spread over category, hops and way of making in proportion (pairs: over bands and types of node).
    The same command again writes only what is missing, so sheets that are filled in stay.

    Example: clwqa-bench review export --n 200 --annotator 甲 --annotator 乙 --overlap 0.3 --out reviews/first
    """
    from clwqa_builders.review import export as exporting
    from clwqa_builders.review import sheets
    from clwqa_builders.review.folder import SHEETS
    from clwqa_builders.validate.tables import DatasetTables

    if sum(choice is not None for choice in (number, rate, ids)) > 1:
        raise typer.BadParameter("say in one way how many", param_hint="--n, --rate, --ids")
    if what == "pairs" and (generated or method):
        raise typer.BadParameter("is for questions", param_hint="--generated, --method")
    if what == "questions" and disputed:
        raise typer.BadParameter("is for pairs", param_hint="--disputed")
    if not any((number, rate, ids)):
        rate = 0.1
    request = exporting.Request(
        what, annotator, number, rate, ids, split, method, generated, disputed, overlap, seed
    )
    review = exporting.export(DatasetTables.open(dataset), request, out)
    written = _write(review, out / SHEETS, sheets.annotator_sheets(review))
    given = {person: len(items) for person, items in review.plan.assigned.items()}
    emit(
        {"review": review.plan.id, "items": len(review.items), "annotators": given, "written": written},
        json,
        lambda counts: _draw_export(counts, review.plan.drawn),
    )


@app.command("import")
def import_(
    review: FolderArgument,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Sheets: .csv, .xlsx or .jsonl.")],
    json: JsonOption = False,
) -> None:
    """Take in what readers send back.

    Nothing is taken unless all files are in order. What was imported before stays: a later ruling of the same person
    on the same item counts in place of the earlier one, and importing a file twice changes nothing.

    Example: clwqa-bench review import reviews/first 甲.xlsx 乙-3f2a9c01b7de.jsonl
    """
    from clwqa_builders.review import incoming
    from clwqa_builders.review.folder import open_review

    opened = open_review(review)
    rulings, empty = incoming.read(files, opened)
    new, changed = opened.add(rulings)
    wanted = len(opened.form.criteria)
    partial = sum(0 < len(ruling.verdicts) < wanted for ruling in rulings)
    if partial:
        warn(f"{partial} rows have verdicts on some criteria only")
    counts = {"rulings": len(rulings), "new": new, "changed": changed, "partial": partial, "empty": empty}
    emit(counts, json, lambda _: Text(", ".join(f"{number:,} {name}" for name, number in counts.items())))


@app.command()
def report(
    review: FolderArgument,
    adjudicator: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Write the disagreements as sheets for this person to settle."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(metavar="DATASET", help="Put the rates into the card of the dataset that was read."),
    ] = None,
    failed: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the ids of the items that failed, one per line."),
    ] = None,
    bands: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the bands decided, for `clwqa-bench build --adjudicated FILE`."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Tell rates with 95 % intervals, agreement, and what is disputed; writes review.json.

    Sheets for the adjudicator come back through `import` like any other, and their verdicts decide.

    Example: clwqa-bench review report reviews/first --adjudicator 丙
    """
    from clwqa_bench.run_folder import write_whole
    from clwqa_builders.output import writers
    from clwqa_builders.output.reviews import add_review
    from clwqa_builders.pairs.adjudicated import COLUMNS
    from clwqa_builders.review import results, terminal
    from clwqa_builders.review.folder import ADJUDICATION, REPORT, open_review
    from clwqa_builders.review.records import ReviewError

    opened = open_review(review)
    if bands and opened.plan.kind != "pairs":
        raise typer.BadParameter("is for a review of pairs", param_hint="--bands")
    found = results.Findings.of(opened)
    if into and not any(ruling.verdicts for ruling in found.rulings.values()):
        fix = "take in with `clwqa-bench review import` what the readers send back"
        raise ReviewError("no verdict is there that a card could tell of", fix=fix, file=review)
    told = results.report(found)
    write_whole(review / REPORT, writers.json_bytes(told))
    if missing := [name for name, counts in told["annotators"].items() if counts["read"] < counts["given"]]:
        warn(f"not all is read yet by {', '.join(missing)}")
    if failed:
        write_whole(failed, "".join(f"{item['id']}\n" for item in told["failed"]).encode("utf-8"))
    if bands:
        decided = list(results.decisions(found))
        writers.write_sheet(COLUMNS, (decision.row for decision in decided), bands)
        say(f"{bands}: {len(decided):,} bands decided")
    if into:
        if waiting := len(told["disagreements"]["open"]):
            warn(f"{waiting} items are disputed and not settled; the card says so")
        add_review(into, told)
        say(f"{into}: the card tells of this review")
    if adjudicator:
        written = _write(opened, review / ADJUDICATION, results.open_sheet(found, opened, adjudicator))
        say("\n".join(map(str, written)) or "nothing is left to settle, or the sheets are there already")
    emit(told, json, terminal.draw)


def _write(review: Any, folder: Path, made: Iterable[Any]) -> list[Path]:
    """Write sheets as table and page, and the guide beside them; returns what was not there yet."""
    from clwqa_bench.ontology import Ontology
    from clwqa_bench.run_folder import write_whole
    from clwqa_builders.pairs.rubric import load_rubric
    from clwqa_builders.review import page, sheets

    rubric = load_rubric(Ontology.load()) if review.plan.kind == "pairs" else None
    own = list(made)
    written = sheets.write(folder, own, {sheet.person: page.html(sheet, rubric) for sheet in own})
    if written:
        write_whole(folder / "guide.md", sheets.guide(review.form, rubric).encode("utf-8"))
        if not any(path.suffix == ".xlsx" for path in written):
            say("no XLSX: it needs openpyxl, which the extra `review` installs")
    return written


def _draw_export(counts: dict[str, Any], drawn: str) -> RenderableType:
    lines = [f"review {counts['review']}: {counts['items']} items, {drawn}"]
    lines += [f"{person}: {number} items" for person, number in counts["annotators"].items()]
    return Text("\n".join([*lines, *map(str, counts["written"])]))
