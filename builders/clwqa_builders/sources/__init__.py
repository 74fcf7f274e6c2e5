"""The open sources the benchmark is made from: what they are, where they are, and whether they are intact."""
