"""Questions: patterns over the graph, their complete answers, and the wording in Chinese."""
