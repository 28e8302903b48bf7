"""From a pipeline file to queries that run on Spark."""
