"""Graphs in RDF, asked in SPARQL: rdflib, Oxigraph, or any endpoint over HTTP."""
