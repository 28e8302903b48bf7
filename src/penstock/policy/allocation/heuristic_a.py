"""Every network as if it were a tree: not always the best, but soon agreed (alloc, Heuristic A).

Up the network each module makes what its children told one with itself (Theorems 3 and 4) and tells
*all* its parents. Down the network flow is offered to the children that are worth it. The paper
leaves open what several parents mean for a child; here
- a child tells each parent of a part of itself, so that none of it is counted twice: equal parts at
  first, then only those parents that had to work for it;
- it works on what the scarcest of its parents offers, or not at all if one of them offers nothing;
- those before all others offer as much as their sources and the budget allow;
- on a further way up each asks for what is used of it only, and that is fitted to the budget.

In the first round everything is worth it that leads to a sink. What resource then brings is its
price in the next: a child is worth it if it brings more than it costs. (The paper compares it with
its siblings and its parent instead, which suffices neither on trees, see `merging`, nor among
parents who then disagree.) Rounds end when one brings no more. Where the network is one or several
trees that fan out from unlimited sources the answer is the optimum.

>>> from penstock.policy.allocation.network import Link, Network, Outflow
>>> network = Network(
...     budget=3.0,
...     modules=("a", "b", "c"),
...     links=(
...         Link(origin="a", target="c", produces=1.0, consumes=1.0),
...         Link(origin="b", target="c", produces=1.0, consumes=1.0),
...     ),
...     outflows=(Outflow(name="o", origin="c", produces=2.0),),
... )
>>> made = solve(network)
>>> dict(made.resource), made.value, made.passes
({'a': 1.0, 'b': 1.0, 'c': 1.0}, 2.0, 9)
"""

from collections.abc import Mapping
from typing import Final

from penstock.core.errors import SettingError
from penstock.policy.allocation.allocation import Allocation
from penstock.policy.allocation.network import Link, Network
from penstock.policy.allocation.post import Post, Stream
from penstock.policy.allocation.settle import settled
from penstock.policy.allocation.tree_rounds import Outcome, Rounds

ABOVE: Final = 1.0 + 1e-12
"""Times what resource brought that a child must bring in the next round.

One that brings just as much, to the last digit, can be so large that rounding it hides all others.
"""


def solve(network: Network, *, rounds: int = 10) -> Allocation:
    """A good division for any network, after so many rounds at most; the paper has one."""
    if rounds < 1:
        raise SettingError(f"rounds must be at least 1, got {rounds}")
    post = Post(network)
    best = _best(Rounds(network, post), rounds)
    resource = _fit(post, best)
    return settled(
        network, resource, policy="heuristic-a", promised=best.times * best.value, post=post
    )


def _best(agents: Rounds, rounds: int) -> Outcome:
    """The final sink's part: the price of each round is what resource brought in the last."""
    best = agents.play(0.0)
    for _ in range(rounds - 1):
        # Where sources or dropped modules leave part of the budget over, resource is worth nothing.
        short = best.times * best.total >= agents.network.budget * (1.0 - 1e-12)
        found = agents.play(best.value / best.total * ABOVE if short else 0.0)
        if found.times * found.value <= best.times * best.value:
            return best
        best = found
    return best


def _fit(post: Post, best: Outcome) -> dict[str, float]:
    """Up: each is told how many times what it has in mind there is."""
    resource = dict.fromkeys(post.network.modules, 0.0)

    def speak(module: str, heard: Mapping[Stream, float]) -> dict[Link, float]:
        times = next(iter(heard.values()), 0.0)
        resource[module] = times * best.resource[module]
        return dict.fromkeys(post.network.inputs(module), times) if heard else {}

    post.up({outflow.name: best.times for outflow in post.network.outflows}, speak)
    return resource
