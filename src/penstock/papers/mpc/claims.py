"""What the mpc paper found, and whether it was found again."""

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.experiment.results import Claim, Entry, find
from penstock.papers.mpc.runs import Effort
from penstock.policy.mpc import STRATEGIES

ALIKE: Final = 0.01
"""Share under which a difference of two means is none,"""
ALIKE_COUNTS: Final = 0.5
"""or of counts, the difference itself."""
_COUNTS: Final = ("reconfigurations", "violations")
_BASELINES: Final = {"rules-90": "rules", "rules-95": "rules (95 %)", "spl": "spl"}


def claims(entries: Sequence[Entry], efforts: Sequence[Effort]) -> tuple[Claim, ...]:
    """Each with what we found."""
    workloads = tuple(
        dict.fromkeys(e.where["workload"] for e in entries if e.where["table"] == "strategies")
    )
    results = [
        result(entries, workloads, strategy)
        for result in (_result_1, _result_2, _result_3, _result_4)
        for strategy in STRATEGIES
    ]
    return (
        *results,
        *_resources(entries, workloads),
        *(_more_on_the_day(entries) if len(workloads) == 2 else ()),
        *_table_7(entries),
        _search(efforts),
    )


def _result_1(entries: Sequence[Entry], workloads: Sequence[str], strategy: str) -> Claim:
    return _braked(
        entries,
        workloads,
        strategy,
        "reconfigurations",
        f"Result 1, {strategy}: with a switching cost there are fewer reconfigurations; two steps "
        "ahead, no fewer than one step ahead.",
        down=True,
    )


def _result_2(entries: Sequence[Entry], workloads: Sequence[str], strategy: str) -> Claim:
    quantity = "watts" if STRATEGIES[strategy].power else "replicas"
    return _braked(
        entries,
        workloads,
        strategy,
        quantity,
        f"Result 2, {strategy}: a switching cost takes more {quantity}; two steps ahead, no more "
        "than one step ahead.",
        down=False,
    )


def _result_3(entries: Sequence[Entry], workloads: Sequence[str], strategy: str) -> Claim:
    return _braked(
        entries,
        workloads,
        strategy,
        "violations",
        f"Result 3, {strategy}: with a switching cost quality is missed less often; two steps "
        "ahead, no less often than one step ahead.",
        down=True,
    )


def _result_4(entries: Sequence[Entry], workloads: Sequence[str], strategy: str) -> Claim:
    return _braked(
        entries,
        workloads,
        strategy,
        "amplitude",
        f"Result 4, {strategy}: with a switching cost reconfigurations are smaller; two steps "
        "ahead, no smaller than one step ahead.",
        down=True,
    )


def _braked(
    entries: Sequence[Entry],
    workloads: Sequence[str],
    strategy: str,
    quantity: str,
    text: str,
    *,
    down: bool,
) -> Claim:
    """A switching cost moves a figure one way on a workload, and on none the other way; a longer
    horizon moves it back, or not at all."""
    found = {
        workload: [
            _mean(entries, workload, strategy, choice, quantity)
            for choice in ("nosw", "sw-1", "sw-2")
        ]
        for workload in workloads
    }
    sign = 1.0 if down else -1.0
    signed = [[sign * value for value in values] for values in found.values()]
    never_against = all(
        at_most(braked, free, quantity) and at_most(braked, ahead, quantity)
        for free, braked, ahead in signed
    )
    somewhere = any(not at_most(free, braked, quantity) for free, braked, _ in signed)
    told = "; ".join(
        f"{free:.4g}, {braked:.4g} and {ahead:.4g} ({workload})"
        for workload, (free, braked, ahead) in found.items()
    )
    return Claim(
        text=text,
        found=f"Without, one step and two steps ahead: {told}.",
        holds=never_against and somewhere,
    )


def at_most(one: float, other: float, quantity: str) -> bool:
    """Whether a mean is no greater than another, as far as they can be told apart.

    >>> at_most(4.52, 4.51, "replicas"), at_most(4.6, 4.5, "replicas")
    (True, False)
    """
    slack = ALIKE_COUNTS if quantity in _COUNTS else ALIKE * abs(other)
    return one <= other + slack


def _resources(entries: Sequence[Entry], workloads: Sequence[str]) -> Iterator[Claim]:
    for kind, name in (("th", "throughput"), ("lat", "latency")):
        pairs = [_pair(entries, w, (f"{kind}-power", f"{kind}-node"), "watts") for w in workloads]
        yield Claim(
            text=f"Clocks save watts where quality is {name} (Fig. 13).",
            found=_against(workloads, pairs, "W"),
            holds=all(power < node for power, node in pairs),
        )
    pairs = [_pair(entries, w, ("th-node", "lat-node"), "replicas") for w in workloads]
    yield Claim(
        text="Throughput takes fewer replicas than latency (Section 5.3.2).",
        found=_against(workloads, pairs, "replicas"),
        holds=all(th < lat for th, lat in pairs),
    )


def _more_on_the_day(entries: Sequence[Entry]) -> Iterator[Claim]:
    pairs = {
        strategy: (
            _mean(entries, "rwalk", strategy, "nosw", "reconfigurations"),
            _mean(entries, "day", strategy, "nosw", "reconfigurations"),
        )
        for strategy in STRATEGIES
    }
    told = "; ".join(f"{day:.4g} and {walk:.4g} ({s})" for s, (walk, day) in pairs.items()) + "."
    yield Claim(
        text="There are more reconfigurations on the trading day than on the walk (Fig. 12).",
        found=told,
        holds=all(walk < day for walk, day in pairs.values()),
    )
    yield Claim(
        text="There are more where clocks are decided too (Fig. 12).",
        found=told,
        holds=all(
            pairs[f"{kind}-node"][workload] < pairs[f"{kind}-power"][workload]
            for kind in ("th", "lat")
            for workload in (0, 1)
        ),
    )


def _table_7(entries: Sequence[Entry]) -> Iterator[Claim]:
    if find(entries, table="7") is None:
        return
    for quantity, text in (
        ("reconfigurations", "reconfigures less often than"),
        ("violations", "misses quality less often than"),
        ("replicas", "takes no more replicas than"),
    ):
        ours = _mean(entries, "day", "th-node", "4s", quantity)
        others = {s: _mean(entries, "day", s, "4s", quantity) for s in _BASELINES}
        told = ", ".join(f"{value:.4g} ({_BASELINES[s]})" for s, value in others.items())
        yield Claim(
            text=f"Table 7: th-node, two steps of 4 s ahead, {text} rules and spl.",
            found=f"{ours:.4g} against {told}.",
            holds=all(ours < value for value in others.values()),
        )


def _search(efforts: Sequence[Effort]) -> Claim:
    return Claim(
        text="Beyond the paper: dynamic programming finds the course that branch and bound finds.",
        found=f"The same in every decision, over {len(efforts)} horizons."
        if all(effort.agreed for effort in efforts)
        else "They part.",
        holds=all(effort.agreed for effort in efforts),
    )


def _pair(
    entries: Sequence[Entry], workload: str, strategies: tuple[str, str], quantity: str
) -> tuple[float, float]:
    one, other = (_mean(entries, workload, s, "nosw", quantity) for s in strategies)
    return one, other


def _against(workloads: Sequence[str], pairs: Sequence[tuple[float, float]], unit: str) -> str:
    told = (f"{a:.3g} against {b:.3g} {unit}" for a, b in pairs)
    return "; ".join(f"{t} ({w})" for t, w in zip(told, workloads, strict=True)) + "."


def _mean(
    entries: Sequence[Entry], workload: str, strategy: str, variant: str, quantity: str
) -> float:
    place = {"workload": workload, "strategy": strategy, "variant": variant}
    found = find(entries, **place, quantity=quantity)
    assert found is not None  # noqa: S101  # every workload that ran has one
    return found.ours.mean
