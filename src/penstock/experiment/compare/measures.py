"""What is measured of every policy: names, units and meanings, in the order of the tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Measure:
    """One column of the tournament; less of it is better."""

    title: str
    unit: str
    """`share` of one, `%`, `s`, `J`, or what is counted."""
    means: str


MEASURES: Final[Mapping[str, Measure]] = {
    "violations": Measure(
        "violations", "share", "share of the measured time in which p95 was over the promise"
    ),
    "late_rows": Measure(
        "late rows", "share", "share of the rows that came later than promised, or never"
    ),
    "latency_p50": Measure("p50", "s", "latency that half of the rows that came out kept"),
    "latency_p95": Measure("p95", "s", "the same of 95 % of them"),
    "latency_p99": Measure("p99", "s", "the same of 99 % of them"),
    "backlog_mean": Measure("backlog", "rows", "rows that waited, on average over time"),
    "backlog_max": Measure("most waiting", "rows", "rows that waited, at most"),
    "core_seconds": Measure(
        "core-seconds", "core-s", "executors of one core, requested or running, over time"
    ),
    "money": Measure("money", "", "executors from request to leave, in billing periods"),
    "energy": Measure("energy", "J", "of the executors that ran; modelled"),
    "idle_share": Measure("idle", "share", "share of the core-seconds in which no row was served"),
    "reconfigurations": Measure("changes", "", "steps that changed some module"),
    "rescales_per_hour": Measure("changes/h", "1/h", "the same, an hour"),
    "reversals_per_hour": Measure(
        "reversals/h", "1/h", "changes of a module against its change before, an hour"
    ),
    "accuracy": Measure(
        "off by", "executors", "away from the clairvoyant's while that is steady, on average"
    ),
    "settling_time": Measure("settling", "s", "until within 1 of the clairvoyant's, to stay"),
    "overshoot": Measure("overshoot", "executors", "above the clairvoyant's, at most"),
    "theta_u": Measure("theta_U", "%", "executors that lacked, by the demand (SPEC, Herbst)"),
    "theta_o": Measure("theta_O", "%", "executors too many, by the demand"),
    "tau_u": Measure("tau_U", "%", "time in which some module lacked some"),
    "tau_o": Measure("tau_O", "%", "time in which some module had too many"),
}

SERVICE: Final = (
    "violations",
    "late_rows",
    "latency_p50",
    "latency_p95",
    "latency_p99",
    "backlog_mean",
    "backlog_max",
)
COST: Final = ("violations", "core_seconds", "money", "energy", "idle_share", "reconfigurations")
CONTROL: Final = (
    "rescales_per_hour",
    "reversals_per_hour",
    "accuracy",
    "settling_time",
    "overshoot",
    "theta_u",
    "theta_o",
    "tau_u",
    "tau_o",
)
TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "Cost": COST,
    "Service": SERVICE,
    "Control (SASO and elasticity)": CONTROL,
}
