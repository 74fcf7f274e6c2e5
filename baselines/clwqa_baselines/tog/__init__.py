"""ToG (Think-on-Graph): a beam search over the graph in which the model scores relations and entities."""

from clwqa_baselines.tog.system import ToG

__all__ = ["ToG"]
