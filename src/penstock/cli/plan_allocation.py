"""`penstock plan` of an allocation graph: how much of the budget each module should have."""

from argparse import Namespace
from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Final

from penstock.cli.output import number, percent, print_json, print_line
from penstock.core.errors import SettingError
from penstock.core.words import count_of

if TYPE_CHECKING:
    from penstock.pipeline.file import Checked
    from penstock.pipeline.format.allocation import AllocationGraph
    from penstock.policy.allocation.allocation import Allocation
    from penstock.policy.allocation.network import Network


POLICIES: Final = (
    "cutting-plane",
    "heuristic-a",
    "heuristic-b",
    "lp",
    "shrink",
    "single-output",
)
"""Their names, as `penstock.policy.allocation` has them; its own list would take time to import."""

_WIDEST: Final = len("limited by")
_ROUNDING: Final = 1e-6
"""Share by which sums of many numbers may differ."""


def execute(args: Namespace, checked: "Checked") -> int:
    """Divide the budget, and tell who gets what."""
    graph = _load(args, checked)
    plan, optimum = divide(graph)
    if args.json:
        print_json(plan.to_json(optimum=optimum))
    else:
        for line in lines(graph.network, plan, optimum):
            print_line(line)
    return 0


def _load(args: Namespace, checked: "Checked") -> "AllocationGraph":
    """The graph with the policy asked for, or else its own."""
    from penstock.pipeline.file import load_allocation

    if args.rate is not None:
        raise SettingError(
            f"--rate {args.rate} is for a graph with one source; for an allocation graph write "
            f"--set sources.NAME.rate={args.rate}"
        )
    own = checked.graph.policy.name if checked.graph is not None else None
    chosen = [] if args.policy in (None, own) else [f"policy={args.policy}"]
    return load_allocation(args.graph, [*chosen, *args.set])


def divide(graph: "AllocationGraph") -> tuple["Allocation", float]:
    """What the graph's policy makes of its budget, and the most that there is to be made of it."""
    from penstock.policy.allocation import PLANNERS, optimum

    plan = PLANNERS[graph.policy.name](graph.network, **graph.policy.settings)
    most = plan.value if plan.policy == "lp" else optimum(graph.network)
    if not _holds(graph.network, plan, most):
        raise SettingError(
            f"the numbers of the graph lie too far apart for policy {plan.policy} to be right "
            "about them; give flows in units that bring them closer together"
        )
    return plan, most


def _holds(network: "Network", plan: "Allocation", optimum: float) -> bool:
    """Whether a plan can be carried out, is worth what it says, and no more than there is."""
    from penstock.policy.allocation.network import affordable, value

    numbers = (plan.value, optimum, *plan.resource.values())
    if not all(isfinite(number) and number >= 0 for number in numbers):
        return False
    least, most = 1 - _ROUNDING, 1 + _ROUNDING
    worth = value(network, plan.resource)
    affords = affordable(network, plan.resource) >= least
    return affords and least * plan.value <= worth <= most * plan.value <= most**2 * optimum


def lines(network: "Network", plan: "Allocation", optimum: float) -> Iterator[str]:
    """The plan for people."""
    names = (*network.modules, *(outflow.name for outflow in network.outflows))
    width = max(_WIDEST, *(len(name) for name in names))
    yield f"{'module':{width}}  {'resource':>9}  {'of the budget':>13}"
    useful = set(leading_to_sinks(network))
    for module, resource in plan.resource.items():
        line = f"{module:{width}}  {figure(resource):>9}  {_of_budget(resource, network):>13}"
        idle = "  idle" if module in useful else "  idle, it leads to no sink"
        yield line if resource > 0 else line + idle
    yield ""
    yield f"{'sink':{width}}  {'flow/s':>9}  {'worth/s':>13}"
    yield from _sink_lines(network, plan, width)
    yield ""
    yield f"{'value':{width}}  {figure(plan.value)}/s, {_share(plan.value, optimum)} of the optimum"
    yield f"{'limited by':{width}}  {', '.join(limits(network, plan))}"
    yield f"{'agreed by':{width}}  {_talk(plan)}"


def leading_to_sinks(network: "Network") -> Iterator[str]:
    """Modules whose flow comes to some sink, the last of them first."""
    found: set[str] = set()
    for module in reversed(network.order()):
        onwards = any(link.target in found for link in network.outputs(module))
        if onwards or network.outflows_of(module):
            found.add(module)
            yield module


def _sink_lines(network: "Network", plan: "Allocation", width: int) -> Iterator[str]:
    from penstock.policy.allocation.network import outputs

    flow = outputs(network, plan.resource)
    for outflow in network.outflows:
        came = flow[outflow.name]
        yield f"{outflow.name:{width}}  {figure(came):>9}  {figure(outflow.weight * came):>13}"


def limits(network: "Network", plan: "Allocation") -> list[str]:
    """What stands in the way of more: sources that are used up, and the budget."""
    found = [
        f"source {inflow.name}"
        for inflow in network.inflows
        if inflow.consumes * plan.resource[inflow.target] >= inflow.rate * (1 - _ROUNDING)
    ]
    spent = sum(plan.resource.values()) / network.budget
    if spent >= 1 - _ROUNDING:
        return ["the budget", *found]
    return [*found, f"{percent(1 - spent)} of the budget is left"]


def _of_budget(resource: float, network: "Network") -> str:
    share = resource / network.budget
    return percent(1.0 if share > 1 - _ROUNDING else share)


def figure(value: float) -> str:
    """An amount in at most nine characters, whatever its unit may be.

    >>> figure(2.15), figure(12345.6), figure(0.25e-9), figure(7.5e11)
    ('2.15', '12,346', '2.5e-10', '7.5e+11')
    """
    return f"{value:,.0f}" if 1e3 <= value < 1e7 else f"{value:.4g}"


def _share(value: float, optimum: float) -> str:
    """A share of the optimum, never rounded up to all of it.

    >>> _share(0.99999, 1.0), _share(2.0, 2.0), _share(1.0, 3.0)
    ('99.99 %', '100 %', '33.33 %')
    """
    share = value / optimum if optimum > 0 else 1.0
    return "100 %" if share > 1 - 1e-9 else f"{int(share * 1e4) / 100:.2f} %"


def _talk(plan: "Allocation") -> str:
    if plan.passes == 0:
        return "one that knows everything, without messages"
    passes = count_of(plan.passes, "pass")
    return f"{number(plan.messages)} messages in {passes}"
