"""BYOKG-RAG: one call says which entities, paths and answers to look for; graph tools fetch them, in rounds.

After Mavromatis and others, "BYOKG-RAG: Multi-Strategy Graph Retrieval for Knowledge Graph Question Answering" (EMNLP
2025), and the code published with it.  Reading order: `system`, `agentic`, `graph`, `query`, `tasks`, `routes`,
`cypher`.
"""
