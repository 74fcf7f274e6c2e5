"""Reference lines: systems that show what a number is worth, from blind guessing up to the truth itself."""
