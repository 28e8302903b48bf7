"""The format of a pipeline file: from text to parts, with the place of every mistake.

`find` has the text by path or name, `core/located.py` makes a draft of it, and `overrides` lays
settings of the command line over that. `sections` turns a section into a part with all its
mistakes; `flow`, `feed`, `kafka`, `policies`, `infrastructure` and `preference` read one section
each, `checks` the rest. `allocation` reads graph files with a budget. `resolve` writes a checked
file as plain values again. `pipeline/file.py` calls them in order.
"""
