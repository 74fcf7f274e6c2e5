"""What systems share, in the order in which a question passes it.

``names``    what nodes are called and how questions are read
``topics``   the entities a question is about; ``mentions``: the entities that words of a model's own name
``vectors``  texts by their similarity to a question
``replies``  what becomes of a question when a call fails
``one_call`` asking once, from evidence to a prediction
``scores``   numbers that a model gives
``adapter``  from what a model wrote to an ordered list of answers; ``wrappers``: where in it the answer stands

Besides: ``evidence`` (triples as predictions hold them) and ``made_once`` (folders of the cache).
"""
