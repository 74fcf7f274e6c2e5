"""One door to every graph store: what it is and where is said by one address.

    data/clwqa-100k                        a dataset or graph folder: the embedded store
    bolt://[USER@]HOST:PORT[/DATABASE]     Neo4j, Memgraph, ArcadeDB; also neo4j://, bolt+s://, neo4j+s://
    http://[USER@]HOST/sparql              a SPARQL endpoint; also https://
    oxigraph:PATH                          an .nt or .ttl file (also .gz), or a folder `kg load` filled
    rdflib:PATH                            such a file, for small graphs

A password is read from the environment variable CLWQA_STORE_PASSWORD and never stands in an address.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.kg.remote import RemoteGraph
from clwqa_bench.ontology import Ontology

if TYPE_CHECKING:
    from clwqa_bench.dataset import Dataset

PASSWORD_ENV = "CLWQA_STORE_PASSWORD"
BOLT = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
FILES = ("oxigraph", "rdflib")
HTTP = ("http", "https")


def scheme_of(address: str) -> str:
    """The scheme of an address; empty for a folder."""
    scheme, colon, _ = address.partition(":")
    return scheme if colon and scheme in (*BOLT, *FILES, *HTTP) else ""


def password_from(variable: str = PASSWORD_ENV) -> str:
    """The password in an environment variable; empty if there is none, for servers that ask for none."""
    return os.environ.get(variable, "")


def open_store(address: str | Path, ontology: Ontology | None = None) -> GraphStore:
    """Open the graph store at an address.

    ``ontology`` is the one of the graph, by default the packaged one; folders and Bolt servers know theirs.  Raises
    GraphError when nothing is there, or no graph, or a package is missing.
    """
    scheme = scheme_of(str(address))
    if scheme in BOLT:
        from clwqa_bench.kg.bolt.connection import Address, Connection
        from clwqa_bench.kg.bolt.store import BoltGraph

        connection = Connection(Address.parse(str(address)), password_from())
        try:
            return BoltGraph.open(connection)
        except GraphError:
            connection.close()
            raise
    if scheme:
        return _sparql(scheme, str(address), ontology)
    if "://" in str(address):
        fix = f"use one of {', '.join((*BOLT, *HTTP, *FILES))}, or a folder"
        raise GraphError(f"no kind of graph store is known for {str(address)!r}", fix=fix)
    folder = Path(address)
    if (folder / "manifest.json").is_file():
        from clwqa_bench.dataset import Dataset

        return Dataset.open(folder, verify=False).kg()
    from clwqa_bench.kg.memory import MemoryGraph

    return MemoryGraph.open(folder)


def store_of(dataset: Dataset, address: str) -> GraphStore:
    """A store on a server in place of a dataset's own files.  Raises GraphError if it holds another graph."""
    store = open_store(address, Ontology.load(dataset.root / "ontology.ttl"))
    if isinstance(store, RemoteGraph):
        counts = dataset.manifest.counts
        require_counts(store, (counts["entities"], counts["triples"]), address)
    return store


def require_counts(store: RemoteGraph, counts: tuple[int, int], address: str) -> None:
    """Raise GraphError unless the store holds so many entities and triples."""
    entities, triples = store.counts()
    if (entities, triples) != counts:
        store.close()
        what = f"another graph is at {address}: {entities:,} entities and {triples:,} triples"
        raise GraphError(what, fix="load the graph of this dataset")


def _sparql(scheme: str, address: str, ontology: Ontology | None) -> GraphStore:
    from clwqa_bench.kg.sparql import engines
    from clwqa_bench.kg.sparql.store import SparqlGraph

    if scheme in FILES:
        path = Path(address.removeprefix(f"{scheme}:"))
        engine: engines.Engine = (
            engines.OxigraphEngine(path) if scheme == "oxigraph" else engines.RdflibEngine(path)
        )
    else:
        parts = urlsplit(address)
        if parts.password is not None:
            fix = f"leave it out and put it into the environment variable {PASSWORD_ENV}"
            raise GraphError("the address holds a password", fix=fix)
        bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        engine = engines.HttpEngine(bare, parts.username or "", password_from())
    return SparqlGraph.open(engine, ontology)
