"""`penstock plan`: what each module of a graph should have, replicas or a share of a budget."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

from penstock.cli import plan_allocation
from penstock.cli.options import add_set, something
from penstock.cli.output import duration, number, print_json, print_line
from penstock.core.errors import SettingError
from penstock.core.settings import near
from penstock.core.units import parse_rate
from penstock.core.words import count_of

if TYPE_CHECKING:
    from penstock.pipeline.file import Checked, PipelineFile
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


def add_arguments(parser: ArgumentParser) -> None:
    """What `plan` takes."""
    parser.add_argument("graph", metavar="GRAPH", help="a graph file or a built-in pipeline")
    parser.add_argument(
        "--policy",
        metavar="NAME",
        type=something,
        help="nash, incentive or social (default: the file's policy if it is one of them, "
        f"else social); for a budget {', '.join(plan_allocation.POLICIES)} (default: the file's, "
        "else the first)",
    )
    parser.add_argument(
        "--rate",
        metavar="R",
        type=something,
        help="arrival rate, such as 2/s (default: the source's, else the workload's mean)",
    )
    add_set(parser)


def execute(args: Namespace) -> int:
    """Plan, and tell the plan."""
    from penstock.pipeline.file import check

    checked = check(args.graph)
    if checked.sort == "allocation graph":
        return plan_allocation.execute(args, checked)
    plan = _plan(args, checked)
    if args.json:
        print_json(plan.to_json())
    else:
        for line in lines(plan):
            print_line(line)
    return 0


def _plan(args: Namespace, checked: "Checked") -> "Plan":
    from penstock.model import FlowModel
    from penstock.policy.game import PLANNERS

    file = _load(args, checked)
    between = _between_rows(file, args.rate)
    model = FlowModel.of(file.graph, inter_arrival=between)
    return PLANNERS[file.policy.name](model, **_settings(file, PLANNERS[file.policy.name]))


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
    if policy in plan_allocation.POLICIES:
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
    return 1.0 / rows if rows > 0 else float("inf")


def _settings(file: "PipelineFile", planner: Any) -> dict[str, Any]:
    """The settings of the live policy that a single plan has a use for, as it has read them."""
    from penstock.core.settings import build
    from penstock.policy import POLICIES

    name = file.policy.name
    policy = build(POLICIES[name], file.policy.settings, of=f"policy {name}", graph=file.graph)
    return {
        key: getattr(policy, key) for key in signature(planner).parameters if hasattr(policy, key)
    }


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
