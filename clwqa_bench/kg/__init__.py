"""The knowledge graph: what a store can be asked (``protocol``), the embedded store (``memory``), building,
searching and exporting it."""
