"""From canonical rows to the entity and triple tables of the knowledge graph."""
