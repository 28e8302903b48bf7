"""`penstock compare --from RUN`: the pipeline and the load of a recorded run."""

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.output import say
from penstock.core.errors import SettingError

if TYPE_CHECKING:
    from penstock.experiment.compare import Advice, Outcome
    from penstock.pipeline.settings import PipelineFile


def file(args: Namespace) -> "PipelineFile":
    """The pipeline that was fitted to the run, for as long and from the seed that was asked for."""
    from penstock.experiment.fit import fit
    from penstock.record import load

    for name in ("step", "set"):
        if getattr(args, name):
            raise SettingError(
                f"--{name} changes a pipeline file; write the twin of the run as one with "
                f"`penstock fit {args.recorded} --out twin.yaml`, and compare that"
            )
    args.run = load(Path(args.recorded))
    args.fit = fit(args.run)
    for note in args.fit.notes:
        say(note)
    if args.fit.file.slo.latency_p95 is None:
        raise SettingError(
            f"the run {args.recorded} promised no latency, so nobody could break it; write its "
            f"twin with `penstock fit {args.recorded} --out twin.yaml`, and compare that with "
            "--set slo.latency_p95=10s or the like"
        )
    return _changed(args.fit.file, args)


def _changed(fitted: "PipelineFile", args: Namespace) -> "PipelineFile":
    from dataclasses import replace

    from penstock.core.units import format_duration, parse_duration

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
            "that were recorded, and nobody knows what rows would have come then; leave it out"
        )
    return replace(fitted, duration=lasts, seed=seed)


def advice(args: Namespace, played: "Outcome") -> "Advice":
    """What to choose, what it would have saved of the run, and whether to trust the twin."""
    from dataclasses import replace

    from penstock.experiment.compare import advise
    from penstock.experiment.compare.advice import beside_recording
    from penstock.experiment.fit import decisive, judgement, predict

    found = advise(played)
    if not args.workload:
        found = beside_recording(found, played, args.run.ticks)
    judged = decisive(args.run, predict(args.run, args.fit.estimates))
    return replace(found, why=(*found.why, judgement(judged)))
