"""`penstock simulate`: a pipeline on the twin."""

from argparse import ArgumentParser, Namespace
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, cast

from penstock.cli.options import add_run_options, overrides, pipeline
from penstock.cli.output import say
from penstock.core.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.core.regions import Infrastructure
    from penstock.core.roles import Plant
    from penstock.pipeline.asked import Asked
    from penstock.pipeline.file import PipelineFile
    from penstock.plant.twin.joint import Part
    from penstock.record import RunFolder

HELP: Final = "run a pipeline on the twin, in virtual time and without Spark"
EXAMPLES: Final = """\
examples:
  penstock simulate wordcount
  penstock simulate wordcount --duration 1h --workload daily:60/s..600/s,period=1h
  penstock simulate trading --set policy.strategy=th-power
  penstock simulate wordcount --policy static --set policy.degrees=4 --seed 7
  penstock simulate preference --policy fuzzy --workload map:1000
  penstock simulate wordcount --infrastructure rl --policy rl --duration 1h
  penstock simulate shared --set pipelines.fraud.weight=10
  penstock simulate graph.yaml --json --quiet | jq .executor_seconds_total
"""


def add_arguments(parser: ArgumentParser) -> None:
    """What `simulate` takes."""
    add_run_options(parser)


def execute(args: Namespace) -> int:
    """Build the twin, and control the pipeline on it."""
    from penstock.cli.session import conduct
    from penstock.pipeline.file import load

    file = load(pipeline(args), overrides(args))
    _check_workload(file)
    for sentence in _left_out(file):
        say(sentence)

    def opener(_: "RunFolder") -> "AbstractContextManager[Plant]":
        return nullcontext(_twin(file))

    # The first run after an installation compiles the twin, which takes a while.
    note = f"starting {file.name} on the twin"
    return conduct(args, file, plant="twin", opener=opener, note=note)


def _check_workload(file: "PipelineFile") -> None:
    """Refuse rows that come from elsewhere: the twin has to make them."""
    from penstock.pipeline.kafka import NoWorkload

    for part in file.parts.values() or [file]:
        if isinstance(part.workload, NoWorkload):
            part.workload.refuse()


def _left_out(file: "PipelineFile") -> "Iterator[str]":
    """What the twin does not know of the pipeline, or of each of several."""
    from penstock.pipeline.interference import left_out

    if not file.parts:
        yield from _unknown(file)
        return
    beside = left_out(file.interference)
    yield from [beside] if beside else []
    for part in file.parts.values():
        yield from _unknown(part)


def _unknown(file: "PipelineFile") -> "Iterator[str]":
    from penstock.pipeline import regions_told
    from penstock.pipeline.interference import left_out
    from penstock.plant.twin import keyed_checks, panes_checks

    if file.infrastructure is not None:
        yield from regions_told.out_of_reach(file)
        sentence = regions_told.left_out(file)
    elif file.query is not None:
        yield from file.query.left_out()
        sentence = panes_checks.shortfall(file.graph)
    else:
        beside = left_out(file.interference)
        yield from [beside] if beside else []
        refused = keyed_checks.refusal(file.graph) is not None
        sentence = None if refused else keyed_checks.shortfall(file.graph)
    yield from [sentence] if sentence else []


def _twin(file: "PipelineFile") -> "Plant":
    """The twins of several pipelines, of regions, of a preference query or of a module with keys,
    where there are any, or else of the whole graph."""
    from penstock.plant.twin import KeyedTwin, Twin
    from penstock.workload import drawn

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


def _joint_twin(file: "PipelineFile") -> "Plant":
    from penstock.pipeline.sharing import by_spark
    from penstock.plant.twin.joint import JointTwin

    if by_spark(file):
        raise SettingError(
            f"policy {file.policy.name} is Spark's own scheduler, which the twin does not have; "
            "run it on Spark, or simulate another policy"
        )
    return JointTwin({name: cast("Part", _twin(part)) for name, part in file.parts.items()})


def _region_twin(
    file: "PipelineFile", places: "Infrastructure", settings: dict[str, Any]
) -> "Plant":
    from penstock.pipeline.regions_told import refusal
    from penstock.plant.twin.regions import RegionTwin

    if (why := refusal(file)) is not None:
        raise SettingError(why)
    return RegionTwin(file.graph, places, file.workload, **settings)


def _pane_twin(file: "PipelineFile", query: "Asked", settings: dict[str, Any]) -> "Plant":
    from penstock.pipeline.compose import inner_level
    from penstock.plant.twin import Costs, PaneTwin
    from penstock.plant.twin.panes_checks import stages

    panes, windows = stages(file.graph)
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


def _clock(file: "PipelineFile") -> dict[str, Any]:
    """The fastest clock of the voltages that the policy knows, and what replicas take at each."""
    from penstock.model.power import VOLTAGES, VoltageTable, power

    given = file.policy.settings.get("voltages")
    table = VoltageTable.parse(given) if given else VOLTAGES
    return {
        "frequency": table.frequencies[-1],
        "power": lambda replicas, frequency: power(replicas, frequency, table),
    }
