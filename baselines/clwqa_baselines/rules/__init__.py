"""How `--llm lexical` does what systems ask: not by reading, but by the shape of the ways through the graph.

A language model reads "守株待兔 -> 出自 -> 五蠹" and sees whether it answers the question.  The rules have the linker's
model instead, learned on the train split, of which shape of way fits a question.

``ways``        what tasks carry for rules, besides what prompts show
``walks``       putting triples together to ways, and reading answers off them
``fitting``     which of the things that ways lead to answers the question
``type_graph``  where a way may lead before it is walked
``foresight``   what a relation promises to a question
"""
