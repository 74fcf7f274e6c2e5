"""A language model on this machine: transformers, batched, held to the schema of the task.

`weights` finds the model and makes a GGUF file loadable, `prompting` writes what it reads, `constraint` says what it
may write, `generation` lets it write, `backend` puts them together.  No network is needed except for a Hub name.
"""
