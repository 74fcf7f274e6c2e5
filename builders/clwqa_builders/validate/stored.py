"""The gold answers, asked of a graph server: the stored Cypher over Bolt, the stored SPARQL anywhere else."""

from __future__ import annotations

from collections.abc import Iterator

from clwqa_bench.dataset import Dataset
from clwqa_bench.errors import GraphError
from clwqa_bench.kg.stores import BOLT, graph_of, scheme_of
from clwqa_builders.validate.model import Fault, Rule
from clwqa_builders.validate.rdf import cypher_answer, sparql_answer
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
        queries, read = tables.column(language.lower()), _ANSWER[language]
        with graph_of(Dataset(tables.root, tables.manifest), uri) as store:
            for row in sample(tables, size or len(tables.ids)):
                try:
                    found = list(map(read, store.query(queries[row])))
                    yield from compare(tables, row, found, language)
                except GraphError as error:
                    yield Fault(tables.ids[row], language.lower(), str(error))

    much = f"a seeded sample of {size:,}, every template first" if size else "all of them"
    return Rule(
        NAME, "error", f"The stored {language} returns the gold set in the store at {uri} ({much}).", check
    )


_ANSWER = {"Cypher": cypher_answer, "SPARQL": sparql_answer}
