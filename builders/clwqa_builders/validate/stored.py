"""The gold answers, asked of a graph server: the stored Cypher over Bolt, the stored SPARQL anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clwqa_bench.errors import GraphError
from clwqa_bench.kg.iri import entity_id
from clwqa_bench.kg.remote import RemoteGraph
from clwqa_bench.kg.stores import BOLT, open_store, require_counts, scheme_of
from clwqa_builders.validate.model import Fault, Rule
from clwqa_builders.validate.rules.gold import compare, sample
from clwqa_builders.validate.tables import DatasetTables

SAMPLE = 2_000
NAME = "gold-equals-store"


def gold_equals_store(uri: str, size: int) -> Rule:
    """The rule that executes ``size`` stored queries in the store at ``uri``; all of them if ``size`` is 0.

    It is not run (GraphError) if the store cannot be opened or holds another graph.
    """
    language = "Cypher" if scheme_of(uri) in BOLT else "SPARQL"

    def check(tables: DatasetTables) -> Iterator[Fault]:
        store = open_store(uri, tables.ontology)
        if not isinstance(store, RemoteGraph):
            raise GraphError(f"the store at {uri} takes no queries", fix="name a Bolt or SPARQL store")
        require_counts(store, (tables.entities.num_rows, tables.triples.num_rows), uri)
        queries, read = tables.column(language.lower()), _ids[language]
        for row in sample(tables, size or len(tables.ids)):
            try:
                found = {read(row["id"]) for row in store.query(queries[row])}
                yield from compare(tables.ids[row], set(tables.gold[row]), found, language)
            except GraphError as error:
                yield Fault(tables.ids[row], language.lower(), str(error))
        store.close()

    much = f"a seeded sample of {size:,}, every template first" if size else "all of them"
    return Rule(
        NAME, "error", f"The stored {language} returns the gold set in the store at {uri} ({much}).", check
    )


_ids: dict[str, Callable[[str], str]] = {"Cypher": str, "SPARQL": entity_id}
