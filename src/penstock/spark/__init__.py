"""The real plant: a Spark application whose executors grow and shrink while its queries run.

`plant` is the plant. It reads progress events with `progress`, derives what a step measured with
`rates`, and has executors asked for and released by `actuator`, with `warmup` for new ones,
`regions` for nodes and `clock` for the frequency. All calls into Spark's developer interfaces are
in `backend`.

Beneath the queries: `session` opens a session (`java` finds a Java, `daemon` starts Python
workers), `cluster/` is a standalone cluster of our own, `machine/` the processors. Rows come from
`source` or `kafka`, pass from module to module by `streams`, and take their service time in
`serve`. `mark` keeps a second controller away.
"""
