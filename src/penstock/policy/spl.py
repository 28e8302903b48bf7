"""Climb and descend by trial: the elastic operators of SPL, as the mpc paper compares with them.

A level is a degree. What each level brought is remembered, and a step that did not help is not
repeated until the load is another.
"""

from dataclasses import dataclass, field
from math import inf

from penstock.core.schema import BelowOne, Count, Share, checked
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.core.words import percent
from penstock.policy.common.estimates import backlog_forbids_shrinking, known
from penstock.policy.common.rebalance import Rebalancer
from penstock.policy.common.verdict import ModuleState, Verdict, conclude, judged


@dataclass(frozen=True, slots=True)
class Level:
    """What was last seen of a degree."""

    throughput: float
    """Rows a second."""
    congested: bool
    anchor: float
    """The throughput that its changes are measured against: that of the first step at this level,
    or of the last significant change, so that a slow drift is noticed too."""


@dataclass
class Climb:
    """The memory of one module: what its levels brought, and where it came from."""

    levels: dict[int, Level] = field(default_factory=dict)
    backlog: float | None = None
    """Rows that waited in the last step."""


@dataclass
@checked("policy spl")
class Spl:
    """One replica more while rows pile up and the last try was worth it, one fewer otherwise.

    A module is congested while it finishes fewer rows than come: the index is the missing share, `1
    - processed/arrived`, or the growth of its backlog by the rows that arrived where the processed
    ones are not measured. It grows if it is congested and the level above was never worse; it
    shrinks if it is not, the level below was not congested either, and no more rows wait than come,
    are finished or could be served in a step. Where a level brought no more than the one below and
    both were congested, the congestion lies elsewhere, and it steps back. When congestion comes or
    throughput rises, what was known of the levels above is forgotten; when congestion goes or
    throughput falls, of those below.

    >>> from penstock.testing import seen
    >>> policy = Spl()
    >>> policy(seen(counter={"arrival_rate": 900, "processed_rate": 600, "running": 2})).why
    'counter processes 33 % fewer rows than arrive, 600 rows/s: 2 -> 3'
    >>> policy(seen(counter={"arrival_rate": 900, "processed_rate": 590, "running": 3})).why
    'counter processes 34 % fewer rows than arrive, and 3 executors are no faster than 2: 3 -> 2'
    >>> policy(seen(counter={"arrival_rate": 900, "processed_rate": 600, "running": 2})).why
    'counter holds at 2, processes 33 % fewer rows than arrive, but 3 executors were no faster'
    """

    congestion: BelowOne = 0.1
    """Share of its rows that a module may miss before it counts as congested."""
    sensitivity: Share = 0.9
    """Throughputs are alike while the lower is above this share of the higher."""
    levels: Count = 12
    """Most replicas."""
    _climbs: dict[str, Climb] = field(default_factory=dict, init=False, repr=False, compare=False)
    _rebalancers: dict[str, Rebalancer] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module on its own."""
        verdicts = judged(seen, lambda module: self._judge(module, seen.step))
        return conclude(seen, verdicts, self._rebalancers)

    def _judge(self, module: ModuleState, step: float) -> Verdict:
        climb = self._climbs.setdefault(module.name, Climb())
        measured = _measure(module.reading, climb.backlog, step)
        climb.backlog = module.reading.backlog
        if measured is None:
            return module.hold("arrived or processed rows unknown")
        if module.coming > 0:
            return module.hold(f"{module.coming} still to come")
        throughput, index = measured
        congested = index > self.congestion
        missed = f"processes {percent(index, '.0f')} fewer rows than arrive"
        shortfall = missed if index else "keeps up"
        self._learn(climb, module.degree, throughput, congested)
        if congested:
            return self._ascend(module, climb, shortfall)
        return self._descend(module, climb, shortfall, step)

    def _learn(self, climb: Climb, degree: int, throughput: float, congested: bool) -> None:
        """Remember a level, and forget what another load has made worthless."""
        past = climb.levels.get(degree, Level(throughput, congested, throughput))
        rises = throughput * self.sensitivity > past.anchor
        falls = throughput < self.sensitivity * past.anchor
        above = rises or (congested and not past.congested)
        below = falls or (past.congested and not congested)
        forgotten = {n for n in climb.levels if (above and n > degree) or (below and n < degree)}
        climb.levels = {n: level for n, level in climb.levels.items() if n not in forgotten}
        anchor = throughput if rises or falls else past.anchor
        climb.levels[degree] = Level(throughput, congested, anchor)

    def _ascend(self, module: ModuleState, climb: Climb, shortfall: str) -> Verdict:
        degree = module.degree
        now, below = climb.levels[degree], climb.levels.get(degree - 1)
        if below and below.congested and now.throughput <= below.throughput:
            why = f"{shortfall}, and {degree} executors are no faster than {degree - 1}"
            return module.move(degree - 1, why)
        if degree >= self.levels:
            return module.hold(f"{shortfall}, and {self.levels} is the highest level")
        above = climb.levels.get(degree + 1)
        if above and above.throughput <= now.throughput:
            return module.hold(f"{shortfall}, but {degree + 1} executors were no faster")
        return module.move(degree + 1, f"{shortfall}, {now.throughput:,.4g} rows/s")

    def _descend(self, module: ModuleState, climb: Climb, shortfall: str, step: float) -> Verdict:
        degree = module.degree
        if degree > self.levels:
            return module.move(self.levels, f"{shortfall}, and {self.levels} is the highest level")
        if degree == 1:
            return module.hold(f"{shortfall}, already at 1")
        if waits := backlog_forbids_shrinking(module.reading, degree, step):
            return module.hold(waits)
        below = climb.levels.get(degree - 1)
        if below and below.congested:
            return module.hold(f"{shortfall}, but {degree - 1} was congested")
        tried = "is untried at this load" if below is None else "was enough when last tried"
        return module.move(degree - 1, f"{shortfall}, and {degree - 1} {tried}")


def _measure(
    reading: ModuleReading, before: float | None, step: float
) -> tuple[float, float] | None:
    """Throughput, and the share of its rows that the module misses; None where unknown."""
    arrived, done = known(reading.arrival_rate), known(reading.processed_rate)
    if arrived is None:
        return None
    if done is not None:
        return done, _share(arrived - done, arrived)
    backlog, before = known(reading.backlog), known(before)
    if backlog is None or before is None:
        return None
    growth = (backlog - before) / step
    return max(arrived - growth, 0.0), _share(growth, arrived)


def _share(missed: float, of: float) -> float:
    return min(max(missed / of, 0.0), 1.0) if 0.0 < of < inf else 0.0
