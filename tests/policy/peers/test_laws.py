"""What holds of every peer's rule, whatever it is shown."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.cli.main import main
from penstock.core.settings import build
from penstock.core.signals import ModuleReading, current
from penstock.core.units import parse_duration
from penstock.policy import POLICIES
from penstock.testing import seen
from penstock.testing.policies import EXAMPLE_GRAPH

PEERS = ("amadeus", "dhalion", "ds2", "dstream", "flink", "hpa", "keda-lag")
QUICK = {
    "amadeus": {},
    "dhalion": {"period": "0s", "cooldown": "0s", "window": "20s"},
    "ds2": {"period": "0s", "cooldown": "0s", "window": "20s"},
    "dstream": {"scaling_interval": "3s"},
    "flink": {
        "metrics_window": "2s",
        "stabilization_interval": "0s",
        "scale_down_interval": "3s",
        "restart_time": "1s",
        "catch_up_duration": "9s",
    },
    "hpa": {"sync_period": "0s", "scale_down_window": "3s"},
    "keda-lag": {"polling_interval": "0s", "scale_down_window": "3s"},
}
"""So that there is something to see in a few steps."""

numbers = (
    st.none() | st.floats(0.0, 1e9) | st.sampled_from([0.0, 5e-324, float("nan"), float("inf")])
)
counts = st.none() | st.integers(0, 30)
readings = st.builds(
    ModuleReading,
    arrival_rate=numbers,
    processed_rate=numbers,
    backlog=numbers,
    utilisation=st.none() | st.floats(0.0, 1.0),
    service_time=st.none() | st.floats(1e-6, 10.0),
    batch_duration=numbers,
    requested=counts,
    running=counts,
)


@pytest.mark.parametrize("kind", PEERS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(script=st.lists(st.tuples(readings, readings), min_size=1, max_size=8))
def test_degrees_are_at_least_one_and_every_change_is_reported(
    kind: str, script: list[tuple[ModuleReading, ModuleReading]]
) -> None:
    graph = {} if kind in ("hpa", "keda-lag") else {"graph": EXAMPLE_GRAPH}
    policy = build(POLICIES[kind], QUICK[kind], of=f"policy {kind}", **graph)
    for at, (splitter, counter) in enumerate(script, start=1):
        now = seen(at=float(at), splitter=splitter, counter=counter)
        decided, before = policy(now), current(now).degrees
        for name, degree in decided.configuration.degrees.items():
            assert degree >= 1
            if degree != before[name]:
                clause = next(c for c in decided.why.split("; ") if c.startswith(f"{name} "))
                assert clause.endswith(f": {before[name]} -> {degree}")
        for name in set(now.modules) - {n for n, d in before.items() if d >= 1}:
            assert f"{name} is left alone" in decided.why


@pytest.mark.parametrize("kind", PEERS)
def test_durations_are_written_with_a_unit(kind: str) -> None:
    graph = {} if kind in ("hpa", "keda-lag") else {"graph": None}
    made = build(POLICIES[kind], QUICK[kind], of=f"policy {kind}", **graph)
    for name, text in QUICK[kind].items():
        assert getattr(made, name) == parse_duration(text)


@pytest.mark.parametrize("kind", PEERS)
def test_it_runs_on_the_twin(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = [f"--set=policy.{name}={text}" for name, text in QUICK[kind].items()]
    where = ["--out", str(tmp_path / "run"), "--json"]
    assert (
        main(
            [
                "simulate",
                "wordcount",
                "--policy",
                kind,
                "--workload",
                "daily:60/s..600/s,period=60s",
                "--quiet",
                *sets,
                *where,
            ]
        )
        == 0
    )
    printed = json.loads(capsys.readouterr().out)
    assert printed["policy"] == kind
    assert printed["reconfigurations"] >= 1


def test_settings_are_set_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used = []
    for target in ("0.3", "0.9"):
        sets = ["--set", f"policy.target={target}", "--set", "policy.sync_period=4s"]
        where = ["--out", str(tmp_path / target), "--json", "--quiet"]
        assert main(["simulate", "wordcount", "--policy", "hpa", *sets, *where]) == 0
        used.append(json.loads(capsys.readouterr().out)["executor_seconds_total"])
    assert used[0] > used[1]
