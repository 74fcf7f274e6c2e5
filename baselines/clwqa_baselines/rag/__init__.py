"""RAG over passages: the texts most similar to the question are put before it, and the model is asked once.

The graph comes without documents, so passages are made from it: entries as a dictionary prints them, or node texts.
"""
