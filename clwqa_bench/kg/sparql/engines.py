"""What runs SPARQL: each engine takes the text of a SELECT query and gives rows of terms.

A term is an RDF term as plain values, so that the store above need not know who answered.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.remote import ServerGoneError

if TYPE_CHECKING:
    from httpx import Response

INTEGERS = frozenset({"integer", "int", "long", "short", "nonNegativeInteger", "positiveInteger"})
XSD = "http://www.w3.org/2001/XMLSchema#"
TIMEOUT = 60.0  # seconds an endpoint may take for one query
# What an endpoint, or what stands before it, answers when it cannot now.
AWAY = frozenset({429, 502, 503, 504})
PAUSES = (1.0, 3.0)  # seconds until such an endpoint is asked again
LEAST, SOON = "SELECT ?a WHERE { ?a ?b ?c } LIMIT 1", 10.0  # what any endpoint answers within so many seconds


class Term(NamedTuple):
    """An RDF term: ``kind`` is uri, literal or bnode, ``datatype`` an IRI or empty."""

    kind: str
    value: str
    datatype: str = ""

    def plain(self) -> str | int | float | bool:
        """A number or truth value as such, anything else as its text."""
        name = self.datatype.removeprefix(XSD)
        if self.kind != "literal" or name == self.datatype:
            return self.value
        if name in INTEGERS:
            return int(self.value)
        if name in ("decimal", "double", "float"):
            return float(self.value)
        return self.value == "true" if name == "boolean" else self.value


Row = dict[str, Term]  # by the name of the variable; one that is not bound is left out


class Engine(Protocol):
    """Runs SELECT queries; `name` tells which program does."""

    name: str

    def select(self, text: str) -> Iterator[Row]:
        """The rows of a SELECT query.  Raises GraphError for a text that is none, or when nobody answers."""
        ...

    def close(self) -> None:
        """Give files and connections back."""
        ...


class RdflibEngine:
    """A graph in memory, in plain Python: no extra needed, meant for some ten thousand statements."""

    def __init__(self, path: Path) -> None:
        from rdflib import Graph, __version__

        self.name = f"rdflib {__version__}"
        self._graph = Graph()
        with opened(path) as source:
            try:
                self._graph.parse(source, format=format_of(path))
            except Exception as error:  # noqa: BLE001 - its parsers raise anything, ValueError to AssertionError
                raise _unreadable(path, error) from None

    def select(self, text: str) -> Iterator[Row]:
        from pyparsing import ParseException
        from rdflib import BNode, Literal

        def term(node: Any) -> Term:
            if isinstance(node, Literal):
                return Term("literal", str(node), str(node.datatype or ""))
            return Term("bnode" if isinstance(node, BNode) else "uri", str(node))

        try:
            result = self._graph.query(text)
        except ParseException as error:
            raise _no_query(error) from None
        if result.type != "SELECT":
            raise _not_select()
        for bindings in result.bindings:
            yield {str(name): term(node) for name, node in bindings.items()}

    def close(self) -> None:
        self._graph.close()


class OxigraphEngine:
    """pyoxigraph, in memory for a file, on disk for a folder that ``kg load`` made."""

    def __init__(self, path: Path) -> None:
        package = oxigraph()
        self.name = f"oxigraph, pyoxigraph {package.__version__}"
        if path.is_dir():
            try:
                self._store = package.Store.read_only(str(path))
            except (OSError, ValueError) as error:
                raise _unreadable(path, error) from None
            return
        self._store = package.Store()
        with opened(path) as source:
            try:
                self._store.bulk_load(input=source, format=_oxigraph_format(path))
            except (OSError, SyntaxError, ValueError) as error:
                raise _unreadable(path, error) from None

    def select(self, text: str) -> Iterator[Row]:
        package = oxigraph()

        def term(node: Any) -> Term:
            if isinstance(node, package.Literal):
                return Term("literal", node.value, node.datatype.value)
            return Term("uri" if isinstance(node, package.NamedNode) else "bnode", node.value)

        try:
            result = self._store.query(text)
        except SyntaxError as error:
            raise _no_query(error) from None
        if not isinstance(result, package.QuerySolutions):
            raise _not_select()
        names = [variable.value for variable in result.variables]
        for solution in result:
            yield {name: term(node) for name in names if (node := solution[name]) is not None}

    def close(self) -> None:
        pass


class HttpEngine:
    """An endpoint that speaks the SPARQL 1.1 protocol and answers in its JSON format.

    One that cannot answer now is asked again after a pause.  Raises ServerGoneError when it cannot then either.
    """

    name = "SPARQL endpoint"

    def __init__(self, url: str, user: str = "", password: str = "") -> None:
        import httpx

        self._url = url
        self._client = httpx.Client(auth=(user, password) if user else None)

    def select(self, text: str) -> Iterator[Row]:
        answer = self._answer(text)
        self._check(answer.status_code, answer.text)
        try:
            data = answer.json()
            rows = data["results"]["bindings"]
        except (ValueError, KeyError, TypeError):
            if isinstance(answer.text, str) and '"boolean"' in answer.text:
                raise _not_select() from None
            fix = "name the address of its SPARQL query service"
            raise GraphError(f"{self._url} does not answer in SPARQL's JSON format", fix=fix) from None
        for row in rows:
            yield {name: _json_term(term) for name, term in row.items()}

    def _answer(self, text: str) -> Response:
        """What the endpoint says to a query."""
        import httpx

        try:
            answer = self._post(text, TIMEOUT)
            for pause in PAUSES:
                if answer.status_code not in AWAY:
                    break
                time.sleep(pause)
                answer = self._post(text, TIMEOUT)
        except httpx.TimeoutException:
            raise self._too_long() from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            fix = "start it, or check the address"
            raise ServerGoneError(f"no endpoint answers at {self._url} ({error})", fix=fix) from None
        if answer.status_code in AWAY:
            fix = "wait until it answers again, then run the command again; or see the server's log"
            raise ServerGoneError(
                f"the endpoint {self._url} answered {answer.status_code}: {_short(answer.text)}", fix=fix
            )
        return answer

    def _post(self, text: str, seconds: float) -> Response:
        accepted = {"Accept": "application/sparql-results+json"}
        return self._client.post(self._url, data={"query": text}, headers=accepted, timeout=seconds)

    def _too_long(self) -> GraphError:
        """Either the query is hard, and another one could be answered, or the endpoint hangs."""
        import httpx

        try:
            alive = self._post(LEAST, SOON).status_code == 200
        except httpx.HTTPError:
            alive = False
        if alive:
            fix = "ask for less, or raise the endpoint's own limit"
            return GraphError(f"the endpoint {self._url} took too long for a query", fix=fix)
        fix = "start it again, or see the server's log"
        return ServerGoneError(f"the endpoint {self._url} does not answer any more", fix=fix)

    def _check(self, status: int, text: str) -> None:
        reason = _short(text)
        if status in (401, 403):
            raise GraphError(
                f"the endpoint {self._url} refused the user",
                fix="write USER@ into the address and the password into CLWQA_STORE_PASSWORD",
            )
        if status == 400:
            raise _no_query(reason)
        if status != 200:
            fix = "check the address, or see the server's log"
            raise GraphError(f"the endpoint {self._url} answered {status}: {reason}", fix=fix)

    def close(self) -> None:
        self._client.close()


def _json_term(term: dict[str, str]) -> Term:
    kind = "literal" if term["type"] == "typed-literal" else term["type"]
    return Term(kind, term["value"], term.get("datatype", ""))


# ---------------------------------------------------------------------- files


def format_of(path: Path) -> str:
    """The RDF format of a file by its name.  Raises GraphError for another ending."""
    ending = Path(path.name.removesuffix(".gz")).suffix
    try:
        return {".nt": "nt", ".ttl": "turtle"}[ending]
    except KeyError:
        fix = "name one that ends in .nt or .ttl, or .nt.gz or .ttl.gz"
        raise GraphError("not a known kind of RDF file", fix=fix, file=path) from None


def opened(path: Path) -> IO[bytes]:
    """A file to read, unpacked if its name ends in .gz."""
    format_of(path)
    if not path.is_file():
        raise GraphError("the file is missing", fix="write it with `clwqa-bench kg export`", file=path)
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _oxigraph_format(path: Path) -> Any:
    formats = oxigraph().RdfFormat
    return formats.N_TRIPLES if format_of(path) == "nt" else formats.TURTLE


def oxigraph() -> Any:
    """The package pyoxigraph.  Raises GraphError if it is not installed."""
    try:
        import pyoxigraph
    except ImportError:
        fix = "pip install 'clwqa-bench[sparql]'"
        raise GraphError("this needs the package pyoxigraph, which is not installed", fix=fix) from None
    return pyoxigraph


def _unreadable(path: Path, error: object) -> GraphError:
    return GraphError(
        f"cannot be read as RDF ({error})", fix="write it again with `clwqa-bench kg export`", file=path
    )


def _no_query(error: object) -> GraphError:
    return GraphError(f"not valid SPARQL ({_short(error)})", fix="correct the query")


def _short(told: object) -> str:
    """What a server or a parser says, on one line."""
    return " ".join(str(told).split())[:300]


def _not_select() -> GraphError:
    return GraphError("only SELECT queries can be asked", fix="write SELECT ?a ... WHERE { ... }")
