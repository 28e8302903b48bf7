"""Degrees of parallelism: as set by a user, in force now, and changed in a decision."""

from collections.abc import Mapping
from dataclasses import replace

from penstock.core.schema import Count
from penstock.core.signals import Decision, Observation, current

PerModule = Count | Mapping[str, Count]
"""A number of executors: one for every module, or one for each by name."""


def of_module(setting: PerModule | None, module: str) -> int | None:
    """The number that holds for a module, or None where there is none.

    >>> of_module(3, "counter"), of_module({"splitter": 2}, "counter")
    (3, None)
    """
    return setting.get(module) if isinstance(setting, Mapping) else setting


def in_force(seen: Observation) -> dict[str, int]:
    """The degree of each module whose degree is known.

    A module with no executors, not even asked for, has no degree to keep: asking for it would be
    a change that was not decided.
    """
    return {name: degree for name, degree in current(seen).degrees.items() if degree >= 1}


def with_degrees(decided: Decision, degrees: Mapping[str, int]) -> Decision:
    """The decision with other degrees; what the policy first proposed is kept.

    What it expected of a module rests on the degree, but for the rate of arrivals.

    >>> from penstock.core.signals import Configuration
    >>> expects = {"rate:counter": 5, "load:counter": 1}
    >>> nine = Configuration(degrees={"counter": 9})
    >>> plan = Decision(configuration=nine, why="load doubled", expects=expects)
    >>> fewer = with_degrees(plan, {"counter": 8})
    >>> fewer.configuration.degrees, fewer.proposed.degrees, fewer.expects
    ({'counter': 8}, {'counter': 9}, {'rate:counter': 5})
    """
    before = decided.configuration.degrees
    if degrees == before:
        return decided
    other = {name for name in before if degrees.get(name) != before[name]}
    return replace(
        decided,
        configuration=replace(
            decided.configuration,
            degrees=degrees,
            # a table for so many replicas is none for another number of them
            routing={k: v for k, v in decided.configuration.routing.items() if k not in other},
        ),
        proposed=decided.proposed or decided.configuration,
        expects={
            key: value
            for key, value in decided.expects.items()
            if key.startswith("rate:") or key.rpartition(":")[2] not in other
        },
    )
