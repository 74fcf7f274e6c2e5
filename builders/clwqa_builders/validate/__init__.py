"""Checking a built dataset: rules with ids and severities, over the tables as they lie on disk."""
