"""Managers that grant or refuse what the managers below them propose, and both levels together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure
from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation, Request
from penstock.core.words import count_of
from penstock.policy.common.degrees import in_force, with_degrees
from penstock.policy.common.nodes import nodes_in_force
from penstock.policy.hierarchy.rules import Answer, Proposal, Rule

PARTLY: Final = "a part of the request"


@dataclass
class Manager:
    """A policy whose changes are requests, each from a manager below, that a rule answers."""

    policy: Policy
    rule: Rule

    def _answered(
        self, decided: Decision, proposals: Iterable[Proposal], seen: Observation, *limits: str
    ) -> tuple[dict[str, int], Decision]:
        """What each of those below may have, and the decision with what there is to say of it.

        The three steps of e2df, Section 6.3: prioritise, accept and follow up.
        """
        asked = [proposal for proposal in proposals if proposal.change]
        answers = self.rule.accept(self.rule.prioritise(asked, seen), seen)
        after = self.rule.follow_up(answers, seen)
        grants = [f"{a.proposal.manager} {a.granted:+d}" for a in answers if a.granted]
        clauses = [
            decided.why,
            *limits,
            f"granted: {', '.join(grants)}" if grants else "",
            *(
                f"{a.proposal.manager} is refused {a.refused:+d}, {a.why}"
                for a in answers
                if a.refused
            ),
            after or "",
        ]
        granted = {a.proposal.manager: a.proposal.before + a.granted for a in answers}
        return granted, replace(
            decided,
            why="; ".join(filter(None, clauses)),
            requests=(*decided.requests, *_requests(answers)),
        )


def _requests(answers: Iterable[Answer]) -> Iterator[Request]:
    """What is recorded: the part that was granted, and the part that was not."""
    for answer in answers:
        for change, granted in ((answer.granted, True), (answer.refused, False)):
            if change:
                yield Request(
                    level=answer.proposal.level,
                    manager=answer.proposal.manager,
                    change=change,
                    why=answer.proposal.why,
                    granted=granted,
                    answer=PARTLY if granted and answer.refused else answer.why,
                )


def clauses_about(why: str, name: str) -> str:
    """What a sentence about all modules says of one.

    >>> clauses_about("count 2 -> 3: 82 % busy; split holds at 4; count limited to 3", "count")
    'count 2 -> 3: 82 % busy; count limited to 3'
    """
    clauses = [c for c in why.split("; ") if c.startswith((f"{name} ", f"{name}:"))]
    return "; ".join(clauses) or why


@dataclass(kw_only=True)
class ApplicationManager(Manager):
    """Any policy, whose changes of replicas are requests that a rule grants or refuses.

    >>> from penstock.policy import Threshold
    >>> from penstock.policy.hierarchy import TokenBucket
    >>> from penstock.testing import chain, seen
    >>> policy = ApplicationManager(Threshold(), TokenBucket(), graph=chain(count={}))
    >>> busy = seen(count={"utilisation": 0.9, "running": 2})
    >>> policy(busy).why
    'count 90 % busy, above 75 %: 2 -> 3; granted: count +1; 0 of 1 token left'
    >>> policy(busy).why
    'count 90 % busy, above 75 %: 2 -> 3; count is refused +1, no token is left, \
next in 1 min; 0 of 1 token left'
    """

    graph: FlowGraph
    infrastructure: Infrastructure | None = None

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy proposes, as far as it is granted."""
        decided, now = self.policy(seen), in_force(seen)
        wanted = decided.configuration.degrees
        modules = () if self.infrastructure is None else self.graph.modules
        places = {module.name: module.region for module in modules}
        loads = {n: m.utilisation if m.load is None else m.load for n, m in seen.modules.items()}
        proposals = (
            Proposal(
                level="application",
                manager=name,
                before=now[name],
                change=wanted.get(name, now[name]) - now[name],
                why=clauses_about(decided.why, name),
                region=places.get(name),
                load=loads[name],
            )
            for name in dict.fromkeys((*self.graph.names(), *wanted))
            if name in now
        )
        granted, answered = self._answered(decided, proposals, seen)
        return with_degrees(answered, {**wanted, **granted})


@dataclass(kw_only=True)
class InfrastructureManager(Manager):
    """A policy of regions, whose changes of nodes are requests that a rule grants or refuses.

    No region leaves its `min_nodes` and `max_nodes`, whatever is proposed.

    >>> from penstock.core.regions import Region
    >>> from penstock.core.signals import RegionReading
    >>> from penstock.policy.hierarchy import Accept
    >>> from penstock.policy.nodes import SimpleNodes
    >>> places = Infrastructure(regions=(Region(name="dc1"),))
    >>> policy = InfrastructureManager(SimpleNodes(places), Accept(), infrastructure=places)
    >>> now = {"dc1": RegionReading(nodes=3, idle=1)}
    >>> policy(Observation(at=1, step=1, modules={}, regions=now)).why
    'dc1 3 -> 4 nodes: 1 idle, fewer than 2; granted: dc1 +1'
    """

    infrastructure: Infrastructure

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy proposes, within bounds and as far as it is granted."""
        decided, now = self.policy(seen), nodes_in_force(seen)
        wanted, limits = self._within_bounds(decided.configuration.nodes)
        proposals = (
            Proposal(
                level="infrastructure",
                manager=name,
                before=now[name],
                change=wanted.get(name, now[name]) - now[name],
                why=clauses_about(decided.why, name),
                region=name,
                load=seen.regions[name].utilisation,
            )
            for name in self.infrastructure.names()
            if name in now
        )
        granted, answered = self._answered(decided, proposals, seen, *limits)
        nodes, before = {**wanted, **granted}, decided.configuration
        if nodes == wanted == before.nodes:
            return answered
        return replace(
            answered,
            configuration=replace(before, nodes=nodes),
            proposed=decided.proposed or before,
        )

    def _within_bounds(self, wanted: Mapping[str, int]) -> tuple[dict[str, int], list[str]]:
        allowed, limits = dict(wanted), []
        for name, nodes in wanted.items():
            region = self.infrastructure[name]
            allowed[name] = max(region.min_nodes, min(nodes, region.max_nodes))
            if allowed[name] != nodes:
                which = "most" if nodes > allowed[name] else "fewest"
                limit = f"{name} limited to {count_of(allowed[name], 'node')}"
                limits.append(f"{limit}, the {which} allowed")
        return allowed, limits


@dataclass
class TwoLevels:
    """Decides for modules as one policy does, and for regions as another.

    Regions come first, so that who decides for modules knows the room that new nodes bring.

    >>> from penstock.core.regions import Infrastructure, Region
    >>> from penstock.core.signals import ModuleReading, RegionReading
    >>> from penstock.policy import Threshold
    >>> from penstock.policy.nodes import SimpleNodes
    >>> policy = TwoLevels(Threshold(), SimpleNodes(Infrastructure(regions=(Region(name="dc1"),))))
    >>> now = Observation(
    ...     at=1, step=1,
    ...     modules={"count": ModuleReading(utilisation=0.9, running=2)},
    ...     regions={"dc1": RegionReading(nodes=3, idle=2)},
    ... )
    >>> policy(now).why
    'count 90 % busy, above 75 %: 2 -> 3; nodes: dc1 keeps its 3 nodes, 2 idle'
    """

    application: Policy
    infrastructure: Policy
    slots: Mapping[str, int] = field(default_factory=dict)
    """By region, replicas that a node can host."""

    def __call__(self, seen: Observation, /) -> Decision:
        """What both decide, the application with the room that the regions will have."""
        other = self.infrastructure(seen)
        one = self.application(with_room(seen, other.requests, self.slots))
        proposed = _with_nodes(
            one.proposed or one.configuration, other.proposed or other.configuration
        )
        return replace(
            one,
            configuration=_with_nodes(one.configuration, other.configuration),
            why=f"{one.why}; nodes: {other.why}",
            proposed=proposed if one.proposed or other.proposed else None,
            expects={**one.expects, **other.expects},
            requests=(*one.requests, *other.requests),
        )


def _with_nodes(replicas: Configuration, nodes: Configuration) -> Configuration:
    return replace(replicas, nodes=nodes.nodes)


def with_room(
    seen: Observation, requests: Iterable[Request], slots: Mapping[str, int]
) -> Observation:
    """The observation with the slots of nodes that were granted, and without those given up.

    >>> from penstock.core.signals import RegionReading
    >>> full = Observation(at=1, step=1, modules={}, regions={"dc1": RegionReading(free=0)})
    >>> more = Request(
    ...     level="infrastructure", manager="dc1", change=1, why="", granted=True, answer=""
    ... )
    >>> with_room(full, [more], {"dc1": 2}).regions["dc1"].free
    2
    """
    change = {r.manager: r.change * slots.get(r.manager, 0) for r in requests if r.granted}
    regions = dict(seen.regions)
    for name, reading in seen.regions.items():
        if reading.free is not None and name in change:
            regions[name] = replace(reading, free=max(reading.free + change[name], 0))
    return replace(seen, regions=regions)
