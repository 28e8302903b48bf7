"""Advice only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation, Request
from penstock.policy.degrees import in_force, sentence
from penstock.policy.regions import nodes_in_force


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
        yield f"keys of {name} would be routed anew"
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
            yield f"{name} would go{start} to {nodes} node{'s' * (nodes != 1)}"


def _undone(request: Request) -> Request:
    """A request that was granted is not carried out, and says so."""
    if not request.granted:
        return request
    return replace(request, answer=f"{request.answer}; dry run, nothing was done")


def _wish(decided: Decision) -> Iterator[str]:
    """What the policy wanted of the modules for which a guard decided otherwise."""
    wanted = decided.proposed.degrees if decided.proposed else {}
    allowed = decided.configuration.degrees
    told = [f"{name} {n}" for name, n in wanted.items() if allowed.get(name) != n]
    if told:
        yield f"the policy wanted {', '.join(told)}"
