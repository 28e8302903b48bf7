"""`penstock compare` from its words to its page."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli import main
from penstock.experiment.compare import MEASURES
from penstock.record import load
from tests.support.reports import Page

FAST = ("--seeds", "2", "--duration", "16s", "--jobs", "1", "--quiet")


KEYS = [
    *("format", "pipeline", "on", "step", "duration", "slo_latency_p95", "seeds", "guards"),
    *("price", "billing", "measures", "workloads", "overall", "dominance", "advice"),
    *("folder", "report"),
]


def compare(out: Path, *words: str) -> int:
    return main(["compare", "wordcount", *FAST, "--out", str(out), *words])


def test_from_words_to_a_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--policies", "threshold,static:degrees=2", "--workload", "constant:200/s")
    assert compare(tmp_path / "c", *words) == 0
    shown = capsys.readouterr().out
    assert "Cost: constant:200/s" in shown
    assert "threshold against the others" in shown
    for name in ("threshold", "static:degrees=2", "static-peak", "static-mean", "clairvoyant"):
        assert f"\n{name} " in shown
    assert "Choose " in shown
    assert f"page    {tmp_path / 'c' / 'compare.html'}" in shown


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compare") / "c"
    loads = ("--workload", "constant:200/s", "--workload", "random-walk:300/s")
    assert compare(out, "--policies", "threshold,mpc", *loads) == 0
    return out


class TestJson:
    def test_has_a_stable_shape(self, folder: Path) -> None:
        output = json.loads((folder / "compare.json").read_text())
        assert list(output) == KEYS
        assert (output["format"], output["on"], output["seeds"]) == (1, "twin", [1, 2])
        [first, second] = output["workloads"]
        assert (first["workload"], second["workload"]) == ("constant:200/s", "random-walk:300/s")
        row = first["rows"][0]
        assert sorted(row) == ["by_seed", "error", "kind", "policy", "scores", "settings"]
        assert list(row["scores"]) == list(row["by_seed"]) == list(MEASURES)
        assert sorted(row["scores"]["core_seconds"]) == ["high", "low", "mean", "runs"]
        assert len(row["by_seed"]["core_seconds"]) == 2
        assert [one["seed"] for one in first["clairvoyant"]] == [1, 2]
        assert set(first["timelines"]["policies"]) == {row["policy"] for row in output["overall"]}
        assert {one["workload"] for one in output["dominance"]} == {
            "constant:200/s",
            "random-walk:300/s",
            None,
        }
        assert sorted(output["advice"]) == ["choose", "saves", "why"]

    def test_the_page_has_plots_and_needs_nothing_else(self, folder: Path) -> None:
        page = (folder / "compare.html").read_text()
        figures = Page(page).figures
        scattered = [data["points"] for data in figures if "points" in data]
        assert [len(points) for points in scattered] == [5, 5, 5]  # two loads, and both
        assert len(figures) - len(scattered) == 10  # five policies on two loads
        assert "Choose " in page
        assert "http://" not in page
        assert "https://" not in page

    def test_is_printed_as_it_is_written(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert compare(tmp_path / "c", "--policies", "static", "--json") == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed == json.loads((tmp_path / "c" / "compare.json").read_text())
        assert printed["workloads"][0]["workload"] == "daily"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policies", "treshold"], "there is no policy 'treshold'; did you mean 'threshold'?"),
        (["--seeds", "0"], "seeds must be 1 or more, got 0"),
        (["--price", "-1"], "price must not be negative, got -1"),
        (["--price", "inf"], "price must be a finite number, got inf"),
        (["--price", "nan"], "price must be a finite number, got nan"),
        (["--billing", "5"], "needs a unit"),
        (["--workload", "step:0/s,9/s@1h"], "workload step:0/s,9/s@1h has no rows in the 16 s"),
        (["--workload", "constnt:3/s"], "there is no workload 'constnt'"),
        (["--on", "moon"], "--on must be twin or spark, got 'moon'"),
        (["--guards", "few"], "guards must be one of own, all, none, got 'few'"),
        (["--seed", "-1"], "seed of the pipeline must be 0 or more, got -1"),
        (["--duration", "1s"], "duration of the pipeline is 1 s, shorter than its step of 2 s"),
        (["--jobs", "0"], "jobs must be 1 or more, got 0"),
        (["--from", "runs/demo"], "give a pipeline, such as wordcount, or --from RUN"),
    ],
)
def test_a_mistake_is_reported_in_one_sentence_and_leaves_nothing(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(tmp_path / "c", *words) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert message in said[0]
    assert not (tmp_path / "c").exists()


def test_a_folder_with_something_else_in_it_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    assert compare(tmp_path, "--policies", "static") == 2
    assert "holds something else (thesis.tex)" in capsys.readouterr().err


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "run"
    load = "daily:100/s..500/s,period=30s"
    words = ["simulate", "wordcount", "--duration", "1m", "--workload", load, "--quiet"]
    assert main([*words, "--out", str(path)]) == 0
    return path


def test_a_recording_is_fitted_and_its_load_played(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--policies", "threshold,static:degrees=4", "--seeds", "2", "--jobs", "1", "--quiet"]
    assert main(["compare", "--from", str(recording), *words, "--out", str(tmp_path / "c")]) == 0
    output = json.loads((tmp_path / "c" / "compare.json").read_text())
    assert (output["duration"], output["workloads"][0]["workload"]) == (60.0, "recorded")
    run = load(recording)
    paid = [max(tick.seen.running or 0, tick.seen.requested or 0) for tick in run.ticks]
    *_, saved, trust = output["advice"]["why"]
    assert saved.startswith(f"The recorded run took {sum(paid) / len(paid):.3g} executors on avera")
    assert trust.startswith("The twin is ")
    assert trust in " ".join(capsys.readouterr().out.split())


def test_a_part_of_a_recording_is_compared_with_that_part(recording: Path, tmp_path: Path) -> None:
    words = ["--policies", "static", *FAST, "--out", str(tmp_path / "c")]
    assert main(["compare", "--from", str(recording), *words]) == 0
    why = json.loads((tmp_path / "c" / "compare.json").read_text())["advice"]["why"]
    part = [tick for tick in load(recording).ticks if tick.seen.at <= 16]
    paid = [max(tick.seen.running or 0, tick.seen.requested or 0) for tick in part]
    assert why[-2].startswith(f"The recorded run took {sum(paid) / len(paid):.3g} executors")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--duration", "10m"], "--duration 10m is longer than the 1 min that were recorded"),
        (["--duration", "1s"], "--duration 1s is shorter than a step of 2 s"),
        (["--set", "slo.latency_p95=1s"], "--out twin.yaml`, and compare that"),
        (["--on", "spark"], "--from RUN is played on the twin"),
        (["--seed", "-1"], "seed must be 0 or more, got -1"),
    ],
)
def test_what_cannot_be_asked_of_a_recording(
    words: list[str], message: str, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--from", str(recording), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_recording_that_promised_nothing_gets_a_remedy_that_works(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(recording, tmp_path / "run")
    settings = json.loads((run / "settings.json").read_text())
    settings["slo_latency_p95"] = None
    del settings["file"]["slo"]
    (run / "settings.json").write_text(json.dumps(settings))
    (run / "summary.json").unlink()  # as of a run that was killed
    assert main(["compare", "--from", str(run)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].endswith("the run did not finish")
    assert "promised no latency, so there is none to break; write its twin with" in said[1]
    assert f"`penstock fit {run} --out twin.yaml`" in said[1]
    twin = str(tmp_path / "twin.yaml")
    assert main(["fit", str(run), "--out", twin]) == 0
    words = ["--set", "slo.latency_p95=10s", "--policies", "static", *FAST]
    assert main(["compare", twin, *words, "--out", str(tmp_path / "c")]) == 0


def test_nothing_of_spark_is_needed(tmp_path: Path) -> None:
    words = ["compare", "wordcount", "--policies", "static", *FAST, "--out", str(tmp_path / "c")]
    code = f"import sys; from penstock.cli import main; main({words!r}); "
    code += "sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


def test_the_first_seed_can_be_chosen(tmp_path: Path) -> None:
    assert compare(tmp_path / "c", "--policies", "static", "--seed", "0") == 0
    assert json.loads((tmp_path / "c" / "compare.json").read_text())["seeds"] == [0, 1]


@pytest.mark.spark
@pytest.mark.slow
def test_on_spark_every_run_is_recorded_and_scored(tmp_path: Path) -> None:
    out = tmp_path / "c"
    words = ["--policies", "threshold", "--on", "spark", "--duration", "6s", "--quiet"]
    words += ["--workload", "constant:100/s", "--set", "cluster.workers=1"]
    assert main(["compare", "wordcount", *words, "--out", str(out)]) == 0
    output = json.loads((out / "compare.json").read_text())
    assert (output["on"], output["seeds"]) == ("spark", [1])
    for row in output["overall"]:
        assert row["error"] is None
        assert row["scores"]["core_seconds"]["mean"] > 0
    runs = sorted(path.name for path in (out / "runs").iterdir())
    assert [name.split("-", 1)[1] for name in runs] == [
        "threshold-seed-1",
        "static-peak-seed-1",
        "static-mean-seed-1",
        "clairvoyant-seed-1",
    ]
    assert all((out / "runs" / name / "report.html").is_file() for name in runs)
