"""What the game paper found, and whether it was found again."""

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.experiment.results import Claim, Entry, find
from penstock.papers.game import published
from penstock.papers.game.runs import Outcome
from penstock.papers.game.setup import COMPARED, service

GOSSIP_ITERATIONS = 15


def claims(entries: Sequence[Entry], outcomes: Sequence[Outcome]) -> tuple[Claim, ...]:
    """Each with what we found."""
    workloads = dict.fromkeys(outcome.case.workload for outcome in outcomes)
    saved = {w: 1.0 - _ratio(entries, w, "cost") for w in workloads}
    gained = {w: _ratio(entries, w, "images") - 1.0 for w in workloads}
    return (
        _each("Cooperation costs 5 to 20 % less than selfishness.", saved, 0.05, 0.20),
        _each("It completes 15 to 30 % more images.", gained, 0.15, 0.30),
        _efficiency(entries),
        *_details(outcomes),
        *_optimum(outcomes),
    )


def _ratio(entries: Sequence[Entry], workload: str, quantity: str) -> float:
    found = find(entries, workload=workload, strategy="incentive/nash", quantity=quantity)
    assert found is not None  # noqa: S101  # every workload that ran has one
    return found.ours.mean


def _each(text: str, shares: dict[str, float], low: float, high: float) -> Claim:
    found = ", ".join(f"{100 * share:.1f} % ({name})" for name, share in shares.items())
    return Claim(text=text, found=found, holds=all(low <= s <= high for s in shares.values()))


def _efficiency(entries: Sequence[Entry]) -> Claim:
    means = [
        e.ours.mean
        for e in entries
        if e.where["quantity"] == "efficiency" and e.where["strategy"] in COMPARED
    ]
    return Claim(
        text="The relative efficiency of every module is between 0.85 and 1.",
        found=f"{min(means):.3f} to {max(means):.3f}",
        holds=0.85 <= min(means) <= max(means) <= 1.0,
    )


def _details(outcomes: Sequence[Outcome]) -> Iterator[Claim]:
    details = [outcome.detail for outcome in outcomes if outcome.detail is not None]
    if not details:
        return
    error = max(float(detail.gossip_errors[GOSSIP_ITERATIONS - 1]) for detail in details)
    yield Claim(
        text=f"Gossip is within 2 % of the exact sum after {GOSSIP_ITERATIONS} iterations.",
        found=f"{100 * error:.2g} %",
        holds=error <= 0.02,
    )
    most = np.max([detail.incentives.max(axis=0) for detail in details], axis=0)
    paid = [name for name, share in zip(service().names(), most, strict=True) if share > 0]
    yield Claim(
        text="Only the edge detector and the recogniser are ever paid incentives.",
        found=", ".join(paid) or "nobody was paid",
        holds=set(paid) <= set(published.MODULES[2:]),
    )


def _optimum(outcomes: Sequence[Outcome]) -> Iterator[Claim]:
    ran = [outcome for outcome in outcomes if outcome.alike is not None]
    if not ran:
        return
    steps = sum(outcome.case.steps for outcome in ran)
    alike = sum(outcome.alike or 0 for outcome in ran)
    dearer = sum(outcome.dearer or 0 for outcome in ran)
    worst = max(o.scores["social"].cost / o.scores["incentive"].cost for o in ran)
    yield Claim(
        text="Beyond the paper: the optimum in closed form never costs more than incentives.",
        found=(
            f"dearer in {dearer:,} of {steps:,} decisions, the same degrees in {alike:,} steps, "
            f"measured cost at most {worst:.4f} times"
        ),
        holds=dearer == 0 and worst < 1.001,
    )
    messages = [o.scores["social"].messages / o.scores["incentive"].messages for o in ran]
    yield Claim(
        text="It takes at most a tenth of their messages.",
        found=f"{100 * max(messages):.1f} %",
        holds=max(messages) <= 0.1,
    )
