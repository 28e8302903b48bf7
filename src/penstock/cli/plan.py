"""`penstock plan`: what each module of a graph should have, replicas or a share of a budget."""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.options import SET, Option
from penstock.cli.output import duration, number, percent, print_json, print_line
from penstock.core.errors import SettingError
from penstock.core.settings import near
from penstock.core.units import parse_rate
from penstock.core.words import count_of

if TYPE_CHECKING:
    from penstock.pipeline.file import Checked, PipelineFile
    from penstock.pipeline.format.allocation import AllocationGraph
    from penstock.policy.allocation.allocation import Allocation
    from penstock.policy.allocation.network import Network
    from penstock.policy.game import Plan


HELP: Final = "compute the replicas of each module of a graph, or the division of a budget"
EXAMPLES: Final = """\
examples:
  penstock plan graph.yaml --policy nash          each module for itself
  penstock plan graph.yaml --policy incentive     with incentives that lower the total cost
  penstock plan graph.yaml --policy social --json | jq .rounded
  penstock plan recognition --policy incentive --rate 12/s --set policy.aggregation=gossip
  penstock plan alloc.yaml                        the division of a budget with the highest value
  penstock plan alloc.yaml --policy heuristic-b --set budget=2 --json | jq .resource
"""
_BEST: Final = "social"
ALLOCATION_POLICIES: Final = (
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


OPTIONS: Final = (
    Option("graph", "GRAPH", "a graph file or a built-in pipeline", str),
    Option(
        "--policy",
        "NAME",
        "nash, incentive or social (default: the file's policy if it is one of them, else social); "
        f"for a budget {', '.join(ALLOCATION_POLICIES)} (default: the file's, else the first)",
    ),
    Option(
        "--rate",
        "R",
        "arrival rate, such as 2/s (default: the source's, else the workload's mean)",
    ),
    SET,
)


def execute(args: Namespace) -> int:
    """Compute a plan and print it."""
    from penstock.pipeline.file import check

    checked = check(args.graph)
    as_json: dict[str, Any]
    if checked.sort == "allocation graph":
        graph = _load_allocation(args, checked)
        allocation, optimum = divide(graph)
        as_json = allocation.to_json(optimum=optimum)
        text = allocation_lines(graph.network, allocation, optimum)
    else:
        plan = _plan(_load(args, checked), args.rate)
        as_json, text = plan.to_json(), lines(plan)
    if args.json:
        print_json(as_json)
    else:
        for line in text:
            print_line(line)
    return 0


def _plan(file: "PipelineFile", rate: str | None) -> "Plan":
    from penstock.core.settings import build
    from penstock.model import FlowModel
    from penstock.policy import POLICIES

    name = file.policy.name
    game: Any = build(POLICIES[name], file.policy.settings, of=f"policy {name}", graph=file.graph)
    plan: Plan = game.plan(FlowModel.of(file.graph, inter_arrival=_between_rows(file, rate)))
    return plan


def _load(args: Namespace, checked: "Checked") -> "PipelineFile":
    """The file with a policy that plans: the one asked for, its own, or the best there is."""
    from penstock.pipeline.file import load
    from penstock.policy.game import PLANNERS

    if checked.sort == "pipelines":
        raise SettingError(
            f"{args.graph} is a file of several pipelines, whose cores are divided while they run "
            "or are simulated; plan takes a graph file or a single pipeline"
        )
    own = checked.file.policy.name if checked.file is not None else None
    name = args.policy or (own if own in PLANNERS else _BEST)
    chosen = [] if name == own else [f"policy={name}"]  # its settings in the file stay
    _check_plans(name, PLANNERS)
    file = load(args.graph, [*chosen, *args.set])
    _check_plans(file.policy.name, PLANNERS)
    return file


def _check_plans(policy: str, planners: Iterable[str]) -> None:
    if policy in ALLOCATION_POLICIES:
        raise SettingError(
            f"policy {policy!r} divides the budget of an allocation graph, and this graph has "
            f"none; there are {', '.join(planners)}"
        )
    if policy not in planners:
        raise SettingError(f"policy {policy!r} does not plan{near(policy, planners)}")


def _between_rows(file: "PipelineFile", rate: str | None) -> float:
    """Mean seconds between two rows from outside."""
    import numpy as np

    rows = parse_rate(rate) if rate is not None else file.source.rows_a_second()
    if rows is None:
        rows = float(file.workload.arrivals(np.array([file.duration]))[0]) / file.duration
    if not (rows > 0 and isfinite(rows)):
        raise SettingError(
            f"a plan needs an arrival rate above 0/s and finite, got {rows:g}/s; write --rate 2/s"
        )
    return 1.0 / rows


def lines(plan: "Plan") -> Iterator[str]:
    """The plan for people."""
    width = max(len("cost of a step"), *(len(name) for name in plan.replicas))
    heads = f"{'replicas':>9}  {'rounded':>7}  {'between results':>15}  {'cost':>9}"
    yield f"{'module':{width}}  {heads}"
    for name, replicas in plan.replicas.items():
        yield (
            f"{name:{width}}  {replicas:>9.2f}  {plan.rounded[name]:>7}  "
            f"{duration(plan.inter_departure[name]):>15}  {plan.costs[name]:>9.4g}"
        )
    yield ""
    yield f"{'bottleneck':{width}}  {', '.join(plan.bottleneck)}"
    yield f"{'cost of a step':{width}}  {plan.cost:.4g}"
    yield (
        f"{'agreed by':{width}}  {number(plan.messages)} messages in "
        f"{count_of(plan.rounds, 'round')}"
    )


def _load_allocation(args: Namespace, checked: "Checked") -> "AllocationGraph":
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
    from penstock.policy.allocation.network import feasible_factor, value

    numbers = (plan.value, optimum, *plan.resource.values())
    if not all(isfinite(number) and number >= 0 for number in numbers):
        return False
    least, most = 1 - _ROUNDING, 1 + _ROUNDING
    worth = value(network, plan.resource)
    affords = feasible_factor(network, plan.resource) >= least
    return affords and least * plan.value <= worth <= most * plan.value <= most**2 * optimum


def allocation_lines(network: "Network", plan: "Allocation", optimum: float) -> Iterator[str]:
    """The plan for people."""
    from penstock.policy.allocation.network import least_resource, outputs

    names = (*network.modules, *network.weights)
    width = max(_WIDEST, *(len(name) for name in names))
    yield f"{'module':{width}}  {'resource':>9}  {'of the budget':>13}"
    useful = least_resource(network, dict.fromkeys(network.weights, 1.0))
    for module, resource in plan.resource.items():
        share = resource / network.budget
        of_budget = percent(1.0 if share > 1 - _ROUNDING else share)
        line = f"{module:{width}}  {figure(resource):>9}  {of_budget:>13}"
        idle = "  idle" if useful[module] > 0 else "  idle, it leads to no sink"
        yield line if resource > 0 else line + idle
    yield ""
    yield f"{'sink':{width}}  {'flow/s':>9}  {'worth/s':>13}"
    flow = outputs(network, plan.resource)
    for outflow in network.outflows:
        came = flow[outflow.name]
        yield f"{outflow.name:{width}}  {figure(came):>9}  {figure(outflow.weight * came):>13}"
    yield ""
    yield f"{'value':{width}}  {figure(plan.value)}/s, {_share(plan.value, optimum)} of the optimum"
    yield f"{'limited by':{width}}  {', '.join(limits(network, plan))}"
    sent = f"{number(plan.messages)} messages in {count_of(plan.passes, 'pass')}"
    agreed = sent if plan.passes else "one that knows everything, without messages"
    yield f"{'agreed by':{width}}  {agreed}"


def limits(network: "Network", plan: "Allocation") -> list[str]:
    """What stands in the way of more: sources that are used up, and the budget."""
    clauses = [
        f"source {inflow.name}"
        for inflow in network.inflows
        if inflow.consumes * plan.resource[inflow.target] >= inflow.rate * (1 - _ROUNDING)
    ]
    spent = sum(plan.resource.values()) / network.budget
    if spent >= 1 - _ROUNDING:
        return ["the budget", *clauses]
    return [*clauses, f"{percent(1 - spent)} of the budget is left"]


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
