"""Loading a graph directory into a folder of Oxigraph's, whole or not at all."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.export import export
from clwqa_bench.kg.layout import tables_digest
from clwqa_bench.kg.sparql.engines import OxigraphEngine, oxigraph
from clwqa_bench.kg.sparql.store import MADE_FROM, made_from


@dataclass(frozen=True, slots=True)
class Filled:
    """What a load did."""

    statements: int
    already: bool


def fill(directory: Path, folder: Path) -> Filled:
    """Write the RDF of a graph directory into ``folder``, under another name first; a load cut off leaves nothing.

    Raises GraphError if ``folder`` is a file or holds anything but this graph.
    """
    package = oxigraph()
    if folder.exists() and not folder.is_dir():
        fix = "name a new folder to load into; a file of RDF is asked as it is and needs no loading"
        raise GraphError("this is a file", fix=fix, file=folder)
    digest = tables_digest(directory)
    if folder.exists() and any(folder.iterdir()):
        if _made_from(folder) != digest:
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
    store.add(package.Quad(subject, predicate, package.Literal(digest)))
    store.flush()
    count = len(store) - 1
    del store
    if folder.exists():
        folder.rmdir()
    partial.rename(folder)
    return Filled(count, already=False)


def _made_from(folder: Path) -> str:
    try:
        return made_from(OxigraphEngine(folder))
    except GraphError:
        return ""
