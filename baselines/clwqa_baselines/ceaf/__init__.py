"""CEAF-CLWQA, the framework of the seed paper: element linking, path retrieval, evidence ranking, answer generation.

One module per stage, in the order of the paper's section 4: ``linking``, ``retrieval`` (with ``relaxation``),
``ranking``, ``answering``; ``system`` runs them one after the other.
"""
