"""The real plant: a Spark application whose executors grow and shrink while its queries run."""
