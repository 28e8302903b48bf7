"""A twin of a real run."""

import json
from pathlib import Path

import pytest

from penstock.cli.main import main

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_run_on_spark_is_fitted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "run")
    assert main(["run", "wordcount", "--duration", "24s", "--quiet", "--out", run]) == 0
    capsys.readouterr()
    assert main(["fit", run, "--json", "--out", str(tmp_path / "twin.yaml")]) == 0
    printed = json.loads(capsys.readouterr().out)
    found = {(one["of"], one["setting"]): one for one in printed["estimates"]}
    # rows wait 3 and 1.5 ms each, and no machine makes that shorter
    assert 0.003 <= found["splitter", "service_time"]["value"] < 0.05
    assert 0.0015 <= found["counter", "service_time"]["value"] < 0.05
    assert found["splitter -> counter", "selectivity"]["value"] == pytest.approx(2, rel=0.3)
    assert found["splitter", "overhead_cv"]["samples"] > 5, "from Spark's own events"
    assert printed["predictions"]["policy"]["latency_p95"]["predicted"] > 0
    assert (tmp_path / "twin.trace").exists()
