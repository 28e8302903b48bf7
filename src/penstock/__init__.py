"""Penstock keeps Spark streaming pipelines inside their quality of service at the least cost."""

__version__ = "0.1.0"
