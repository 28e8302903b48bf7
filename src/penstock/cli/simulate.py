"""`penstock simulate`: a pipeline on the twin."""

from argparse import ArgumentParser, Namespace
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.options import add_run_options, overrides
from penstock.cli.output import say

if TYPE_CHECKING:
    from penstock.core.roles import Plant
    from penstock.pipeline.file import PipelineFile
    from penstock.record import RunFolder

HELP: Final = "run a pipeline on the twin, in virtual time and without Spark"
EXAMPLES: Final = """\
examples:
  penstock simulate wordcount
  penstock simulate wordcount --duration 1h --workload daily:60/s..600/s,period=1h
  penstock simulate trading --set policy.strategy=th-power
  penstock simulate wordcount --policy static --set policy.degrees=4 --seed 7
  penstock simulate graph.yaml --json --quiet | jq .executor_seconds_total
"""


def add_arguments(parser: ArgumentParser) -> None:
    """What `simulate` takes."""
    add_run_options(parser)


def execute(args: Namespace) -> int:
    """Build the twin, and control the pipeline on it."""
    from penstock.cli.session import conduct
    from penstock.pipeline.file import load
    from penstock.plant.twin.keyed_checks import refusal, shortfall

    file = load(args.pipeline, overrides(args))
    left_out = shortfall(file.graph)
    if left_out is not None and refusal(file.graph) is None:
        say(left_out)

    def opener(_: "RunFolder") -> "AbstractContextManager[Plant]":
        return nullcontext(_twin(file))

    # The first run after an installation compiles the twin, which takes a while.
    note = f"starting {file.name} on the twin"
    return conduct(args, file, plant="twin", opener=opener, note=note)


def _twin(file: "PipelineFile") -> "Plant":
    """The twin of a module with keys, where there is one, or else of the whole graph."""
    from penstock.plant.twin import KeyedTwin, Twin
    from penstock.workload import Trace

    settings: dict[str, Any] = {
        "step": file.step,
        "duration": file.duration,
        "seed": file.seed,
        "arrivals": "even" if isinstance(file.workload, Trace) else "poisson",
    }
    if any(module.keys for module in file.graph.modules):
        return KeyedTwin(file.graph, file.workload, **settings, **_clock(file))
    return Twin(file.graph, file.workload, **settings)


def _clock(file: "PipelineFile") -> dict[str, Any]:
    """The fastest clock of the voltages that the policy knows, and what replicas take at each."""
    from penstock.model.power import VOLTAGES, VoltageTable, power

    given = file.policy.settings.get("voltages")
    table = VoltageTable.parse(given) if given else VOLTAGES
    return {
        "frequency": table.frequencies[-1],
        "power": lambda replicas, frequency: power(replicas, frequency, table),
    }
