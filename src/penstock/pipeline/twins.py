"""The twin that a pipeline file asks for, and what it does not know of the pipeline.

>>> from penstock.pipeline.file import load
>>> type(open_twin(load("wordcount"))).__name__, type(open_twin(load("trading"))).__name__
('Twin', 'KeyedTwin')
"""

from collections.abc import Iterator
from typing import Any, cast

from penstock.core.errors import SettingError
from penstock.core.regions import Infrastructure
from penstock.core.roles import Plant
from penstock.model.power import VOLTAGES, VoltageTable, power
from penstock.pipeline import interference, regions_told
from penstock.pipeline.asked import Asked
from penstock.pipeline.compose import inner_level
from penstock.pipeline.kafka import NoWorkload
from penstock.pipeline.settings import PipelineFile
from penstock.pipeline.sharing import by_spark
from penstock.plant.twin import (
    Costs,
    KeyedTwin,
    PaneTwin,
    RegionTwin,
    Twin,
    keyed_checks,
    panes_checks,
)
from penstock.plant.twin.joint import JointTwin
from penstock.plant.twin.joint import Part as TwinPart
from penstock.workload import drawn


def check_workload(file: PipelineFile) -> None:
    """Refuse rows that come from elsewhere: the twin has to make them."""
    for part in file.parts.values() or [file]:
        if isinstance(part.workload, NoWorkload):
            part.workload.refuse()


def left_out(file: PipelineFile) -> Iterator[str]:
    """What the twin does not know of the pipeline, or of each of several."""
    if not file.parts:
        yield from _unknown(file)
        return
    yield from _beside(file)
    for part in file.parts.values():
        yield from _unknown(part)


def _beside(file: PipelineFile) -> Iterator[str]:
    beside = interference.left_out(file.interference)
    yield from [beside] if beside else []


def _unknown(file: PipelineFile) -> Iterator[str]:
    if file.infrastructure is not None:
        yield from regions_told.out_of_reach(file)
        sentence = regions_told.left_out(file)
    elif file.query is not None:
        yield from file.query.left_out()
        sentence = panes_checks.shortfall(file.graph)
    else:
        yield from _beside(file)
        refused = keyed_checks.refusal(file.graph) is not None
        sentence = None if refused else keyed_checks.shortfall(file.graph)
    yield from [sentence] if sentence else []


def open_twin(file: PipelineFile) -> Plant:
    """The twins of several pipelines, of regions, of a preference query or of a module with keys,
    where there are any, or else of the whole graph."""
    if file.parts:
        return _joint_twin(file)
    settings: dict[str, Any] = {"step": file.step, "duration": file.duration, "seed": file.seed}
    if file.infrastructure is not None:
        return _region_twin(file, file.infrastructure.places, settings)
    settings["arrivals"] = "even" if drawn(file.workload) else "poisson"
    if file.query is not None:
        return _pane_twin(file, file.query, settings)
    if any(module.keys for module in file.graph.modules):
        return KeyedTwin(file.graph, file.workload, **settings, **_clock(file))
    return Twin(file.graph, file.workload, **settings)


def _joint_twin(file: PipelineFile) -> Plant:
    if by_spark(file):
        raise SettingError(
            f"policy {file.policy.name} is Spark's own scheduler, which the twin does not have; "
            "run it on Spark, or simulate another policy"
        )
    return JointTwin({name: cast(TwinPart, open_twin(part)) for name, part in file.parts.items()})


def _region_twin(file: PipelineFile, places: Infrastructure, settings: dict[str, Any]) -> Plant:
    if (why := regions_told.refusal(file)) is not None:
        raise SettingError(why)
    return RegionTwin(file.graph, places, file.workload, **settings)


def _pane_twin(file: PipelineFile, query: Asked, settings: dict[str, Any]) -> Plant:
    panes, windows = panes_checks.stages(file.graph)
    costs = Costs(
        tuple_time=panes.service_time,
        task_time=windows.service_time,
        comparison=query.comparison,
        dimensions=query.dimensions,
    )
    return PaneTwin(
        file.graph,
        file.workload,
        panes=query.panes(),
        costs=costs,
        splitting=inner_level(file),
        disorder=file.source.disorder,
        slack=query.slack,
        max_slack=query.max_slack,
        interference=file.interference,
        **settings,
    )


def _clock(file: PipelineFile) -> dict[str, Any]:
    """The fastest clock of the voltages that the policy knows, and what replicas take at each."""
    given = file.policy.settings.get("voltages")
    table = VoltageTable.parse(given) if given else VOLTAGES
    return {
        "frequency": table.frequencies[-1],
        "power": lambda replicas, frequency: power(replicas, frequency, table),
    }
