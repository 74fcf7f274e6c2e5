"""How the benchmark is made: open sources -> knowledge graph -> questions -> splits -> validated dataset."""
