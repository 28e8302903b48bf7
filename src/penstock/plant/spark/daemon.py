"""Spark's Python daemon, with the libraries that every worker needs loaded before it forks.

A worker then starts in milliseconds and shares their memory, where it would otherwise import
them anew: most of the wait for a new executor's first task.
"""

import runpy

import numpy  # noqa: F401
import pandas  # noqa: F401
import pyarrow  # noqa: F401
import pyspark.sql.pandas.serializers
import pyspark.worker  # noqa: F401

import penstock.plant.spark.serve
import penstock.plant.spark.source
import penstock.plant.spark.stream  # noqa: F401

if __name__ == "__main__":
    runpy.run_module("pyspark.daemon", run_name="__main__")
