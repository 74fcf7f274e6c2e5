"""clwqa-bench: question answering over a knowledge graph of Chinese culture-loaded words.

This package is the core: contracts, graph, scoring, running and reporting.  Importing it imports nothing else;
take what you need from its modules.
"""

__version__ = "0.1.0"
