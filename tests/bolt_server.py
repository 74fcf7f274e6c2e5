"""A real Bolt server on loopback: ArcadeDB out of the wheel ``arcadedb-embedded``, with a Java of its own.

    with BoltServer.start(folder) as server:
        server.create("mydatabase"); server.uri; server.kill(); server.restart()

Everything it writes is below ``folder``; it listens on 127.0.0.1 only and is killed at the end.
"""

from __future__ import annotations

import base64
import ctypes
import importlib.util
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

USER, PASSWORD = "root", "playwithdata"
START_SECONDS = 120
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
# What a user of a group may do; the server makes a file like this itself, without the group of readers.
GROUPS = {
    group: {"resultSetLimit": -1, "readTimeout": -1, "access": access, "types": {"*": {"access": records}}}
    for group, access, records in (
        (
            "admin",
            ["updateSecurity", "updateSchema", "updateDatabaseSettings"],
            ["createRecord", "readRecord", "updateRecord", "deleteRecord"],
        ),
        ("reader", [], ["readRecord"]),
        ("*", [], []),
    )
}
JAVA = (
    "-Xms256m",
    "-Xmx1g",
    "--add-opens=java.base/java.nio.channels.spi=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
    "--add-modules=jdk.incubator.vector",
    "-Djava.awt.headless=true",
    "-Dfile.encoding=UTF8",
)
QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # up in half the time; slower in the long run


@dataclass
class BoltServer:
    """A running server; ``process`` is replaced by :meth:`restart`."""

    folder: Path
    port: int
    http_port: int
    options: tuple[str, ...] = QUICK
    process: subprocess.Popen[bytes] = field(init=False)

    @classmethod
    def start(cls, folder: Path, options: tuple[str, ...] = QUICK) -> BoltServer:
        """Start one on free ports and wait until it answers; `options` are of its Java."""
        server = cls(folder, *_free_ports(2), options)
        groups = folder / "config" / "server-groups.json"
        groups.parent.mkdir(parents=True)
        groups.write_text(
            json.dumps({"databases": {"*": {"groups": GROUPS}}, "version": 2}), encoding="utf-8"
        )
        server.restart()
        return server

    def restart(self) -> None:
        """Start it (again) on the same ports and files, and wait until it answers."""
        self.spawn()
        self._await()

    def spawn(self) -> None:
        """Start it and do not wait.  It dies with the thread that calls this, however that ends."""
        wheel = importlib.util.find_spec("arcadedb_embedded")
        assert wheel is not None
        assert wheel.origin is not None
        package = Path(wheel.origin).parent
        settings = {
            "server.rootPath": self.folder,
            "server.databaseDirectory": self.folder / "databases",
            "server.rootPassword": PASSWORD,
            "server.mode": "development",  # in production it hides what went wrong
            "server.httpIncomingHost": "127.0.0.1",
            "server.httpIncomingPort": self.http_port,
            "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
            "bolt.host": "127.0.0.1",
            "bolt.port": self.port,
            "bolt.defaultDatabase": "neo4j",
            "server.defaultDatabases": "neo4j[]",
        }
        options = [*self.options, *(f"-Darcadedb.{name}={value}" for name, value in settings.items())]
        jars = ("-cp", f"{package}/jars/*", "com.arcadedb.server.ArcadeDBServer")
        with (self.folder / "output.txt").open("ab") as log:
            self.process = subprocess.Popen(
                [package / "jre" / "bin" / "java", *JAVA, *options, *jars],
                cwd=self.folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - it makes one system call and takes no lock
            )  # fmt: skip

    def _await(self) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            if all(map(_listening, (self.port, self.http_port))):
                return
            time.sleep(0.05)
        self.kill()
        log = (self.folder / "output.txt").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"the Bolt server did not start:\n{log[-2000:]}")

    def kill(self) -> None:
        """kill -9."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def create(self, database: str) -> str:
        """Make an empty database and return its name."""
        self.command(f"create database {database}")
        return database

    def drop(self, database: str) -> None:
        self.command(f"drop database {database}")

    def reader(self, user: str, password: str, database: str) -> None:
        """Make a user that may read one database and write nothing."""
        about = {"name": user, "password": password, "databases": {database: ["reader"]}}
        self.command(f"create user {json.dumps(about)}")

    def command(self, text: str) -> None:
        """A command to the server itself, which only its own HTTP interface takes."""
        self._post("server", {"command": text})

    def rows(self, database: str, text: str) -> list[dict[str, Any]]:
        """What a query in its own SQL gives, which tells of things that Cypher has no words for."""
        answer = self._post(f"query/{database}", {"language": "sql", "command": text})
        rows: list[dict[str, Any]] = json.loads(answer)["result"]
        return rows

    def _post(self, path: str, content: dict[str, str]) -> bytes:
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode("ascii")
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http_port}/api/v1/{path}",
            data=json.dumps(content).encode(),
            headers={"Authorization": f"Basic {login}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            told: bytes = answer.read()
        return told

    @property
    def uri(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def __enter__(self) -> BoltServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _listening(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def _free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 nobody listens on, all held open until the last is known."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports
