"""Options that run and simulate share."""

from argparse import ArgumentParser, Namespace
from typing import Final

_SHORTCUTS: Final = ("policy", "workload", "duration", "step", "seed")
"""Options that stand for `--set` of the section of that name."""


def add_run_options(parser: ArgumentParser) -> None:
    """The pipeline, what to change about it, and where the record of the run goes."""
    parser.add_argument(
        "pipeline", metavar="PIPELINE", help="a built-in pipeline (wordcount) or a file (my.yaml)"
    )
    parser.add_argument("--policy", metavar="NAME", help="static, threshold, ...")
    parser.add_argument(
        "--workload", metavar="W", help="constant:300/s, daily:60/s..420/s, trace:FILE, ..."
    )
    parser.add_argument("--duration", metavar="D", help="how long, such as 5m")
    parser.add_argument("--step", metavar="D", help="time between two decisions, such as 2s")
    parser.add_argument("--seed", metavar="N", help="the same seed brings the same rows")
    add_set(parser)
    parser.add_argument("--dry-run", action="store_true", help="tell decisions, do not act")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder of the run (runs/PIPELINE-DATE-TIME); a run that finished there is replaced",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def add_set(parser: ArgumentParser) -> None:
    """`--set`, as often as you like."""
    parser.add_argument(
        "--set",
        metavar="K=V",
        action="append",
        default=[],
        help="change a setting of the file, such as modules.splitter.max_replicas=8",
    )


def overrides(args: Namespace) -> list[str]:
    """What the options change about the file, in the order in which it is applied.

    >>> overrides(Namespace(policy="static", step=None, set=["seed=2"], dry_run=True))
    ['policy=static', 'seed=2', 'guards+=dry-run']
    """
    given = {name: getattr(args, name, None) for name in _SHORTCUTS}
    shortcuts = [f"{name}={value}" for name, value in given.items() if value is not None]
    return [*shortcuts, *args.set, *(["guards+=dry-run"] if args.dry_run else [])]
