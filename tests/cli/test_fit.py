"""`penstock fit` in a terminal, for machines, and as a file for other commands."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.experiment.fit import fit
from penstock.experiment.fit.predicting import play
from penstock.pipeline.file import load as load_file
from penstock.record import FORMAT, load
from tests.support.fit_recordings import BATCHES, pipeline, recorded

SHORT = ("duration: 240s", "duration: 60s")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    recorded(pipeline(BATCHES, SHORT), tmp_path / "run")
    return tmp_path / "run"


def test_tables_and_a_judgement(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "fitted to 30 steps" in shown
    assert "splitter -> counter" in shown
    assert "p95 latency" in shown
    assert shown.splitlines()[-1].startswith("The twin is")


def test_json_has_the_documented_shape(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(run), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert set(output) == {
        *("run", "against", "pipeline", "plant", "steps", "estimates", "predictions", "within"),
        *("good", "judgement", "notes", "written"),
    }
    assert set(output["estimates"][0]) == {"of", "setting", "value", "file", "samples", "how"}
    assert set(output["predictions"]) == {"policy", "decisions"}
    p95 = output["predictions"]["policy"]["latency_p95"]
    assert p95["error"] == pytest.approx(p95["predicted"] / p95["recorded"] - 1)
    assert isinstance(output["good"], bool)


def test_another_run_is_predicted_instead(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = pipeline(BATCHES, SHORT, ("name: threshold", "name: static, degrees: 2"))
    recorded(other, tmp_path / "other")
    assert main(["fit", str(run), "--against", str(tmp_path / "other"), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["against"] == str(tmp_path / "other")
    executors = output["predictions"]["policy"]["executors_mean"]
    assert executors["predicted"] == pytest.approx(executors["recorded"], rel=0.05)


class TestWritten:
    def test_the_file_plays_as_the_twin_did(self, run: Path, tmp_path: Path) -> None:
        assert main(["fit", str(run), "--out", str(tmp_path / "twin.yaml")]) == 0
        again = load_file(tmp_path / "twin.yaml")
        assert play(again, seed=1) == play(fit(load(run)).file, seed=1)

    def test_rows_that_came_evenly_stand_in_a_trace_beside_it(self, tmp_path: Path) -> None:
        (tmp_path / "rows").write_text("".join(f"{s} {100 + s}\n" for s in range(60)))
        daily = "kind: daily, low: 60/s, high: 300/s, period: 80s"
        even = (daily, f"kind: trace, path: {tmp_path / 'rows'}")
        run = recorded(pipeline(BATCHES, SHORT, even), tmp_path / "run")
        assert main(["fit", str(run.path), "--out", str(tmp_path / "twin.yaml")]) == 0
        again = load_file(tmp_path / "twin.yaml")
        assert again.resolved["workload"]["kind"] == "trace"
        assert play(again, seed=1) == play(fit(run).file, seed=1)

    def test_the_file_can_be_simulated(self, run: Path, tmp_path: Path) -> None:
        twin, out = str(tmp_path / "twin.yaml"), str(tmp_path / "sim")
        assert main(["fit", str(run), "--out", twin]) == 0
        assert main(["simulate", twin, "--quiet", "--out", out]) == 0
        assert load(Path(out)).incomplete is None

    @pytest.mark.parametrize(
        ("out", "why"), [("twin", "--out needs a file that ends in .yaml"), ("no/t.yaml", "cannot")]
    )
    def test_places_that_will_not_do(
        self, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str, why: str
    ) -> None:
        assert main(["fit", str(run), "--out", str(tmp_path / out)]) == 2
        assert why in capsys.readouterr().err


class TestMistakes:
    def test_not_a_run(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["fit", str(tmp_path)]) == 2
        assert "is not a run: it has no settings.json" in capsys.readouterr().err

    def test_a_newer_format(self, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
        settings = json.loads((run / "settings.json").read_text())
        settings |= {"format": FORMAT + 1, "penstock": "9.9"}
        (run / "settings.json").write_text(json.dumps(settings))
        assert main(["fit", str(run)]) == 2
        errors = capsys.readouterr().err
        assert f"it was written by penstock 9.9 in format {FORMAT + 1}" in errors
        assert "upgrade penstock" in errors

    def test_settings_cut_short(self, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = (run / "settings.json").read_text()
        (run / "settings.json").write_text(text[: len(text) // 2])
        assert main(["fit", str(run)]) == 2
        assert "settings.json is not JSON" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"step": 0}, "step 3 of the recording .* lasts 0 s"),
            ({"at": 1.0}, "ends at 1 s, after one that ends at 4 s; was it edited?"),
        ],
    )
    def test_steps_that_go_back_in_time(
        self, run: Path, capsys: pytest.CaptureFixture[str], change: dict[str, float], why: str
    ) -> None:
        lines = [json.loads(line) for line in (run / "ticks.jsonl").read_text().splitlines()]
        lines[2]["seen"] |= change
        (run / "ticks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert main(["fit", str(run)]) == 2
        assert re.search(why, capsys.readouterr().err)

    def test_a_run_to_predict_that_is_too_short(
        self, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        other = shutil.copytree(run, tmp_path / "other")
        (other / "ticks.jsonl").write_text("")
        assert main(["fit", str(run), "--against", str(other)]) == 2
        errors = capsys.readouterr().err
        assert f"the recording {other} has 0 steps, and a fit needs at least 10" in errors

    def test_a_run_to_predict_that_was_killed_is_reported(
        self, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        other = shutil.copytree(run, tmp_path / "other")
        (other / "summary.json").unlink()
        assert main(["fit", str(run), "--against", str(other), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["notes"] == [f"{other}: the run did not finish"]

    def test_too_short(self, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
        lines = (run / "ticks.jsonl").read_text().splitlines(keepends=True)
        (run / "ticks.jsonl").write_text("".join(lines[:4]))
        assert main(["fit", str(run), "--json"]) == 2
        captured = capsys.readouterr()
        assert "has 4 steps, and a fit needs at least 10" in json.loads(captured.out)["error"]


def test_it_imports_no_spark(run: Path) -> None:
    code = (
        "import sys\nfrom penstock.cli.main import main\n"
        f"assert main(['fit', {str(run)!r}, '--json']) == 0\n"
        "assert 'pyspark' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
