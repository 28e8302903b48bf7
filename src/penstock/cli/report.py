"""`penstock report`: a page about a run."""

from argparse import Namespace
from pathlib import Path
from typing import Final

from penstock.cli.options import Option
from penstock.cli.output import open_in_browser, print_json, print_line
from penstock.core.errors import FileError

HELP: Final = "write a self-contained HTML page from the folder of a run"
EXAMPLES: Final = """\
examples:
  penstock report runs/demo
  penstock report runs/demo --out demo.html --open
"""


OPTIONS: Final = (
    Option("run", "RUN", "the folder of a run"),
    Option("--out", "FILE", "path of the page (RUN/report.html)"),
    Option("--open", "", "open the page in the browser"),
)


def execute(args: Namespace) -> int:
    """Write the page and print its path."""
    page = _write(Path(args.run), args.out)
    if args.json:
        print_json({"report": str(page)})
    else:
        print_line(str(page))
    if args.open:
        open_in_browser(page.absolute().as_uri(), str(page))
    return 0


def _write(run: Path, out: str | None) -> Path:
    from penstock.record import load
    from penstock.report.page import page, write_report

    if out is None:
        return write_report(run)
    path, text = Path(out), page(load(run))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"cannot write {path} ({error.strerror}); give --out another file"
        ) from None
    return path
