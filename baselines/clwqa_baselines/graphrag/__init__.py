"""GraphRAG on a given graph: an index of communities and reports on them, and four ways to answer from it.

After "From Local to Global: A GraphRAG Approach to Query-Focused Summarization" and its public code.  The graph is
given, so nothing is extracted from text.  tables.py and communities.py make the index of the graph, reports.py and
writing.py what is said of each community, local.py and reading.py what a question is answered from.
"""
