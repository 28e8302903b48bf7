"""Spark's Python daemon, with the libraries that every worker needs loaded before it forks.

A worker then starts in milliseconds and shares their memory, where it would otherwise import
them again: most of the wait for a new executor's first task. What an application needs besides is
named in the environment, as modules and functions to call: `package.module` or
`package.module:function`, with commas between them.
"""

import os
import runpy
from importlib import import_module
from typing import Final

import numpy  # noqa: F401
import pandas  # noqa: F401
import pyarrow  # noqa: F401
import pyspark.sql.pandas.serializers
import pyspark.worker  # noqa: F401

import penstock.spark.serve
import penstock.spark.source
import penstock.spark.streams  # noqa: F401

PRELOAD: Final = "PENSTOCK_PRELOAD"


def preload(named: str) -> None:
    """Import the modules, and call the functions.

    >>> preload("string, time:time")
    """
    for name in filter(None, (word.strip() for word in named.split(","))):
        module, _, function = name.partition(":")
        loaded = import_module(module)
        if function:
            getattr(loaded, function)()


if __name__ == "__main__":
    preload(os.environ.get(PRELOAD, ""))
    runpy.run_module("pyspark.daemon", run_name="__main__")
