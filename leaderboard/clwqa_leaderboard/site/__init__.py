"""Boards as a static site: entries in, one folder of files out; no server, and nothing fetched from elsewhere.

`ranks` works out which ranks a system may have, `values` makes entries into values for the page, `folder` writes
them.  What the page shows it makes from text nodes: nothing a submitter wrote is ever read as markup.
"""
