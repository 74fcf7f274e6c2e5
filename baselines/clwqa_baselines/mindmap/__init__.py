"""MindMap: paths between the entities of a question and their neighbourhoods, told to a model that draws a mind map.

After Wen, Wang and Sun, "MindMap: Knowledge Graph Prompting Sparks Graph of Thoughts in Large Language Models" (ACL
2024), and the code published with it.  Reading order: `system`, `paths`, `neighbours`, `tasks`.
"""
