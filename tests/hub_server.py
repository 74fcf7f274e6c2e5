"""A Hugging Face Hub on the loopback interface, as far as `huggingface_hub` and `datasets` use its HTTP API.

    with serving() as hub:
        hub.repository("org/board")                         # an empty dataset repository
        HfApi(endpoint=hub.url, token=TOKEN).create_commit("org/board", ..., repo_type="dataset")
        hub.repositories["org/board"].files("main")         # {path: bytes}

It knows dataset repositories only: creating and describing them, branches, committing (also as pull requests) regular
and LFS files, listing trees, and serving files by branch, pull request or commit hash.  Large files go over git-lfs, in
one piece or in parts: let clients leave Xet alone (`without_xet`).  What can go wrong is asked for: `refuse`,
`hang_up`, `corrupted`.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.hub_repository import Commit, Repository, git_oid, is_lfs, listed, sha256

TOKEN = "hf_" + "loopback" * 4
READ_TOKEN = "hf_" + "readonly" * 4
OWNER = "org"

Json = dict[str, Any] | list[Any]


class Hub(ThreadingHTTPServer):
    """The server: its repositories by name, uploaded objects by sha256, and the requests it got as (method, path)."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[str, Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.part_bytes: int | None = None
        self.requests: list[tuple[str, str]] = []
        self.refusals: list[tuple[str, int, str]] = []
        self.cuts: list[tuple[str, str, bool]] = []
        self.corrupted: set[str] = set()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def repository(self, name: str, *, private: bool = False) -> Repository:
        """Make an empty repository."""
        return self.repositories.setdefault(name, Repository(name, private))

    def refuse(self, part: str, status: int, message: str) -> None:
        """From now on answer requests whose path holds `part` with an error."""
        self.refusals.append((part, status, message))

    def hang_up(self, method: str, part: str, *, done: bool = False) -> None:
        """From now on leave such requests without an answer; with `done` they are carried out all the same."""
        self.cuts.append((method, part, done))

    def mend(self) -> None:
        """No more faults from now on."""
        self.refusals.clear()
        self.cuts.clear()
        self.corrupted.clear()

    def count(self, method: str, part: str) -> int:
        """How many requests there were with `part` in their path."""
        return sum(asked == method and part in path for asked, path in self.requests)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no fault of the server."""


class Refused(Exception):
    """An answer that is an error: status, message, and the code that clients tell errors by."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


Route = Callable[..., Json | None]
ROUTES: list[tuple[str, re.Pattern[str], Route]] = []
REPO = r"(?P<repo>[\w.-]+/[\w.-]+)"


def route(method: str, path: str) -> Callable[[Route], Route]:
    def register(handle: Route) -> Route:
        ROUTES.append((method, re.compile(path), handle))
        return handle

    return register


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def serve(self) -> None:
        split = urlsplit(self.path)
        self.query = parse_qs(split.query)
        self.body = self._read()
        self.server.requests.append((self.command, split.path))
        cuts = [
            done for method, part, done in self.server.cuts if method == self.command and part in self.path
        ]
        if cuts and not any(cuts):
            self.close_connection = True
            return
        try:
            for part, status, message in self.server.refusals:
                if part in self.path:
                    raise Refused(status, message)
            answer = self._answer(split.path)
            if cuts:
                self.close_connection = True
            elif answer is not None:
                self.reply(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})
        except Refused as error:
            headers = {"X-Error-Message": error.message} | (
                {"X-Error-Code": error.code} if error.code else {}
            )
            content = json.dumps({"error": error.message}).encode()
            self.reply(error.status, content, headers | {"Content-Type": "application/json"})

    def _answer(self, path: str) -> Json | None:
        """What the route of a request returns; None if it has replied by itself.  Raises Refused."""
        asked = "GET" if self.command == "HEAD" else self.command
        for method, pattern, handle in ROUTES:
            found = pattern.fullmatch(path)
            if found and method == asked:
                values = {k: unquote(v) for k, v in found.groupdict().items() if v is not None}
                with self.server.lock if method == "POST" else nullcontext():
                    return handle(self, **values)
        raise Refused(404, f"no such endpoint: {self.command} {path}")

    def do_GET(self) -> None:
        self.serve()

    def do_HEAD(self) -> None:
        self.serve()

    def do_POST(self) -> None:
        self.serve()

    def do_PUT(self) -> None:
        self.serve()

    def reply(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    @property
    def signed_in(self) -> bool:
        """Whether the client has a token.  Raises Refused if it is none that was given out."""
        token = self.headers.get("Authorization")
        if token not in (None, f"Bearer {TOKEN}", f"Bearer {READ_TOKEN}"):
            raise Refused(401, "Invalid credentials in Authorization header")
        return token is not None

    def insist(self) -> None:
        """Raise Refused unless the client may write."""
        if not self.signed_in:
            raise Refused(401, "Invalid username or password.")
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refused(403, "you must use a token with write access to this repository")

    def repo(self, name: str, *, write: bool = False) -> Repository:
        """A repository that this client may see, or change.  Raises Refused."""
        found = self.server.repositories.get(name)
        if write:
            self.insist()
        if found is None or (found.private and not self.signed_in):
            raise Refused(404 if self.signed_in else 401, "Repository not found", "RepoNotFound")
        return found

    def commit(self, name: str, revision: str) -> tuple[Repository, Commit]:
        repo = self.repo(name)
        found = repo.at(revision)
        if found is None:
            raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return repo, found

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        content = bytearray()
        while size := int(self.rfile.readline(), 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(content)


# ---------------------------------------------------------------------- who, and which repositories


@route("GET", "/api/whoami-v2")
def whoami(self: Handler) -> Json:
    if not self.signed_in:
        raise Refused(401, "Invalid username or password.")
    return {"type": "user", "name": OWNER, "auth": {"accessToken": {"role": "write"}}, "orgs": []}


@route("POST", "/api/validate-yaml")
def validate_yaml(self: Handler) -> Json:
    return {"errors": [], "warnings": []}


@route("POST", "/api/repos/create")
def create(self: Handler) -> Json:
    asked = json.loads(self.body)
    name = f"{asked.get('organization') or OWNER}/{asked['name']}"
    self.insist()
    if name in self.server.repositories:
        raise Refused(409, "You already created this dataset repo")
    self.server.repository(name, private=bool(asked.get("private")) or asked.get("visibility") == "private")
    return {"url": f"{self.server.url}/datasets/{name}", "name": name, "id": name}


@route("GET", rf"/api/datasets/{REPO}(?:/revision/(?P<revision>[^/]+))?")
def describe(self: Handler, repo: str, revision: str = "main") -> Json:
    found, commit = self.commit(repo, revision)
    return {
        "_id": found.name, "id": found.name, "author": OWNER, "sha": commit.oid, "private": found.private,
        "gated": False, "disabled": False, "downloads": 0, "likes": 0, "tags": [],
        "lastModified": "2026-01-01T00:00:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z",
        "siblings": [{"rfilename": path} for path in sorted(commit.files)],
    }  # fmt: skip


@route("GET", rf"/api/datasets/{REPO}/refs")
def refs(self: Handler, repo: str) -> Json:
    found = self.repo(repo)
    known = [
        {
            "name": ref.rpartition("/")[2],
            "ref": ref if "/" in ref else f"refs/heads/{ref}",
            "targetCommit": oid,
        }
        for ref, oid in found.refs.items()
    ]
    requests = [ref for ref in known if ref["ref"].startswith("refs/pr/")]
    branches = [ref for ref in known if ref not in requests]
    return {"branches": branches, "tags": [], "converts": [], "pullRequests": requests}


@route("POST", rf"/api/datasets/{REPO}/branch/(?P<branch>[^/]+)")
def branch(self: Handler, repo: str, branch: str) -> Json:
    found, start = self.repo(repo, write=True), json.loads(self.body).get("startingPoint", "main")
    if branch in found.refs:
        raise Refused(409, "Reference already exists")
    found.refs[branch] = self.commit(repo, start)[1].oid
    return {"success": True}


# ---------------------------------------------------------------------- writing


@route("POST", rf"/api/datasets/{REPO}/preupload/(?P<revision>[^/]+)")
def preupload(self: Handler, repo: str, revision: str) -> Json:
    self.insist()
    files = self.commit(repo, revision)[1].files

    def oid(path: str) -> str | None:
        return (
            listed(path, files[path]).get("lfs", {}).get("oid", git_oid(files[path]))
            if path in files
            else None
        )

    return {
        "files": [
            {
                "path": file["path"],
                "uploadMode": "lfs" if is_lfs(file["path"], file["size"]) else "regular",
                "shouldIgnore": False,
                "oid": oid(file["path"]),
            }
            for file in json.loads(self.body)["files"]
        ]
    }


@route("POST", rf"/datasets/{REPO}\.git/info/lfs/objects/batch")
def lfs_batch(self: Handler, repo: str) -> Json:
    self.repo(repo, write=True)
    objects: list[Json] = []
    for wanted in json.loads(self.body)["objects"]:
        known = wanted["oid"] in self.server.objects
        actions = {} if known else {"actions": {"upload": _upload_of(self, wanted["oid"], wanted["size"])}}
        objects.append({**wanted, "authenticated": True, **actions})
    return {"transfer": "multipart" if self.server.part_bytes else "basic", "objects": objects}


def _upload_of(self: Handler, oid: str, size: int) -> Json:
    """Where an object goes: in one piece, or in parts followed by a request that puts them together."""
    href, length = f"{self.server.url}/objects/{oid}", self.server.part_bytes
    if not length:
        return {"href": href, "header": {}}
    parts = {f"{number:05}": f"{href}/{number}" for number in range(1, -(-size // length) + 1)}
    return {"href": href, "header": {"chunk_size": str(length), **parts}}


@route("PUT", r"/objects/(?P<oid>[0-9a-f]{64})")
def upload(self: Handler, oid: str) -> None:
    _keep(self, oid, self.body)
    self.reply(200, b"", {})


@route("PUT", r"/objects/(?P<oid>[0-9a-f]{64})/(?P<number>\d+)")
def upload_part(self: Handler, oid: str, number: str) -> None:
    self.server.parts.setdefault(oid, {})[int(number)] = self.body
    self.reply(200, b"", {"ETag": f'"{git_oid(self.body)}"'})


@route("POST", r"/objects/(?P<oid>[0-9a-f]{64})")
def upload_whole(self: Handler, oid: str) -> Json:
    parts, named = self.server.parts.pop(oid), json.loads(self.body)["parts"]
    if [(part["partNumber"], part["etag"].strip('"')) for part in named] != [
        (number, git_oid(content)) for number, content in sorted(parts.items())
    ]:
        raise Refused(400, "these are not the parts that were sent")
    _keep(self, oid, b"".join(content for _, content in sorted(parts.items())))
    return {}


def _keep(self: Handler, oid: str, content: bytes) -> None:
    if sha256(content) != oid:
        raise Refused(400, "the content is not that of its hash")
    self.server.objects[oid] = content


@route("POST", rf"/api/datasets/{REPO}/commit/(?P<revision>[^/]+)")
def commit(self: Handler, repo: str, revision: str) -> Json:
    found = self.repo(repo, write=True)
    header, *operations = (json.loads(line) for line in self.body.splitlines() if line)
    parent = header["value"].get("parentCommit")
    if parent and parent != found.refs[revision]:
        raise Refused(412, "A commit has happened since. Please refresh and try again.")
    files = dict(found.files(revision))
    for operation in operations:
        _apply(self, files, operation["key"], operation["value"])
    number = len(found.pull_requests) + 1
    asked = bool(self.query.get("create_pr"))
    ref = f"refs/pr/{number}" if asked else revision
    made = found.commit(
        ref, header["value"]["summary"], header["value"].get("description", ""), files, found.refs[revision]
    )
    page = f"{self.server.url}/datasets/{repo}"
    return {
        "success": True,
        "commitOid": made.oid,
        "commitUrl": f"{page}/commit/{made.oid}",
        "pullRequestUrl": f"{page}/discussions/{number}" if asked else None,
        "hookOutput": "",
    }


def _apply(self: Handler, files: dict[str, bytes], key: str, value: Mapping[str, Any]) -> None:
    path = value["path"]
    if key == "file":
        files[path] = base64.b64decode(value["content"])
    elif key == "lfsFile":
        if value["oid"] not in self.server.objects:
            raise Refused(400, f"the LFS object of {path} was not uploaded")
        files[path] = self.server.objects[value["oid"]]
    elif key == "deletedFile":
        del files[path]
    elif key == "deletedFolder":
        for below in [name for name in files if name.startswith(path)]:
            del files[below]


# ---------------------------------------------------------------------- reading


@route("GET", rf"/api/datasets/{REPO}/tree/(?P<revision>[^/]+)(?:/(?P<folder>.+))?")
def tree(self: Handler, repo: str, revision: str, folder: str = "") -> Json:
    _, commit = self.commit(repo, revision)
    prefix = f"{folder}/" if folder else ""
    below = {path: content for path, content in commit.files.items() if path.startswith(prefix)}
    if folder and not below:
        raise Refused(404, f"{folder} does not exist on {revision}", "EntryNotFound")
    deep = self.query.get("recursive", [""])[0].lower() in ("true", "1")
    files = [
        listed(path, content) for path, content in below.items() if deep or "/" not in path[len(prefix) :]
    ]
    folders = {
        prefix + "/".join(parts[:depth])
        for path in below
        for parts in [path[len(prefix) :].split("/")]
        for depth in range(1, len(parts) if deep else min(2, len(parts)))
    }
    directories = [
        {"type": "directory", "path": path, "oid": git_oid(path.encode()), "size": 0} for path in folders
    ]
    return sorted([*files, *directories], key=lambda entry: entry["path"])


@route("POST", rf"/api/datasets/{REPO}/paths-info/(?P<revision>[^/]+)")
def paths_info(self: Handler, repo: str, revision: str) -> Json:
    _, commit = self.commit(repo, revision)
    kind = self.headers.get("Content-Type", "")
    paths = json.loads(self.body)["paths"] if "json" in kind else parse_qs(self.body.decode())["paths"]
    found: list[Json] = []
    for path in paths:
        if path in commit.files:
            found.append(listed(path, commit.files[path]))
        elif any(name.startswith(f"{path}/") for name in commit.files):
            found.append({"type": "directory", "path": path, "oid": git_oid(path.encode()), "size": 0})
    return found


@route("GET", rf"/datasets/{REPO}/resolve/(?P<revision>[^/]+|refs/pr/\d+)/(?P<path>.+)")
def resolve(self: Handler, repo: str, revision: str, path: str) -> None:
    _, commit = self.commit(repo, revision)
    if path not in commit.files:
        raise Refused(404, "Entry not found", "EntryNotFound")
    content = commit.files[path]
    entry = listed(path, content)
    headers = {
        "ETag": f'"{entry.get("lfs", entry)["oid"]}"',
        "X-Repo-Commit": commit.oid,
        "Accept-Ranges": "bytes",
    }
    if path in self.server.corrupted:
        content = content[:-1] + bytes([content[-1] ^ 1])
    wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
    if not wanted:
        self.reply(200, content, headers)
        return
    start, end = int(wanted[1]), min(int(wanted[2] or len(content) - 1), len(content) - 1)
    headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
    self.reply(206, content[start : end + 1], headers)


@contextmanager
def serving() -> Iterator[Hub]:
    """A running hub without repositories."""
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            for digest in (git_oid, sha256):
                digest.cache_clear()


def without_xet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clients of this process send large files over git-lfs."""
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
