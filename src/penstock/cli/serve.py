"""`penstock serve`: a run as a web page, while it goes on or after."""

import os
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock.cli.interrupt import Interrupted, Interrupts
from penstock.cli.options import Option, port
from penstock.cli.output import open_in_browser, print_json, print_line, say
from penstock.core.errors import SettingError

if TYPE_CHECKING:
    from penstock.dashboard import DashboardServer
    from penstock.record import RunFolder


HELP: Final = "serve a run as a live web page, with metrics for Prometheus"
EXAMPLES: Final = """\
examples:
  penstock serve runs/demo
  penstock serve runs/demo --port 0 --open
  penstock serve runs/demo --host 0.0.0.0       for other machines, with the token that it prints
  curl http://127.0.0.1:8321/metrics            what Prometheus scrapes
  penstock serve --grafana > penstock.json      a dashboard for Grafana, to import there

No token is needed on 127.0.0.1, which only this machine can reach.
"""
PORT: Final = 8321


OPTIONS: Final = (
    Option("run", "RUN", "the folder of a run", nargs="?"),
    Option("--host", "H", "address (127.0.0.1)", default="127.0.0.1"),
    Option("--port", "P", f"port ({PORT}); 0 for any free port", port, default=PORT),
    Option(
        "--token",
        "T",
        "token that requests must carry; random if --host is not loopback, or taken from "
        "PENSTOCK_TOKEN",
        default=lambda: os.environ.get("PENSTOCK_TOKEN") or None,
    ),
    Option("--open", "", "open the page in the browser"),
    Option("--grafana", "", "print a Grafana dashboard and exit"),
)


def execute(args: Namespace) -> int:
    """Serve the page until somebody stops it."""
    if args.grafana:
        from penstock.dashboard.grafana import dashboard

        print_json(dashboard())
        return 0
    if args.run is None:
        raise SettingError("serve needs the folder of a run, such as penstock serve runs/demo")
    from penstock.dashboard import DashboardServer

    with Interrupts() as interrupts:
        try:
            with DashboardServer(Path(args.run), args.host, args.port, args.token) as server:
                _print_address(args, server)
                threading.Event().wait()
        except Interrupted:
            interrupts.hold()
    return 128 + (interrupts.signal or 0)


@contextmanager
def beside(args: Namespace, folder: "RunFolder") -> Iterator[None]:
    """The page of a run for as long as the run lasts, where `--dashboard` asks for one."""
    if getattr(args, "dashboard", None) is None:
        yield
        return
    from penstock.dashboard import DashboardServer

    server = DashboardServer(folder.path, port=args.dashboard, waits=True)
    try:
        server.start()
    except BaseException:
        folder.withdraw(keep_logs=False)  # nothing has run
        raise
    try:
        say(f"the run is at {server.address} while it lasts")
        yield
    finally:
        server.close()


def _print_address(args: Namespace, server: "DashboardServer") -> None:
    if args.json:
        print_json({"run": args.run, "address": server.address})
    else:
        print_line(f"serving {args.run} at {server.address}, Ctrl-C stops")
    if args.open:
        open_in_browser(server.address, "the address")
