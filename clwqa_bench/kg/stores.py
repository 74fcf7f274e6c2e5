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
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.layout import TABLES
from clwqa_bench.kg.protocol import GraphStore
from clwqa_bench.kg.remote import RemoteGraph, ServerGoneError
from clwqa_bench.ontology import Ontology

if TYPE_CHECKING:
    from clwqa_bench.dataset import Dataset

PASSWORD_ENV = "CLWQA_STORE_PASSWORD"
BOLT = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
FILES = ("oxigraph", "rdflib")
HTTP = ("http", "https")
COMPARED = 50  # entities, where no digest says that a store holds the same graph


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


@contextmanager
def graph_of(dataset: Dataset, address: str | None = None) -> Iterator[GraphStore]:
    """The graph of a dataset: its own files, or the same graph in the store at an address, which is closed again.

    Raises GraphError if no store is there, or if it holds another graph; see `require_same`.
    """
    if address is None:
        yield dataset.kg()
        return
    if not scheme_of(address):
        fix = f"write one with {', '.join((*BOLT, *HTTP, *FILES))}; the dataset's own files need none"
        raise GraphError(f"{address!r} is no address of a graph store", fix=fix)
    store = open_store(address, Ontology.load(dataset.root / "ontology.ttl"))
    assert isinstance(store, RemoteGraph)
    try:
        require_same(store, dataset, address)
        yield store
    finally:
        store.close()


def require_same(store: RemoteGraph, dataset: Dataset, address: str) -> None:
    """Raise GraphError unless a store holds the graph of a dataset, ServerGoneError if it goes away meanwhile.

    Compared are the counts; the digests of the tables it was loaded from; and where a store does not know those,
    everything about some entities and the triples at them.
    """
    entities, triples = store.counts()
    counts, files = dataset.manifest.counts, dataset.manifest.files
    if (entities, triples) != (counts["entities"], counts["triples"]):
        raise _another(address, f"{entities:,} entities and {triples:,} triples")
    if loaded_from := store.made_from():
        if loaded_from != "-".join(files[f"kg/{name}"].sha256 for name in TABLES):
            raise _another(address, "it was loaded from other tables")
        return
    mine = dataset.kg()
    for node in random.Random(entities).sample(mine.ids, min(COMPARED, entities)):
        try:
            same = _told(store, node) == _told(mine, node)
        except ServerGoneError:
            raise  # that says nothing of the graph
        except GraphError as error:
            raise _another(address, error.what) from error
        if not same:
            raise _another(address, f"it says something else of {node!r}")


def _told(store: GraphStore, node: str) -> object:
    """What every kind of store says of a node; of lists that RDF has no order for, what is in them."""
    entity = store.entity(node)
    return replace(entity, aliases=(), attributes=()), {*entity.aliases}, list(store.triples(node))


def _another(address: str, how: str) -> GraphError:
    return GraphError(f"another graph is at {address}: {how}", fix="load the graph of this dataset")


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
