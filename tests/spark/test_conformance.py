"""The Spark plant does what every plant promises."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path

import pytest

from penstock.pipeline.file import load
from penstock.spark.plant import SparkPlant
from penstock.testing import PLANT_CHECKS
from penstock.testing.checking import Check
from tests.support.spark_runs import SharedSpark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILE = load("wordcount", ["workload=constant:60/s", "step=1s", "duration=4s"])


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedSpark]:
    with SharedSpark.opened(FILE, tmp_path_factory.mktemp("spark")) as opened:
        yield opened


@pytest.mark.parametrize("check", PLANT_CHECKS, ids=lambda check: check.__name__)
def test_spark_plant(
    check: Check[Callable[[], AbstractContextManager[SparkPlant]]],
    spark: SharedSpark,
    tmp_path: Path,
) -> None:
    runs = count()
    check(lambda: spark.deployed(FILE, tmp_path / str(next(runs)), duration=4.0))
