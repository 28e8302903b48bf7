"""What guards share: the object that a rule looks at, and how a ruling changes a decision."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.core.roles import Policy
from penstock.core.signals import Decision, ModuleReading, Observation, Request
from penstock.policy.common.degrees import in_force, with_degrees
from penstock.policy.common.estimates import executor_time, known


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a guard has to say about one module."""

    degree: int | None
    """The degree that it allows; None asks nothing of the module."""
    why: str


@dataclass(frozen=True, slots=True)
class ProposedDegree:
    """The degree that a policy wants of a module, and what is known of the module.

    >>> seen = Observation(at=1, step=1, modules={})
    >>> proposed = ProposedDegree("counter", degree=9, in_force=4, seen=seen)
    >>> proposed.allow(6, "at most 2 more in a step")
    Ruling(degree=6, why='counter goes to 6, at most 2 more in a step')
    >>> proposed.refuse("scaling out is paused")
    Ruling(degree=4, why='counter stays at 4, scaling out is paused')
    """

    name: str
    degree: int
    in_force: int | None
    """None where it is unknown."""
    seen: Observation

    @property
    def now(self) -> int:
        """The degree in force; where that is unknown, the one that is wanted."""
        return self.degree if self.in_force is None else self.in_force

    @property
    def module(self) -> ModuleReading:
        """What was measured of the module: nothing, where it was not seen."""
        return self.seen.modules.get(self.name, ModuleReading())

    def allow(self, degree: int, why: str) -> Ruling:
        """Another degree instead."""
        goes = f"stays at {degree}" if degree == self.now else f"goes to {degree}"
        return Ruling(degree, f"{self.name} {goes}, {why}")

    def refuse(self, why: str) -> Ruling:
        """The module stays as it is."""
        if self.in_force is None:
            return Ruling(None, f"{self.name} is left alone, {why}")
        return self.allow(self.in_force, why)


@dataclass
class Guard:
    """A policy that holds a policy, and lets through what its rule allows.

    What it remembers, it learns before the policy is asked.
    """

    policy: Policy

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy wants, as far as the rule allows."""
        self.observe(seen)
        decided, now = self.policy(seen), in_force(seen)
        return revise(
            decided, lambda name, n: self.rule(ProposedDegree(name, n, now.get(name), seen))
        )

    def observe(self, seen: Observation) -> None:
        """Learn from what was seen."""

    def rule(self, proposed: ProposedDegree) -> Ruling | None:
        """What replaces a proposed degree; None lets it pass."""
        raise NotImplementedError


def revise(decided: Decision, rule: Callable[[str, int], Ruling | None]) -> Decision:
    """The decision under a rule for each module and its degree, where None lets it pass.

    Nodes stay as decided, and requests too, but for those that the rule overrules: their answer
    says so.

    >>> from penstock.core.signals import Configuration
    >>> plan = Decision(configuration=Configuration(degrees={"counter": 9}), why="load doubled")
    >>> ruled = revise(plan, lambda name, degree: Ruling(8, f"{name} limited to 8"))
    >>> ruled.configuration.degrees, ruled.why
    ({'counter': 8}, 'load doubled; counter limited to 8')
    >>> ruled.proposed.degrees
    {'counter': 9}
    """
    before = decided.configuration.degrees
    asked = {name: rule(name, degree) for name, degree in before.items()}
    rulings = {name: ruling for name, ruling in asked.items() if ruling is not None}
    degrees = {**before, **{name: ruling.degree for name, ruling in rulings.items()}}
    why = "; ".join([decided.why, *(ruling.why for ruling in rulings.values())])
    requests = tuple(r for made in decided.requests for r in _overruled(made, before, rulings))
    return with_degrees(
        replace(decided, why=why, requests=requests),
        {name: degree for name, degree in degrees.items() if degree is not None},
    )


def _overruled(
    request: Request, before: Mapping[str, int], rulings: Mapping[str, Ruling]
) -> Iterator[Request]:
    """The request with what a guard made of it, so that none passes for carried out that is not.

    What the guard leaves stays granted, and the rest is a refusal of its own.
    """
    ruling, decided = rulings.get(request.manager), before.get(request.manager)
    granted = request.granted and request.level == "application"
    if ruling is None or decided is None or ruling.degree == decided or not granted:
        yield request
        return
    began = decided - request.change
    left = 0 if ruling.degree is None else ruling.degree - began
    if left * request.change <= 0:
        yield _held_back(request, ruling)
    elif abs(left) < abs(request.change):
        yield replace(request, change=left)
        yield replace(_held_back(request, ruling), change=request.change - left)
    else:
        yield replace(request, change=left, answer=f"a guard made it more: {ruling.why}")


def _held_back(request: Request, ruling: Ruling) -> Request:
    answer = f"its manager granted it, and a guard held it back: {ruling.why}"
    return replace(request, granted=False, answer=answer)


def pace(module: ModuleReading) -> float | None:
    """Rows a second that one busy executor works off; None where that is unknown.

    >>> pace(ModuleReading(service_time=0.01)), pace(ModuleReading(backlog=1e6))
    (100.0, None)
    """
    time = executor_time(module)
    return known(1.0 / time) if time else None
