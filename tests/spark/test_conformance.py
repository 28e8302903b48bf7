"""The Spark plant does what every plant promises."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path

import pytest

from penstock.pipeline.deploy.deploy import Session, deploy
from penstock.pipeline.deploy.launch import prepare
from penstock.pipeline.file import load
from penstock.spark.plant import SparkPlant
from penstock.testing import PLANT_CHECKS
from penstock.testing.checking import Check

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILE = load("wordcount", ["workload=constant:60/s", "step=1s", "duration=4s"])


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    scratch = tmp_path_factory.mktemp("spark")
    with prepare(FILE, None).session(scratch) as opened:
        yield opened


@pytest.mark.parametrize("check", PLANT_CHECKS, ids=lambda check: check.__name__)
def test_spark_plant(
    check: Check[Callable[[], AbstractContextManager[SparkPlant]]],
    session: Session,
    tmp_path: Path,
) -> None:
    runs = count()

    def factory() -> AbstractContextManager[SparkPlant]:
        folder = tmp_path / str(next(runs))
        return deploy(
            session,
            FILE,
            prepare(FILE, None).pipelines,
            workspace=folder,
            results=folder,
            duration=4.0,
            on_progress=lambda _: None,
        )

    check(factory)
