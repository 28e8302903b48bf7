"""Options that run and simulate share."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from typing import Any, Final

from penstock.pipeline.format.find import built_in
from penstock.policy import NODE_POLICIES, POLICIES

_WITH_REGIONS: Final = {"wordcount": "wordcount-regions"}
"""Built-in pipelines that there are with regions as well."""

_SHORTCUTS: Final = {
    "policy": ("NAME", f"{', '.join(sorted(POLICIES.built_in))}, or package.module:name"),
    "infrastructure": (
        "NAME",
        "policy for the nodes of regions: "
        f"{', '.join(sorted(NODE_POLICIES.built_in))}; with wordcount, "
        "wordcount-regions runs",
    ),
    "workload": ("W", "constant:300/s, daily:60/s..420/s, trace:FILE, package.module:name, ..."),
    "duration": ("D", "duration of the run, such as 5m"),
    "step": ("D", "control step: time between two decisions, such as 2s"),
    "seed": ("N", "seed of the random numbers; the same seed gives the same rows"),
}
"""Options that stand for `--set` of the section of that name, with their value and meaning."""

_SET: Final = {"infrastructure": "infrastructure.policy"}
"""What those options set whose section has another name."""


def something(text: str) -> str:
    """The value of an option, which an unset variable of a script may have left empty."""
    if not text.strip():
        raise ArgumentTypeError(f"needs a value, got {text!r}")
    return text


def port(text: str) -> int:
    """A port to listen on.

    >>> port("8080"), port("0")
    (8080, 0)
    """
    if not text.isdecimal() or int(text) > 65535:
        raise ArgumentTypeError(f"a port is a number from 0 to 65535, got {text!r}")
    return int(text)


def add_run_options(parser: ArgumentParser) -> None:
    """The pipeline, what to change about it, and where the record of the run goes."""
    parser.add_argument(
        "pipeline",
        metavar="PIPELINE",
        help=f"a built-in pipeline ({', '.join(built_in())}) or a file (my.yaml)",
    )
    for name, (value, meaning) in _SHORTCUTS.items():
        parser.add_argument(f"--{name}", metavar=value, type=something, help=meaning)
    add_set(parser)
    parser.add_argument("--dry-run", action="store_true", help="show decisions, change nothing")
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=something,
        help="folder of the run (runs/PIPELINE-DATE-TIME); a finished run there is replaced",
    )
    parser.add_argument(
        "--dashboard",
        metavar="PORT",
        nargs="?",
        type=port,
        const=0,
        help="serve a live web page during the run, on this port of 127.0.0.1 or any free one",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def add_options(parser: ArgumentParser, options: Mapping[str, Mapping[str, Any]]) -> None:
    """Options with a value each, by flag: what `add_argument` takes beside it."""
    for flag, given in options.items():
        parser.add_argument(flag, **{"type": something, **given})


def add_set(parser: ArgumentParser) -> None:
    """`--set`, as often as you like."""
    parser.add_argument(
        "--set",
        metavar="K=V",
        action="append",
        default=[],
        help="override a setting of the file, such as modules.splitter.max_replicas=8; repeatable",
    )


def pipeline(args: Namespace) -> str:
    """The pipeline that was asked for: the one with regions, where its nodes are decided about.

    >>> pipeline(Namespace(pipeline="wordcount", infrastructure="rl"))
    'wordcount-regions'
    >>> pipeline(Namespace(pipeline="wordcount", infrastructure=None))
    'wordcount'
    """
    given = str(args.pipeline)
    return given if args.infrastructure is None else _WITH_REGIONS.get(given, given)


def overrides(args: Namespace) -> list[str]:
    """What the options change about the file, in the order in which it is applied.

    >>> overrides(Namespace(policy="static", step=None, set=["seed=2"], dry_run=True))
    ['policy=static', 'seed=2', 'guards+=dry-run']
    """
    given = {_SET.get(name, name): getattr(args, name, None) for name in _SHORTCUTS}
    shortcuts = [f"{key}={value}" for key, value in given.items() if value is not None]
    return [*shortcuts, *args.set, *(["guards+=dry-run"] if args.dry_run else [])]
