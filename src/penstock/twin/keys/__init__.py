"""The twin of one operator whose rows are routed by key, with keys that migrate.

`twin` is the plant, `engine` its compiled event loop (splitter, replicas, migration) over the
records of `state`; `checks` refuses what it cannot simulate.
"""
