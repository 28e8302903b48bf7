"""The Spark plant: an application whose executors grow and shrink while its queries run.

`plant` reads progress events with `progress`, derives the measurements of a step with `rates`, and
has executors requested and released by `actuator`, with `warmup` for new ones, `regions` for nodes
and `machine/` for the CPU frequency. All calls of Spark's developer interfaces are in `backend`.

Beneath the queries: `session` opens a session (`java` finds a Java, `daemon` starts Python
workers), and `cluster/` is a standalone cluster of our own. Rows come from `source` or `kafka`,
pass from module to module by `streams`, and take their service time in `serve`.
"""
