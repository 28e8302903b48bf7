"""`penstock reproduce`: the tables and figures of a paper, from a simulation of your own."""

from argparse import Namespace
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.options import JOBS, QUIET, Option
from penstock.cli.sheets import Outcome, carry_out, progress, sheets
from penstock.core.errors import SettingError
from penstock.core.extras import require
from penstock.core.settings import near

if TYPE_CHECKING:
    from penstock.experiment.results import Reproduction
    from penstock.papers.framework import Options, Paper

HELP: Final = "repeat the experiments of a paper and show our figures beside the published ones"
EXAMPLES: Final = """\
examples:
  penstock reproduce game                          all of it: 100 seeds, a few minutes
  penstock reproduce game --seeds 5                a first look, in seconds
  penstock reproduce game --workload rwalk --jobs 4 --out runs/rwalk
  penstock reproduce mpc                           all of it: 5 seeds, a few minutes
  penstock reproduce mpc --seeds 1 --workload day
  penstock reproduce mpc --data hft                with the published walk and frequencies
  penstock reproduce ppq                           all of it: 3 seeds, a few minutes
  penstock reproduce ppq --data ppq --workload game1
  penstock reproduce e2df                          all of it: 5 seeds, a few minutes
  penstock reproduce e2df --seeds 1 --steps 14400  ten days, without the paper's figures
  penstock reproduce alloc                         all of it: 1,000 graphs a row, a few minutes
  penstock reproduce alloc --seeds 20              a first look
  penstock reproduce game --json --quiet | jq '.claims[] | select(.holds | not)'

papers:
  game    control of a whole flow graph by agents that play a game (Tab. IV and V, Fig. 12 to 17)
  mpc     predictive control of a keyed operator and its clock (Tab. 5 to 7, Fig. 11 to 17)
  ppq     two levels of control of a preference query (Tab. 4 and 5, Fig. 9 to 18)
  e2df    operators and nodes in regions, with policies that learn (Tab. 1 and 2, Fig. 4 to 7)
  alloc   a budget divided by agents, on graphs and on trees that change (Tab. 1 to 4, Fig. 7, 8)
"""
PAPERS: Final = {
    "game": "repetitions",
    "mpc": "runs",
    "ppq": "runs",
    "e2df": "runs",
    "alloc": "runs",
}
"""What each paper's work is counted in."""
RESULTS: Final = "results.json"
REPORT: Final = "report.html"


OPTIONS: Final = (
    Option("paper", "PAPER", "game, mpc, ppq, e2df or alloc"),
    Option("--seeds", "N", "repetitions (game 100, mpc 5, ppq 3, e2df 5, alloc 1,000 graphs)", int),
    Option(
        "--steps",
        "N",
        "control steps of each (game 600, e2df 100,000 minutes, mpc and ppq all)",
        int,
    ),
    Option(
        "--workload",
        "W",
        "only this workload; repeatable (game: cyclic, trend, rwalk; mpc: rwalk, day; ppq: steps, "
        "rw, map-1k to map-4k, ss-0.6 to ss-0.8, game1, game2)",
        action="append",
    ),
    Option(
        "--data",
        "DIR",
        "folder of the published workloads (mpc: in place of a generated one; ppq: beside)",
    ),
    JOBS,
    Option("--out", "DIR", "folder of the page and the data (runs/reproduce-PAPER-DATE-TIME)"),
    QUIET,
)


def execute(args: Namespace) -> int:
    """Repeat the experiment, and print, draw and write its results."""
    if args.paper not in PAPERS:
        raise SettingError(
            f"there is no paper {args.paper!r} to reproduce{near(args.paper, PAPERS)}"
        )
    require("twin", "reproducing", "numba", "scipy", "rich")
    options = _options(args)

    def run(_: Path) -> Outcome:
        from penstock.report.paper import paper_page

        done = _reproduce(args, options)
        return Outcome(
            data=done.to_json(),
            page=lambda when: paper_page(done, subtitle=when),
            lines=lambda: sheets(done),
        )

    return carry_out(args, f"reproduce-{args.paper}", (RESULTS, REPORT), run)


def _reproduce(args: Namespace, options: "Options") -> "Reproduction":
    from penstock.papers.framework import reproduce

    with progress(PAPERS[args.paper], quiet=args.quiet) as report_progress:
        return reproduce(_paper(args.paper), options, report_progress)


def _options(args: Namespace) -> "Options":
    from penstock.cli.doctor import usable_cores

    given = {name: getattr(args, name) for name in ("seeds", "steps", "jobs", "data")}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if args.workload:
        chosen["workloads"] = tuple(dict.fromkeys(args.workload))
    return _paper(args.paper).options(clock=perf_counter, **{"jobs": usable_cores(), **chosen})


def _paper(name: str) -> "Paper[Any, Any]":
    """Only the paper asked for is imported."""
    paper: Paper[Any, Any] = import_module(f"penstock.papers.{name}.results").PAPER
    return paper
