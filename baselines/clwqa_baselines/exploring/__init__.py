"""Exploring a graph step by step from topic entities: what ToG and PoG share.

``settings``  what both can be told
``words``     what is shown of nodes and relations, and read back
``steps``     where a way can go on
``calls``     the calls of one question
``search``    the exploration for one question, and what it has gathered
``explorer``  from topics to an answer, however the search ends

A way through the graph is a `Path` of the graph store, so what an explorer needs to know of a node (where it was
reached from, over which relation, in which direction) is kept with the node and never in a list beside it.
"""
