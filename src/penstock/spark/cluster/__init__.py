"""A Spark standalone cluster of our own on loopback, and the nodes of its regions.

`embedded` starts the master and the workers, each under a `supervisor` process that ends with its
owner. `nodes` describes workers, reads the daemons' status pages, and acquires and releases workers
by region.
"""
