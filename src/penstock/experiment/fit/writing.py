"""A fitted twin as a pipeline file, for `penstock simulate` and `penstock compare`."""

from pathlib import Path
from typing import Any

import yaml

from penstock.core.errors import FileError
from penstock.experiment.fit.arrivals import Recorded
from penstock.experiment.fit.fitting import Fit


def write(fitted: Fit, path: Path, *, run: Path) -> tuple[Path, ...]:
    """Write the twin of a run; returns the file, and the trace beside it where there is one.

    Rows that came evenly are a trace. Those that the twin is to draw at random stand in the file
    itself, as rates.
    """
    sections, workload = dict(fitted.file.resolved), fitted.file.workload
    trace = path.with_suffix(".trace")
    written = [path]
    if isinstance(workload, Recorded):
        sections["workload"] = {"kind": "trace", "path": trace.name}
        written.append(trace)
    try:
        path.write_text(_text(sections, run), encoding="utf-8")
        if isinstance(workload, Recorded):
            trace.write_text(workload.trace(), encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"cannot write {error.filename} ({error.strerror}); give --out another file"
        ) from None
    return tuple(written)


def _text(sections: dict[str, Any], run: Path) -> str:
    remark = (
        f"# Twin fitted by `penstock fit {run}`. It can be simulated and compared; to run the\n"
        "# pipeline on Spark, take the file of that run.\n"
    )
    return remark + yaml.safe_dump(sections, sort_keys=False, allow_unicode=True)
