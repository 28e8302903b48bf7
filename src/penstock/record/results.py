"""What a run came to in words, for a terminal and for a page: results, nodes, requests.

>>> format_value({"river": 12, "mill": 7})
'river 12, mill 7'

>>> from dataclasses import replace
>>> from penstock.record.summary import RegionUse, RequestCount, summarise
>>> use = RegionUse(
...     node_seconds=42.0, acquired=9, released=8, unmet=3, unmet_steps=2, silent_steps=4
... )
>>> run = replace(
...     summarise([], None), regions={"dc3": use}, nodes_min=3, nodes_mean=4.2, nodes_max=6,
...     requests={"infrastructure": RequestCount(granted=13, refused=1)},
... )
>>> describe_nodes(run)
'4.2 on average (3 to 6), 9 acquired, 8 released; 3 replicas found no room (dc3)'
>>> describe_requests(run)
'1 of 14 refused'
>>> describe_silent_regions(run)
'dc3 did not answer in 4 steps'
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.core.words import UNKNOWN, count_of, duration, number, quantity
from penstock.record.running import Energy
from penstock.record.summary import Summary

LONGEST: Final = 300
"""Characters of a result from which it is no longer something to read in passing."""


def results(summary: Summary) -> Iterator[tuple[str, object, str]]:
    """Each result by its name, as it is and in words, but for rows left by the drain."""
    for name, value in _parted(summary.results):
        if name == "rows_waiting" and summary.left is not None:
            continue  # said beside the backlog, which it explains
        known = name == "rows_refused" and summary.refused is not None
        words = refusals(summary.refused or {}) if known else format_value(value)
        yield name.replace("_", " "), value, words or "none"


def _parted(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The results, of several pipelines one by one."""
    for name, value in given.items():
        if name == "pipelines" and isinstance(value, Mapping):
            yield from value.items()
        else:
            yield name, value


def refusals(refused: Mapping[str, Mapping[str, int]]) -> str:
    """Rows that were refused, by module and reason.

    >>> refusals({"trader": {"late": 2, "malformed": 1300, "empty": 0}, "counter": {"late": 0}})
    '1,302 by trader: 1,300 malformed, 2 late'
    >>> refusals({})
    'none'
    """
    counts = {name: +Counter(reasons) for name, reasons in refused.items()}
    parts = (f"{of.total():,} by {name}: {_reasons(of)}" for name, of in counts.items() if of)
    return "; ".join(parts) or "none"


def _reasons(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())


def format_value(value: Any) -> str:
    """Any value that JSON knows, in a line.

    >>> format_value([{"symbol": "B", "heard": True}, 1234567, 0.123456, None])
    'symbol B, heard yes, 1,234,567, 0.123, unknown'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {format_value(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(format_value(item) for item in value)
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else str(value)


def describe_changes(summary: Summary) -> str:
    """Steps that reconfigured, by what they changed; a step may change several things."""
    kinds = {"of the clock": summary.clock_changes, "of keys only": summary.reroutings}
    others = [f"{count:,} {kind}" for kind, count in kinds.items() if count]
    return ", ".join([f"{summary.scale_outs:,} out", f"{summary.scale_ins:,} in", *others])


def describe_energy(energy: Energy, run_seconds: float) -> str:
    """Energy, mean power and mean clock of a run of that many seconds, and whether they are
    modelled. A clock beside modelled watts is taken for modelled too.

    >>> watched = Energy(
    ...     joules=4956, seconds=120, watts_mean=41.3, frequency_mean=1.62, modelled_share=1
    ... )
    >>> describe_energy(watched, 120)
    '4.96 kJ, 41.3 W and 1.62 GHz on average, all modelled'
    >>> describe_energy(watched, 124)
    '4.96 kJ in 2 min of 2.07 min, 41.3 W and 1.62 GHz on average, all modelled'
    """
    joules = UNKNOWN if energy.joules is None else quantity(energy.joules, "J")
    if energy.joules is not None and energy.seconds < run_seconds * (1 - 1e-6):
        joules += f" in {duration(energy.seconds)} of {duration(run_seconds)}"
    power, clock = energy.watts_mean, energy.frequency_mean
    means = [
        *([] if power is None else [quantity(power, "W")]),
        *([] if clock is None else [f"{clock:.3g} GHz"]),
    ]
    mean = f"{' and '.join(means)} on average" if means else ""
    origin = "all modelled" if energy.origin == "modelled" else energy.origin
    return ", ".join(filter(None, [joules, mean, origin]))


def describe_nodes(summary: Summary) -> str:
    """How many nodes there were, came and went, and what found no room; empty without regions."""
    if not summary.regions:
        return ""
    lacked = describe_unmet(summary)
    end = f"; {lacked}" if lacked else ""
    return f"{_on_average(summary)}, {describe_moves(summary)}{end}"


def describe_moves(summary: Summary) -> str:
    """How many nodes came and went, over all regions."""
    uses = summary.regions.values()
    acquired, released = sum(use.acquired for use in uses), sum(use.released for use in uses)
    return f"{acquired:,} acquired, {released:,} released"


def describe_unmet(summary: Summary) -> str:
    """Replicas that found no node with room, and where; empty where all did."""
    lacking = {name: use.unmet for name, use in summary.regions.items() if use.unmet}
    if not lacking:
        return ""
    several = len(lacking) > 1
    where = ", ".join(f"{name} {n:,}" if several else name for name, n in lacking.items())
    return f"{count_of(sum(lacking.values()), 'replica')} found no room ({where})"


def describe_requests(summary: Summary) -> str:
    """How many requests were refused, by level where there are two; empty where none was made."""
    made = sum(count.made for count in summary.requests.values())
    if not made:
        return ""
    refused = sum(count.refused for count in summary.requests.values())
    if not refused:
        return f"all {made:,} granted"
    by_level = [f"{n} {c.refused:,} of {c.made:,}" for n, c in summary.requests.items()]
    levels = f" ({', '.join(by_level)})" if len(by_level) > 1 else ""
    return f"{refused:,} of {made:,} refused{levels}"


def describe_silent_regions(summary: Summary) -> str:
    """Regions that did not answer, and in how many steps; empty where all did."""
    silent = {name: use.silent_steps for name, use in summary.regions.items() if use.silent_steps}
    return ", ".join(
        f"{name} did not answer in {count_of(steps, 'step')}" for name, steps in silent.items()
    )


def _on_average(summary: Summary) -> str:
    if summary.nodes_mean is None:
        return "unknown"
    if summary.nodes_min == summary.nodes_max:
        return f"{summary.nodes_min} throughout"
    return f"{summary.nodes_mean:.3g} on average ({summary.nodes_min} to {summary.nodes_max})"
