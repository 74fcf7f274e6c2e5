"""A connection to a Bolt server: where it is, which product answers there, and its errors in our words."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.remote import QueryError, ServerGoneError
from clwqa_bench.kg.stores import BOLT, PASSWORD_ENV

if TYPE_CHECKING:
    from neo4j import Driver, ManagedTransaction

OF_THE_QUERY = ("ClientError.Statement", "TransactionTimedOut", "OutOfMemory")  # parts of such errors' codes
PATIENCE = 60.0  # seconds a server that goes away in the middle of something is waited for
DEFAULT_USER, DEFAULT_DATABASE = "neo4j", "neo4j"
NODE, NAME, GRAPH, NAMES = (
    "Entity",
    "ClwqaName",
    "ClwqaGraph",
    "CLWQA_NAMES",
)  # labels and a relationship type


@dataclass(frozen=True)
class Address:
    """``bolt://[USER@]HOST[:PORT][/DATABASE]``; a password never stands in it, it would be seen and recorded."""

    uri: str
    user: str = DEFAULT_USER
    database: str = DEFAULT_DATABASE

    @staticmethod
    def parse(uri: str, user: str | None = None, database: str | None = None) -> Address:
        """Read a URI; ``user`` and ``database`` go before what it says.  Raises GraphError."""
        parts = urlsplit(uri)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in BOLT or not parts.hostname or port == -1:
            fix = "write bolt://HOST:PORT or neo4j://HOST:PORT, for encryption bolt+s:// or neo4j+s://"
            raise GraphError(f"{uri!r} is no address of a Bolt server", fix=fix)
        if parts.password is not None:
            fix = f"leave it out and put it into the environment variable {PASSWORD_ENV}"
            raise GraphError("the address holds a password", fix=fix)
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return Address(
            f"{parts.scheme}://{host}:{port or 7687}",
            user or unquote(parts.username or "") or DEFAULT_USER,
            database or parts.path.strip("/") or DEFAULT_DATABASE,
        )

    @property
    def options(self) -> str:
        """How a command line names it, so that what is advised goes to this database and to no other."""
        return f"--uri {self.uri} --user {shlex.quote(self.user)} --database {shlex.quote(self.database)}"


@dataclass(frozen=True)
class Dialect:
    """A product that speaks Cypher: how it announces itself, the oldest version that will do, how it makes indexes."""

    product: str
    announced: re.Pattern[str]
    oldest: tuple[int, ...]
    schema: tuple[str, ...]


_INDEXED = ((NODE, "id"), (NODE, "label"), (NODE, "key"), (NODE, "place"), (NAME, "key"), (GRAPH, "name"))
_UNIQUE = ((NODE, "id"), (GRAPH, "name"))
_NEO4J_SCHEMA = (
    *(
        f"CREATE CONSTRAINT clwqa_{label}_{key} IF NOT EXISTS FOR (n:{label}) REQUIRE n.{key} IS UNIQUE"
        for label, key in _UNIQUE
    ),
    *(
        f"CREATE INDEX clwqa_{label}_{key} IF NOT EXISTS FOR (n:{label}) ON (n.{key})"
        for label, key in _INDEXED
        if (label, key) not in _UNIQUE
    ),
)
_MEMGRAPH_SCHEMA = (
    *(f"CREATE CONSTRAINT ON (n:{label}) ASSERT n.{key} IS UNIQUE" for label, key in _UNIQUE),
    *(f"CREATE INDEX ON :{label}({key})" for label, key in _INDEXED),
)
# Those that claim to be Neo4j for the drivers' sake stand first.
DIALECTS = (
    Dialect("ArcadeDB", re.compile(r"ArcadeDB (\d+)\.(\d+)"), (26,), _NEO4J_SCHEMA),
    Dialect("Memgraph", re.compile(r"Neo4j/v?(\d+)\.(\d+).*Memgraph"), (5,), _MEMGRAPH_SCHEMA),
    Dialect("Neo4j", re.compile(r"Neo4j/v?(\d+)\.(\d+)"), (5,), _NEO4J_SCHEMA),
)


def dialect_of(agent: str) -> Dialect:
    """The dialect of a server by the name it gives itself.  Raises GraphError for one that is too old or unknown."""
    for dialect in DIALECTS:
        if match := dialect.announced.search(agent):
            version = tuple(map(int, match.groups()))
            if version >= dialect.oldest:
                return dialect
            oldest = ".".join(map(str, dialect.oldest))
            raise GraphError(
                f"the server is {agent}, too old for this toolkit",
                fix=f"use {dialect.product} {oldest} or newer",
            )
    products = ", ".join(sorted(dialect.product for dialect in DIALECTS))
    raise GraphError(f"the server calls itself {agent!r}, which is not known", fix=f"use one of {products}")


class Connection:
    """A driver bound to one database.  Reading and writing run in transactions that the driver repeats when the
    server goes away or asks for it, so what they do must be safe to do twice."""

    def __init__(self, address: Address, password: str) -> None:
        """Connect.  Raises GraphError when nothing answers, the user is refused or the server will not do."""
        _driver_package()
        self.address = address
        self._options: dict[str, Any] = {
            "auth": (address.user, password) if password else None,
            "max_transaction_retry_time": PATIENCE,
            "notifications_min_severity": "OFF",
            "warn_notification_severity": "OFF",
        }
        with self._explained():
            self._driver = self._answered()

    def _answered(self) -> Driver:
        """A driver whose server has answered and will do."""
        from neo4j.exceptions import ConfigurationError

        try:
            return self._tried()
        except ConfigurationError:
            # Neo4j before 5.7, with Bolt before 5.2, cannot be told to send no notifications.
            del self._options["notifications_min_severity"]
            return self._tried()

    def _tried(self) -> Driver:
        from neo4j import GraphDatabase

        driver = GraphDatabase.driver(self.address.uri, **self._options)
        try:
            with driver.session(database=self.address.database) as session:  # one try: not there is not there
                self.agent = session.run("RETURN 1").consume().server.agent
            self.dialect = dialect_of(self.agent)
        except BaseException:
            driver.close()
            raise
        return driver

    def close(self) -> None:
        self._driver.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, text: str, **parameters: Any) -> list[Sequence[Any]]:
        """Rows of a query of ours."""
        with self._explained():
            found = self._driver.execute_query(
                text, parameters, database_=self.address.database, routing_="r"
            )
        return [record.values() for record in found.records]

    def look(self, text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows of a query of the user's.  One that changes something is undone and raises GraphError."""
        with (
            self._explained(),
            self._driver.session(database=self.address.database) as session,
            session.begin_transaction() as transaction,
        ):
            result = transaction.run(text, dict(parameters))
            rows = result.data()
            changed = result.consume().counters.contains_updates
            transaction.rollback()
        if changed:
            raise _changes_the_graph()
        return rows

    async def peek(self, text: str, *, rows: int, seconds: float) -> list[dict[str, Any]]:
        """The first rows of a query that nobody has read, values as the driver has them.

        Like `look` it leaves the graph as it was.  What takes longer than so many seconds raises QueryError: the
        server is told so beforehand, and the connection, which is the query's own, is cut, as not all servers listen.
        """
        from neo4j import READ_ACCESS, AsyncGraphDatabase

        fix = "ask for less, or allow it more time"
        with self._explained():
            async with (
                AsyncGraphDatabase.driver(self.address.uri, **self._options) as driver,
                driver.session(
                    database=self.address.database, default_access_mode=READ_ACCESS, fetch_size=rows
                ) as session,
            ):
                transaction = await session.begin_transaction(timeout=seconds)
                try:
                    async with asyncio.timeout(seconds):
                        result = await transaction.run(text)
                        found = [
                            dict(zip(one.keys(), one.values(), strict=True))
                            for one in await result.fetch(rows)
                        ]
                        changed = (await result.consume()).counters.contains_updates
                except TimeoutError:
                    raise QueryError(f"no result within {seconds:g} seconds", fix=fix) from None
                await transaction.rollback()
        if changed:
            raise _changes_the_graph()
        return found

    def write(self, work: Callable[[ManagedTransaction], object]) -> None:
        """Run ``work`` in one transaction; repeated if the server was lost, even if it was done but not confirmed."""
        with self._explained(), self._driver.session(database=self.address.database) as session:
            session.execute_write(work)

    def prepare(self) -> None:
        """Make constraints and indexes that are not there yet; each in a transaction of its own, as some demand."""
        with self._explained(), self._driver.session(database=self.address.database) as session:
            for statement in self.dialect.schema:
                session.run(statement).consume()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """The driver's errors as GraphErrors."""
        from neo4j.exceptions import DriverError, Neo4jError

        try:
            yield
        except (DriverError, Neo4jError) as error:
            raise explain(error, self.address) from error


def explain(error: Exception, address: Address) -> GraphError:
    """What an error of the driver means and what to do about it."""
    from neo4j import exceptions as e

    reason = " ".join((getattr(error, "message", None) or str(error)).split())[:300]
    code = getattr(error, "code", None) or ""
    where = f"{address.uri}, database {address.database}"
    if isinstance(error, e.CypherSyntaxError):
        return QueryError(f"not valid Cypher ({reason})", fix="correct the query")
    if isinstance(error, e.AuthError | e.TokenExpired) and "Forbidden" not in code:
        return GraphError(
            f"{address.uri} refused the user {address.user!r} with this password",
            fix=f"name the user, and put the password into the environment variable {PASSWORD_ENV}",
        )
    if "Security" in code or _denied(reason):
        return GraphError(
            f"{where}: the user {address.user!r} may not do this ({reason})",
            fix="use one that may read and write",
        )
    if "DatabaseNotFound" in code or "atabase" in reason and "not" in reason and "exist" in reason:
        return GraphError(
            f"{where}: there is no such database", fix="create it, or name another with --database"
        )
    if _speaks_otherwise(error):
        return GraphError(
            f"{address.uri} does not speak a version of Bolt that the driver knows ({reason})",
            fix="check the port, and that the server is Neo4j 5, Memgraph 2 or ArcadeDB 26 or newer",
        )
    if isinstance(error, e.ServiceUnavailable | e.SessionExpired):
        fix = "start the server, or check host and port"
        return ServerGoneError(f"no server answers at {address.uri} ({reason})", fix=fix)
    if isinstance(error, e.ConstraintError):
        fix = "wait until that has ended, then run the command again"
        return GraphError(f"{where}: something else is loading there at the same time ({reason})", fix=fix)
    if any(kind in code for kind in OF_THE_QUERY):
        return QueryError(f"the query cannot be run ({reason})", fix="correct the query, or ask for less")
    return GraphError(f"{where}: {reason}", fix="see the server's log")


def _changes_the_graph() -> QueryError:
    return QueryError("the query changes the graph", fix="ask with MATCH and RETURN only")


def _denied(reason: str) -> bool:
    """ArcadeDB tells in words only that a user may not do something."""
    return "not allowed" in reason or "SecurityException" in reason


def _speaks_otherwise(error: Exception) -> bool:
    from neo4j import exceptions as e

    kinds = (e.UnsupportedServerProduct, e.ConfigurationError)
    names = {kind.__name__ for kind in type(error).__mro__}
    return (
        isinstance(error, kinds)
        or "looks like HTTP" in str(error)
        or bool(names & {"BoltHandshakeError", "BoltProtocolError"})
    )


def _driver_package() -> None:
    try:
        import neo4j  # noqa: F401 - only whether it is there
    except ImportError:
        fix = "pip install 'clwqa-bench[neo4j]'"
        raise GraphError("a Bolt store needs the package neo4j, which is not installed", fix=fix) from None
