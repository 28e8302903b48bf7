"""What an option of a command is, and those that several commands share."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
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


class Option:
    """A word or an option of a command; a switch without a value."""

    def __init__(
        self,
        flag: str,
        value: str,
        meaning: str,
        kind: Callable[[str], Any] = something,
        **more: Any,
    ) -> None:
        usual = {"metavar": value, "type": kind} if value else {"action": "store_true"}
        self.flag = flag
        self.given = {**usual, "help": meaning, **more}

    def add(self, parser: ArgumentParser) -> None:
        """Add it to a parser; a default may be a function that is called now."""
        default = self.given.get("default")
        now = {"default": default()} if callable(default) else {}
        parser.add_argument(self.flag, **{**self.given, **now})


def repeatable(flag: str, value: str, meaning: str) -> Option:
    """An option that is given as often as you like."""
    return Option(flag, value, meaning, str, action="append", default=[])


SET: Final = repeatable(
    "--set",
    "K=V",
    "override a setting of the file, such as modules.splitter.max_replicas=8; repeatable",
)
JOBS: Final = Option("--jobs", "N", "number of processes (number of cores)", int)
QUIET: Final = Option("--quiet", "", "show no progress")
RUN_OPTIONS: Final = (
    Option(
        "pipeline",
        "PIPELINE",
        f"a built-in pipeline ({', '.join(built_in())}) or a file (my.yaml)",
        str,
    ),
    *(Option(f"--{name}", value, meaning) for name, (value, meaning) in _SHORTCUTS.items()),
    SET,
    Option("--dry-run", "", "show decisions, change nothing"),
    Option(
        "--out",
        "DIR",
        "folder of the run (runs/PIPELINE-DATE-TIME); a finished run there is replaced",
    ),
    Option(
        "--dashboard",
        "PORT",
        "serve a live web page during the run, on this port of 127.0.0.1 or any free one",
        port,
        nargs="?",
        const=0,
    ),
    QUIET,
)
"""The pipeline, what to change about it, and where the record of the run goes."""


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
