"""One commit on a repository: the real client of the Hub against a server that speaks its API."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from clwqa_bench.console import progress
from clwqa_bench.dataset import FileEntry, read_manifest
from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import ClwqaError, ValidationFailed
from clwqa_bench.hub import HubError
from clwqa_builders.output.manifest import write_manifest
from clwqa_builders.publish import hub as hub_module
from clwqa_builders.publish.errors import PublishError
from clwqa_builders.publish.hub import Hub
from clwqa_builders.publish.parcel import Parcel, packed
from clwqa_builders.publish.release import Released, release
from clwqa_builders.publish.reload import compare
from tests import hub_server, tiny_dataset
from tests.hub_server import READ_TOKEN, TOKEN

REPO = "org/tiny"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<:DeprecationWarning")  # between two libraries


@pytest.fixture
def parcel(made: Path) -> Iterator[Parcel]:
    with packed(made, REPO) as parcel:
        yield parcel


@pytest.fixture
def later(made: Path, tmp_path: Path) -> Iterator[Parcel]:
    """A later release of the same dataset: one question is gone."""
    folder = tmp_path / "later"
    tiny_dataset.write(folder, questions=tiny_dataset.QUESTIONS[:-1])
    with packed(folder, REPO) as parcel:
        yield parcel


def put(parcel: Parcel, **asked: Any) -> Released:
    with progress("upload") as bar:
        return release(parcel, Hub.connect(REPO), bar, **asked)


def contents(parcel: Parcel) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in parcel.files.items()}


def test_a_new_repository_is_private_and_gets_one_commit(server: hub_server.Hub, parcel: Parcel) -> None:
    done = put(parcel)
    repo = server.repositories[REPO]
    assert done == Released(repo.refs["main"], committed=True, private=True)
    assert repo.private
    commit, first = repo.history()
    assert first.title == "initial commit"  # the Hub's own
    assert commit.title == "clwqa-tiny 1.0.0"
    assert f"qa: {parcel.manifest.content['qa']}" in commit.description
    assert {**commit.files} == {".gitattributes": b"", **contents(parcel)}


def test_the_same_command_again_makes_no_second_commit(server: hub_server.Hub, parcel: Parcel) -> None:
    done = put(parcel)
    sent = server.count("PUT", "/objects/")
    assert put(parcel) == Released(done.commit, committed=False, private=True)
    assert len(server.repositories[REPO].history()) == 2
    assert server.count("PUT", "/objects/") == sent


def test_in_parts(server: hub_server.Hub, parcel: Parcel) -> None:
    server.part_bytes = 3_000
    put(parcel)
    assert {**server.repositories[REPO].files()} == {".gitattributes": b"", **contents(parcel)}


def test_public_only_if_that_is_said(server: hub_server.Hub, parcel: Parcel) -> None:
    server.repository(REPO)  # somebody made it, and everybody can read it
    with pytest.raises(PublishError, match="public") as error:
        put(parcel)
    assert error.value.field == "--public"
    assert len(server.repositories[REPO].history()) == 1
    assert not put(parcel, public=True).private


def test_a_repository_that_exists_keeps_its_visibility(server: hub_server.Hub, parcel: Parcel) -> None:
    server.repository(REPO, private=True)
    assert put(parcel, public=True).private


# ---------------------------------------------------------------------- other content


def test_other_content_is_not_touched_unasked(server: hub_server.Hub, parcel: Parcel) -> None:
    repo = server.repository(REPO, private=True)
    repo.commit("main", "mine", "", {"README.md": b"# Mine", "notes.txt": b"mine"})
    with pytest.raises(PublishError, match=r"other content already: README.md, notes.txt") as error:
        put(parcel)
    assert "--allow-update" in error.value.fix
    assert repo.files() == {"README.md": b"# Mine", "notes.txt": b"mine"}


def test_an_update_goes_on_top_and_leaves_the_history(
    server: hub_server.Hub, parcel: Parcel, later: Parcel
) -> None:
    first = put(parcel)
    repo = server.repositories[REPO]
    earlier = {
        **repo.files(),
        "submissions/theirs.zip": b"theirs",
        "kg/old.parquet": b"of an earlier release",
    }
    repo.commit("main", "theirs", "", earlier)
    with pytest.raises(PublishError, match="other content"):
        put(later)
    second = put(later, allow_update=True)
    assert [commit.title for commit in repo.history()] == [
        "clwqa-tiny 1.0.0", "theirs", "clwqa-tiny 1.0.0", "initial commit",
    ]  # fmt: skip
    assert repo.files(first.commit) == {".gitattributes": b"", **contents(parcel)}
    strangers = {".gitattributes", "submissions/theirs.zip", "kg/old.parquet"}
    assert repo.files(second.commit).keys() == strangers | later.files.keys()


def test_files_of_the_earlier_release_go(
    server: hub_server.Hub, made: Path, tmp_path: Path, parcel: Parcel
) -> None:
    decided = (("q4/expl:2", "q4", "expl:2", "L5", "甲"),)
    tiny_dataset.write(tmp_path / "more", adjudicated=decided)
    with packed(tmp_path / "more", REPO) as more:
        put(more)
    assert "scoring_pairs/adjudicated.tsv" in server.repositories[REPO].files()
    put(parcel, allow_update=True)
    assert {**server.repositories[REPO].files()} == {".gitattributes": b"", **contents(parcel)}


def test_a_branch_of_its_own(server: hub_server.Hub, parcel: Parcel, later: Parcel) -> None:
    put(parcel)
    done = put(later, branch="next")
    repo = server.repositories[REPO]
    assert (repo.refs["next"], done.committed) == (done.commit, True)
    assert repo.files("main")["manifest.json"] == parcel.files["manifest.json"].read_bytes()
    assert put(later, branch="next") == Released(done.commit, committed=False, private=True)
    with pytest.raises(PublishError, match="other content"):
        put(parcel, branch="next")


@pytest.mark.parametrize("branch", ["refs/pr/1", "a" * 40, "", "a b"])
def test_what_is_no_branch(branch: str, server: hub_server.Hub, parcel: Parcel) -> None:
    with pytest.raises(PublishError, match="not a branch"):
        put(parcel, branch=branch)
    assert server.requests == []


def test_somebody_else_commits_in_the_meantime(
    server: hub_server.Hub, parcel: Parcel, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, known = server.repository(REPO, private=True), Hub.head

    def outrun(self: Hub, branch: str = "main") -> Any:
        head = known(self, branch)
        repo.commit("main", "theirs", "", {"theirs.txt": b""})
        return head

    monkeypatch.setattr(Hub, "head", outrun)
    with pytest.raises(HubError, match="412"):
        put(parcel)
    assert repo.files() == {"theirs.txt": b""}


# ---------------------------------------------------------------------- faults


def test_without_a_token(server: hub_server.Hub, parcel: Parcel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nonexistent")
    with pytest.raises(HubError, match="no token") as error:
        put(parcel)
    assert "hf auth login" in error.value.fix
    assert server.requests == []


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("hf_wrongwrongwrong", "does not accept this token"),
        (READ_TOKEN, "may not create org/tiny: .*write access"),
    ],
)
@pytest.mark.parametrize("exists", [False, True])
def test_a_token_that_is_not_good_enough(
    token: str,
    said: str,
    exists: bool,
    server: hub_server.Hub,
    parcel: Parcel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    if exists:
        server.repository(REPO, private=True)
    with pytest.raises(HubError, match=said.replace("create", "(create|upload to)")) as error:
        put(parcel)
    assert "hf auth login" in error.value.fix
    assert exists is (REPO in server.repositories)


def test_the_connection_is_lost_in_the_middle_and_the_same_command_goes_on(
    server: hub_server.Hub, parcel: Parcel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "LARGE", 3_000)  # bytes: what is a large file here
    largest = max(
        (path for path in parcel.files.values() if path.suffix == ".parquet"), key=lambda p: p.stat().st_size
    )
    server.hang_up("PUT", hub_server.sha256(largest.read_bytes()))
    with pytest.raises(HubError) as error:
        put(parcel)
    assert "run the same command again" in error.value.fix
    assert len(server.repositories[REPO].history()) == 1
    arrived = set(server.objects)
    assert arrived

    server.mend()
    server.requests.clear()
    assert put(parcel).committed
    assert len(server.repositories[REPO].history()) == 2
    assert not any(server.count("PUT", oid) for oid in arrived)


def test_the_answer_to_the_commit_is_lost(server: hub_server.Hub, parcel: Parcel) -> None:
    server.hang_up("POST", "/commit/", done=True)
    with pytest.raises(HubError):
        put(parcel)
    server.mend()
    assert not put(parcel).committed  # it is there
    assert len(server.repositories[REPO].history()) == 2


@pytest.mark.parametrize(
    ("part", "status", "message"),
    [
        ("/preupload/", 413, "too large"),
        ("/commit/", 429, "too many commits"),
        ("/repos/create", 503, "closed"),
    ],
)
def test_what_the_hub_refuses_is_said_in_its_words(
    part: str, status: int, message: str, server: hub_server.Hub, parcel: Parcel
) -> None:
    server.refuse(part, status, message)
    with pytest.raises(HubError, match=f"{status} {message}"):
        put(parcel)


def test_nobody_is_there(server: hub_server.Hub, parcel: Parcel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(HubError, match="could not look at org/tiny"):
        put(parcel)


# ---------------------------------------------------------------------- reading back


def read_back(parcel: Parcel, commit: str) -> dict[str, str]:
    return compare(parcel, Hub.connect(REPO), commit, lambda size: None)


def test_what_arrived_has_the_content_of_the_manifest(
    server: hub_server.Hub, parcel: Parcel, made: Path
) -> None:
    done = put(parcel)
    assert read_back(parcel, done.commit) == read_manifest(made).content


@pytest.mark.parametrize("name", ["qa/test.parquet", "README.md", "manifest.json"])
def test_a_file_that_comes_back_changed(name: str, server: hub_server.Hub, parcel: Parcel) -> None:
    done = put(parcel)
    server.corrupted.add(name)
    for _ in range(2):  # no cache keeps anything
        with pytest.raises(ValidationFailed, match=f"{done.commit} differs: {name}"):
            read_back(parcel, done.commit)


def test_rows_that_come_back_changed(
    server: hub_server.Hub, parcel: Parcel, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = put(parcel)
    fewer = {"scoring_pairs": [pq.read_table(parcel.files["scoring_pairs/test.parquet"])]}
    monkeypatch.setattr("clwqa_builders.publish.reload.read_configurations", lambda root, cache: fewer)
    with pytest.raises(ValidationFailed, match="the content of scoring_pairs"):
        read_back(parcel, done.commit)


def test_a_card_that_leads_nowhere(server: hub_server.Hub, made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "tiny"))
    card = (folder / "README.md").read_text(encoding="utf-8").replace("path: kg/triples", "path: kg/nothing")
    (folder / "README.md").write_text(card, encoding="utf-8")
    manifest = read_manifest(folder)
    entry = FileEntry(sha256=file_sha256(folder / "README.md"), bytes=(folder / "README.md").stat().st_size)
    write_manifest(manifest.model_copy(update={"files": {**manifest.files, "README.md": entry}}), folder)
    with packed(folder, REPO) as parcel:
        done = put(parcel)
        with pytest.raises(ValidationFailed, match="`datasets` cannot read it"):
            read_back(parcel, done.commit)


def test_reading_back_is_cut_off(server: hub_server.Hub, parcel: Parcel) -> None:
    done = put(parcel)
    server.hang_up("GET", "/resolve/")
    with pytest.raises(HubError, match="could not download from org/tiny"):
        read_back(parcel, done.commit)


# ---------------------------------------------------------------------- the token


@pytest.mark.parametrize("fault", ["create", "commit", "objects", "tree", "echo", "nobody"])
def test_no_fault_tells_the_token(
    fault: str, server: hub_server.Hub, parcel: Parcel, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(
        "INFO" if fault == "echo" else "DEBUG"
    )  # what a server says is in the log of its connection
    if fault == "nobody":
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    elif fault == "echo":
        server.refuse("/preupload/", 400, f"odd header: Bearer {TOKEN}")
    else:
        server.refuse(f"/{fault}", 500, "broken")
    with pytest.raises(ClwqaError) as error:
        put(parcel)
    told = "".join(traceback.format_exception(error.value)) + repr(error.value.as_dict()) + caplog.text
    assert TOKEN not in told + "".join(capfd.readouterr())
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__
