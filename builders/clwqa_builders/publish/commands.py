"""`clwqa-bench publish`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from clwqa_bench.commands.common import DATASET, DatasetOption, JsonOption
from clwqa_bench.console import emit, progress, say
from clwqa_bench.dataset import SourceNote, read_manifest
from clwqa_bench.hub import refuse_name
from clwqa_builders.publish.errors import PublishError

if TYPE_CHECKING:
    from clwqa_builders.publish.hub import Hub
    from clwqa_builders.publish.parcel import Parcel


def publish(
    repo: Annotated[str, typer.Option(metavar="ORG/NAME", help="The dataset repository on the Hub.")],
    dataset: DatasetOption = DATASET,
    accept_licences: Annotated[
        bool,
        typer.Option(
            "--accept-licences", help="You have read the terms of all sources and may pass the content on."
        ),
    ] = False,
    public: Annotated[bool, typer.Option("--public", help="Everybody may read it.")] = False,
    revision: Annotated[str, typer.Option(metavar="BRANCH", help="Commit to this branch.")] = "main",
    allow_update: Annotated[
        bool, typer.Option("--allow-update", help="Commit on top of what the branch has already.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write the folder that would be sent, and send nothing.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="With --dry-run: the folder; DATASET-publish if nothing is said.", show_default=False
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Publish a dataset on the Hugging Face Hub: one commit, then read it back by its hash and compare.

    Nothing is sent before every file is verified.  A new repository is private.  The token is that of `hf auth login`,
    or HF_TOKEN.  A command that was interrupted goes on where it stopped, and sends nothing twice.

    Example: clwqa-bench publish --repo ORG/NAME --dry-run
    """
    from clwqa_builders.publish.hub import Hub
    from clwqa_builders.publish.parcel import packed
    from clwqa_builders.publish.terms import terms

    if out is not None and not dry_run:
        raise typer.BadParameter("is for --dry-run", param_hint="--out")
    refuse_name(repo)
    asked = terms(read_manifest(dataset))
    if dry_run:
        _tell(asked)
        say(f"verifying {dataset} ...")
        with packed(dataset, repo) as parcel:
            folder = out or dataset.resolve().with_name(f"{dataset.resolve().name}-publish")
            written = {"folder": folder, "written": parcel.write(folder)}
            emit(
                _data(parcel) | written | {"terms": [note.model_dump() for note in asked]}, json, _draw_folder
            )
        return
    if not accept_licences:
        _tell(asked)
        raise PublishError(
            f"the terms of {len(asked)} sources are not accepted",
            fix="read them, and add --accept-licences if you may pass the content on",
            field="--accept-licences",
        )
    hub = Hub.connect(repo)
    say(f"verifying {dataset} ...")
    with packed(dataset, repo) as parcel:
        emit(_send(parcel, hub, revision, public, allow_update), json, _draw_published)


def _tell(asked: Iterable[SourceNote]) -> None:
    from clwqa_builders.publish.terms import told

    for note in asked:
        say(told(note))


def _send(parcel: Parcel, hub: Hub, branch: str, public: bool, allow_update: bool) -> dict[str, Any]:
    from clwqa_builders.publish.release import release
    from clwqa_builders.publish.reload import compare

    with progress(f"upload to {hub.repo}") as sending:
        done = release(parcel, hub, sending, branch=branch, public=public, allow_update=allow_update)
    with progress(f"read back {done.commit[:12]}", parcel.size) as comparing:
        compare(parcel, hub, done.commit, comparing.advance)
    return {**_data(parcel), "url": f"{hub.page}/tree/{done.commit}", **asdict(done)}


def _data(parcel: Parcel) -> dict[str, Any]:
    return {
        "repo": parcel.repo,
        "dataset": parcel.title,
        "files": len(parcel.files),
        "bytes": parcel.size,
        "content": parcel.content,
    }


def _draw_folder(data: dict[str, Any]) -> Text:
    state = "written" if data["written"] else "there already"
    return Text(f"{data['folder']}: {_amount(data)}, {state}; nothing was sent")


def _draw_published(data: dict[str, Any]) -> Text:
    what = "committed" if data["committed"] else "there already"
    digests = "".join(f"\n{name} {digest}" for name, digest in data["content"].items())
    who = "private" if data["private"] else "public"
    return Text(
        f"{data['url']}\n{data['dataset']}: {_amount(data)}, {what}, {who}; read back and equal{digests}"
    )


def _amount(data: dict[str, Any]) -> str:
    return f"{data['files']} files, {data['bytes'] / 1e6:,.1f} MB"
