"""The format of a pipeline file: from text to parts, with the place of every mistake.

`find` has the text by path or name, `core/located.py` makes a draft of it, and `overrides` lays
settings of the command line over that. `model` declares the sections; `sections` reads them by that
declaration, each for itself, and `rules` says what must hold between them. `schema` writes the
declaration as a JSON Schema. `allocation` reads graph files with a budget. `resolve` writes a
checked file as plain values again. `pipeline/file.py` calls them in order.
"""
