"""Managers that grant or refuse what the managers below them propose, and both levels together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Final

from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure, Region
from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation, Request
from penstock.core.words import count_of
from penstock.policy.common.degrees import in_force, with_degrees
from penstock.policy.common.nodes import nodes_in_force
from penstock.policy.hierarchy.rules import Answer, Proposal, Rule

# How a manager submits proposals to its rule, and reports the answers.


PARTLY: Final = "a part of the request"


def ask(rule: Rule, proposals: Sequence[Proposal], seen: Observation) -> tuple[list[Answer], str]:
    """The answers, and what there is to say of them: e2df, Section 6.3, steps 1 to 3."""
    answers = rule.accept(rule.prioritise(proposals, seen), seen)
    after = rule.follow_up(answers, seen)
    clauses = [*_grants(answers), *_refusals(answers), *([after] if after else [])]
    return answers, "; ".join(clauses)


def requests(answers: Iterable[Answer]) -> Iterator[Request]:
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


def _grants(answers: Iterable[Answer]) -> list[str]:
    text = [f"{a.proposal.manager} {a.granted:+d}" for a in answers if a.granted]
    return [f"granted: {', '.join(text)}"] if text else []


def _refusals(answers: Iterable[Answer]) -> list[str]:
    return [
        f"{a.proposal.manager} is refused {a.refused:+d}, {a.why}" for a in answers if a.refused
    ]


@dataclass
class ApplicationManager:
    """Any policy, whose changes of replicas are requests that a rule grants or refuses.

    >>> from penstock.core.graph import Module
    >>> from penstock.policy import Threshold
    >>> from penstock.policy.hierarchy import TokenBucket
    >>> from penstock.testing import seen
    >>> graph = FlowGraph(source="count", modules=(Module(name="count"),))
    >>> policy = ApplicationManager(Threshold(), TokenBucket(), graph=graph)
    >>> busy = seen(count={"utilisation": 0.9, "running": 2})
    >>> policy(busy).why
    'count 90 % busy, above 75 %: 2 -> 3; granted: count +1; 0 of 1 token left'
    >>> policy(busy).why
    'count 90 % busy, above 75 %: 2 -> 3; count is refused +1, no token is left, \
next in 1 min; 0 of 1 token left'
    """

    policy: Policy
    rule: Rule
    _: KW_ONLY
    graph: FlowGraph
    infrastructure: Infrastructure | None = None
    _regions: dict[str, str | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._regions = {module.name: module.region for module in self.graph.modules}

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy proposes, as far as it is granted."""
        decided, now = self.policy(seen), in_force(seen)
        answers, text = ask(self.rule, self._proposals(decided, now, seen), seen)
        degrees = dict(decided.configuration.degrees)
        for answer in answers:
            degrees[answer.proposal.manager] = answer.proposal.before + answer.granted
        return replace(
            with_degrees(decided, degrees),
            why="; ".join(filter(None, [decided.why, text])),
            requests=(*decided.requests, *requests(answers)),
        )

    def _proposals(
        self, decided: Decision, now: Mapping[str, int], seen: Observation
    ) -> list[Proposal]:
        degrees = decided.configuration.degrees
        names = dict.fromkeys((*self.graph.names(), *degrees))
        return [
            self._proposal(name, now[name], degrees[name], decided.why, seen.modules[name])
            for name in names
            if name in now and degrees.get(name, now[name]) != now[name]
        ]

    def _proposal(
        self, name: str, before: int, after: int, why: str, reading: ModuleReading
    ) -> Proposal:
        return Proposal(
            level="application",
            manager=name,
            before=before,
            change=after - before,
            why=clauses_about(why, name),
            region=self._region(name),
            load=reading.utilisation if reading.load is None else reading.load,
        )

    def _region(self, name: str) -> str | None:
        if self.infrastructure is None:
            return None
        return self._regions.get(name)


# The infrastructure manager: grants or refuses what each region's manager proposes.


@dataclass
class InfrastructureManager:
    """A policy of regions, whose changes of nodes are requests that a rule grants or refuses.

    No region leaves its `min_nodes` and `max_nodes`, whatever is proposed.

    >>> from penstock.core.signals import RegionReading
    >>> from penstock.policy.hierarchy import Accept
    >>> from penstock.policy.nodes import SimpleNodes
    >>> places = Infrastructure(regions=(Region(name="dc1"),))
    >>> policy = InfrastructureManager(SimpleNodes(places), Accept(), infrastructure=places)
    >>> now = {"dc1": RegionReading(nodes=3, idle=1)}
    >>> policy(Observation(at=1, step=1, modules={}, regions=now)).why
    'dc1 3 -> 4 nodes: 1 idle, fewer than 2; granted: dc1 +1'
    """

    policy: Policy
    rule: Rule
    _: KW_ONLY
    infrastructure: Infrastructure

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy proposes, within bounds and as far as it is granted."""
        decided, limits = self._clamped(self.policy(seen))
        proposals = self._proposals(decided, nodes_in_force(seen), seen)
        answers, text = ask(self.rule, proposals, seen)
        return replace(
            _with_nodes(decided, answers),
            why="; ".join(filter(None, [decided.why, *limits, text])),
            requests=(*decided.requests, *requests(answers)),
        )

    def _clamped(self, decided: Decision) -> tuple[Decision, list[str]]:
        wanted = decided.configuration.nodes
        allowed = {name: self._within(name, count) for name, count in wanted.items()}
        clauses = [
            _limited(self.infrastructure[name], wanted[name])
            for name in wanted
            if allowed[name] != wanted[name]
        ]
        if not clauses:
            return decided, []
        return _changed(decided, allowed), clauses

    def _within(self, name: str, count: int) -> int:
        region = self.infrastructure[name]
        return max(region.min_nodes, min(count, region.max_nodes))

    def _proposals(
        self, decided: Decision, now: Mapping[str, int], seen: Observation
    ) -> list[Proposal]:
        nodes = decided.configuration.nodes
        return [
            Proposal(
                level="infrastructure",
                manager=name,
                before=now[name],
                change=nodes[name] - now[name],
                why=clauses_about(decided.why, name),
                region=name,
                load=seen.regions[name].utilisation,
            )
            for name in self.infrastructure.names()
            if name in now and nodes.get(name, now[name]) != now[name]
        ]


def _with_nodes(decided: Decision, answers: list[Answer]) -> Decision:
    """The decision with the nodes that were granted; what was proposed is kept beside it."""
    granted = {a.proposal.manager: a.proposal.before + a.granted for a in answers}
    return _changed(decided, {**decided.configuration.nodes, **granted})


def _changed(decided: Decision, nodes: dict[str, int]) -> Decision:
    if nodes == decided.configuration.nodes:
        return decided
    return replace(
        decided,
        configuration=replace(decided.configuration, nodes=nodes),
        proposed=decided.proposed or decided.configuration,
    )


def _limited(region: Region, wanted: int) -> str:
    most = wanted > region.max_nodes
    allowed = region.max_nodes if most else region.min_nodes
    limit = f"{region.name} limited to {count_of(allowed, 'node')}"
    return f"{limit}, the {'most' if most else 'fewest'} allowed"


# Both levels together: replicas by one policy, nodes by another.


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
        return replace(
            one,
            configuration=_merged(one.configuration, other.configuration),
            why=f"{one.why}; nodes: {other.why}",
            proposed=_proposed(one, other),
            expects={**one.expects, **other.expects},
            requests=(*one.requests, *other.requests),
        )


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
    regions = {
        name: reading
        if reading.free is None or name not in change
        else replace(reading, free=max(reading.free + change[name], 0))
        for name, reading in seen.regions.items()
    }
    return replace(seen, regions=regions)


def _merged(replicas: Configuration, nodes: Configuration) -> Configuration:
    return replace(replicas, nodes=nodes.nodes)


def _proposed(one: Decision, other: Decision) -> Configuration | None:
    if one.proposed is None and other.proposed is None:
        return None
    return _merged(one.proposed or one.configuration, other.proposed or other.configuration)
