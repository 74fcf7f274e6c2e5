"""Hand runs in, verify them and keep boards of them."""

from __future__ import annotations

import gc
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from clwqa_bench.commands.common import DATASET, DatasetOption, JsonOption
from clwqa_bench.console import emit, progress, say, warn
from clwqa_bench.dataset import Dataset
from clwqa_bench.records import SPLITS, Split
from clwqa_bench.report.names import interval, percent
from clwqa_bench.report.sheet import Numbers, Sheet
from clwqa_bench.runs import MANIFEST, read_manifest
from clwqa_bench.scoring import WHOLE
from clwqa_leaderboard.board import SUBMISSIONS, Judge, Problem, examine
from clwqa_leaderboard.board import add as add_bundle
from clwqa_leaderboard.board import check as check_board
from clwqa_leaderboard.bundle import opened as unpacked
from clwqa_leaderboard.disclosure import FORM, blank_form, read_form
from clwqa_leaderboard.errors import SubmissionError
from clwqa_leaderboard.hub import PullRequest, proposal, send
from clwqa_leaderboard.packing import pack as pack_run
from clwqa_leaderboard.probes import Finding, Standing
from clwqa_leaderboard.site.commands import render
from clwqa_leaderboard.submission import Submission, entry_id, opened
from clwqa_leaderboard.verification import Verified
from clwqa_leaderboard.withheld import Withheld, board_gold
from clwqa_leaderboard.withheld import withhold as withhold_gold
from clwqa_leaderboard.words import printable

app = typer.Typer(
    no_args_is_help=True, help=__doc__, context_settings={"help_option_names": ["-h", "--help"]}
)

BundleArgument = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A file that `pack` made.")]
GoldOption = Annotated[Path | None, typer.Option(help="The gold file, where the gold is withheld.")]
SplitOption = Annotated[str, typer.Option(help="The split of the board.")]
SubmissionsOption = Annotated[Path, typer.Option(help="The folder of all boards.")]
StandingOption = Annotated[
    Standing,
    typer.Option(
        "--as", help="How it stands on the board; only `ranked` entries are compared with each other."
    ),
]


@app.callback()
def leaderboard() -> None:
    """Hand runs in, verify them and keep boards of them."""
    gc.disable()  # the records read stay to the end, when the process ends too: looking for cycles only takes time


@app.command()
def form(json: JsonOption = False) -> None:
    """Print a disclosure form to fill in.

    Example: clwqa-bench leaderboard form > disclosure.toml
    """
    if json:
        emit({"form": blank_form()}, True, str)
    else:
        sys.stdout.write(blank_form())


@app.command()
def pack(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    disclosure: Annotated[
        Path | None, typer.Option(help=f"The form, filled in; by default {FORM} in the folder of the run.")
    ] = None,
    sign: Annotated[Path | None, typer.Option(metavar="KEY", help="Sign with this SSH key.")] = None,
    out: Annotated[Path | None, typer.Option(help="The bundle; by default SYSTEM@DIGEST.zip.")] = None,
    traces: Annotated[bool, typer.Option(help="Take the traces along, for the stage profile.")] = True,
    thin: Annotated[
        bool,
        typer.Option("--thin", help="Refer to the graph instead of quoting it: the same numbers, no texts."),
    ] = False,
    dataset: DatasetOption = DATASET,
    json: JsonOption = False,
) -> None:
    """Make a bundle of a run: predictions, manifest, form, digests.

    A --thin bundle is for boards that may hold no texts of others, and is small; that every number of the board is the
    same is checked before it is written.

    Example: clwqa-bench leaderboard pack runs/kg-lookup --disclosure disclosure.toml
    """
    answers = read_form(disclosure or run / FORM)
    source = Dataset.open(dataset, verify=False)
    manifest = read_manifest(run / MANIFEST)
    split = _split(manifest.dataset.split, run / MANIFEST)
    withheld = source.withholds(split)
    gold = None if withheld else board_gold(source, split)
    questions = frozenset(view.id for view in source.view(split)) if withheld else ()
    made = pack_run(run, answers, out, gold=gold, questions=questions, traces=traces, thin=thin, key=sign)
    with unpacked(made) as bundle:
        found = {"bundle": made, "id": entry_id(manifest, bundle.digest), "bytes": made.stat().st_size}
    emit(found, json, lambda found: f"{made}: {found['id']}, {found['bytes']:,} bytes")


@app.command()
def verify(
    bundle: BundleArgument,
    dataset: DatasetOption = DATASET,
    gold: GoldOption = None,
    submissions: SubmissionsOption = SUBMISSIONS,
    standing: StandingOption = "ranked",
    json: JsonOption = False,
) -> None:
    """Score a bundle again from its predictions and look it over; nothing is written or sent.

    Exit code 0: a board takes it; 1: it does not; 2: it cannot be read.

    Example: clwqa-bench leaderboard verify kg-lookup@0123456789ab.zip
    """
    with opened(bundle) as submission:
        judge = _judge(dataset, _split_of(submission), gold)
        result = examine(submission, judge, submissions, standing)
    emit(_verified(result, judge), json, lambda _: _draw(result, judge))
    if result.rejections:
        raise typer.Exit(1)


@app.command()
def add(
    bundle: BundleArgument,
    dataset: DatasetOption = DATASET,
    gold: GoldOption = None,
    submissions: SubmissionsOption = SUBMISSIONS,
    standing: StandingOption = "ranked",
    supersedes: Annotated[
        str, typer.Option(metavar="ENTRY", help="The entry whose place it takes, whoever signed that one.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Verify a bundle and put it on its board; whatever is wrong, the board stays as it is.

    Example: clwqa-bench leaderboard add kg-lookup@0123456789ab.zip
    """
    with opened(bundle) as submission:
        judge = _judge(dataset, _split_of(submission), gold)
        stored = add_bundle(submission, judge, submissions, standing, supersedes)
    emit({"entry": stored.entry.id, "folder": stored.folder}, json, lambda _: f"{stored.folder}")


@app.command()
def check(
    dataset: DatasetOption = DATASET,
    gold: GoldOption = None,
    split: SplitOption = "test",
    submissions: SubmissionsOption = SUBMISSIONS,
    against: Annotated[
        Path | None, typer.Option(help="A board known to be good: only what is new there is checked.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ENTRY",
            help="With --against: a new entry that may be a reference, or supersede another unsigned.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Make every entry of a board again from its bundle and compare: what continuous integration runs.

    Exit code 0: everything is as it should be; 1: something is not; 2: there is no such board.

    Example: clwqa-bench leaderboard check --dataset data/clwqa-100k
    """
    judge = _judge(dataset, _split(split), gold)
    for folder in filter(None, (submissions, against)):
        if not folder.is_dir():
            raise SubmissionError("there is no such folder", fix="name the folder of all boards", file=folder)
    if against is None:
        _say_what_is_left(submissions, judge.board.key)
    found: dict[str, Problem | None] = {}
    with progress(f"check {judge.board.key}") as bar:
        for place, problem in check_board(submissions, judge, against, allow or ()):
            found[place] = problem
            bar.advance()
    wrong = [problem for problem in found.values() if problem]
    data = {
        "board": judge.board.key,
        "checked": len(found),
        "problems": [asdict(problem) for problem in wrong],
    }
    emit(data, json, lambda _: _draw_check(len(found), wrong))
    if wrong:
        raise typer.Exit(1)


@app.command()
def submit(
    bundle: BundleArgument,
    repo: Annotated[str, typer.Option(metavar="ORG/NAME", help="The dataset repository on the Hub.")],
    dataset: DatasetOption = DATASET,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be sent, and send nothing.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Hand a bundle in: open a pull request on a Hub dataset repository, after verifying it here.

    The token is that of `hf auth login`, or HF_TOKEN.  A bundle whose gold is withheld is checked for form only.

    Example: clwqa-bench leaderboard submit kg-lookup@0123456789ab.zip --repo ORG/NAME --dry-run
    """
    source = Dataset.open(dataset, verify=False)
    with opened(bundle) as submission:
        split, request = _split_of(submission), proposal(submission, repo)
        if source.withholds(split):
            warn("the gold is withheld: scores and probes are for the maintainers")
        else:
            examine(submission, _judge(dataset, split, None), SUBMISSIONS).insist()
    request = request if dry_run else send(request, bundle)
    emit(asdict(request), json, lambda _: _draw_request(request))


@app.command()
def withhold(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="The complete dataset.")],
    out: Annotated[Path, typer.Option(help="The public folder to make.")],
    gold: Annotated[Path, typer.Option(help="The file for the gold and its salt; keep it to yourself.")],
    split: SplitOption = "test",
    json: JsonOption = False,
) -> None:
    """Make a public dataset without the gold of a split, with a salted commitment to it.

    Example: clwqa-bench leaderboard withhold data/mine --out data/mine-public --gold secret/test-gold.jsonl
    """
    complete = Dataset.open(dataset, verify=False)
    made = withhold_gold(complete, out, gold, _split(split))
    emit(asdict(made), json, lambda _: _draw_withheld(made))
    say(
        "whoever can build the dataset again has its gold: build it with a seed and templates that are not published"
    )


app.command()(render)


# ---------------------------------------------------------------------- what commands share


def _judge(dataset: Path, split: Split, gold: Path | None) -> Judge:
    return Judge.of(Dataset.open(dataset, verify=False), split, gold)


def _say_what_is_left(submissions: Path, key: str) -> None:
    """Boards that this dataset cannot check.  Raises SubmissionError if there is none that it can."""
    boards = sorted(path.name for path in submissions.iterdir() if path.is_dir())
    if key not in boards:
        raise SubmissionError(
            f"there is no board {key}, so nothing would be checked",
            fix="name --dataset and --split of a board that is there",
            file=submissions,
        )
    if others := [board for board in boards if board != key]:
        warn(f"left for a check with their own dataset and split: {printable(', '.join(others))}")


def _split_of(submission: Submission) -> Split:
    return _split(submission.manifest.dataset.split, submission.bundle.path / MANIFEST)


def _split(name: str, file: Path | None = None) -> Split:
    if name not in SPLITS:
        raise SubmissionError(
            f"there is no split {name!r}", fix=f"use one of {', '.join(SPLITS)}", file=file, field="split"
        )
    return name


# ---------------------------------------------------------------------- what they print


def _verified(result: Verified, judge: Judge) -> dict[str, Any]:
    table = result.table
    return {
        "id": result.submission.id,
        "board": judge.board.key,
        "standing": result.standing,
        "accepted": not result.rejections,
        "signed_by": result.submission.signed_by,
        "findings": [finding.model_dump() for finding in result.findings],
        "scores": {cell.metric: cell.as_dict() for cell in table.cells if cell.stratum == WHOLE},
        "statuses": {status: len(ids) for status, ids in table.outcomes.items() if ids},
    }


def _draw(result: Verified, judge: Judge) -> RenderableType:
    drawn = Sheet("metric", Numbers("value"), Numbers(), Numbers("n"))
    for cell in result.table.cells:
        if cell.stratum == WHOLE:
            drawn.add_row(cell.metric, percent(cell.value), interval(cell.low, cell.high), f"{cell.n:,}")
    verdict = "rejected" if result.rejections else f"accepted as {result.standing}"
    lines = [_finding(finding) for finding in result.findings]
    return Group(
        Text(result.submission.id, "bold"),
        Text(f"board {judge.board.key}", "dim"),
        drawn,
        *lines,
        Text(verdict),
    )


def _finding(finding: Finding) -> Text:
    text = Text(f"{finding.level}: {finding.probe}: {finding.what}")
    text.stylize("red" if finding.level == "reject" else "yellow", 0, len(finding.level))
    return text.append(f". Fix: {finding.fix}." if finding.fix else "")


def _draw_check(checked: int, wrong: list[Problem]) -> RenderableType:
    lines = [Text(f"- {problem.place}: {problem.what}. Fix: {problem.fix}.") for problem in wrong]
    return Group(*lines, Text(f"{checked:,} checked, {len(wrong):,} problems"))


def _draw_request(request: PullRequest) -> RenderableType:
    done = request.url or "nothing was sent"
    return Group(
        Text(f"{request.title}\n{request.repo}: {request.path}"), Text(request.description, "dim"), Text(done)
    )


def _draw_withheld(made: Withheld) -> RenderableType:
    return Text(
        f"{made.public}: without the gold of {made.questions:,} questions ({made.split})\n"
        f"{made.gold}: the gold and its salt\ncommitment {made.commitment}"
    )
