"""A chat-completions endpoint on the loopback interface that does what a test tells it to, over real HTTP."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[["Handler"], None]


class Server(ThreadingHTTPServer):
    """Performs the acts it is given, one per request, then `always`; keeps what it was asked."""

    daemon_threads = True

    def __init__(self, always: Act | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.acts: deque[Act] = deque()
        self.always = always or says('{"answers": ["李白"]}')
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = self.most_in_flight = 0
        self.closing = threading.Event()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def script(self, *acts: Act) -> None:
        """Do these next, in order."""
        self.acts.extend(acts)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is part of the play."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append(self.body)
            self.server.headers.append(dict(self.headers))
            act = self.server.acts.popleft() if self.server.acts else self.server.always
            self.server.in_flight += 1
            self.server.most_in_flight = max(self.server.most_in_flight, self.server.in_flight)
        try:
            act(self)
        finally:
            with self.server.lock:
                self.server.in_flight -= 1

    def send(self, status: int, body: str, headers: dict[str, str] | None = None) -> None:
        data = body.encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextmanager
def serving(always: Act | None = None) -> Iterator[Server]:
    """A running server."""
    with Server(always) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


# ---------------------------------------------------------------------- acts


def completion(text: str | None, finish: str = "stop", **message: Any) -> str:
    """The body of a chat completion."""
    return json.dumps(
        {
            "choices": [
                {"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
            ],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20},
        }
    )


def says(text: str | None, finish: str = "stop", **message: Any) -> Act:
    return lambda handler: handler.send(200, completion(text, finish, **message))


def fails(status: int, message: str = "no", code: str | None = None, **headers: str) -> Act:
    body = json.dumps({"error": {"message": message, "code": code}})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.send(status, body, named)


def sends(body: str) -> Act:
    return lambda handler: handler.send(200, body)


def drops(handler: Handler) -> None:
    """Hang up before the first byte of the response."""
    handler.close_connection = True
    handler.connection.close()


def breaks_off(handler: Handler) -> None:
    """Promise more than is sent, then hang up."""
    handler.send(200, completion("x")[:30], {"Content-Length": "5000"})
    handler.close_connection = True
    handler.connection.close()


def hangs(handler: Handler) -> None:
    """Say nothing until the server is closed."""
    handler.server.closing.wait()


def drips(handler: Handler) -> None:
    """Send a byte every few milliseconds, for ever: no read ever takes long."""
    handler.send(200, "", {"Content-Length": "100000"})
    while not handler.server.closing.wait(0.01):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def lingers(seconds: float, text: str = '{"answers": ["李白"]}') -> Act:
    def act(handler: Handler) -> None:
        handler.server.closing.wait(seconds)
        handler.send(200, completion(text))

    return act
