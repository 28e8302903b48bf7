"""The twin of a pipeline in regions, with nodes that come and go.

`twin` is the plant; `nodes` acquires and releases nodes and places replicas on them.
"""
