"""Look at a knowledge graph, take it elsewhere, or index one of your own.

Example: clwqa-bench kg show 守株待兔
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from clwqa_bench.console import emit, out_console, progress
from clwqa_bench.errors import GraphError
from clwqa_bench.kg.build import index_tables
from clwqa_bench.kg.export import export as write_export
from clwqa_bench.kg.memory import MemoryGraph
from clwqa_bench.kg.protocol import Path as Walk
from clwqa_bench.kg.stores import BOLT, PASSWORD_ENV, password_from, scheme_of
from clwqa_bench.ontology import Ontology

CITATION_TYPE = "Source"
CITATION_RELATIONS = frozenset({"hasCitation", "hasExample", "citesWork", "citesQuotation"})

app = typer.Typer(no_args_is_help=True, help=__doc__)

DEFAULT = Path("data/clwqa-100k/kg")
GraphOption = Annotated[
    Path, typer.Option("--graph", "-g", help="The folder of a graph, or of a dataset with one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@app.command()
def stats(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The folder of the graph; the same as --graph.")
    ] = None,
    graph: GraphOption = DEFAULT,
    json: JsonOption = False,
) -> None:
    """Count entities by type and triples by relation, with and without citation records.

    Example: clwqa-bench kg stats data/clwqa-100k/kg
    """
    store = open_graph(directory or graph)
    emit(count(store), json, lambda counts: _draw_counts(counts, store.ontology))


@app.command()
def show(
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="An id, a label or an alias.")],
    graph: GraphOption = DEFAULT,
    limit: Annotated[int, typer.Option(min=1, help="Neighbours shown for each relation.")] = 10,
    json: JsonOption = False,
) -> None:
    """Show one entity: its text, attributes and neighbours.

    Example: clwqa-bench kg show 守株待兔
    """
    store = open_graph(graph)
    emit(
        describe(store, resolve(store, entity), limit),
        json,
        lambda found: _draw_entity(found, store.ontology),
    )


@app.command()
def path(
    start: Annotated[str, typer.Argument(metavar="A", help="An id, a label or an alias.")],
    end: Annotated[str, typer.Argument(metavar="B", help="An id, a label or an alias.")],
    graph: GraphOption = DEFAULT,
    max_length: Annotated[int, typer.Option(min=1, help="Longest path to look for, in edges.")] = 6,
    directed: Annotated[bool, typer.Option("--directed", help="Walk edges forwards only.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Paths shown.")] = 10,
    json: JsonOption = False,
) -> None:
    """Show the shortest paths between two entities.

    Example: clwqa-bench kg path 守株待兔 韩非
    """
    store = open_graph(graph)
    ends = resolve(store, start), resolve(store, end)
    found = store.shortest(
        [ends[0]], ends[1], max_length=max_length, directed=directed, every=True, limit=limit
    )
    result = {
        "start": ends[0],
        "end": ends[1],
        "paths": [asdict(walk) | {"text": path_text(store, walk)} for walk in found],
        "total": found.total,
        "truncated": found.truncated,
    }
    emit(result, json, _draw_paths)


@app.command()
def export(
    format: Annotated[
        Literal["ttl", "nt", "parquet", "jsonl", "cypher", "csv"],
        typer.Option("--format", "-f", help="What to write."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="A file; for parquet, jsonl and csv a folder.")],
    graph: GraphOption = DEFAULT,
    json: JsonOption = False,
) -> None:
    """Write the graph for other tools: RDF, tables, a Cypher script, or CSV for neo4j-admin.

    A file name that ends in .gz is compressed.
    Lists in the CSV are separated by U+001F: import them with --array-delimiter=U+001F --multiline-fields=true.

    Example: clwqa-bench kg export --format ttl --out graph.ttl
    """
    files = write_export(folder_of(graph), format, out)
    emit([str(file) for file in files], json, lambda names: Text("\n".join(names)))


@app.command()
def load(
    uri: Annotated[
        str, typer.Option("--uri", help="bolt://HOST:PORT, neo4j://HOST:PORT, or oxigraph:FOLDER to write.")
    ],
    graph: GraphOption = DEFAULT,
    user: Annotated[str | None, typer.Option(help="The user of the server, by default neo4j.")] = None,
    password_env: Annotated[
        str, typer.Option(metavar="NAME", help="The environment variable that holds the password.")
    ] = PASSWORD_ENV,
    database: Annotated[str | None, typer.Option(help="The database, by default neo4j.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Rows written in one transaction.")] = 5_000,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Go on with a load that was cut off, or refuse.")
    ] = True,
    json: JsonOption = False,
) -> None:
    """Load the graph into a server that speaks Bolt (Neo4j, Memgraph, ArcadeDB), or into a folder of Oxigraph's.

    The database has to be empty. The same command goes on where it was stopped; on a graph that is there already it
    checks the counts and does nothing else.

    Example: clwqa-bench kg load --uri bolt://localhost:7687
    """
    folder = folder_of(graph)
    scheme = scheme_of(uri)
    if scheme in BOLT:
        result = _load_bolt(folder, uri, user, password_from(password_env), database, batch, resume)
    elif scheme == "oxigraph":
        from clwqa_bench.kg.sparql.load import fill

        result = asdict(fill(folder, Path(uri.removeprefix("oxigraph:"))))
    else:
        what = f"{uri!r} is nothing this command can load into"
        raise GraphError(what, fix="name bolt://HOST:PORT, or load kg.nt.gz with your endpoint's own program")
    emit({"uri": uri} | result, json, _draw_loaded)


def _load_bolt(
    folder: Path, uri: str, user: str | None, password: str, database: str | None, batch: int, resume: bool
) -> dict[str, Any]:
    from clwqa_bench.kg.bolt.connection import Address, Connection
    from clwqa_bench.kg.bolt.load import Source
    from clwqa_bench.kg.bolt.load import load as load_into

    with Connection(Address.parse(uri, user, database), password) as connection, progress("load") as bar:
        return asdict(load_into(Source(folder), connection, batch=batch, resume=resume, progress=bar))


def _draw_loaded(result: dict[str, Any]) -> RenderableType:
    verb = "was there already" if result["already"] else "loaded"
    counts = ", ".join(f"{result[k]:,} {k}" for k in ("entities", "triples", "statements") if k in result)
    return Text(f"{counts}: {verb}")


@app.command()
def index(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Holds entities.parquet and triples.parquet.")
    ],
    ontology: Annotated[Path | None, typer.Option(help="Your own ontology, a Turtle file.")] = None,
    json: JsonOption = False,
) -> None:
    """Index a graph of your own, or a downloaded one: check its two tables and write what `kg` reads.

    Example: clwqa-bench kg index my-graph --ontology my-ontology.ttl
    """
    index_tables(directory, Ontology.load(ontology))
    store = MemoryGraph.open(directory)
    result = {"entities": len(store), "triples": sum(s.count for s in store.schema().signatures)}
    emit(result, json, lambda r: Text(f"{r['entities']:,} entities, {r['triples']:,} triples indexed"))


# ---------------------------------------------------------------------- what is shown


def folder_of(graph: Path) -> Path:
    """The folder of the graph: ``graph`` itself, or ``kg`` in it when it is a dataset.

    Raises GraphError when nothing is built yet where every command looks by default.
    """
    if graph == DEFAULT and not graph.is_dir():
        raise GraphError(
            "no dataset is built here yet", file=graph, fix="make build, or name a graph with --graph"
        )
    return graph / "kg" if (graph / "manifest.json").is_file() else graph


def open_graph(graph: Path) -> MemoryGraph:
    """Open the graph a command was given; see :func:`folder_of`."""
    return MemoryGraph.open(folder_of(graph))


def resolve(store: MemoryGraph, name: str) -> str:
    """The entity a person means by an id, a label or an alias; a citation record only when nothing else has the name.

    Raises GraphError with what to type instead.
    """
    if name in store:
        return name
    named = store.lookup(name)
    found = [node for node in named if CITATION_TYPE not in store.types(node)] or named
    if len(found) == 1:
        return found[0]
    if found:
        what = f"{name!r} names {len(found)} entities"
        raise GraphError(what, fix=f"use an id: {_listed(store, found)}")
    near = [node for node, _ in store.fuzzy(name, 5)]
    fix = f"did you mean {_listed(store, near)}" if near else "check the spelling"
    raise GraphError(f"nothing is called {name!r} in this graph", fix=fix)


def count(store: MemoryGraph) -> dict[str, Any]:
    """Totals and counts by type and relation; ``without_citation_records`` leaves out bookkeeping nodes."""
    by_type = {t: sum(1 for _ in store.by_type(t, descendants=False)) for t in store.ontology.types}
    signatures = store.schema().signatures
    whole, plain = Counter[str](), Counter[str]()
    for s in signatures:
        whole[s.relation] += s.count
        if CITATION_TYPE not in (s.head_type, s.tail_type) and s.relation not in CITATION_RELATIONS:
            plain[s.relation] += s.count
    return {
        "entities": len(store),
        "triples": whole.total(),
        "entities_by_type": {t: n for t, n in by_type.items() if n},
        "triples_by_relation": dict(whole.most_common()),
        "without_citation_records": {
            "entities": len(store) - by_type.get(CITATION_TYPE, 0),
            "triples": plain.total(),
        },
    }


def describe(store: MemoryGraph, node: str, limit: int) -> dict[str, Any]:
    """An entity and up to ``limit`` neighbours for each relation and direction."""
    around = []
    for direction in ("out", "in"):
        for relation in store.relations(node, direction):
            found = store.neighbours(node, relation, direction, limit=limit)
            named = [{"id": other, "label": store.label(other)} for other in found]
            around.append(
                {"relation": relation, "direction": direction, "total": found.total, "neighbours": named}
            )
    entity = asdict(store.entity(node))
    entity["attributes"] = [{"key": key, "value": value} for key, value in entity["attributes"]]
    return entity | {"relations": around}


def path_text(store: MemoryGraph, walk: Walk) -> str:
    """A path on one line, edges as arrows in the direction they are stored."""
    text = store.label(walk.nodes[0])
    for relation, sense, node in zip(walk.relations, walk.senses, walk.nodes[1:], strict=True):
        arrow = f"-{relation}->" if sense == "out" else f"<-{relation}-"
        text += f" {arrow} {store.label(node)}"
    return text


def _listed(store: MemoryGraph, nodes: Iterable[str]) -> str:
    named = [f"{n} ({store.label(n)}, {store.ontology.label(store.types(n)[0])})" for n in nodes]
    return ", ".join(named[:8]) + (f" and {len(named) - 8} more" if len(named) > 8 else "")


# ---------------------------------------------------------------------- tables for people


def _draw_counts(counts: dict[str, Any], ontology: Ontology) -> RenderableType:
    plain = counts["without_citation_records"]
    totals = Table("", Column("entities", justify="right"), Column("triples", justify="right"), box=None)
    totals.add_row("all", f"{counts['entities']:,}", f"{counts['triples']:,}")
    totals.add_row("without citation records", f"{plain['entities']:,}", f"{plain['triples']:,}")
    return Group(
        totals,
        "",
        _counted("type", counts["entities_by_type"], ontology),
        "",
        _counted("relation", counts["triples_by_relation"], ontology),
    )


def _counted(title: str, counts: dict[str, int], ontology: Ontology) -> Table:
    table = Table(title, "", Column("count", justify="right"), box=None)
    for name, number in sorted(counts.items(), key=lambda item: -item[1]):
        table.add_row(name, ontology.label(name), f"{number:,}")
    return table


def _draw_entity(found: dict[str, Any], ontology: Ontology) -> RenderableType:
    facts = [
        ("id", found["id"]),
        ("type", " < ".join(f"{name} {ontology.label(name)}" for name in found["types"])),
        ("also", "、".join(found["aliases"])),
        ("text", found["text"]),
        *((pair["key"], pair["value"]) for pair in found["attributes"]),
        ("from", found["provenance"]),
    ]
    edges = []
    for group in found["relations"]:
        arrow = f"-{group['relation']}->" if group["direction"] == "out" else f"<-{group['relation']}-"
        names = "、".join(neighbour["label"] for neighbour in group["neighbours"])
        more = group["total"] - len(group["neighbours"])
        edges.append((arrow, names + (f" and {more:,} more" if more else "")))
    return Group(Text(found["label"], style="bold"), _aligned(facts), Text(), _aligned(edges))


def _aligned(pairs: list[tuple[str, str]]) -> RenderableType:
    """Lines of a name and a value, without the empty ones.

    A terminal folds a long value under its beginning; a file or a pipe gets it as one line.
    """
    shown = [(name, value) for name, value in pairs if value]
    if not out_console.is_terminal:
        width = max((len(name) for name, _ in shown), default=0)
        return Text("\n".join(f"{name:{width}}  {value}" for name, value in shown))
    grid = Table.grid(Column(no_wrap=True), Column(overflow="fold"), padding=(0, 2))
    for name, value in shown:
        grid.add_row(name, Text(value))
    return grid


def _draw_paths(result: dict[str, Any]) -> RenderableType:
    lines = [walk["text"] for walk in result["paths"]] or ["no path of this length"]
    if result["truncated"]:
        lines.append(f"({result['total'] - len(result['paths']):,} more of the same length)")
    return Text("\n".join(lines))
