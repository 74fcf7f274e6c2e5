"""The experiments of the seed paper's section 5, as data, and the command that runs them for any language model.

``definitions`` is to be read like that section; ``design`` says what an experiment is made of.  ``plan`` turns one
into run folders, ``measure`` takes figures from a run, ``tables`` puts them into a table, which ``render`` and
``plots`` show; ``elsewhere`` holds what the paper reports.  A table knows nothing of how its runs were made.
"""
