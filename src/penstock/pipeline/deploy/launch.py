"""From a pipeline file to a running plant: a cluster, a session on it, and the queries.

The regions of a file are groups of workers on our own cluster; on others they are ignored.

>>> from penstock.pipeline.file import load
>>> placed(load("wordcount-regions"))
{'splitter': 'dc1', 'filter': 'dc2', 'counter': 'dc3'}
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

from pyspark.sql import SparkSession

import penstock
from penstock.core.errors import FileError, SettingError
from penstock.core.plugins import folder_of, is_ours
from penstock.core.regions import Infrastructure
from penstock.pipeline.deploy.deploy import Session, deploy
from penstock.pipeline.deploy.module import default_module
from penstock.pipeline.deploy.pipeline import Deployment
from penstock.pipeline.format.kafka import Topic
from penstock.pipeline.settings import PipelineFile
from penstock.pipeline.sharing import shares_executors
from penstock.policy.static import SCHEDULERS
from penstock.spark.backend import controlled
from penstock.spark.cluster.embedded import LOOPBACK, EmbeddedCluster, check_port_free
from penstock.spark.cluster.nodes import Cluster, Nodes
from penstock.spark.daemon import PRELOAD
from penstock.spark.java import find_java, usable_home
from penstock.spark.kafka import check_reachable, connector
from penstock.spark.plant import SparkPlant
from penstock.spark.regions import Regions
from penstock.spark.session import (
    ELASTIC,
    EMBEDDED,
    check_master,
    compiled_spark_home,
    open_session,
)

_OWNERS: Final = {
    "yarn": "the cluster's own autoscaler",
    "k8s": "the cluster's own autoscaler",
    "spark": "the owner of that cluster",
}


def places_of(file: PipelineFile) -> Infrastructure | None:
    """The regions of a file, where it has any."""
    return None if file.infrastructure is None else file.infrastructure.places


def placed(file: PipelineFile) -> dict[str, str]:
    """By module, the region that hosts it."""
    return {m.name: m.region for m in file.graph.modules if m.region is not None}


def ignored_regions(file: PipelineFile, master: str | None) -> str | None:
    """Why the regions of a file are ignored on a cluster; None if they are not.

    >>> from penstock.pipeline.file import load
    >>> ignored_regions(load("wordcount-regions"), "yarn")
    "nodes at master yarn belong to the cluster's own autoscaler, so regions are ignored and only \
executors are controlled"
    >>> ignored_regions(load("wordcount-regions"), None), ignored_regions(load("wordcount"), "yarn")
    (None, None)
    """
    if master is None or file.infrastructure is None:
        return None
    owner = _OWNERS.get(master.partition("://")[0], "that cluster")
    return (
        f"nodes at master {master} belong to {owner}, so regions are ignored and only "
        "executors are controlled"
    )


def open_regions(file: PipelineFile, cluster: Cluster) -> Regions | None:
    """Start the initial nodes of a file's regions; None without regions.

    Each node has the memory of a worker in the file, enough for all of its slots.
    """
    places = places_of(file)
    if places is None:
        return None
    nodes = Nodes(cluster=cluster, infrastructure=places, memory=file.cluster.memory)
    nodes.open()
    return Regions(nodes=nodes, placement=placed(file))


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A pipeline file that can be started: checked, and its modules laid out."""

    file: PipelineFile
    master: str | None
    """The cluster to run on; None is one of our own."""
    pipelines: Mapping[str, Deployment]
    """By name; a single one has the name ""."""

    @contextmanager
    def open(
        self,
        folder: Path,
        *,
        duration: float,
        on_progress: Callable[[str], None] = lambda text: None,  # noqa: ARG005
    ) -> Iterator[SparkPlant]:
        """The pipelines running on Spark as a plant; their results go to the folder."""
        folder = folder.absolute()  # executors have working directories of their own
        scratch = folder / "spark"
        scratch.mkdir(parents=True, exist_ok=True)
        with (
            _removed_but_logs(scratch),
            _workspace(self.file, scratch, folder.name) as workspace,
            self.session(scratch) as session,
            controlled(session.spark, f"penstock run {self.file.name}"),
            deploy(
                session,
                self.file,
                self.pipelines,
                workspace=workspace,
                results=folder,
                duration=duration,
                on_progress=on_progress,
            ) as plant,
        ):
            yield plant

    @contextmanager
    def session(self, scratch: Path) -> Iterator[Session]:
        """A session on the cluster at `master`, or on one of our own that ends with it."""
        file, java_home = self.file, usable_home(find_java(), scratch)
        name, log = f"penstock {file.name}", scratch / "driver.log"
        environment = {"JAVA_HOME": str(java_home)}
        if self.master is not None:
            # Spark's own choice, the first python3 on the path, need not have what we need.
            environment["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
            own = {**_web_ui(file), **_scheduling(file), **_kafka(file, java_home)}
            conf = {**ELASTIC, **own, **file.cluster.spark_conf()}
            with open_session(name, self.master, conf, environment=environment, log=log) as spark:
                _send_packages(spark, [Path(penstock.__file__).parent, *self._plug_ins()], scratch)
                yield Session(spark=spark)
            return
        kafka = _kafka(file, java_home)  # before the cluster, since it may be refused
        with _embedded(file, scratch, java_home) as cluster:
            environment |= {
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_HOME": str(cluster.spark_home),
                "SPARK_CONF_DIR": str(cluster.conf_dir),
                "SPARK_LOCAL_IP": LOOPBACK,
            }
            regions = open_regions(file, cluster)
            own = {
                **_web_ui(file),
                **self._preload(),
                "spark.executor.memory": file.cluster.executor_memory,
                **self._placed(regions),
                **_scheduling(file),
                **kafka,
            }
            conf = {**ELASTIC, **EMBEDDED, **own, **file.cluster.spark_conf()}
            with open_session(name, cluster.url, conf, environment=environment, log=log) as spark:
                cluster.await_workers()
                _send_packages(spark, self._plug_ins(), scratch)
                check = cluster.check if regions is None else regions.check
                yield Session(spark=spark, check_cluster=check, regions=regions)

    def _placed(self, regions: Regions | None) -> dict[str, str]:
        """Where executors of Spark's default profile are placed: in the region of its module."""
        if regions is None:
            return {}
        resource = regions.resources()[default_module(self.pipelines[""].modules)]
        return {f"spark.{who}.resource.{resource}.amount": "1" for who in ("executor", "task")}

    def _plug_ins(self) -> list[Path]:
        """The folders of further packages that executors import: of an application and a
        workload."""
        used = [
            part
            for each in self.pipelines.values()
            for part in (each.application.rows, each.file.workload)
        ]
        roots = [folder_of(part) for part in used if not is_ours(part)]
        return list(dict.fromkeys(root for root in roots if root is not None))

    def _preload(self) -> dict[str, str]:
        """What executors' Python processes load before their first task."""
        needed = [what for each in self.pipelines.values() for what in each.application.preload]
        named = ",".join(dict.fromkeys(needed))
        return {f"spark.executorEnv.{PRELOAD}": named} if named else {}


def open_spark(
    file: PipelineFile,
    *,
    master: str | None,
    folder: Path,
    duration: float,
    on_progress: Callable[[str], None] = lambda text: None,  # noqa: ARG005
) -> AbstractContextManager[SparkPlant]:
    """A pipeline file running on Spark: on a cluster of our own, or on the one at `master`."""
    return prepare(file, master).open(folder, duration=duration, on_progress=on_progress)


def prepare(file: PipelineFile, master: str | None) -> Launch:
    """Lay out the pipelines of a file, and refuse what cannot start before anything is started or
    written. Regions are ignored on a cluster of others."""
    if ignored_regions(file, master) is not None:
        file = replace(file, infrastructure=None)
    pipelines = {name: Deployment.of(part) for name, part in pipelines_of(file).items()}
    find_java()
    _check_topics(file)
    if file.cluster.ui_port is not None:
        check_port_free(file.cluster.ui_port, "cluster.ui_port")
    if master is not None:
        check_master(master)
    else:
        _check_own_cluster(file)
    return Launch(file=file, master=master, pipelines=pipelines)


def _check_own_cluster(file: PipelineFile) -> None:
    if (lack := file.lack_of_room()) is not None:
        raise SettingError(lack)
    if file.cluster.port:
        check_port_free(file.cluster.port, "cluster.port")


def _check_topics(file: PipelineFile) -> None:
    """Refuse brokers that do not answer."""
    for topic, of in _topics(file):
        check_reachable(topic.addresses(), of)


def _topics(file: PipelineFile) -> list[tuple[Topic, str]]:
    """The topics of a file, and the section that names each."""
    topics = [
        (topic, of)
        for part in pipelines_of(file).values()
        for topic, of in ((part.source.kafka, "kafka of source"), (part.sink, "kafka of sink"))
    ]
    return [(topic, of) for topic, of in topics if topic is not None]


def _kafka(file: PipelineFile, java_home: Path) -> dict[str, str]:
    """Settings of Spark's Kafka connector, if the file has a topic."""
    return connector(java_home, file.cluster.spark_conf()) if _topics(file) else {}


def pipelines_of(file: PipelineFile) -> Mapping[str, PipelineFile]:
    """The pipelines of a file by name; a single one has the name ""."""
    return file.parts or {"": file}


@contextmanager
def _workspace(file: PipelineFile, scratch: Path, run: str) -> Iterator[Path]:
    """A folder of this run, removed at its end."""
    if file.cluster.workspace is None:
        yield scratch / "data"
        return
    folder = Path(file.cluster.workspace).absolute() / f"{run}-{uuid4().hex[:8]}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise FileError(
            f"workspace {folder.parent} of cluster cannot be used ({error.strerror}); name another"
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _removed_but_logs(scratch: Path) -> Iterator[None]:
    """Remove everything but the logs at the end: the secret, checkpoints, rows."""
    try:
        yield
    finally:
        for entry in scratch.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)


def _embedded(file: PipelineFile, scratch: Path, java_home: Path) -> EmbeddedCluster:
    settings, in_regions = file.cluster, places_of(file) is not None
    return EmbeddedCluster(
        folder=scratch,
        java_home=java_home,
        spark_home=compiled_spark_home(scratch),
        workers=0 if in_regions else settings.workers,  # each region has its own
        packs=in_regions,
        cores=settings.cores,
        memory=settings.memory,
        port=settings.port,
    )


def _scheduling(file: PipelineFile) -> dict[str, str]:
    """The mode of Spark's scheduler, if modules share executors."""
    if not shares_executors(file):
        return {}
    rule = SCHEDULERS.get(file.policy.name)
    return {"spark.scheduler.mode": "FAIR" if rule is None else rule.mode}


def _web_ui(file: PipelineFile) -> dict[str, str]:
    """Spark's own web pages, where a port was given for them."""
    port = file.cluster.ui_port
    if port is None:
        return {"spark.ui.enabled": "false"}
    return {"spark.ui.enabled": "true", "spark.ui.port": str(port)}


def _send_packages(spark: SparkSession, packages: Iterable[Path], scratch: Path) -> None:
    """Send packages as archives to executors, on machines that may not have them."""
    for root in packages:
        made = shutil.make_archive(str(scratch / root.stem), "zip", root.parent, root.name)
        spark.sparkContext.addPyFile(made)
