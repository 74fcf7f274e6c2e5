"""Loading a graph directory into a folder of Oxigraph's, whole or not at all."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from clwqa_bench.digests import file_sha256
from clwqa_bench.errors import GraphError
from clwqa_bench.kg.export import export
from clwqa_bench.kg.iri import NAMESPACE
from clwqa_bench.kg.layout import TABLES
from clwqa_bench.kg.sparql.engines import OxigraphEngine, oxigraph

MADE_FROM = f"{NAMESPACE}graph", f"{NAMESPACE}madeFrom"  # the statement that says which graph a folder holds


@dataclass(frozen=True, slots=True)
class Filled:
    """What a load did."""

    statements: int
    already: bool


def fill(directory: Path, folder: Path) -> Filled:
    """Write the RDF of a graph directory into ``folder``, under another name first; a load cut off leaves nothing.

    Raises GraphError if ``folder`` holds anything but this graph.
    """
    package = oxigraph()
    made_from = "-".join(file_sha256(directory / name) for name in TABLES)
    if folder.exists() and any(folder.iterdir()):
        if _made_from(folder) != made_from:
            fix = "name a folder that is not there yet"
            raise GraphError("something else is there, or another graph", fix=fix, file=folder)
        return Filled(len(package.Store.read_only(str(folder))) - 1, already=True)
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    store = package.Store(str(partial))
    with TemporaryDirectory(dir=folder.parent, prefix="partial-") as scratch:
        (statements,) = export(directory, "nt", Path(scratch) / "graph.nt")
        store.bulk_load(path=str(statements), format=package.RdfFormat.N_TRIPLES)
    subject, predicate = map(package.NamedNode, MADE_FROM)
    store.add(package.Quad(subject, predicate, package.Literal(made_from)))
    store.flush()
    count = len(store) - 1
    del store
    if folder.exists():
        folder.rmdir()
    partial.rename(folder)
    return Filled(count, already=False)


def _made_from(folder: Path) -> str:
    try:
        subject, predicate = MADE_FROM
        rows = OxigraphEngine(folder).select(f"SELECT ?o WHERE {{ <{subject}> <{predicate}> ?o }}")
        return next((row["o"].value for row in rows), "")
    except GraphError:
        return ""
