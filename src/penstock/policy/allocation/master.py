"""What the final sink can conclude from the bills it was sent: a small linear program.

Modules of one home need, for any flow of the sinks, at least what each bill of theirs says: the
need is convex, and a bill is its tangent. So the best flow within the bills is worth no less than
the optimum, and is the next one worth asking about. There is a variable for each sink, as a share
of what it could have alone, and one for each home, as a share of the budget.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from penstock.policy.allocation.gradient import Bill
from penstock.policy.allocation.highs import Entries, maximise


class Proposal(NamedTuple):
    """The best that the bills allow."""

    targets: dict[str, float]
    bound: float
    """No allocation is worth more."""


@dataclass(slots=True)
class Master:
    """All that the final sink knows: what sinks are worth, could have alone, and were billed.

    >>> master = Master(budget=1.0, weights={"x": 1.0, "y": 2.0}, most={"x": 0.5, "y": 0.5})
    >>> master.add({"x": Bill({"x": 2.0}, 0.0, 0.5), "y": Bill({"x": 1.0}, 0.0, 0.5)})
    >>> master.best()
    Proposal(targets={'x': 0.25, 'y': 0.5}, bound=1.25)
    """

    budget: float
    weights: Mapping[str, float]
    most: Mapping[str, float]
    """Flow of each sink if it were the only one: no more can be asked of it."""
    _cuts: list[tuple[str, dict[str, float]]] = field(default_factory=list)
    """Share of the budget that a home needs for all that each sink could have."""

    def add(self, bills: Mapping[str, Bill]) -> None:
        """Take in the bills of one question: a cut for each home."""
        homes: dict[str, dict[str, float]] = {}
        for sink, bill in bills.items():
            for home, price in bill.prices.items():
                homes.setdefault(home, {})[sink] = price * self.most[sink] / self.budget
        self._cuts += homes.items()

    def best(self) -> Proposal:
        """The flow of each sink that is worth most within the bills."""
        worth = {sink: self.weights[sink] * most for sink, most in self.most.items()}
        unit = max(worth.values())
        homes = dict.fromkeys(home for home, _ in self._cuts)
        found = maximise(
            [each / unit for each in worth.values()] + [0.0] * len(homes),
            self._entries(list(homes)),
            limits=[0.0] * len(self._cuts) + [1.0],
            most=[1.0] * len(worth) + [inf] * len(homes),
        )
        pairs = zip(self.most.items(), found.shares, strict=False)
        targets = {sink: min(max(share, 0.0), 1.0) * most for (sink, most), share in pairs}
        return Proposal(targets, found.value * unit)

    def _entries(self, homes: list[str]) -> Entries:
        """A row for each cut, what it says less what its home needs; the budget last."""
        sinks = {sink: i for i, sink in enumerate(self.most)}
        needs = {home: i for i, home in enumerate(homes, start=len(sinks))}
        entries = [(1.0, len(self._cuts), column) for column in needs.values()]
        for row, (home, shares) in enumerate(self._cuts):
            entries.append((-1.0, row, needs[home]))
            entries += [(share, row, sinks[sink]) for sink, share in shares.items()]
        values, rows, columns = zip(*entries, strict=True)
        return Entries(values, rows, columns)
