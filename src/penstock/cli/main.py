"""From words to a command, and from whatever happens to an exit code.

Nothing heavy is imported before a command needs it: help must come at once.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Final, NoReturn

from penstock import __version__
from penstock.cli import (
    compare,
    doctor,
    fit,
    inspect,
    plan,
    report,
    reproduce,
    run,
    schema,
    serve,
    simulate,
    validate,
)
from penstock.cli.output import drop_stdout, print_json, say
from penstock.core.errors import PenstockError, UserError

_COMMANDS: Final = (
    *(run, simulate, compare, fit, plan, reproduce),
    *(validate, schema, doctor, report, serve, inspect),
)
_BROKEN_PIPE: Final = 128 + 13
_DESCRIPTION: Final = """\
Keep streaming pipelines on Apache Spark within their SLO at the lowest cost.
"""
_EPILOG: Final = """\
examples:
  penstock run wordcount                  an elastic run on an embedded Spark cluster
  penstock simulate wordcount             the same pipeline on the twin, in seconds
  penstock compare wordcount              which policy to choose, and what it saves
  penstock plan graph.yaml                how many replicas each module should have
  penstock fit runs/demo                  a twin fitted to a recording, and its accuracy
  penstock reproduce game                 a paper's tables, ours beside the published ones
  penstock validate my.yaml               every mistake in a pipeline file, with its line
  penstock schema                         a JSON Schema with which editors check pipeline files
  penstock doctor                         what is missing on this machine, and the remedy
  penstock serve runs/demo                a run as a live web page, with metrics for Prometheus
  penstock inspect runs/demo              what a policy learned in a run

exit codes: 0 done, 1 failure, 2 usage or configuration error, 130 Ctrl-C, 143 SIGTERM.
PENSTOCK_DEBUG=1 in the environment shows tracebacks.
"""


class _Parser(argparse.ArgumentParser):
    """Mistakes on the command line become errors like any other."""

    def error(self, message: str) -> NoReturn:
        """Refuse the words, with what is wrong and where to read on."""
        message = message.removeprefix("argument ").replace(": needs a value", " needs a value")
        flag, missing, _ = message.partition(": expected one argument")
        if missing:
            message = f"{flag} needs a value; one that begins with - is written as {flag}=VALUE"
        raise UserError(f"{message}; `{self.prog} --help` shows what there is")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Refuse words that mean nothing to the command."""
        options = re.findall(r"--[\w-]+", self.format_usage())
        close = get_close_matches(unknown[0].partition("=")[0], options, n=1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command; returns the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    here = _import_from_here()
    try:
        args, unknown = build_parser().parse_known_args(words)
        if unknown:
            args.parser.refuse(unknown)
        args.words = words
        code: int = args.execute(args)
    except BrokenPipeError:
        drop_stdout()
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        say("stopped")
        return 130
    except Exception as error:
        return _explain(error, as_json="--json" in words)
    finally:
        if here is not None:
            sys.path.remove(here)
    return code


def _import_from_here() -> str | None:
    """Let `module:name` mean a module in the working directory, after all that is installed.

    Returns what was added to the path, if anything.
    """
    with suppress(OSError):  # a folder that was removed
        here = os.getcwd()  # noqa: PTH109  # pathlib takes a while to load
        if here not in sys.path and "" not in sys.path:
            sys.path.append(here)
            return here
    return None


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(
        prog="penstock",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        added = commands.add_parser(
            command.__name__.rpartition(".")[2],
            help=command.HELP,
            description=command.HELP[0].upper() + command.HELP[1:] + ".",
            epilog=command.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for option in command.OPTIONS:
            option.add(added)
        added.add_argument("--json", action="store_true", help="print JSON")
        added.set_defaults(execute=command.execute, parser=added)
    return parser


def _explain(error: Exception, *, as_json: bool) -> int:
    """One sentence about an error, wherever people and machines look for it."""
    code, message = _sentence(error)
    if os.environ.get("PENSTOCK_DEBUG"):
        import traceback

        traceback.print_exception(error)
    say(message)
    if as_json:
        with suppress(BrokenPipeError, PenstockError):
            print_json({"error": message, **getattr(error, "details", {})})
    return code


def _sentence(error: Exception) -> tuple[int, str]:
    if isinstance(error, PenstockError):
        return error.exit_code, str(error)
    if isinstance(error, MemoryError):
        return 1, "there is not enough memory; lower max_replicas, keys, the rate or the duration"
    what = f"{type(error).__name__}{_first_line(error)}"
    return 1, f"something unexpected went wrong ({what}); set PENSTOCK_DEBUG=1 to see where"


def _first_line(error: Exception) -> str:
    """What an error says, if it can still speak: those of a JVM that has gone cannot."""
    with suppress(Exception):
        lines = str(error).strip().splitlines()
        return f": {lines[0]}" if lines else ""
    return ""
