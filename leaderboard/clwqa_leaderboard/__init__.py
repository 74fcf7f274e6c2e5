"""Submission bundles, their verification, and the board rendered from them."""
