"""What managers propose, and the three steps in which the one above them answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Protocol, runtime_checkable

from penstock.core.schema import Count, PositiveSeconds, checked
from penstock.core.signals import Observation
from penstock.core.units import format_duration
from penstock.core.words import count_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What the manager of one module or region wants."""

    level: str
    """`application` or `infrastructure`."""
    manager: str
    """The module or region."""
    before: int
    """Replicas or nodes in force."""
    change: int
    """How many more, or fewer where negative; never none."""
    why: str
    region: str | None = None
    """Where it would take room."""
    load: float | None = None
    """Work that comes by what its replicas could do, where that is known; else how busy they are,
    which is the same for every overload."""

    @property
    def grows(self) -> bool:
        """Whether it wants more."""
        return self.change > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a proposal."""

    proposal: Proposal
    granted: int
    """How much of its change, from none to all."""
    why: str
    """Of what was refused, where any of it was; else of what was granted."""
    without_room: bool = False
    """Whether it is granted only so that its region knows: nothing will change by it."""

    @property
    def refused(self) -> int:
        """How much of its change was not granted."""
        return self.proposal.change - self.granted


@runtime_checkable
class Rule(Protocol):
    """A global policy: e2df, Section 6.3."""

    def prioritise(self, proposals: Sequence[Proposal], seen: Observation, /) -> list[Proposal]:
        """The proposals, the worthiest first."""
        ...

    def accept(self, proposals: Sequence[Proposal], seen: Observation, /) -> list[Answer]:
        """An answer to each, in the same order."""
        ...

    def follow_up(self, answers: Sequence[Answer], seen: Observation, /) -> str | None:
        """What is to be done or known after that, in words; None for nothing."""
        ...


def granted(proposal: Proposal, why: str) -> Answer:
    """All of it."""
    return Answer(proposal=proposal, granted=proposal.change, why=why)


def refused(proposal: Proposal, why: str) -> Answer:
    """None of it."""
    return Answer(proposal=proposal, granted=0, why=why)


@dataclass
class Accept:
    """Grants every proposal, as the infrastructure manager of the e2df paper does.

    >>> from penstock.testing import seen
    >>> wish = Proposal(level="infrastructure", manager="dc1", before=2, change=1, why="none idle")
    >>> [answer.granted for answer in Accept().accept([wish], seen())]
    [1]
    """

    def prioritise(self, proposals: Sequence[Proposal], _: Observation, /) -> list[Proposal]:
        """As they come."""
        return list(proposals)

    def accept(self, proposals: Sequence[Proposal], _: Observation, /) -> list[Answer]:
        """Every one."""
        return [granted(proposal, "every request is granted") for proposal in proposals]

    def follow_up(self, _: Sequence[Answer], __: Observation, /) -> str | None:
        """Nothing."""
        return None


@dataclass
class Conflicts(Accept):
    """Grants no more replicas in a region than it has room for, the busiest module first.

    The first request in a region is granted even where there is no room, if only for one replica:
    a region adds a node only after a request that found no room. What gives replicas up is
    granted always, and so are nodes, for which regions do not compete (e2df, Section 7.3).

    >>> from penstock.core.signals import RegionReading
    >>> now = Observation(at=1, step=1, modules={}, regions={"dc3": RegionReading(nodes=2, free=1)})
    >>> def proposal(module, busy):
    ...     return Proposal(level="application", manager=module, before=2, change=1, why="busy",
    ...                     region="dc3", load=busy)
    >>> rule = Conflicts()
    >>> asked = rule.prioritise([proposal("counter", 0.8), proposal("consumer", 0.9)], now)
    >>> [(a.proposal.manager, a.granted, a.why) for a in rule.accept(asked, now)]
    [('consumer', 1, 'dc3 has room for it'), ('counter', 0, 'no room is left in dc3')]
    """

    def prioritise(self, proposals: Sequence[Proposal], _: Observation, /) -> list[Proposal]:
        """The one with most to do for its replicas first; of equals, the first in the graph."""
        return sorted(proposals, key=_idleness)

    def accept(self, proposals: Sequence[Proposal], seen: Observation, /) -> list[Answer]:
        """As many as there is room for."""
        left: dict[str, int] = {}
        return [self._judge(proposal, seen, left) for proposal in proposals]

    def _judge(self, proposal: Proposal, seen: Observation, left: dict[str, int]) -> Answer:
        if not proposal.grows:
            return granted(proposal, "scaling in is always granted")
        if proposal.level != "application" or proposal.region is None:
            return granted(proposal, "no other request competes")
        first, region = proposal.region not in left, proposal.region
        reading = seen.regions.get(region)
        if reading is None or reading.free is None:
            return granted(proposal, f"the room of {region} is unknown")
        room = left.get(region, reading.free)
        given = min(proposal.change, max(room, 1) if first else room)
        left[region] = max(room - given, 0)
        if given > room:
            why = f"{region} has no room, granted to show it the demand"
        elif given == proposal.change:
            why = f"{region} has room for it"
        else:
            why = f"no {'more ' * (given > 0)}room is left in {region}"
        return Answer(
            proposal=proposal, granted=given, why=why, without_room=room == 0 and given > 0
        )


def _idleness(proposal: Proposal) -> float:
    busy = proposal.load
    return 1.0 if busy is None or isnan(busy) else -busy


@dataclass
@checked("manager token-bucket")
class TokenBucket(Conflicts):
    """Grants a change for a token, of which one comes `every` so many seconds.

    Unused tokens are kept, `burst` of them at most. Where modules want the same room it
    decides as `conflicts` does, and what that refuses takes no token; nor does a request that is
    granted for a region without room to know of it, since nothing changes by it.

    >>> from penstock.testing import seen
    >>> rule = TokenBucket(every=60.0)
    >>> wish = Proposal(level="application", manager="count", before=2, change=1, why="busy")
    >>> [rule.accept([wish], seen(at=at))[0].granted for at in (0.0, 30.0, 60.0)]
    [1, 0, 1]
    >>> rule.accept([wish], seen(at=75.0))[0].why
    'no token is left, next in 45 s'
    """

    every: PositiveSeconds = 60.0
    """Seconds in which a token comes."""
    burst: Count = 1
    """Tokens that are kept, at most; there are as many at the start."""
    _tokens: float = field(default=0.0, init=False, repr=False, compare=False)
    _at: float | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._tokens = float(self.burst)

    def accept(self, proposals: Sequence[Proposal], seen: Observation, /) -> list[Answer]:
        """What there is room and a token for."""
        passed = 0.0 if self._at is None else max(seen.at - self._at, 0.0)
        self._tokens = min(self._tokens + passed / self.every, float(self.burst))
        self._at = seen.at
        return [self._pay(answer) for answer in super().accept(proposals, seen)]

    def follow_up(self, answers: Sequence[Answer], _: Observation, /) -> str | None:
        """How many tokens are left, where some were asked for."""
        if not answers:
            return None
        whole = int(self._tokens + _ROUNDING)
        return f"{whole} of {count_of(self.burst, 'token')} left"

    def _pay(self, answer: Answer) -> Answer:
        if not answer.granted or answer.without_room:
            return answer
        if self._tokens < 1 - _ROUNDING:
            wait = format_duration((1 - self._tokens) * self.every)
            return refused(answer.proposal, f"no token is left, next in {wait}")
        self._tokens = max(self._tokens - 1, 0.0)
        return answer


_ROUNDING = 1e-9  # times are sums of steps
