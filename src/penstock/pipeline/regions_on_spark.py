"""A file's regions on Spark: groups of workers on our own cluster, and nobody's elsewhere.

>>> from penstock.pipeline.file import load
>>> placed(load("wordcount-regions"))
{'splitter': 'dc1', 'filter': 'dc2', 'counter': 'dc3'}
"""

from typing import Final

from penstock.core.regions import Infrastructure
from penstock.pipeline.settings import PipelineFile
from penstock.plant.spark.nodes import Cluster, Nodes
from penstock.plant.spark.regions import Regions

_OWNERS: Final = {
    "yarn": "the cluster's own autoscaler",
    "k8s": "the cluster's own autoscaler",
    "spark": "whoever started them",
}


def places_of(file: PipelineFile) -> Infrastructure | None:
    """The regions of a file, where it has any."""
    return None if file.infrastructure is None else file.infrastructure.places


def placed(file: PipelineFile) -> dict[str, str]:
    """By module, the region that hosts it."""
    return {m.name: m.region for m in file.graph.modules if m.region is not None}


def elsewhere(file: PipelineFile, master: str | None) -> str | None:
    """What becomes of a file's regions on a cluster that is not ours; None where nothing does.

    >>> from penstock.pipeline.file import load
    >>> elsewhere(load("wordcount-regions"), "yarn")
    "nodes at master yarn belong to the cluster's own autoscaler, so regions are left aside and \
only executors are controlled"
    >>> elsewhere(load("wordcount-regions"), None), elsewhere(load("wordcount"), "yarn")
    (None, None)
    """
    if master is None or file.infrastructure is None:
        return None
    owner = _OWNERS.get(master.partition("://")[0], "that cluster")
    return (
        f"nodes at master {master} belong to {owner}, so regions are left aside and only "
        "executors are controlled"
    )


def open_regions(file: PipelineFile, cluster: Cluster) -> Regions | None:
    """Start the nodes that a file's regions begin with; None where it has no regions.

    Each node offers the memory that the file says of a worker, enough for all of its slots.
    """
    places = places_of(file)
    if places is None:
        return None
    nodes = Nodes(cluster=cluster, infrastructure=places, memory=file.cluster.memory)
    nodes.open()
    return Regions(nodes=nodes, homes=placed(file))
