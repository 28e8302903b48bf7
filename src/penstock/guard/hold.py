"""Nothing seen, nothing done."""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from math import isnan

from penstock.core.errors import SettingError
from penstock.core.roles import Policy
from penstock.core.settings import near
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Request
from penstock.core.words import count_of
from penstock.guard.common import Ruling, revise
from penstock.policy.common.degrees import in_force
from penstock.policy.common.nodes import nodes_in_force
from penstock.policy.common.sentences import sentence


@dataclass
class Hold:
    """Keeps a module as it is while something that must be known of it is not.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Hold(Static(degrees=1))(seen(counter={"running": 4, "utilisation": 0.1})).why
    'counter is set to 1; counter held at 4, arrival_rate unknown'
    """

    policy: Policy
    _: KW_ONLY
    needs: tuple[str, ...] = ("arrival_rate", "utilisation", "running")
    """What must be known of a module before it is changed."""

    def __post_init__(self) -> None:
        known = ModuleReading.__dataclass_fields__
        for name in self.needs:
            if name not in known:
                raise SettingError(f"guard hold cannot need {name!r}{near(name, known)}")

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, of the modules that were measured."""
        known = in_force(seen)
        ruled = revise(
            self.policy(seen), lambda name, n: self._rule(name, n, seen, known.get(name))
        )
        if seen.modules:
            return ruled
        return replace(ruled, why=f"{ruled.why}; all held, nothing was measured")

    def _rule(self, name: str, degree: int, seen: Observation, now: int | None) -> Ruling | None:
        module = seen.modules.get(name, ModuleReading())
        missing = [need for need in self.needs if _unknown(getattr(module, need))]
        if not missing or degree == now:
            return None
        held = f"{name} held at {now}" if now is not None else f"{name} left alone"
        return Ruling(now, f"{held}, {' and '.join(missing)} unknown")


def _unknown(value: object) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


# Not now.


@dataclass
class Pause:
    """Stops growing, shrinking, or both; both unless one is named.

    It is also known as paused-scale-out and paused-scale-in.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> Pause(Static(degrees=1), in_=True)(seen(counter={"running": 4})).why
    'counter is set to 1; counter stays at 4, scaling in is paused'
    """

    policy: Policy
    _: KW_ONLY
    out: bool | None = None
    """Whether no module grows."""
    in_: bool | None = None
    """Whether no module shrinks."""

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, in the direction that is not paused."""
        now = in_force(seen)
        return revise(self.policy(seen), lambda name, n: self._rule(name, n, now.get(name, n)))

    def _rule(self, name: str, degree: int, now: int) -> Ruling | None:
        both = self.out is None and self.in_ is None
        if degree > now and (both or self.out):
            return Ruling(now, f"{name} stays at {now}, scaling out is paused")
        if degree < now and (both or self.in_):
            return Ruling(now, f"{name} stays at {now}, scaling in is paused")
        return None


# Advice only.


@dataclass
class DryRun:
    """Asks for nothing, and proposes what it would have asked for. Put it around all other guards.

    >>> from penstock.policy import Static
    >>> from penstock.testing import seen
    >>> decided = DryRun(Static(degrees=9))(seen(counter={"running": 4}))
    >>> decided.proposed.degrees, decided.configuration.degrees
    ({'counter': 9}, {'counter': 4})
    >>> decided.why
    'dry run: counter would go from 4 to 9; counter is set to 9'
    """

    policy: Policy

    def __call__(self, seen: Observation, /) -> Decision:
        """What is in force; of nodes nothing is asked at all."""
        decided, now = self.policy(seen), Configuration(degrees=in_force(seen))
        then, nodes = decided.configuration, nodes_in_force(seen)
        moves = [*_moves(now, then), *_node_moves(nodes, then.nodes)]
        advice = sentence(moves, otherwise="nothing would change")
        return replace(
            decided,
            configuration=now,
            proposed=then,
            why="; ".join([f"dry run: {advice}", decided.why, *_wish(decided)]),
            expects={},
            requests=tuple(_undone(request) for request in decided.requests),
        )


def _moves(now: Configuration, then: Configuration) -> Iterator[str]:
    for name, degree in then.degrees.items():
        before = now.degrees.get(name)
        if before is None:
            yield f"{name} would go to {degree}"
        elif before != degree:
            yield f"{name} would go from {before} to {degree}"
    for name in then.routing:
        yield f"keys of {name} would be reassigned"
    if then.frequency is not None:
        yield f"the clock would be set to {then.frequency:g} GHz"


def _node_moves(now: Mapping[str, int], then: Mapping[str, int]) -> Iterator[str]:
    """Of nodes.

    >>> list(_node_moves({"dc1": 2, "dc2": 1}, {"dc1": 3, "dc2": 1, "dc3": 1}))
    ['dc1 would go from 2 to 3 nodes', 'dc3 would go to 1 node']
    """
    for name, nodes in then.items():
        start = f" from {now[name]}" if name in now else ""
        if now.get(name) != nodes:
            yield f"{name} would go{start} to {count_of(nodes, 'node')}"


def _undone(request: Request) -> Request:
    """A request that was granted is not carried out, and says so."""
    if not request.granted:
        return request
    return replace(request, answer=f"{request.answer}; dry run, nothing was done")


def _wish(decided: Decision) -> Iterator[str]:
    """What the policy wanted of the modules for which a guard decided otherwise."""
    wanted = decided.proposed.degrees if decided.proposed else {}
    allowed = decided.configuration.degrees
    text = [f"{name} {n}" for name, n in wanted.items() if allowed.get(name) != n]
    if text:
        yield f"the policy wanted {', '.join(text)}"
