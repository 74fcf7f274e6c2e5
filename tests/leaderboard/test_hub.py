"""Handing in on the Hub: the real client against a server that speaks its API on the loopback interface."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import HfApi, hf_hub_download

from clwqa_bench.errors import ClwqaError
from clwqa_bench.hub import HubError
from clwqa_leaderboard.hub import PullRequest, proposal, send
from clwqa_leaderboard.submission import opened
from tests.hub_server import TOKEN, Hub, serving, without_xet
from tests.leaderboard.scene import Scene


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    without_xet(monkeypatch)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        server.repository("org/board")
        yield server


@pytest.fixture
def bundle(scene: Scene) -> Path:
    return scene.bundle()


@pytest.fixture
def request_(bundle: Path) -> PullRequest:
    with opened(bundle) as submission:
        return proposal(submission, "org/board")


def test_a_submission_is_one_file_in_a_pull_request(hub: Hub, bundle: Path, request_: PullRequest) -> None:
    sent = send(request_, bundle)
    repo = hub.repositories["org/board"]
    assert sent.url == f"{hub.url}/datasets/org/board/discussions/1"
    assert repo.pull_requests == ["refs/pr/1"]
    assert repo.files("refs/pr/1")[request_.path] == bundle.read_bytes()
    assert request_.path not in repo.files("main")
    commit = repo.at("refs/pr/1")
    assert commit is not None
    assert commit.title == "Submission: 查图"
    assert "SHA256SUMS: " in commit.description


def test_the_path_is_that_of_the_entry(scene: Scene, bundle: Path, request_: PullRequest) -> None:
    stored = scene.add(bundle)
    assert request_.path == f"submissions/{stored.folder.parent.name}/{stored.entry.id}/bundle.zip"


@pytest.mark.parametrize(
    "repo", ["bad name", "org", "org/board/x", "../board", "https://huggingface.co/org/board"]
)
def test_nothing_is_proposed_to_what_cannot_be_a_repository(bundle: Path, repo: str) -> None:
    with opened(bundle) as submission, pytest.raises(ClwqaError, match="cannot be the name") as error:
        proposal(submission, repo)
    assert error.value.field == "--repo"


def test_a_maintainer_takes_the_bundle_from_the_pull_request(
    hub: Hub, scene: Scene, bundle: Path, request_: PullRequest
) -> None:
    send(request_, bundle)
    got = hf_hub_download(
        "org/board", request_.path, repo_type="dataset", revision="refs/pr/1", endpoint=hub.url,
        cache_dir=scene.folder / "cache", token=TOKEN,
    )  # fmt: skip
    taken = scene.folder / "taken.zip"
    taken.write_bytes(Path(got).read_bytes())  # a cache holds links, and a bundle is a file
    assert scene.add(taken).entry.disclosure.title == "查图"


@pytest.mark.parametrize("repo", ["org/none", "org/board/x", "not a name"])
def test_a_repository_that_is_not_there(hub: Hub, bundle: Path, request_: PullRequest, repo: str) -> None:
    with pytest.raises(HubError) as error:
        send(replace(request_, repo=repo), bundle)
    assert error.value.field == "--repo"


def test_a_token_that_is_not_good_is_never_repeated(
    hub: Hub, bundle: Path, request_: PullRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrongwrongwrong")
    with pytest.raises(HubError) as error:
        send(request_, bundle)
    assert "hf_wrong" not in "".join(traceback.format_exception(error.value))
    assert "hf auth login" in error.value.fix


def test_nobody_is_logged_in(
    hub: Hub, bundle: Path, request_: PullRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nonexistent")
    with pytest.raises(HubError, match="no token"):
        send(request_, bundle)
    assert hub.requests == []


@pytest.mark.parametrize(
    ("status", "message"), [(403, "You may not open pull requests here"), (413, "too large")]
)
def test_what_the_hub_refuses_is_said_in_its_words(
    hub: Hub, bundle: Path, request_: PullRequest, status: int, message: str
) -> None:
    hub.refuse("/commit/", status, message)
    with pytest.raises(HubError, match=message) as error:
        send(request_, bundle)
    assert str(status) in error.value.what
    assert hub.repositories["org/board"].pull_requests == []


def test_nobody_is_there(bundle: Path, request_: PullRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # the client tries six times
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(HubError, match="could not open a pull request on org/board"):
        send(request_, bundle)


def test_the_server_is_good_enough_for_the_client(hub: Hub) -> None:
    api = HfApi(endpoint=hub.url, token=TOKEN)
    assert api.whoami()["name"] == "org"
    api.create_repo("org/data", repo_type="dataset", private=True)
    done = api.upload_file(
        path_or_fileobj=b"PAR1", path_in_repo="qa/test.parquet", repo_id="org/data", repo_type="dataset"
    )
    api.upload_file(
        path_or_fileobj=b"# Card", path_in_repo="README.md", repo_id="org/data", repo_type="dataset"
    )
    info = api.dataset_info("org/data")
    assert info.private
    assert info.sha != done.oid
    assert api.list_repo_files("org/data", repo_type="dataset") == [
        ".gitattributes",
        "README.md",
        "qa/test.parquet",
    ]
    assert api.list_repo_files("org/data", repo_type="dataset", revision=done.oid) == [
        ".gitattributes", "qa/test.parquet",
    ]  # fmt: skip
    [listed] = api.get_paths_info("org/data", "qa/test.parquet", repo_type="dataset")
    assert listed.size == 4  # type: ignore[union-attr]
    assert not HfApi(endpoint=hub.url, token=False).repo_exists("org/data", repo_type="dataset")
