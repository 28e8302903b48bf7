"""How well a twin that was fitted on one run on Spark predicts another, under another load.

Two runs of three minutes each under the default policy: daily load from one seed, a random walk
from another. The twin that is fitted to the first predicts the p95 latency and the executors of the
second; to reach are 20 %. Beside it stand the twin of the file as it is, which is the baseline, and
how well the twin explains the run that it was fitted to. `--runs FOLDER` keeps the recordings, and
takes those that are there.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from penstock.experiment.fit import Estimate, Prediction, fit, predict
from penstock.policy import DEFAULT
from penstock.record import Run, load

FIRST = ("--policy", DEFAULT, "--seed", "1")
SECOND = (
    *("--policy", DEFAULT, "--seed", "7"),
    *("--workload", "random-walk:180/s,step=20/s,low=60/s,high=320/s,slot=5s"),
)
TO_REACH = 0.2
SHOWN = {"latency_p95": "p95 latency", "executors_mean": "executors"}


def main() -> None:
    """Record what is not recorded yet, fit, predict, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, help="folder of the recordings")
    given = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        runs = given or Path(folder)
        first, second = record(runs / "first", FIRST), record(runs / "second", SECOND)
        fitted = fit(first)
    for told in fitted.estimates:
        print(f"  {told.of:<20} {told.setting:<14} {told.value:.4g} ({told.samples} samples)")
    show("another run", second, fitted.estimates)
    show("the run itself", first, fitted.estimates)


def record(path: Path, options: tuple[str, ...]) -> Run:
    """A run of three minutes on Spark, unless it is there."""
    if not (path / "summary.json").exists():
        print(f"recording {path.name}: three minutes on Spark", flush=True)
        command = [sys.executable, "-m", "penstock", "run", "wordcount", "--duration", "3m"]
        words = [*command, *options, "--quiet", "--out", str(path)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return load(path)


def show(what: str, run: Run, estimates: tuple[Estimate, ...]) -> None:
    """Recorded and predicted, with the error of the fitted twin beside that of the unfitted."""
    ours, _ = predict(run, estimates)
    theirs, _ = predict(run, ())
    print(f"prediction of {what}")
    for name, shown in SHOWN.items():
        figure = next(one for one in ours.figures if one.name == name)
        print(
            f"  {shown:<12} recorded {figure.recorded:.2f}, predicted {figure.predicted:.2f}: "
            f"{error(ours, name)} (to reach: within {100 * TO_REACH:.0f} %; "
            f"unfitted {error(theirs, name)})"
        )


def error(prediction: Prediction, name: str) -> str:
    """An error in percent."""
    found = prediction.error(name)
    return "unknown" if found is None else f"{100 * found:+.0f} %"


if __name__ == "__main__":
    main()
