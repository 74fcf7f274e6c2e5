"""One ScoreTable, many ways to read it: terminal, a page, LaTeX, Markdown, CSV, DataFrame.

Everything here is a pure function from scores to text; no number is worked out here that is not in the table.
"""
