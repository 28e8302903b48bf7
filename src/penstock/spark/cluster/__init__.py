"""A Spark standalone cluster of our own on loopback, and the nodes of its regions.

`embedded` starts the master and the workers, each held by a `keeper` process that ends with its
owner. `nodes` acquires and releases workers by region, `offer` says what a worker offers to
executors, `pages` reads the daemons' web pages.
"""
