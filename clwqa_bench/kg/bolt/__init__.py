"""Graph servers that speak Bolt and Cypher: Neo4j, Memgraph, ArcadeDB."""
