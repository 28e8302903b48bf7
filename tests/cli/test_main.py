"""The command line in one process: what it prints, where, and with which exit code."""

import json
from pathlib import Path

import pytest

from penstock import __version__
from penstock.cli import main
from penstock.cli.doctor import check_disk, check_folder, check_machine
from penstock.pipeline.file import built_in
from penstock.policy import POLICIES
from penstock.record import load

SHORT = ["--duration", "10s", "--step", "2s"]


def simulate(out: Path, *words: str) -> int:
    return main(["simulate", "wordcount", *SHORT, "--out", str(out), *words])


class TestSimulate:
    def test_a_run_leaves_its_record_and_a_report(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert simulate(tmp_path / "run") == 0
        shown = capsys.readouterr().out
        assert f"report          {tmp_path / 'run' / 'report.html'}" in shown
        run = load(tmp_path / "run")
        assert (len(run.ticks), run.incomplete, run.settings.plant) == (5, None, "twin")
        assert run.settings.command[:3] == ("penstock", "simulate", "wordcount")
        assert run.settings.file["duration"] == "10.0s"

    def test_off_a_terminal_every_tick_is_a_plain_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        simulate(tmp_path / "run")
        lines = capsys.readouterr().out.splitlines()
        times = [line.split(" ")[0] for line in lines[1:6]]
        assert times == [f"{at}/10" for at in (2, 4, 6, 8, 10)]
        assert all("splitter holds" in line or "->" in line for line in lines[1:6])
        assert "\x1b" not in "".join(lines)

    def test_quiet_leaves_only_the_summary(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        simulate(tmp_path / "run", "--quiet")
        shown = capsys.readouterr().out.strip().splitlines()
        assert shown[0] == "wordcount on the twin: 10 s, 5 steps"

    def test_json_is_one_object_and_progress_goes_elsewhere(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert simulate(tmp_path / "run", "--json") == 0
        shown = capsys.readouterr()
        output = json.loads(shown.out)
        assert (output["folder"], output["steps"]) == (str(tmp_path / "run"), 5)
        assert Path(output["report"]).is_file()
        assert output["stopped_by"] is None
        assert output["rows_arrived"] > 0
        assert len(shown.err.splitlines()) == 6

    def test_the_same_seed_brings_the_same_run_and_another_seed_another(
        self, tmp_path: Path
    ) -> None:
        for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
            simulate(tmp_path / name, "--seed", seed, "--quiet")
        a, b, c = (load(tmp_path / name).ticks for name in "abc")
        assert a == b
        assert a != c

    def test_options_reach_the_run(self, tmp_path: Path) -> None:
        simulate(
            tmp_path / "run",
            *("--policy", "static", "--workload", "constant:50/s"),
            *("--set", "policy.degrees=3", "--set", "guards=[]"),
        )
        ticks = load(tmp_path / "run").ticks
        assert ticks[0].decided.configuration.degrees == {"splitter": 3, "counter": 3}
        rates = [tick.seen.modules["splitter"].arrival_rate for tick in ticks]
        assert sum(rate or 0 for rate in rates) / len(rates) == pytest.approx(50, rel=0.3)

    def test_a_dry_run_reports_and_does_not_act(self, tmp_path: Path) -> None:
        simulate(
            tmp_path / "run", *("--policy", "static", "--set", "policy.degrees=4", "--dry-run")
        )
        run = load(tmp_path / "run")
        assert all(tick.asked is None for tick in run.ticks)
        assert run.ticks[-1].decided.proposed is not None
        assert run.ticks[-1].decided.why.startswith("dry run: ")
        assert "dry-run" in list(run.settings.file["guards"])  # type: ignore[call-overload]

    def test_a_graph_file_is_simulated_and_not_run(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        graph = tmp_path / "graph.yaml"
        graph.write_text("source: {module: a, rate: 5/s}\nmodules: {a: {service_time: 10ms}}\n")
        out = str(tmp_path / "run")
        assert main(["simulate", str(graph), "--quiet", "--out", out]) == 0
        assert main(["run", str(graph), "--out", out]) == 2
        assert "is a graph file" in capsys.readouterr().err

    def test_a_finished_run_is_replaced(self, tmp_path: Path) -> None:
        assert simulate(tmp_path / "run", "--seed", "1", "--quiet") == 0
        assert simulate(tmp_path / "run", "--seed", "2", "--quiet") == 0
        assert load(tmp_path / "run").settings.seed == 2

    def test_two_runs_of_one_second_have_folders_of_their_own(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for _ in range(3):
            main(["simulate", "wordcount", "--duration", "2s", "--quiet"])
        assert len(list((tmp_path / "runs").iterdir())) == 3

    def test_what_cannot_start_leaves_nothing_behind(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        slots = "daily:1/s..2/s,slot=1ms"
        assert simulate(tmp_path / "run", "--workload", slots, "--duration", "1000h") == 2
        assert "give it a longer slot" in capsys.readouterr().err
        assert not (tmp_path / "run").exists()


class TestMistakes:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["simulate", "wordcount", "--step", "3"], "needs a unit, got 3; write 3s, 3ms or 3m"),
            (["simulate", "wordcount", "--policy", "x"], "there is no policy 'x'; there are"),
            (["simulate", "wordcount", "--set", "x"], "a setting is written as key=value"),
            (["simulate", "wordcont"], "there is no built-in pipeline 'wordcont'; did you mean"),
            (["simulate", "no.yaml"], "there is no file no.yaml"),
            (["run", "wordcount", "--seed", "x"], "seed of the pipeline must be a whole number"),
            (
                ["run", "wordcount", "--conf", "x=1"],
                "--conf x=1: conf of cluster takes settings",
            ),
            (["run", "wordcount", "--conf", "x"], "--conf is written as name=value, such as"),
            (["report", "nowhere"], "the run folder nowhere does not exist"),
            (["run"], "required: PIPELINE; `penstock run --help` shows what there is"),
            (
                ["simulate", "wordcount", "--durations", "3s"],
                "(did you mean --duration?); `penstock s",
            ),
            (
                ["simulate", "wordcount", "--duration", "-3s"],
                "is written as --duration=VALUE; `pens",
            ),
            (
                ["simulate", "wordcount", "--out", ""],
                "--out needs a value, got ''; `penstock simul",
            ),
            (["simulate", "wordcount", "--policy", " "], "--policy needs a value, got ' '"),
            (["simulate", "wordcount", "more"], "unrecognized arguments: more; `penstock simulate"),
            (["fly"], "invalid choice: 'fly'"),
            ([], "required: COMMAND; `penstock --help` shows what there is"),
        ],
    )
    def test_a_mistake_is_one_sentence_on_stderr_and_ends_with_2(
        self, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(words) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.startswith("penstock: ")
        assert message in shown.err
        assert len(shown.err.splitlines()) == 1

    def test_the_mistake_is_in_the_json_too(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["simulate", "wordcount", "--step", "3", "--json"]) == 2
        shown = capsys.readouterr()
        assert f"penstock: {json.loads(shown.out)['error']}\n" == shown.err

    def test_a_folder_of_something_else_is_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "thesis.tex").write_text("years of work")
        assert simulate(tmp_path) == 2
        assert "holds something that is not a run" in capsys.readouterr().err
        assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


class TestValidate:
    def test_a_file_without_mistakes_is_described(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["validate", "wordcount"]) == 0
        assert capsys.readouterr().out == (
            "wordcount: a pipeline file, fine for run and simulate\n"
        )

    def test_more_executors_than_a_cluster_of_its_own_has_room_for_are_noted(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        grown = ["validate", "wordcount", "--set", "modules.splitter.max_replicas=20"]
        note = (
            "fine for simulate and for run --master; on a cluster of its own run would refuse it: "
            "the modules may grow to 24 executors and the cluster has room for 16; "
            "raise workers, cores or memory of cluster, or lower max_replicas"
        )
        assert main(grown) == 0
        assert capsys.readouterr().out == f"wordcount: a pipeline file, {note}\n"
        assert main([*grown, "--json"]) == 0
        output = json.loads(capsys.readouterr().out)
        assert (output["ok"], output["files"][0]["notes"]) == (True, [note])

    def test_what_the_twin_refuses_of_keys_is_noted(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["validate", "trading"]) == 0
        assert capsys.readouterr().out == "trading: a pipeline file, fine for run and simulate\n"
        many = tmp_path / "many.yaml"
        many.write_text(
            "pipeline: trading\nsource: {module: algotrader, rate: 9/s}\n"
            "modules: {algotrader: {keys: 9, max_replicas: 2000}, consumer: {}}\n"
            "streams: [{from: algotrader, to: consumer}]\n"
        )
        assert main(["validate", str(many), "--set", "cluster.cores=1", "--json"]) == 0
        lack, untwinned = json.loads(capsys.readouterr().out)["files"][0]["notes"]
        assert lack.startswith("fine for run --master; on a cluster of its own run would refuse")
        assert untwinned.startswith("simulate would refuse it: max_replicas of module algotrader")

    def test_a_graph_file_may_grow_as_it_likes(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        graph = tmp_path / "graph.yaml"
        graph.write_text("source: {module: a, rate: 5/s}\nmodules: {a: {max_replicas: 1000}}\n")
        assert main(["validate", str(graph), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["files"][0]["notes"] == []

    def test_every_mistake_of_every_file_has_its_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bad = tmp_path / "bad.yaml"
        bad.write_text("source: {module: a, rate: 2}\nmodules:\n  a: {trigger: 1}\nstep: 1\n")
        none = tmp_path / "none.yaml"
        assert main(["validate", str(bad), "wordcount", str(none)]) == 2
        shown = capsys.readouterr()
        lines = shown.out.splitlines()
        assert [line.split(":")[0] for line in lines[:3]] == [f"{bad}, line {n}" for n in (1, 3, 4)]
        assert lines[3].startswith("wordcount: a pipeline file")
        assert lines[4].startswith(f"there is no file {none}")
        assert shown.err == "penstock: 4 mistakes in 2 of 3 files\n"

    def test_machines_get_lines_as_numbers(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bad = tmp_path / "bad.yaml"
        bad.write_text("source: {module: a, rate: 2/s}\nmodules: {a: }\nstep: 1\n")
        assert main(["validate", str(bad), "--json"]) == 2
        output = json.loads(capsys.readouterr().out)
        assert output["ok"] is False
        assert output["files"][0]["sort"] == "graph"
        assert output["files"][0]["mistakes"][0]["line"] == 3


class TestReport:
    def test_a_page_is_written_where_it_is_wanted(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        simulate(tmp_path / "run", "--quiet")
        capsys.readouterr()
        page = tmp_path / "page.html"
        assert main(["report", str(tmp_path / "run"), "--out", str(page)]) == 0
        assert capsys.readouterr().out == f"{page}\n"
        assert "wordcount" in page.read_text(encoding="utf-8")

    def test_without_a_place_it_goes_into_the_run(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        simulate(tmp_path / "run", "--quiet")
        (tmp_path / "run" / "report.html").unlink()
        capsys.readouterr()
        assert main(["report", str(tmp_path / "run"), "--json"]) == 0
        assert Path(json.loads(capsys.readouterr().out)["report"]).is_file()

    def test_a_place_that_cannot_be_written_is_named(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        simulate(tmp_path / "run", "--quiet")
        nowhere = str(tmp_path / "no" / "page.html")
        assert main(["report", str(tmp_path / "run"), "--out", nowhere]) == 2
        assert f"cannot write {nowhere}" in capsys.readouterr().err


class TestDoctor:
    def test_a_finding_that_fails_ends_with_2_and_has_a_remedy(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "file"
        file.touch()
        assert main(["doctor", "--out", str(file / "runs"), "--json"]) == 2
        output = json.loads(capsys.readouterr().out)
        failed = [finding for finding in output if finding["status"] == "fail"]
        assert "folder" in [finding["name"] for finding in failed]
        assert all(finding["remedy"] for finding in failed)

    def test_people_get_a_line_for_each(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["doctor", "--out", str(tmp_path)])
        names = [line.split()[1] for line in capsys.readouterr().out.splitlines()]
        assert names == [finding.name for finding in check_machine(str(tmp_path))]

    def test_looking_at_a_folder_does_not_make_it(self, tmp_path: Path) -> None:
        assert check_folder(tmp_path / "a" / "b").status == "ok"
        assert check_disk(tmp_path / "a" / "b").status in ("ok", "warn")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["run", "simulate", "validate", "doctor", "report"])
def test_every_command_explains_itself_with_examples(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"penstock {command}" in shown.partition("examples:")[2]
    assert "--json" in shown


@pytest.mark.parametrize("command", ["run", "simulate"])
def test_help_names_every_pipeline_and_policy(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")  # or names are broken at their hyphens
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert ", ".join(built_in()) in shown
    assert ", ".join(sorted(POLICIES)) in shown
    assert f"penstock {command} trading" in shown


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"penstock {__version__}\n"
