"""A module is left as it is: not measured, paused, changed too recently, or only advised."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import isnan

from penstock.core.errors import SettingError
from penstock.core.schema import NotNegativeSeconds, checked
from penstock.core.settings import near
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.core.units import format_duration
from penstock.core.words import count_of
from penstock.guard.common import Guard, ProposedDegree, Ruling
from penstock.policy.common.degrees import in_force
from penstock.policy.common.estimates import TIME_TOLERANCE
from penstock.policy.common.nodes import nodes_in_force


@dataclass(kw_only=True)
@checked("guard hold")
class Hold(Guard):
    """Keeps a module as it is while something that must be known of it is not.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Hold(Static(degrees=1))(seen(counter={"running": 4, "utilisation": 0.1})).why
    'counter is set to 1; counter held at 4, arrival_rate unknown'
    """

    needs: tuple[str, ...] = ("arrival_rate", "utilisation", "running")
    """What must be known of a module before it is changed."""

    def __post_init__(self) -> None:
        known = ModuleReading.__dataclass_fields__
        for name in self.needs:
            if name not in known:
                raise SettingError(f"guard hold cannot need {name!r}{near(name, known)}")

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, of the modules that were measured."""
        ruled = super().__call__(seen)
        if seen.modules:
            return ruled
        return replace(ruled, why=f"{ruled.why}; all held, nothing was measured")

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """A module that was not measured in full stays as it is."""
        read = {need: getattr(proposed.module, need) for need in self.needs}
        missing = [n for n, v in read.items() if v is None or (isinstance(v, float) and isnan(v))]
        if not missing or proposed.degree == proposed.in_force:
            return None
        held = "left alone" if proposed.in_force is None else f"held at {proposed.in_force}"
        return Ruling(proposed.in_force, f"{proposed.name} {held}, {' and '.join(missing)} unknown")


@dataclass(kw_only=True)
@checked("guard pause")
class Pause(Guard):
    """Stops growing, shrinking, or both; both unless one is named.

    It is also known as paused-scale-out and paused-scale-in.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Pause(Static(degrees=1), in_=True)(seen(counter={"running": 4})).why
    'counter is set to 1; counter stays at 4, scaling in is paused'
    """

    out: bool | None = None
    """Whether no module grows."""
    in_: bool | None = None
    """Whether no module shrinks."""

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """No change in a direction that is paused."""
        both = self.out is None and self.in_ is None
        if proposed.degree > proposed.now and (both or self.out):
            return proposed.refuse("scaling out is paused")
        if proposed.degree < proposed.now and (both or self.in_):
            return proposed.refuse("scaling in is paused")
        return None


@dataclass(kw_only=True)
@checked("guard cooldown")
class Cooldown(Guard):
    """Makes each module rest after a change before it grows, and longer before it shrinks.

    A change is one that was seen to take effect: what another guard refused does not count, and
    what another actor did does.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> guard = Cooldown(Static(degrees=2), in_=60.0)
    >>> for at, degree in ((0.0, 2), (10.0, 4), (30.0, 4)):
    ...     decided = guard(seen(at=at, counter={"running": degree}))
    >>> decided.why
    'counter is set to 2; counter stays at 4, it changed 30 s ago and may shrink after 1 min'
    """

    out: NotNegativeSeconds = 0.0
    """Seconds after a change before a module may grow."""
    in_: NotNegativeSeconds = 300.0
    """Seconds after a change before a module may shrink."""
    _degrees: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    _changed: dict[str, float] = field(default_factory=dict, init=False, repr=False)
    _decided_at: float = field(default=0.0, init=False, repr=False)

    def observe(self, seen: Observation) -> None:
        """Note what has changed since the last step."""
        for name, degree in in_force(seen).items():
            if self._degrees.get(name, degree) != degree:
                self._changed[name] = self._decided_at
            self._degrees[name] = degree
        self._decided_at = seen.at

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """A module that has not rested stays as it is."""
        now = self._degrees.get(proposed.name, proposed.degree)
        rest, verb = (self.out, "grow") if proposed.degree > now else (self.in_, "shrink")
        since = proposed.seen.at - self._changed.get(proposed.name, float("-inf"))
        if proposed.degree == now or since >= rest - TIME_TOLERANCE:
            return None
        return Ruling(
            now,
            f"{proposed.name} stays at {now}, it changed {format_duration(since)} ago "
            f"and may {verb} after {format_duration(rest)}",
        )


@dataclass(kw_only=True)
@checked("guard scale-down")
class DelayedScaleDown(Guard):
    """Shrinks a module only to the largest degree that was recommended within `interval`.

    What was there at the start, or after a gap in the readings, counts as recommended. It is also
    known as scale-down.interval and stabilizationWindowSeconds.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> guard = DelayedScaleDown(Static(degrees=2), interval=300.0)
    >>> for at in (0.0, 60.0):
    ...     decided = guard(seen(at=at, counter={"running": 4}))
    >>> decided.why
    'counter is set to 2; counter stays at 4, recommended 1 min ago: the highest \
of the last 5 min applies'
    """

    interval: NotNegativeSeconds = 600.0
    """Seconds of recommendations of which the largest counts. Less than the hour that is usual
    where a change restarts the job: executors of Spark come and go while it runs."""
    _recent: dict[str, dict[int, float]] = field(default_factory=dict, init=False, repr=False)
    """By module, each degree that was recommended and when it last was."""

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """No fewer than were wanted recently."""
        at, before = proposed.seen.at, self._recent.get(proposed.name, {})
        recent = {
            n: last for n, last in before.items() if at - last < self.interval - TIME_TOLERANCE
        }
        recent = (recent or {proposed.now: at}) | {proposed.degree: at}
        self._recent[proposed.name] = recent
        most, when = max(recent.items())
        allowed = min(proposed.now, most)
        if proposed.degree >= allowed:
            return None
        which = "" if allowed == most else f"{most} "
        return proposed.allow(
            allowed,
            f"{which}recommended {format_duration(at - when)} ago: "
            f"the highest of the last {format_duration(self.interval)} applies",
        )


@dataclass(kw_only=True)
class DryRun(Guard):
    """Asks for nothing, and proposes what it would have asked for. Put it around all other guards.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> decided = DryRun(Static(degrees=9))(seen(counter={"running": 4}))
    >>> decided.proposed.degrees, decided.configuration.degrees
    ({'counter': 9}, {'counter': 4})
    >>> decided.why
    'dry run: counter would go from 4 to 9; counter is set to 9'
    """

    def __call__(self, seen: Observation, /) -> Decision:
        """What is in force; of nodes nothing is asked at all."""
        decided, degrees = self.policy(seen), in_force(seen)
        then, clock = decided.configuration, decided.configuration.frequency
        moves = [
            *_moves(degrees, then.degrees, str),
            *(f"keys of {name} would be reassigned" for name in then.routing),
            *([] if clock is None else [f"the clock would be set to {clock:g} GHz"]),
            *_moves(nodes_in_force(seen), then.nodes, partial(count_of, noun="node")),
        ]
        advice = "; ".join(moves) or "nothing would change"
        undone = [
            replace(r, answer=f"{r.answer}; dry run, nothing was done") if r.granted else r
            for r in decided.requests
        ]
        return replace(
            decided,
            configuration=Configuration(degrees=degrees),
            proposed=then,
            why="; ".join([f"dry run: {advice}", decided.why, *_wish(decided)]),
            expects={},
            requests=tuple(undone),
        )


def _moves(
    now: Mapping[str, int], then: Mapping[str, int], describe: Callable[[int], str]
) -> Iterator[str]:
    """Of degrees or nodes.

    >>> list(_moves({"dc1": 2, "dc2": 1}, {"dc1": 3, "dc2": 1, "dc3": 1}, "{} nodes".format))
    ['dc1 would go from 2 to 3 nodes', 'dc3 would go to 1 nodes']
    """
    for name, number in then.items():
        start = f" from {now[name]}" if name in now else ""
        if now.get(name) != number:
            yield f"{name} would go{start} to {describe(number)}"


def _wish(decided: Decision) -> Iterator[str]:
    """What the policy wanted of the modules for which a guard decided otherwise."""
    wanted = decided.proposed.degrees if decided.proposed else {}
    allowed = decided.configuration.degrees
    text = [f"{name} {n}" for name, n in wanted.items() if allowed.get(name) != n]
    if text:
        yield f"the policy wanted {', '.join(text)}"
