"""The application manager: grants or refuses what each module's manager proposes."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace

from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure
from penstock.core.roles import Policy
from penstock.core.signals import Decision, ModuleReading, Observation
from penstock.policy.degrees import in_force, with_degrees
from penstock.policy.hierarchy.asking import ask, requests, share_of
from penstock.policy.hierarchy.rule import Proposal, Rule


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
the next comes in 1 min; 0 of 1 token left'
    """

    policy: Policy
    rule: Rule
    _: KW_ONLY
    graph: FlowGraph
    infrastructure: Infrastructure | None = None
    _regions: dict[str, str | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Know where each module runs."""
        self._regions = {module.name: module.region for module in self.graph.modules}

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy proposes, as far as it is granted."""
        decided, now = self.policy(seen), in_force(seen)
        answers, told = ask(self.rule, self._proposals(decided, now, seen), seen)
        degrees = dict(decided.configuration.degrees)
        for answer in answers:
            degrees[answer.proposal.manager] = answer.proposal.before + answer.granted
        return replace(
            with_degrees(decided, degrees),
            why="; ".join(filter(None, [decided.why, told])),
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
            why=share_of(why, name),
            region=self._region(name),
            load=reading.utilisation if reading.load is None else reading.load,
        )

    def _region(self, name: str) -> str | None:
        if self.infrastructure is None:
            return None
        return self._regions.get(name)
