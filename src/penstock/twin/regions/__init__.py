"""Pipelines in regions, with nodes that come and go.

`nodes` acquires and releases nodes and places replicas on them, `places` checks where modules are,
and `slots` is the model of the e2df paper, in which no backlog carries over.
"""
