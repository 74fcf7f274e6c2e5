"""Top-k triples: the facts most similar to the question, around what it names (KAPING) or of the whole graph (LatamQA).

No path is followed and nothing is reasoned about: triples are put into words, ranked by similarity and shown.
"""
