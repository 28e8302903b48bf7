"""The twin that a pipeline file asks for, and what it does not know of the pipeline.

>>> from penstock.pipeline.file import load
>>> type(open_twin(load("wordcount"))).__name__, type(open_twin(load("trading"))).__name__
('Twin', 'KeyedTwin')

What to say of a file with regions that is no mistake: what its modules will not get, and what
the twin of regions does not know of them.

>>> from penstock.pipeline.file import load
>>> for sentence in out_of_reach(load("wordcount-regions", ["modules.filter.max_replicas=9"])):
...     print(sentence)
module filter may grow to 9 replicas and region dc2 has room for 8, so it will not
"""

from collections.abc import Iterator
from typing import Any, Final, cast

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.regions import Infrastructure
from penstock.core.roles import Plant
from penstock.core.words import joined
from penstock.model.power import VOLTAGES, VoltageTable, power
from penstock.pipeline import interference
from penstock.pipeline.compose import inner_level
from penstock.pipeline.format.kafka import NoWorkload
from penstock.pipeline.format.preference import PreferenceQuery
from penstock.pipeline.settings import PipelineFile
from penstock.pipeline.sharing import uses_spark_scheduler
from penstock.twin import Costs, KeyedTwin, PaneTwin, RegionTwin, Twin
from penstock.twin.joint import JointTwin
from penstock.twin.joint import Part as TwinPart
from penstock.twin.keys import checks
from penstock.twin.panes import twin
from penstock.workload import drawn

_QUEUES: Final = (
    "the twin of regions reckons every replica as an M/D/1 queue that starts each step empty"
)
_USUAL: Final = Module(name="any")
_UNKNOWN: Final = (
    *("service_cv", "trigger", "max_batch", "overhead", "task_overhead", "overhead_cv"),
    *("warm_up", "start_up", "buffer", "scaling"),
)
"""Settings of modules that M/D/1 queues have nothing of."""


def out_of_reach(file: PipelineFile) -> Iterator[str]:
    """Modules that may have more replicas than their region can ever host."""
    if file.infrastructure is None:
        return
    for module in file.graph.modules:
        region = file.infrastructure.places[str(module.region)]
        if module.max_replicas > region.max_slots:
            yield (
                f"module {module.name} may grow to {module.max_replicas} replicas and region "
                f"{region.name} has room for {region.max_slots}, so it will not"
            )


def left_out_of_regions(file: PipelineFile) -> str | None:
    """What the twin of regions leaves out; None of files without regions.

    >>> from penstock.pipeline.file import load
    >>> left_out_of_regions(load("wordcount-regions"))
    'the twin of regions reckons every replica as an M/D/1 queue that starts each step empty: \
trigger, max_batch, overhead and start_up of the modules are left out'
    """
    if file.infrastructure is None:
        return None
    given = [name for name in _UNKNOWN if _is_given(name, file.graph)]
    beside = ["interference"] if file.interference and file.interference.processes else []
    without = joined([*([f"{joined(given)} of the modules"] if given else []), *beside])
    are = "are" if len(given) + len(beside) > 1 else "is"
    return f"{_QUEUES}: {without} {are} left out" if without else _QUEUES


def refusal(file: PipelineFile) -> str | None:
    """Why the twin of regions would not simulate a file; None where it would."""
    if file.infrastructure is None:
        return None
    if file.query is not None:
        return "the twin of regions knows no panes; leave infrastructure out, or use run"
    keyed = [module.name for module in file.graph.modules if module.keys]
    if keyed:
        return (
            f"the twin of regions knows no keys, and {keyed[0]} has some; leave infrastructure or "
            "keys out, or use run"
        )
    return None


def _is_given(name: str, graph: FlowGraph) -> bool:
    return any(getattr(module, name) != getattr(_USUAL, name) for module in graph.modules)


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
        yield from out_of_reach(file)
        sentence = left_out_of_regions(file)
    elif file.query is not None:
        yield from file.query.left_out()
        sentence = twin.shortfall(file.graph)
    else:
        yield from _beside(file)
        refused = checks.refusal(file.graph) is not None
        sentence = None if refused else checks.shortfall(file.graph)
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
    if uses_spark_scheduler(file):
        raise SettingError(
            f"policy {file.policy.name} is Spark's own scheduler, which the twin does not have; "
            "run it on Spark, or simulate another policy"
        )
    return JointTwin({name: cast(TwinPart, open_twin(part)) for name, part in file.parts.items()})


def _region_twin(file: PipelineFile, places: Infrastructure, settings: dict[str, Any]) -> Plant:
    if (why := refusal(file)) is not None:
        raise SettingError(why)
    return RegionTwin(file.graph, places, file.workload, **settings)


def _pane_twin(file: PipelineFile, query: PreferenceQuery, settings: dict[str, Any]) -> Plant:
    panes, windows = twin.stages(file.graph)
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
