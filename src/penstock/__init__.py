"""Penstock keeps Spark streaming pipelines inside their quality of service at the least cost."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.attachment import Attachment


__version__ = "0.1.0"
__all__ = ["attach"]


def attach(spark: "SparkSession", **settings: object) -> "Attachment":
    """Watch the streaming queries of a running program and advise on its executors, or set them.

    import penstock
    penstock.attach(spark, slo="10s", policy="threshold", min_executors=1, max_executors=20)

    It decides and explains, and touches nothing unless `mode="apply"`. All settings are in
    `docs/attach.md`; they may also stand in a YAML file (`config="penstock.yaml"`) or in Spark's
    conf (`spark.penstock.maxExecutors=20`).
    """
    from importlib.util import find_spec

    from penstock.core.errors import MissingPackageError

    if find_spec("pyspark") is None:
        raise MissingPackageError(
            "attaching needs the pyspark of your program; run it in the environment that has it"
        )
    from penstock.attachment import open_attachment

    return open_attachment(spark, settings)
