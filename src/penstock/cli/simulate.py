"""`penstock simulate`: a pipeline on the twin."""

from argparse import Namespace
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final

from penstock.cli.options import RUN_OPTIONS, overrides, pipeline
from penstock.cli.output import say
from penstock.core.extras import require

if TYPE_CHECKING:
    from penstock.core.roles import Plant
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


OPTIONS: Final = RUN_OPTIONS


def execute(args: Namespace) -> int:
    """Build the twin, and control the pipeline on it."""
    require("twin", "simulating", "numba", "rich")
    from penstock.cli.session import conduct
    from penstock.pipeline.file import load
    from penstock.pipeline.twins import check_workload, left_out, open_twin, out_of_reach

    file = load(pipeline(args), overrides(args))
    check_workload(file)
    for sentence in (*out_of_reach(file), *left_out(file)):
        say(sentence)

    def opener(_: "RunFolder") -> "AbstractContextManager[Plant]":
        return nullcontext(open_twin(file))

    # The first run after an installation compiles the twin, which takes a while.
    note = f"starting {file.name} on the twin"
    return conduct(args, file, plant="twin", opener=opener, note=note)
