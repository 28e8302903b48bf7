"""Modules whose rows are routed by key, with keys that migrate.

`tables` has the routing tables that are asked for, `state` the records of keys and replicas, and
`engine` is what a station with keys does in the event loop of the twin.
"""
