"""Two pipelines that share one cluster: a file of its own, which names other applications."""
