"""Question-answering systems, each readable alone and written against the core's public interface only."""
