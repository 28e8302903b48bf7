"""The built-in pipelines keep their SLO on the twin, each with the policy of its own file."""

import pytest

from penstock.core.loop import control
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import load
from penstock.pipeline.twins import open_twin


@pytest.mark.parametrize(
    "name", ["wordcount", "wordcount-regions", "enrichment", "trading", "preference"]
)
def test_every_step_of_a_built_in_pipeline_keeps_its_slo(name: str) -> None:
    file = load(name)
    measured = [
        tick.seen.latency.p95
        for tick in control(open_twin(file), build_policy(file))
        if tick.seen.latency is not None
    ]
    assert len(measured) > 20
    assert file.slo.latency_p95 is not None
    assert max(measured) <= file.slo.latency_p95
