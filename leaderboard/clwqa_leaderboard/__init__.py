"""Submission bundles, their verification, and the board rendered from them.

A run becomes a bundle (`packing`, `bundle`), a bundle is opened as data and nothing else (`submission`), scored again
and looked over (`verification`, `probes`), and what passes becomes an entry of a board (`entry`, `board`).
"""
