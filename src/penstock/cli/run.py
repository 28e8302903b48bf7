"""`penstock run`: a pipeline on Spark."""

import os
from argparse import Namespace
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from penstock.cli.options import RUN_OPTIONS, Option, overrides, pipeline, repeatable
from penstock.cli.output import say
from penstock.core.extras import require
from penstock.core.words import count_of

if TYPE_CHECKING:
    from penstock.core.roles import Plant
    from penstock.pipeline.file import PipelineFile
    from penstock.record import RunFolder


HELP: Final = "run a pipeline on Spark, on an embedded cluster or on an existing one"
EXAMPLES: Final = """\
examples:
  penstock run wordcount
  penstock run wordcount --workload daily:60/s..420/s,period=2m --duration 5m
  penstock run trading --duration 2m
  penstock run preference --set query.kind=top-delta
  penstock run wordcount --infrastructure rl --policy rl
  penstock run wordcount --policy static --set policy.degrees=2 --out runs/static
  penstock run my.yaml --master spark://host:7077
  penstock run my.yaml --master yarn --conf spark.yarn.queue=streams --dry-run
  penstock run wordcount --json --quiet | jq .latency.p95
"""


OPTIONS: Final = (
    *RUN_OPTIONS,
    Option(
        "--master", "URL", "an existing cluster: spark://HOST:PORT, yarn or k8s://HOST:PORT", str
    ),
    repeatable("--conf", "K=V", "a Spark setting, such as spark.executor.memory=2g; repeatable"),
)


def execute(args: Namespace) -> int:
    """Open Spark, and control the pipeline on it."""
    require("cluster", "running", "pyspark", "pyarrow", "pandas", "rich")
    from penstock.cli.session import conduct
    from penstock.pipeline.file import load

    file = load(pipeline(args), overrides(args), conf=args.conf, to_run=True)
    hush_libraries()

    from penstock.pipeline import interference
    from penstock.pipeline.deploy.launch import ignored_regions, prepare

    launch = prepare(file, args.master)
    if (doubt := interference.elsewhere(file.interference, args.master)) is not None:
        say(doubt)
    if (doubt := ignored_regions(file, args.master)) is not None:
        say(doubt)

    def opener(folder: "RunFolder") -> "AbstractContextManager[Plant]":
        opened = launch.open(folder.path, duration=file.duration, on_progress=folder.write_progress)
        return interference.beside(opened, file.interference, lasts=file.duration)

    on = args.master or _own_cluster(file)
    note = f"starting {file.name} on {on}, which takes a moment"
    return conduct(args, file, plant="spark", opener=opener, note=note)


def _own_cluster(file: "PipelineFile") -> str:
    if file.infrastructure is None:
        return f"a cluster of {file.cluster.workers} workers"
    regions = file.infrastructure.places.regions
    nodes, count = sum(region.initial_nodes for region in regions), len(regions)
    return f"a cluster of {count_of(nodes, 'node')} in {count_of(count, 'region')}"


def hush_libraries() -> None:
    """Keep tracebacks off the terminal that py4j logs beside the errors that it raises."""
    import logging

    if not os.environ.get("PENSTOCK_DEBUG"):
        logging.getLogger().addHandler(logging.NullHandler())
