"""The arrays that a compiled loop turns on, from a graph, its regions and what decides."""

import numpy as np

from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure
from penstock.experiment.closed_loop import APPLICATIONS, INFRASTRUCTURES, Levels
from penstock.experiment.closed_loop_engine import Memory, Rules, Tracks, Work
from penstock.plant.twin.regions_delays import path_delay
from penstock.plant.twin.regions_nodes import Nodes, count_free
from penstock.policy.learning.backup import Table, new_table
from penstock.policy.learning.costs import known_costs
from penstock.policy.learning.levels import utilisation_levels


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


def tracks(slots: int, regions: int) -> Tracks:
    """Room for what is recorded."""
    return Tracks(
        response=np.zeros(slots),
        replicas=np.zeros(slots, np.int64),
        nodes=np.zeros(slots, np.int64),
        reconfigured=np.zeros(slots, np.int64),
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
