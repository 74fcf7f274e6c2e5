"""Question-node scoring pairs: a rubric of rules, the nodes it finds around gold paths, negatives, and the draw."""
