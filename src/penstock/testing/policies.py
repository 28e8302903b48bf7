"""What every policy promises, and every guard around whatever policy."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from typing import Any, Final

from penstock.core.roles import Policy
from penstock.core.settings import option_names
from penstock.core.signals import (
    Configuration,
    Decision,
    ModuleReading,
    Observation,
    check_decision,
    current,
)
from penstock.policy.common.degrees import in_force
from penstock.testing.checking import Check, global_random_state_untouched, require, run_all
from penstock.testing.script import chain, varied

_EVENTS: Final = (
    "open",
    "os.system",
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.sendto",
    "subprocess.Popen",
)
_touched: dict[int, list[str]] = {}  # by thread: what others do is no concern of ours


@contextmanager
def watched() -> Iterator[list[str]]:
    """What is touched inside, by the names of Python's audit events.

    >>> with watched() as touched:
    ...     open("/dev/null").close()
    >>> touched
    ['open']
    """
    _listen()
    touched: list[str] = []
    _touched[threading.get_ident()] = touched
    try:
        yield touched
    finally:
        del _touched[threading.get_ident()]


@cache
def _listen() -> None:
    sys.addaudithook(_note)  # a hook stays for the life of the process, so there is only one


def _note(event: str, _: tuple[object, ...]) -> None:
    touched = _touched.get(threading.get_ident())
    if touched is not None and event in _EVENTS:
        touched.append(event)


Factory = Callable[[], Policy]
"""Makes a new policy, with the same settings each time."""

EXAMPLE_GRAPH: Final = chain(
    splitter={"service_time": 0.003, "price": 0.01, "delay_cost": 5.0},
    counter={"service_time": 0.002, "price": 0.01, "delay_cost": 5.0},
    selectivity=2.0,
)
"""Of the modules in `varied`, for policies that decide for a whole graph."""


def example(kind: type[Policy]) -> Factory:
    """A factory of a kind of policy: with its defaults, and `EXAMPLE_GRAPH` if it needs a graph.

    >>> from penstock.policy import Nash, Static
    >>> example(Nash)().graph.names(), example(Static)()
    (('splitter', 'counter'), Static(degrees=None))
    """
    make: Callable[..., Policy] = kind
    return partial(make, graph=EXAMPLE_GRAPH) if "graph" in option_names(kind) else make


def returns_a_decision(factory: Factory) -> None:
    """A policy may be any callable, and this is what makes it one."""
    for decided in _decisions(factory()):
        try:
            check_decision(decided)
        except TypeError as error:
            raise AssertionError(str(error)) from None


def gives_a_reason_in_one_sentence(factory: Factory) -> None:
    """Holds included."""
    for why in (decided.why for decided in _decisions(factory())):
        require(bool(why.strip()), "it decided without a reason")
        require("\n" not in why and ". " not in why, f"not one sentence: {why!r}")


def decides_for_the_modules_seen(factory: Factory) -> None:
    """For each whose degree is known, for none that was not seen, and never below one."""
    policy = factory()
    for seen in varied():
        degrees = policy(seen).configuration.degrees
        known = in_force(seen).keys()
        require(known <= set(degrees), f"it forgot {known - set(degrees)} of {set(seen.modules)}")
        require(
            set(degrees) <= set(seen.modules),
            f"it decided for {set(degrees) - set(seen.modules)}, which it had not seen",
        )
        for name, degree in degrees.items():
            whole = isinstance(degree, int) and not isinstance(degree, bool)
            require(whole and degree >= 1, f"it wants {degree!r} executors of {name}")


def holds_what_it_knows_nothing_of(factory: Factory) -> None:
    """A policy that has only ever seen how many executors there are leaves them as they are."""
    policy = factory()
    for seen in varied():
        known = {name: module.requested for name, module in seen.modules.items()}
        only = {n: ModuleReading(wanted=d, requested=d, running=d) for n, d in known.items()}
        blind = replace(seen, modules=only)
        degrees, kept = policy(blind).configuration.degrees, current(blind).degrees
        require(degrees == kept, f"it went from {kept} to {degrees} without a measurement")


def decides_alike_from_the_same_observations(factory: Factory) -> None:
    """No clock, no chance of its own."""
    with global_random_state_untouched():
        first, second = _decisions(factory()), _decisions(factory())
    for one, other in zip(first, second, strict=True):
        require(one == other, f"the same observations led to {one} and to {other}")


def leaves_the_observation_as_it_was(factory: Factory) -> None:
    """What was seen is seen by others too."""
    policy = factory()
    for seen in varied():
        before = deepcopy(seen)
        policy(seen)
        require(seen == before, f"it changed the observation {before}")


def forks_into_copies_that_live_apart(factory: Factory) -> None:
    """A future can be tried on a copy."""
    policy, reference = factory(), factory()
    past, future = varied()[:30], varied()[30:]
    for seen in past:
        policy(seen), reference(seen)
    fork = deepcopy(policy)
    for seen in varied(seed=2):
        fork(seen)
    for seen in future:
        require(policy(seen) == reference(seen), "what its copy saw changed what it decides")


def has_a_repr_and_equality_of_its_settings(factory: Factory) -> None:
    """Two made alike are equal and look alike."""
    one, other = factory(), factory()
    require(one == other, f"{one!r} made twice is not equal to itself")
    require(repr(one) == repr(other), f"its repr differs from one to the next: {one!r}")
    require(" at 0x" not in repr(one), f"its repr does not show its settings: {one!r}")


def touches_nothing_outside(factory: Factory) -> None:
    """Values in, decision out: no file, no socket, no process."""
    _decisions(factory())  # modules that it imports on its way are read now
    policy, script = factory(), varied()
    with watched() as touched:
        for seen in script:
            policy(seen)
    require(not touched, f"it does I/O while it decides: {', '.join(sorted(set(touched)))}")


POLICY_CHECKS: Final[Sequence[Check[Factory]]] = (
    returns_a_decision,
    gives_a_reason_in_one_sentence,
    decides_for_the_modules_seen,
    holds_what_it_knows_nothing_of,
    decides_alike_from_the_same_observations,
    leaves_the_observation_as_it_was,
    forks_into_copies_that_live_apart,
    has_a_repr_and_equality_of_its_settings,
    touches_nothing_outside,
)


def check_policy(factory: Factory) -> None:
    """Run `POLICY_CHECKS` on a policy, and fail with all that is wrong."""
    run_all(POLICY_CHECKS, factory)


def _decisions(policy: Policy) -> list[Decision]:
    return [policy(seen) for seen in varied()]


Wrapper = Callable[[Policy], Policy]
"""Puts a new guard around a policy, with the same settings each time."""


@dataclass
class AlternatingPolicy:
    """A policy that wants something else in every step, to give guards work.

    >>> from penstock.testing import seen
    >>> AlternatingPolicy()(seen(counter={"running": 2})).configuration.degrees
    {'counter': 9}
    """

    proposes: bool = False
    """Whether its decisions come as if a guard had already changed them."""
    _turn: int = field(default=0, init=False, repr=False)

    def __call__(self, seen: Observation, /) -> Decision:
        """Far up, down to one, a little up, and again."""
        degree = (9, 1, 4, 2)[self._turn % 4]
        self._turn += 1
        return Decision(
            configuration=Configuration(degrees=dict.fromkeys(seen.modules, degree)),
            why=f"{degree} executors are in fashion",
            proposed=Configuration(degrees=dict.fromkeys(seen.modules, 20))
            if self.proposes
            else None,
        )


def holds_a_policy_in_its_first_field(wrap: Wrapper) -> None:
    """So that files and flags can nest guards."""
    inner = AlternatingPolicy()
    guard: Any = wrap(inner)
    first = fields(guard)[0].name
    require(first == "policy" and guard.policy is inner, f"its first field is {first!r}")


def keeps_what_was_proposed(wrap: Wrapper) -> None:
    """A changed decision still names what the policy wanted."""
    for wanted, ruled in _pairs(wrap, AlternatingPolicy()):
        if ruled.configuration != wanted.configuration:
            require(
                ruled.proposed == wanted.configuration,
                f"the policy wanted {wanted.configuration}, the guard says {ruled.proposed}",
            )


def keeps_the_innermost_proposal(wrap: Wrapper) -> None:
    """Through any number of guards, unless it acts on none and proposes what it holds back."""
    pairs = _pairs(wrap, AlternatingPolicy(proposes=True))
    dry = all(ruled.proposed == wanted.configuration for wanted, ruled in pairs) and all(
        ruled.configuration.degrees == in_force(seen)
        for seen, (_, ruled) in zip(varied(), pairs, strict=True)
    )
    for wanted, ruled in pairs:
        require(
            dry or ruled.proposed == wanted.proposed,
            f"the policy proposed {wanted.proposed}, the guard says {ruled.proposed}",
        )


def adds_its_reason_to_the_policys(wrap: Wrapper) -> None:
    """A changed decision has both."""
    for wanted, ruled in _pairs(wrap, AlternatingPolicy()):
        require(wanted.why in ruled.why, f"{wanted.why!r} is lost in {ruled.why!r}")
        if ruled.configuration != wanted.configuration:
            require(ruled.why != wanted.why, "it changed a decision without a reason")


def asks_its_policy_once_in_every_step(wrap: Wrapper) -> None:
    """A policy that learns must see everything, and nothing twice."""
    inner = AlternatingPolicy()
    guard = wrap(inner)
    for turn, seen in enumerate(varied(), 1):
        guard(seen)
        require(inner._turn == turn, f"its policy was not asked once in step {turn}")


def _around_alternating(check: Check[Callable[[], Policy]]) -> Check[Wrapper]:
    def around(wrap: Wrapper) -> None:
        check(lambda: wrap(AlternatingPolicy()))

    around.__name__, around.__doc__ = check.__name__, check.__doc__
    return around


GUARD_CHECKS: Final[Sequence[Check[Wrapper]]] = (
    holds_a_policy_in_its_first_field,
    keeps_what_was_proposed,
    keeps_the_innermost_proposal,
    adds_its_reason_to_the_policys,
    asks_its_policy_once_in_every_step,
    *(_around_alternating(c) for c in POLICY_CHECKS if c is not holds_what_it_knows_nothing_of),
)


def check_guard(wrap: Wrapper) -> None:
    """Run `GUARD_CHECKS` on a guard, and fail with all that is wrong."""
    run_all(GUARD_CHECKS, wrap)


def _pairs(wrap: Wrapper, policy: AlternatingPolicy) -> list[tuple[Decision, Decision]]:
    alone, guard = AlternatingPolicy(proposes=policy.proposes), wrap(policy)
    return [(alone(seen), guard(seen)) for seen in varied()]
