"""The twin that a pipeline file asks for, and what it leaves out of the pipeline.

>>> from penstock.pipeline.file import load
>>> twin = open_twin(load("wordcount"))
>>> type(twin).__name__, twin.graph.names()
('Twin', ('splitter', 'counter'))

What to say of a file with regions that is no mistake: what its modules will not get.

>>> for sentence in out_of_reach(load("wordcount-regions", ["modules.filter.max_replicas=9"])):
...     print(sentence)
module filter may grow to 9 replicas and region dc2 has room for 8, so it will not
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from penstock.core.errors import SettingError
from penstock.core.roles import Plant
from penstock.core.words import joined
from penstock.model.power import VOLTAGES, VoltageTable, power
from penstock.pipeline.compose import inner_level
from penstock.pipeline.format.kafka import NoWorkload
from penstock.pipeline.format.preference import PreferenceQuery
from penstock.pipeline.settings import PipelineFile
from penstock.pipeline.sharing import uses_spark_scheduler
from penstock.twin import Costs, PaneTwin, Twin
from penstock.twin.joint import JointTwin
from penstock.twin.joint import Part as TwinPart
from penstock.twin.keys.tables import check_keys
from penstock.twin.panes import twin
from penstock.workload import drawn


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


def refusal(file: PipelineFile) -> str | None:
    """Why no twin would simulate a file; None where one would."""
    try:
        for module in file.graph.modules:
            if module.keys:
                check_keys(module)
    except SettingError as error:
        return str(error)
    return None


def left_out(file: PipelineFile) -> Iterator[str]:
    """What the twin does not simulate, in a sentence for each pipeline that has any of it.

    >>> from penstock.pipeline.file import load
    >>> list(left_out(load("preference", ["query.drop_rate=0.1"])))
    ['the twin leaves out drop_rate of query']
    """
    for part in file.parts.values() or [file]:
        lost = part.query.left_out() if part.query else []
        if lost:
            yield f"the twin leaves out {joined(lost)}"


def check_workload(file: PipelineFile) -> None:
    """Refuse rows that come from elsewhere: the twin has to make them."""
    for part in file.parts.values() or [file]:
        if isinstance(part.workload, NoWorkload):
            part.workload.refuse()


def open_twin(file: PipelineFile) -> Plant:
    """The twin of a pipeline, of a preference query, or of several pipelines in step."""
    if file.parts:
        return _joint_twin(file)
    settings: dict[str, Any] = {
        "step": file.step,
        "duration": file.duration,
        "seed": file.seed,
        "arrivals": "even" if drawn(file.workload) else "poisson",
        "places": file.infrastructure.places if file.infrastructure else None,
        "interference": file.interference,
    }
    if file.query is not None:
        return _pane_twin(file, file.query, settings)
    if any(module.keys for module in file.graph.modules):
        settings |= _clock(file)
    return Twin(file.graph, file.workload, **settings)


def _joint_twin(file: PipelineFile) -> Plant:
    if uses_spark_scheduler(file):
        raise SettingError(
            f"policy {file.policy.name} is Spark's own scheduler, which the twin does not have; "
            "run it on Spark, or simulate another policy"
        )
    beside = file.interference
    parts = {name: replace(part, interference=beside) for name, part in file.parts.items()}
    return JointTwin({name: cast(TwinPart, open_twin(part)) for name, part in parts.items()})


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
