"""A Spark standalone cluster of our own on loopback, and the nodes of its regions."""
