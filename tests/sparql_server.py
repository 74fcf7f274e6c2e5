"""A SPARQL endpoint on loopback: pyoxigraph behind the standard library's HTTP server."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pyoxigraph

HANGS, HANGS_FOR = 500, 0.6  # a status, and for how many seconds it is not given


class Handler(BaseHTTPRequestHandler):
    """The query operation of the SPARQL 1.1 protocol by POST, and a few ways to go wrong."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = (
        1 << 16
    )  # head and body leave together, else each answer waits for an acknowledgement of the first
    store: pyoxigraph.Store
    login: str | None = None
    away: list[int]

    def do_POST(self) -> None:
        text = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8"))["query"][0]
        if self.away:
            status = self.away.pop(0)
            if status == HANGS:
                time.sleep(HANGS_FOR)
            self._answer(status, b"not now", "text/plain")
            return
        if self.login and self.headers.get("Authorization") != f"Basic {self.login}":
            self._answer(401, b"who are you", "text/plain")
            return
        if self.path == "/page":
            self._answer(200, b"<html>a web page</html>", "text/html")
            return
        if self.path != "/sparql":
            self._answer(404, b"nothing here", "text/plain")
            return
        try:
            found = self.store.query(text)
        except SyntaxError as error:
            self._answer(400, str(error).encode(), "text/plain")
            return
        body = found.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        assert isinstance(body, bytes)
        self._answer(200, body, "application/sparql-results+json")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def endpoint(file: Path, user: str = "", password: str = "", away: list[int] | None = None) -> Iterator[str]:
    """Serve an N-Triples file; gives the address of the host, the service is at /sparql.

    While `away` holds a status, it answers that to a query and takes it out; HANGS is one that comes late.
    """
    store = pyoxigraph.Store()
    store.bulk_load(path=str(file), format=pyoxigraph.RdfFormat.N_TRIPLES)
    login = base64.b64encode(f"{user}:{password}".encode()).decode("ascii") if user else None
    handler = type(
        "Bound", (Handler,), {"store": store, "login": login, "away": [] if away is None else away}
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
