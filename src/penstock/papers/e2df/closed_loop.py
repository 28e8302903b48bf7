"""Both levels of control over a pipeline in regions, for as many slots as months have minutes.

What `control(SlotTwin(...), TwoLevels(...))` does slot by slot in Python, compiled as a whole:
the same decisions, without the sentences.

>>> from penstock.papers.e2df.experiment import graph, places
>>> course = play(graph(), places(), np.full(50, 400.0), Levels(application="threshold"), seed=1)
>>> int(course.replicas[0]), int(course.replicas[-1])
(4, 19)

A slot is measured, the operator managers decide by it, their manager settles who gets the last
slots; then the region managers decide by what that left them, and a new node can be used in the
next slot. A `SlotTwin` brings the ordinary loop to the same decisions.
"""

from dataclasses import dataclass
from math import floor, inf
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure
from penstock.core.schema import (
    BelowOne,
    Bounds,
    Fraction,
    Natural,
    NotNegative,
    OneOf,
    Positive,
    Share,
    checked,
)
from penstock.model.compiling import compiled, entry
from penstock.policy.rl.agent import (
    MOST_LEVELS,
    check_quantum,
    check_weights,
    known_costs,
    utilisation_levels,
)
from penstock.policy.rl.backup import Table, back_up, choose, learn, new_table
from penstock.twin.regions.nodes import (
    Nodes,
    acquire,
    count_free,
    count_idle,
    count_nodes,
    place,
    release,
    remove,
)
from penstock.twin.regions.places import path_delay

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

APPLICATIONS: Final = {"threshold": 0, "rl": 1}
INFRASTRUCTURES: Final = {"static": 0, "simple": 1, "rl": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
@checked("a closed loop")
class Levels:
    """What decides at either level; the defaults are those of the e2df paper, Section 8."""

    application: Annotated[str, OneOf(tuple(APPLICATIONS))] = "rl"
    """`threshold` or `rl`."""
    infrastructure: Annotated[str, OneOf(tuple(INFRASTRUCTURES))] = "rl"
    """`static`, `simple` or `rl`."""
    demand_weight: Fraction = 0.7
    """Of an unmet request beside the cost of nodes, which has the rest."""
    idle_nodes: Natural = 2
    """That `simple` keeps in every region."""
    max_utilisation: Share = 0.75
    scale_in_factor: BelowOne = 0.75
    reconfiguration_weight: NotNegative = 1 / 3
    performance_weight: NotNegative = 1 / 3
    resource_weight: NotNegative = 1 / 3
    bound: Positive = 0.011
    """Seconds of an operator's response time beyond which it pays."""
    levels: Annotated[int, Bounds(least=1, most=MOST_LEVELS)] = 10
    """Into which arrival rates are divided."""
    peak: Positive = 650.0
    """Rows a second at the source that the levels span."""
    quantum: Share = 0.1
    """Of utilisation, as region managers see it."""
    discount: BelowOne = 0.99
    learning_rate: Share = 0.1
    prior: Positive = 1.0
    """How often a level counts as having stayed as it was, before anything was seen."""

    def __post_init__(self) -> None:
        weights = ("reconfiguration_weight", "performance_weight", "resource_weight")
        check_weights({name: getattr(self, name) for name in weights}, of="a closed loop")
        check_quantum(self.quantum, of="a closed loop")


class Course(NamedTuple):
    """How it went, with one value for each slot."""

    response: Floats
    """Mean seconds that a row took; inf where an operator was overloaded."""
    replicas: Ints
    nodes: Ints
    reconfigured: NDArray[np.bool_]
    """Whether an operator got or lost a replica at the end of the slot."""
    unmet: Ints
    """Replicas that found no slot at the end of it."""
    costs: Floats
    """By slot and region: e2df, Expr. 1."""


def play(
    graph: FlowGraph, places: Infrastructure, rates: Floats, levels: Levels, *, seed: int
) -> Course:
    """Every slot with its rate of rows a second at the source."""
    from penstock.twin.regions.nodes import first_nodes

    nodes, course = first_nodes(graph, places), new_course(rates.size, len(places.regions))
    turn(
        nodes,
        work(graph, places, levels),
        rules(levels),
        memory(graph, places, nodes),
        operator_tables(graph, levels),
        region_tables(places, levels),
        rates,
        np.random.default_rng(seed).random((rates.size, len(graph.modules))),
        course,
    )
    return course


THRESHOLD: Final = 0
SIMPLE: Final = 1
LEARNED: Final = 2


class Rules(NamedTuple):
    """What decides, in numbers."""

    application: int
    infrastructure: int
    max_utilisation: float
    scale_in: float
    """Busy share under which the rest must stay for a replica to go."""
    bound: float
    idle: int
    performance_weight: float
    demand_weight: float
    resource_weight: float
    discount: float
    learning_rate: float
    quantum: float


class Work(NamedTuple):
    """What the modules are, one value each."""

    visits: Floats
    service: Floats
    spans: Floats
    """Rows a second that the levels of arrivals span."""
    least: Ints
    most: Ints
    least_nodes: Ints
    """By region, the fewest nodes."""
    most_nodes: Ints
    delay: Floats
    """One value: seconds that rows spend between regions."""


class Memory(NamedTuple):
    """What is carried from slot to slot."""

    busy: Floats
    """By module, work by capacity; may exceed 1."""
    response: Floats
    region_busy: Floats
    """By region, the mean busy share of its replicas."""
    level: Ints
    before: Ints
    """By module, replicas in the slot before; -1 before the first."""
    change: Ints
    """By module, what is proposed."""
    region_level: Ints
    region_flag: Ints
    nodes_before: Ints
    """By region; -1 before the first slot."""
    node_change: Ints
    unmet: Ints
    """By region, replicas that found no slot when the application last acted."""
    free: Ints
    """By region, slots that it has left."""


@entry
def turn(
    nodes: Any,
    work: Any,
    rules: Any,
    memory: Any,
    operators: Any,
    regions: Any,
    rates: Any,
    draws: Any,
    course: Any,
) -> None:
    """Every slot, from the first to the last."""
    if rules.infrastructure == SIMPLE:  # which need not have seen any load
        for region in range(nodes.slots.size):
            memory.node_change[region] = _keep_idle(nodes, work, rules, region)
        _change_nodes(nodes, memory)
    for slot in range(rates.size):
        course.response[slot] = _measure(nodes, work, memory, rates[slot])
        for region in range(nodes.slots.size):
            memory.region_busy[region] = _mean_busy(nodes, memory, region)
        for module in range(nodes.replicas.size):
            _judge_module(nodes, work, rules, memory, operators, module, rates[slot])
            course.replicas[slot] += nodes.replicas[module]
        _settle_conflicts(nodes, memory)
        course.reconfigured[slot] = _change_replicas(nodes, memory, draws[slot])
        for region in range(nodes.slots.size):
            _judge_region(nodes, work, rules, memory, regions, region, course, slot)
            course.unmet[slot] += memory.unmet[region]
        _change_nodes(nodes, memory)


@compiled
def _measure(nodes: Any, work: Any, memory: Any, rate: float) -> float:
    """Mean response time along the path: an M/D/1 queue for each replica, and the way between."""
    total: float = work.delay[0]
    for module in range(nodes.replicas.size):
        service = work.service[module]
        busy = rate * work.visits[module] / nodes.replicas[module] * service
        waits = inf if busy >= 1 else busy * service / (2 * (1 - busy))
        memory.busy[module] = busy
        memory.response[module] = service + waits
        total += memory.response[module]
    return total


@compiled
def _judge_region(
    nodes: Any,
    work: Any,
    rules: Any,
    memory: Any,
    tables: Any,
    region: int,
    course: Any,
    slot: int,
) -> None:
    count = count_nodes(nodes, region)
    penalty = rules.demand_weight * (memory.unmet[region] > 0)
    course.nodes[slot] += count
    course.costs[slot, region] = (
        penalty + rules.resource_weight * count / work.most_nodes[region]  # e2df, Expr. 1
    )
    memory.node_change[region] = 0
    if rules.infrastructure == SIMPLE:
        memory.node_change[region] = _keep_idle(nodes, work, rules, region)
    elif rules.infrastructure == LEARNED:
        memory.node_change[region] = _learn_region(
            rules, memory, tables[region], region, count, count_idle(nodes, region), penalty
        )
    memory.nodes_before[region] = count


@compiled
def _keep_idle(nodes: Any, work: Any, rules: Any, region: int) -> int:
    """e2df, Section 6.1."""
    count, idle = count_nodes(nodes, region), count_idle(nodes, region)
    if idle < rules.idle and count < work.most_nodes[region]:
        return 1
    return -1 if idle > rules.idle and count > work.least_nodes[region] else 0


@compiled
def _learn_region(
    rules: Any, memory: Any, table: Any, region: int, count: int, idle: int, penalty: float
) -> int:
    top = table.level_counts.shape[0] - 1
    level = min(floor(memory.region_busy[region] / rules.quantum + 0.5), top)
    flag = int(idle > 0)
    before = memory.nodes_before[region]
    if before >= 0:
        was, had = memory.region_level[region], memory.region_flag[region]
        rate = rules.learning_rate
        learn(table, was, had, count - before, level, flag, count, penalty, rate)
    back_up(table, rules.discount)
    memory.region_level[region], memory.region_flag[region] = level, flag
    return choose(table, level, flag, count)


@compiled
def _mean_busy(nodes: Any, memory: Any, region: int) -> float:
    """Over the replicas that it hosts."""
    busy, replicas = 0.0, 0
    for module in range(nodes.replicas.size):
        if nodes.region[module] == region:
            busy += nodes.replicas[module] * min(memory.busy[module], 1.0)
            replicas += nodes.replicas[module]
    return busy / replicas if replicas > 0 else 0.0


@compiled
def _judge_module(
    nodes: Any, work: Any, rules: Any, memory: Any, tables: Any, module: int, rate: float
) -> None:
    count = nodes.replicas[module]
    if rules.application == THRESHOLD:
        change = _threshold(rules, min(memory.busy[module], 1.0), count)
    else:
        change = _learn_module(work, rules, memory, tables[module], module, count, rate)
    if count + change > work.most[module] or count + change < work.least[module]:
        change = 0
    memory.change[module] = change
    memory.before[module] = count


@compiled
def _threshold(rules: Any, busy: float, count: int) -> int:
    """e2df, Section 7.1."""
    if busy > rules.max_utilisation:
        return 1
    if count > 1 and busy * count / (count - 1) < rules.scale_in:
        return -1
    return 0


@compiled
def _learn_module(
    work: Any, rules: Any, memory: Any, table: Any, module: int, count: int, rate: float
) -> int:
    levels = table.level_counts.shape[0]
    arrivals = rate * work.visits[module]
    level = min(floor(arrivals / work.spans[module] * levels), levels - 1)
    before = memory.before[module]
    if before >= 0:
        penalty = rules.performance_weight * (memory.response[module] > rules.bound)
        was, alpha = memory.level[module], rules.learning_rate
        learn(table, was, 0, count - before, level, 0, count, penalty, alpha)
    back_up(table, rules.discount)
    memory.level[module] = level
    return choose(table, level, 0, count)


@compiled
def _settle_conflicts(nodes: Any, memory: Any) -> None:
    """Of the replicas wanted in one region, as many as there are free slots, the busiest module
    first; one passes in any case, to be counted as unmet where there is no slot at all."""
    for region in range(nodes.slots.size):
        left = max(memory.free[region], 1)
        for module in range(nodes.replicas.size):
            wants = nodes.region[module] == region and memory.change[module] > 0
            if wants and _ahead(nodes, memory, module) >= left:
                memory.change[module] = 0


@compiled
def _ahead(nodes: Any, memory: Any, module: int) -> int:
    """How many others want a replica in the same region and come first."""
    ahead, region, mine = 0, nodes.region[module], memory.busy[module]
    for other in range(nodes.replicas.size):
        if nodes.region[other] == region and memory.change[other] > 0 and other != module:
            theirs = memory.busy[other]
            ahead += theirs > mine or (theirs == mine and other < module)
    return ahead


@compiled
def _change_nodes(nodes: Any, memory: Any) -> None:
    for region in range(nodes.slots.size):
        if memory.node_change[region] > 0:
            acquire(nodes, region)
        elif memory.node_change[region] < 0:
            release(nodes, region)
        memory.free[region] = count_free(nodes, region)


@compiled
def _change_replicas(nodes: Any, memory: Any, draws: Any) -> bool:
    """Replicas go before others come; True where any did."""
    memory.unmet[:] = 0
    acted = False
    for module in range(nodes.replicas.size):
        if memory.change[module] < 0:
            remove(nodes, module)
            acted = True
    for module in range(nodes.replicas.size):
        if memory.change[module] > 0:
            if place(nodes, module, draws[module]):
                acted = True
            else:
                memory.unmet[nodes.region[module]] += 1
    return acted


# The arrays that a compiled loop turns on, from a graph, its regions and what decides.


def rules(levels: Levels) -> Rules:
    """What decides, in numbers."""
    return Rules(
        application=APPLICATIONS[levels.application],
        infrastructure=INFRASTRUCTURES[levels.infrastructure],
        max_utilisation=levels.max_utilisation,
        scale_in=levels.scale_in_factor * levels.max_utilisation,
        bound=levels.bound,
        idle=levels.idle_nodes,
        performance_weight=levels.performance_weight,
        demand_weight=levels.demand_weight,
        resource_weight=1 - levels.demand_weight,
        discount=levels.discount,
        learning_rate=levels.learning_rate,
        quantum=levels.quantum,
    )


def work(graph: FlowGraph, places: Infrastructure, levels: Levels) -> Work:
    """What the modules and regions are."""
    modules, visits = graph.modules, graph.visits()
    return Work(
        visits=np.array([visits[module.name] for module in modules]),
        service=np.array([module.service_time for module in modules]),
        spans=np.array([levels.peak * visits[module.name] for module in modules]),
        least=np.array([module.min_replicas for module in modules], np.int64),
        most=np.array([module.max_replicas for module in modules], np.int64),
        least_nodes=np.array([region.min_nodes for region in places.regions], np.int64),
        most_nodes=np.array([region.max_nodes for region in places.regions], np.int64),
        delay=np.array([path_delay(graph, places)]),
    )


def memory(graph: FlowGraph, places: Infrastructure, nodes: Nodes) -> Memory:
    """Nothing seen yet but the slots that are free."""
    modules, regions = len(graph.modules), len(places.regions)
    return Memory(
        busy=np.zeros(modules),
        response=np.zeros(modules),
        region_busy=np.zeros(regions),
        level=np.zeros(modules, np.int64),
        before=np.full(modules, -1, np.int64),
        change=np.zeros(modules, np.int64),
        region_level=np.zeros(regions, np.int64),
        region_flag=np.zeros(regions, np.int64),
        nodes_before=np.full(regions, -1, np.int64),
        node_change=np.zeros(regions, np.int64),
        unmet=np.zeros(regions, np.int64),
        free=np.array([count_free(nodes, region) for region in range(regions)], np.int64),
    )


def new_course(slots: int, regions: int) -> Course:
    """Room for what is recorded."""
    return Course(
        response=np.zeros(slots),
        replicas=np.zeros(slots, np.int64),
        nodes=np.zeros(slots, np.int64),
        reconfigured=np.zeros(slots, np.bool_),
        unmet=np.zeros(slots, np.int64),
        costs=np.zeros((slots, regions)),
    )


def operator_tables(graph: FlowGraph, levels: Levels) -> tuple[Table, ...]:
    """Of the operator managers."""
    return tuple(
        new_table(
            known_costs(
                module.min_replicas,
                module.max_replicas,
                each=levels.resource_weight,
                change=levels.reconfiguration_weight,
            ),
            levels=levels.levels,
            prior=levels.prior,
        )
        for module in graph.modules
    )


def region_tables(places: Infrastructure, levels: Levels) -> tuple[Table, ...]:
    """Of the region managers."""
    return tuple(
        new_table(
            known_costs(
                region.min_nodes, region.max_nodes, each=1 - levels.demand_weight, change=0.0
            ),
            levels=utilisation_levels(levels.quantum),
            flags=2,
            prior=levels.prior,
        )
        for region in places.regions
    )
