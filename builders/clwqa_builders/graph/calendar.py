"""The calendar layer: the twenty-four solar terms, their seventy-two phenological signs, and the lunar festivals.

Names are read from the package's source as literals (``ast``); nothing of the package is executed.
"""

from __future__ import annotations

import ast
from pathlib import Path

from clwqa_bench.errors import SourceError
from clwqa_builders.graph.tables import GraphTables

SIGNS_PER_TERM = 3
CUSTOMS = "category:customs_practices"


def class_names(path: Path, class_name: str, attribute: str = "NAMES") -> list[str]:
    """The list of strings bound to ``attribute`` in the body of a class of a Python source file.

    Raises SourceError when the file does not define it as a literal list.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            for item in node.body:
                target = item.target if isinstance(item, ast.AnnAssign) else None
                if (
                    isinstance(target, ast.Name)
                    and target.id == attribute
                    and isinstance(item, ast.AnnAssign)
                ):
                    value = ast.literal_eval(item.value) if item.value is not None else None
                    if isinstance(value, list) and all(isinstance(v, str) for v in value):
                        return value
    raise SourceError(
        f"class {class_name} has no literal list {attribute}",
        file=path,
        field=attribute,
        fix="install the pinned version of the package: pip install 'clwqa-bench[build]'",
    )


def add_calendar(
    graph: GraphTables, terms: list[str], signs: list[str], festivals: list[str], origin: str
) -> None:
    """Term and sign lists both start at the winter solstice, three signs to a term, in order."""
    if len(signs) != SIGNS_PER_TERM * len(terms):
        raise SourceError(
            f"{len(signs)} phenological signs do not divide among {len(terms)} solar terms",
            fix="install the pinned version of the package: pip install 'clwqa-bench[build]'",
        )
    for number, term in enumerate(terms):
        node = graph.node(
            f"word:{term}", term, "DictionaryWord", f"{origin}#term-{number}", attributes={"calendar": "节气"}
        )
        graph.edge(node, "belongsToCategory", CUSTOMS, origin)
    for number, sign in enumerate(signs):
        node = graph.node(
            f"word:{sign}", sign, "DictionaryWord", f"{origin}#sign-{number}", attributes={"calendar": "物候"}
        )
        graph.edge(node, "inSolarTerm", f"word:{terms[number // SIGNS_PER_TERM]}", origin)
        graph.edge(node, "belongsToCategory", CUSTOMS, origin)
    for number, festival in enumerate(festivals):
        node = graph.node(
            f"word:{festival}",
            festival,
            "DictionaryWord",
            f"{origin}#festival-{number}",
            attributes={"calendar": "传统节日"},
        )
        graph.edge(node, "belongsToCategory", CUSTOMS, origin)
