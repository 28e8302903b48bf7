"""The infrastructure manager: grants or refuses what each region's manager proposes."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace

from penstock.core.regions import Infrastructure, Region
from penstock.core.roles import Policy
from penstock.core.signals import Decision, Observation
from penstock.policy.hierarchy.asking import ask, requests, share_of
from penstock.policy.hierarchy.rule import Answer, Proposal, Rule
from penstock.policy.regions.answering import counted, nodes_in_force


@dataclass
class InfrastructureManager:
    """A policy of regions, whose changes of nodes are requests that a rule grants or refuses.

    No region leaves its `min_nodes` and `max_nodes`, whatever is proposed.

    >>> from penstock.core.signals import RegionReading
    >>> from penstock.policy.hierarchy import Accept
    >>> from penstock.policy.regions import SimpleNodes
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
        answers, told = ask(self.rule, proposals, seen)
        return replace(
            _with_nodes(decided, answers),
            why="; ".join(filter(None, [decided.why, *limits, told])),
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
                why=share_of(decided.why, name),
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
    return (
        f"{region.name} limited to {counted(allowed)}, the {'most' if most else 'fewest'} allowed"
    )
