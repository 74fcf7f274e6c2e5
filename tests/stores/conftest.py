"""One Bolt server for all tests here, and databases on it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from clwqa_bench.kg.bolt.connection import Address, Connection
from tests.bolt_server import PASSWORD, USER, BoltServer

pytest.register_assert_rewrite("tests.conformance.suite")

Connect = Callable[..., Connection]
_numbers = itertools.count()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoltServer]:
    """A real server on loopback."""
    with BoltServer.start(tmp_path_factory.mktemp("bolt")) as started:
        yield started


@pytest.fixture
def database(server: BoltServer) -> Iterator[str]:
    """The name of an empty database."""
    name = server.create(f"test{next(_numbers)}")
    yield name
    server.drop(name)


@pytest.fixture
def connection(server: BoltServer, database: str) -> Iterator[Connection]:
    """A connection to an empty database."""
    made = connect(server, database)
    yield made
    made.close()


def connect(server: BoltServer, database: str, user: str = USER, password: str = PASSWORD) -> Connection:
    return Connection(Address.parse(server.uri, user, database), password)
