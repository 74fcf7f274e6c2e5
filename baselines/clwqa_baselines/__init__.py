"""Question-answering systems, each readable alone and written against the core's public interface only.

A folder is a system: ``system`` says how a question becomes a prediction, ``config`` what can be set, ``tasks`` (with
``prompts``) what is asked of a language model.  What several systems need is

``shared``      finding topics, searching texts, asking, reading answers out of replies
``exploring``   walking from topics step by step (ToG, PoG)
``rules``       how `--llm lexical` does tasks by the shape of ways, without a model

``experiments`` runs systems against each other.
"""
