"""Pipeline files, and the mistakes found in them."""

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path

from penstock.core.errors import UserError
from penstock.pipeline.file import PipelineFile, check, load

_FILE = resources.files("penstock.apps") / "wordcount" / "wordcount.yaml"
WORDCOUNT = _FILE.read_text(encoding="utf-8")
GAME = """\
step: 300s
source: {module: dispatcher, inter_arrival: 0.5s}
modules:
  dispatcher:    {service_time: 0.1s,   max_replicas: 1,  price: 0.00483, delay_cost: 0.5}
  denoiser-1:    {service_time: 2.48s,  max_replicas: 8,  price: 0.00483, delay_cost: 0.5}
  denoiser-2:    {service_time: 3.66s,  max_replicas: 8,  price: 0.00483, delay_cost: 0.5}
streams:
  - {from: dispatcher, to: denoiser-1, probability: 0.5}
  - {from: dispatcher, to: denoiser-2, probability: 0.5}
"""


def mistakes(path: Path, *overrides: str) -> list[str]:
    return [
        str(mistake).replace(str(path), "job.yaml") for mistake in check(path, overrides).mistakes
    ]


def again(file: PipelineFile, folder: Path) -> PipelineFile:
    """The file read back from what was recorded of it, apart from where it came from."""
    path = folder / "again.yaml"
    path.write_text(json.dumps(file.resolved, allow_nan=False))
    return replace(load(path), origin=file.origin, text=file.text)


SMALL = """\
source: {module: a, rate: 2/s}
modules:
  a: {region: dc1, service_time: 1ms}
  b: {region: dc2, service_time: 1ms}
streams: [{from: a, to: b}]
infrastructure:
  regions:
    dc1: {}
    dc2: {max_nodes: 4, slots: 3}
"""


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def refused_or_read(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    try:
        checked = check(path)
    except UserError:
        return
    assert all("\n" not in str(mistake) for mistake in checked.mistakes)
    assert checked.mistakes or checked.file is not None or checked.sort == "allocation graph"


GRAPH = """\
budget: 1.0
sources: {s: {rate: inf, to: a}}
modules: {a: {}, b: {}, c: {}}
streams:
  - {from: s, to: a, consumes: 0.3}
  - {from: a, to: b, produces: 0.7, consumes: 0.4}
  - {from: a, to: c, produces: 0.2, consumes: 0.9}
sinks:
  o1: {from: b, produces: 0.9, weight: 0.3}
  o2: {from: c, produces: 0.5, weight: 1.0}
"""
