"""`penstock compare`: policies against each other, on the twin or on Spark.

The load is that of a pipeline, or with `--from RUN` that of a recorded run.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING, Any, Final

from penstock import __version__
from penstock.cli.interrupt import Interrupted, Interrupts
from penstock.cli.options import add_set, something
from penstock.cli.output import print_json, print_line, say
from penstock.cli.sheets import results_folder, table_lines, wide_console, wrapped
from penstock.core.errors import SettingError, UserError
from penstock.core.extras import require
from penstock.core.units import format_duration
from penstock.core.words import count_of

if TYPE_CHECKING:
    from penstock.experiment.compare import Advice, Load, TournamentResult, Verdict
    from penstock.experiment.compare.play import Perform
    from penstock.pipeline.settings import PipelineFile


HELP: Final = "run policies on the same load and recommend one"
EXAMPLES: Final = """\
examples:
  penstock compare wordcount
  penstock compare wordcount --policies threshold,mpc --workload daily:60/s..600/s,period=5m \\
      --workload random-walk:300/s --duration 10m --seeds 10
  penstock compare trading --policies "mpc,threshold:max_utilisation=0.8" --duration 5m
  penstock compare --from runs/wordcount-20261101-120000     with the load of a recorded run
  penstock compare wordcount --policies threshold --on spark
  penstock compare my.yaml --price 0.08 --billing 60s --json --quiet | jq .advice.choose

Always with static-peak, static-mean and a clairvoyant that knows the whole load.
"""
RESULTS: Final = "compare.json"
REPORT: Final = "compare.html"
RUNS: Final = "runs"
_SEEDS: Final = {"twin": 5, "spark": 1}


def add_arguments(parser: ArgumentParser) -> None:
    """What `compare` takes."""
    parser.add_argument(
        "pipeline",
        metavar="PIPELINE",
        nargs="?",
        type=something,
        help="a built-in pipeline or a file",
    )
    parser.add_argument(
        "--from",
        metavar="RUN",
        dest="recorded",
        type=something,
        help="a recorded run in place of PIPELINE: a twin is fitted to it and runs its load",
    )
    parser.add_argument(
        "--policies",
        metavar="A,B",
        type=something,
        help="names, with settings as in threshold:max_utilisation=0.8; default: the file's own "
        "and all that need only the graph",
    )
    parser.add_argument(
        "--workload",
        metavar="W",
        type=something,
        action="append",
        help="constant:300/s, daily:60/s..420/s, trace:FILE, ...; repeatable",
    )
    parser.add_argument("--on", metavar="PLANT", type=something, help="twin (default) or spark")
    parser.add_argument("--seeds", metavar="N", type=int, help="number of seeds (twin 5, spark 1)")
    parser.add_argument(
        "--duration", metavar="D", type=something, help="duration of each run, such as 10m"
    )
    parser.add_argument("--step", metavar="D", type=something, help="time between two decisions")
    parser.add_argument("--seed", metavar="N", type=int, help="the first seed")
    parser.add_argument("--price", metavar="X", type=float, help="price of an executor-hour (0.05)")
    parser.add_argument(
        "--billing",
        metavar="D",
        type=something,
        help="billing period; each one begun is paid in full (1s)",
    )
    parser.add_argument(
        "--guards",
        metavar="SCOPE",
        default="own",
        type=something,
        help="which policies run inside the file's guards: own (all except peers, which have "
        "only hold), all or none",
    )
    add_set(parser)
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="number of processes (number of cores)"
    )
    parser.add_argument(
        "--out", metavar="DIR", type=something, help="folder (runs/compare-PIPELINE-DATE-TIME)"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def execute(args: Namespace) -> int:
    """Play the tournament, write the results, and print them."""
    require("twin", "comparing", "numba", "rich")
    from penstock.record import run_path

    on = args.on or "twin"
    if on not in _SEEDS:
        raise SettingError(f"--on must be twin or spark, got {on!r}")
    file = _file(args, on)
    started = datetime.now().astimezone()
    path = Path(args.out) if args.out else run_path(f"compare-{file.name}", started)
    with Interrupts() as interrupts:
        try:
            result, shown = _carry_out(args, file, on, path, started, interrupts)
        except (Interrupted, KeyboardInterrupt):
            interrupts.settle()
            say("stopped; no table was written")
            return 128 + (interrupts.signal or SIGINT)
    _print_result(args, result, shown)
    return 0


def _file(args: Namespace, on: str) -> "PipelineFile":
    """The pipeline of the file, or the one that was fitted to a recording."""
    if (args.pipeline is None) == (args.recorded is None):
        raise UserError("give a pipeline, such as wordcount, or --from RUN, and not both")
    if args.recorded is None:
        from penstock.pipeline.file import load

        return load(args.pipeline, _overrides(args), to_run=on == "spark")
    if on == "spark":
        raise SettingError("--from RUN is played on the twin that is fitted to it; leave --on out")
    return _fitted(args)


def _fitted(args: Namespace) -> "PipelineFile":
    """The pipeline that was fitted to the run, for as long and from the seed that was asked for."""
    from penstock.experiment.fit import fit
    from penstock.record import load as load_run

    for name in ("step", "set"):
        if getattr(args, name):
            raise SettingError(
                f"--{name} changes a pipeline file; write the twin of the run as one with "
                f"`penstock fit {args.recorded} --out twin.yaml`, and compare that"
            )
    args.run = load_run(Path(args.recorded))
    args.fit = fit(args.run)
    for note in args.fit.notes:
        say(note)
    if args.fit.file.slo.latency_p95 is None:
        raise SettingError(
            f"the run {args.recorded} promised no latency, so there is none to break; write its "
            f"twin with `penstock fit {args.recorded} --out twin.yaml`, and compare that with "
            "--set slo.latency_p95=10s or the like"
        )
    return _adjusted(args.fit.file, args)


def _adjusted(fitted: "PipelineFile", args: Namespace) -> "PipelineFile":
    from penstock.core.units import parse_duration

    lasts = parse_duration(args.duration) if args.duration else fitted.duration
    seed = fitted.seed if args.seed is None else args.seed
    if seed < 0:
        raise SettingError(f"seed must be 0 or more, got {seed}")
    if lasts < fitted.step:
        raise SettingError(
            f"--duration {args.duration} is shorter than a step of {format_duration(fitted.step)}"
        )
    if lasts > fitted.duration + fitted.step and not args.workload:
        raise SettingError(
            f"--duration {args.duration} is longer than the {format_duration(fitted.duration)} "
            "that were recorded, and what rows would have come then is unknown; leave it out"
        )
    return replace(fitted, duration=lasts, seed=seed)


def _overrides(args: Namespace) -> list[str]:
    given = {name: getattr(args, name) for name in ("duration", "step", "seed")}
    return [*(f"{k}={value}" for k, value in given.items() if value is not None), *args.set]


def _loads(args: Namespace, file: "PipelineFile") -> "list[Load] | None":
    """The workloads of the command line, read as those of the file are."""
    from penstock.experiment.compare import Load

    if not args.workload:
        return [Load(name="recorded", workload=file.workload)] if args.recorded else None
    from penstock.pipeline.file import load
    from penstock.workload import parse

    loads = []
    for text in dict.fromkeys(args.workload):
        if args.pipeline is None:
            workload = parse(text)
        else:
            workload = load(args.pipeline, [*_overrides(args), f"workload={text}"]).workload
        loads.append(Load(name=text, workload=workload, fixed="seed=" in text))
    return loads


def _carry_out(
    args: Namespace,
    file: "PipelineFile",
    on: str,
    path: Path,
    started: datetime,
    interrupts: Interrupts,
) -> "tuple[dict[str, Any], tuple[TournamentResult, Advice, list[Verdict]]]":
    with results_folder(path, RESULTS, REPORT) as finish:
        played = _play(args, file, on, path)
        interrupts.hold()
        shown = played, _advice(args, played), _verdicts(played)
        result = _result_json(path, *shown)
        _write(path, result, *shown, started)
        finish()
    return result, shown


def _advice(args: Namespace, played: "TournamentResult") -> "Advice":
    """What to choose; of a recording also what that would have saved, and whether to trust it."""
    from penstock.experiment.compare import advise

    return advise(played) if args.recorded is None else _advice_for_run(args, played)


def _advice_for_run(args: Namespace, played: "TournamentResult") -> "Advice":
    """What to choose, what it would have saved of the run, and whether to trust the twin."""
    from penstock.experiment.compare import advise
    from penstock.experiment.compare.advice import beside_recording
    from penstock.experiment.fit import decisive, judgement, predict

    choice = advise(played)
    if not args.workload:
        choice = beside_recording(choice, played, args.run.ticks)
    judged = decisive(args.run, predict(args.run, args.fit.estimates))
    return replace(choice, why=(*choice.why, judgement(judged)))


def _play(args: Namespace, file: "PipelineFile", on: str, path: Path) -> "TournamentResult":
    from penstock.cli.doctor import usable_cores
    from penstock.cli.sheets import progress
    from penstock.core.units import parse_duration
    from penstock.experiment.compare import Prices, play
    from penstock.experiment.compare.play import on_twin
    from penstock.experiment.workers import check_amounts

    check_amounts(seeds=args.seeds, jobs=args.jobs)
    prices = Prices(
        executor_hour=Prices().executor_hour if args.price is None else args.price,
        billing=Prices().billing if args.billing is None else parse_duration(args.billing),
    )
    perform: Perform = on_twin if on == "twin" else _on_spark(args, file, path)
    with progress("rounds", quiet=args.quiet) as show:
        return play(
            file,
            args.policies,
            _loads(args, file),
            _SEEDS[on] if args.seeds is None else args.seeds,
            guards=args.guards,
            prices=prices,
            jobs=args.jobs or usable_cores(),
            perform=perform,
            on=on,
            progress=show,
        )


def _on_spark(args: Namespace, file: "PipelineFile", path: Path) -> "Perform":
    require("cluster", "comparing on Spark", "pyspark", "pyarrow", "pandas")
    from penstock.cli.run import hush_libraries
    from penstock.experiment.compare.play import on_spark
    from penstock.pipeline.deploy.launch import prepare

    hush_libraries()
    prepare(file, None)
    log = (lambda text: None) if args.quiet else say  # noqa: ARG005
    words = ("penstock", *args.words)
    return on_spark(path / RUNS, lambda: datetime.now().astimezone(), words, log)


def _verdicts(played: "TournamentResult") -> "list[Verdict]":
    """Ours against each of the others, on each load and on all together."""
    from penstock.experiment.compare import dominance

    loads: list[str | None] = [*played.loads, *([None] if len(played.loads) > 1 else [])]
    others = [entrant.name for entrant in played.entrants if entrant.name != played.ours]
    return [dominance(played, played.ours, name, load) for load in loads for name in others]


def _result_json(
    path: Path, played: "TournamentResult", advice: "Advice", verdicts: "list[Verdict]"
) -> dict[str, Any]:
    return {
        **played.to_json(),
        "dominance": [verdict.to_json() for verdict in verdicts],
        "advice": advice.to_json(),
        "folder": str(path),
        "report": str(path / REPORT),
    }


def _write(
    path: Path,
    result: dict[str, Any],
    played: "TournamentResult",
    advice: "Advice",
    verdicts: "list[Verdict]",
    started: datetime,
) -> None:
    from penstock.record.disk import write_whole
    from penstock.report.compare import compare_page
    from penstock.report.page import write_report

    when = f"{started.day} {started:%B %Y, %H:%M} \u00b7 penstock {__version__}"
    write_whole(path / RESULTS, json.dumps(result, allow_nan=False) + "\n")
    write_whole(path / REPORT, compare_page(played, advice, verdicts, subtitle=when))
    for run in sorted((path / RUNS).glob("*/summary.json")):
        write_report(run.parent)


def _print_result(
    args: Namespace, result: dict[str, Any], shown: "tuple[TournamentResult, Advice, list[Verdict]]"
) -> None:
    if args.json:
        print_json(result)
        return

    for line in standings(*shown):
        print_line(line)
    print_line()
    print_line(f"  page    {result['report']}")
    print_line(f"  data    {Path(result['folder']) / RESULTS}")


# A tournament in a terminal: tables, verdicts, and what to choose.


def standings(
    played: "TournamentResult", advice: "Advice", verdicts: "Sequence[Verdict]"
) -> Iterator[str]:
    """Every line; the choice comes last, where it is seen."""
    from penstock.experiment.compare.tables import tables

    console = wide_console()
    yield _headline(played)
    yield "  * least of a column, = no significant difference; \u00b1 95 % interval over seeds"
    for table in tables(played):
        yield ""
        yield from table_lines(table, console)
        for note in table.notes:
            yield from wrapped(note, console.width, mark="- ")
    if verdicts:
        yield ""
        yield f"{played.ours} against the others"
    for verdict in verdicts:
        where = f"{verdict.load}: " if len(played.loads) > 1 and verdict.load else ""
        text = f"{where}{verdict.words}: {verdict.why}"
        yield from wrapped(text, console.width, mark="- ")
    yield ""
    for sentence in advice.why:
        yield from wrapped(sentence, console.width)


def _headline(played: "TournamentResult") -> str:
    where = "Spark" if played.on == "spark" else "the twin"
    seeds = f"{count_of(len(played.seeds), 'seed')}"
    return (
        f"{played.pipeline} on {where}: {format_duration(played.duration)} a run, {seeds}, "
        f"p95 of {format_duration(played.promised)} promised"
    )
