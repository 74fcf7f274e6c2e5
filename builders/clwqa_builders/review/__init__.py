"""Questions and scoring pairs read by people: a sample, sheets to fill in, what came back, and what it says."""
