"""A graph of your own: two tables, and what else you know of it, become a dataset like the packaged one.

``tables`` reads and checks the folder; ``kinds`` and ``signatures`` find the types of entities and the signatures of
relations that nobody wrote down, ``schema`` puts them together; ``wording`` and ``metapaths`` make question templates;
``instances``, ``groups`` and ``select`` decide what is asked and in which split; ``pipeline`` runs it all.
"""
