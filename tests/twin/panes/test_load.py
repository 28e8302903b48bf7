"""The load of a pane stage with micro-batches."""

from pathlib import Path

import pytest

from penstock.core.loop import control
from penstock.pipeline.file import load
from penstock.pipeline.twins import open_twin
from penstock.policy import Static

FILE = """
pipeline: preference
step: 4s
duration: 40s
query: {kind: skyline, window: 1s, slide: 200ms}
workload: constant:1500/s
source: {module: plq}
modules:
  plq: {service_time: 1ms, max_replicas: 4, trigger: 2s, overhead: 600ms, max_batch: 2s}
  wlq: {operators: [wlq, consumer], service_time: 2ms, max_replicas: 2, trigger: 2s}
streams: [{from: plq, to: wlq, selectivity: 0.01}]
"""


@pytest.mark.parametrize(
    ("max_batch", "expected"),
    [
        ("2s", 1.5 * 2.6 / 2.0),  # 600 ms of 2.6 s are overhead
        ("6s", 1.5 * 6.6 / 6.0),
    ],
)
def test_tuples_that_no_batch_takes_count(tmp_path: Path, max_batch: str, expected: float) -> None:
    path = tmp_path / "overloaded.yaml"
    path.write_text(FILE)
    twin = open_twin(load(path, [f"modules.plq.max_batch={max_batch}"]))
    ticks = list(control(twin, Static(degrees=1)))
    loads = [seen.load for tick in ticks if (seen := tick.seen.modules["plq"]).load is not None]
    assert len(loads) > 5
    assert sum(loads) / len(loads) == pytest.approx(expected, rel=0.05)
    assert (ticks[-1].seen.modules["plq"].backlog or 0.0) > 10_000
