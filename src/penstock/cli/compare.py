"""`penstock compare`: policies against each other, on the twin or on Spark.

The load is that of a pipeline, or with `--from RUN` that of a recorded run.
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock.cli.options import JOBS, QUIET, SET, Option
from penstock.cli.output import say
from penstock.cli.sheets import (
    Outcome,
    all_tables,
    carry_out,
    progress,
    wide_console,
    wrapped,
)
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


OPTIONS: Final = (
    Option("pipeline", "PIPELINE", "a built-in pipeline or a file", nargs="?"),
    Option(
        "--from",
        "RUN",
        "a recorded run in place of PIPELINE: a twin is fitted to it and runs its load",
        dest="recorded",
    ),
    Option(
        "--policies",
        "A,B",
        "names, with settings as in threshold:max_utilisation=0.8; default: the file's own and all "
        "that need only the graph",
    ),
    Option(
        "--workload",
        "W",
        "constant:300/s, daily:60/s..420/s, trace:FILE, ...; repeatable",
        action="append",
    ),
    Option("--on", "PLANT", "twin (default) or spark"),
    Option("--seeds", "N", "number of seeds (twin 5, spark 1)", int),
    Option("--duration", "D", "duration of each run, such as 10m"),
    Option("--step", "D", "time between two decisions"),
    Option("--seed", "N", "the first seed", int),
    Option("--price", "X", "price of an executor-hour (0.05)", float),
    Option("--billing", "D", "billing period; each one begun is paid in full (1s)"),
    Option(
        "--guards",
        "SCOPE",
        "which policies run inside the file's guards: own (all except peers, which have only "
        "hold), all or none",
        default="own",
    ),
    JOBS,
    Option("--out", "DIR", "folder (runs/compare-PIPELINE-DATE-TIME)"),
    SET,
    QUIET,
)


def execute(args: Namespace) -> int:
    """Play the tournament, write the results, and print them."""
    require("twin", "comparing", "numba", "rich")
    on = args.on or "twin"
    if on not in _SEEDS:
        raise SettingError(f"--on must be twin or spark, got {on!r}")
    file = _file(args, on)

    def run(path: Path) -> Outcome:
        from penstock.report.compare import compare_page
        from penstock.report.page import write_report

        played = _play(args, file, on, path)
        advice, verdicts = _advice(args, played), played.verdicts()
        for recorded in sorted((path / RUNS).glob("*/summary.json")):
            write_report(recorded.parent)
        return Outcome(
            data={
                **played.to_json(),
                "dominance": [verdict.to_json() for verdict in verdicts],
                "advice": advice.to_json(),
            },
            page=lambda when: compare_page(played, advice, verdicts, subtitle=when),
            lines=lambda: standings(played, advice, verdicts),
        )

    name, files = f"compare-{file.name}", (RESULTS, REPORT)
    return carry_out(args, name, files, run, stopped="no table was written")


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


def _advice(args: Namespace, played: "TournamentResult") -> "Advice":
    """What to choose; of a recording also what that would have saved, and whether to trust it."""
    from penstock.experiment.compare import advise
    from penstock.experiment.compare.advice import beside_recording

    advice = advise(played)
    if args.recorded is None:
        return advice
    from penstock.experiment.fit import decisive, judgement, predict

    if not args.workload:
        advice = beside_recording(advice, played, args.run.ticks)
    judged = decisive(args.run, predict(args.run, args.fit.estimates))
    return replace(advice, why=(*advice.why, judgement(judged)))


def _play(args: Namespace, file: "PipelineFile", on: str, path: Path) -> "TournamentResult":
    from penstock.cli.doctor import usable_cores
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


# A tournament in a terminal: tables, verdicts, and what to choose.


def standings(
    played: "TournamentResult", advice: "Advice", verdicts: "Sequence[Verdict]"
) -> Iterator[str]:
    """Every line; the choice comes last, where it is seen."""
    from penstock.experiment.compare.tables import tables

    console = wide_console()
    yield _headline(played)
    yield "  * least of a column, = no significant difference; \u00b1 95 % interval over seeds"
    yield from all_tables(tables(played), console)
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
