"""Questions written by a language model from evidence out of the graph, and checked against the graph."""
