"""From a pipeline file to a running plant: a cluster, a session on it, and the queries."""

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

import penstock
from penstock.core.errors import SettingError
from penstock.core.settings import near
from penstock.pipeline.application import Application
from penstock.pipeline.deploy import deploy
from penstock.pipeline.settings import PipelineFile
from penstock.pipeline.wordcount import WORDCOUNT
from penstock.plant.spark.cluster import LOOPBACK, EmbeddedCluster, check_port_free
from penstock.plant.spark.home import compiled_home
from penstock.plant.spark.java import find_java, usable_home
from penstock.plant.spark.plant import SparkPlant
from penstock.plant.spark.session import ELASTIC, EMBEDDED, check_master, open_session

APPLICATIONS: Final[Mapping[str, Application]] = {"wordcount": WORDCOUNT}


@contextmanager
def open_spark(
    file: PipelineFile,
    *,
    master: str | None,
    folder: Path,
    duration: float,
    on_progress: Callable[[str], None] = lambda text: None,  # noqa: ARG005
) -> Iterator[SparkPlant]:
    """The pipeline running on Spark: on a cluster of our own, or on the one at `master`."""
    if file.name not in APPLICATIONS:
        raise SettingError(f"there is no pipeline {file.name!r}{near(file.name, APPLICATIONS)}")
    if master is not None:
        check_master(master)
    else:
        _check_room(file)
    scratch = folder / "spark"
    scratch.mkdir(parents=True, exist_ok=True)
    java_home = usable_home(find_java(), scratch)
    with (
        _tidied(scratch),
        session_on(file, master, scratch, java_home) as spark,
        deploy(
            spark,
            file,
            APPLICATIONS[file.name],
            workspace=Path(file.cluster.workspace or scratch / "data"),
            results=folder,
            duration=duration,
            on_progress=on_progress,
        ) as plant,
    ):
        yield plant


@contextmanager
def _tidied(scratch: Path) -> Iterator[None]:
    """Leave nothing behind but the logs: no secret, no checkpoints, no rows."""
    try:
        yield
    finally:
        for entry in scratch.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)


@contextmanager
def session_on(
    file: PipelineFile, master: str | None, scratch: Path, java_home: Path
) -> Iterator[SparkSession]:
    """A session on the cluster at `master`, or on one of our own that ends with it."""
    name, log = f"penstock {file.name}", scratch / "driver.log"
    environment = {"JAVA_HOME": str(java_home)}
    if master is not None:
        conf = {**ELASTIC, **_pages(file), **file.cluster.spark_conf()}
        with open_session(name, master, conf, environment=environment, log=log) as spark:
            spark.sparkContext.addPyFile(str(_pack(scratch)))
            yield spark
        return
    with _embedded(file, scratch, java_home) as cluster:
        environment |= {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_HOME": str(cluster.spark_home),
            "SPARK_CONF_DIR": str(cluster.conf_dir),
            "SPARK_LOCAL_IP": LOOPBACK,
        }
        memory = {"spark.executor.memory": file.cluster.executor_memory}
        conf = {**ELASTIC, **EMBEDDED, **_pages(file), **memory, **file.cluster.spark_conf()}
        with open_session(name, cluster.url, conf, environment=environment, log=log) as spark:
            cluster.await_workers()
            yield spark


def _check_room(file: PipelineFile) -> None:
    """Refuse a file whose modules could ask for more executors than the cluster holds."""
    most, room = sum(module.max_replicas for module in file.graph.modules), file.cluster.room()
    if most > room:
        raise SettingError(
            f"the modules may grow to {most} executors and the cluster has room for {room}; "
            "raise workers, cores or memory of cluster, or lower max_replicas"
        )


def _embedded(file: PipelineFile, scratch: Path, java_home: Path) -> EmbeddedCluster:
    settings = file.cluster
    return EmbeddedCluster(
        folder=scratch,
        java_home=java_home,
        spark_home=compiled_home(scratch),
        workers=settings.workers,
        cores=settings.cores,
        memory=settings.memory,
        port=settings.port,
    )


def _pages(file: PipelineFile) -> dict[str, str]:
    """Spark's own web pages, where a port was given for them."""
    port = file.cluster.ui_port
    if port is None:
        return {"spark.ui.enabled": "false"}
    check_port_free(port)
    return {"spark.ui.enabled": "true", "spark.ui.port": str(port)}


def _pack(scratch: Path) -> Path:
    """This package as an archive, for executors on machines that do not have it."""
    root = Path(penstock.__file__).parent
    return Path(shutil.make_archive(str(scratch / "penstock"), "zip", root.parent, root.name))
