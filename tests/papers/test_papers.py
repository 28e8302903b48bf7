"""What every paper has in common: one runner, one shape of results, one command."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.cli import reproduce as command
from penstock.core.errors import FileError, SettingError
from penstock.experiment.results import Reproduction
from penstock.papers.framework import simulate
from tests.papers.commands import (
    LONG,
    WATCHED,
    arguments,
    check_interruption,
    check_mistake,
    check_page,
    start,
)
from tests.support.papers import paper, run
from tests.support.paths import PUBLISHED


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a quick run of a paper gives."""

    quick: dict[str, Any]
    words: list[str]
    """The same for the command."""
    tables: set[str]
    """Of the entries."""
    figures: tuple[str, ...]
    plots: int
    claims: int
    compared: int
    """Entries with a printed value beside them."""
    tasks: int
    printed: tuple[str, ...]
    """Words that stand in the terminal."""
    interrupted: tuple[list[str], int]
    """A long run, and how many tasks it has."""
    refused: tuple[tuple[list[str], str], ...]
    settings: dict[str, Any] = field(default_factory=dict)


PAPERS = {
    "game": Expected(
        quick={"seeds": 1, "steps": 2},
        words=["--seeds", "1", "--steps", "2"],
        tables={"IV", "V"},
        figures=("12", "13", "14", "15", "16", "17a", "17b"),
        plots=3 + 6 + 4 + 3 + 2 + 1,
        claims=7,
        compared=3 * (4 * 2 + 2 + 3),
        tasks=3,
        printed=("Tab. IV, trend", "Tab. V", "denoiser-2", "price of stability"),
        interrupted=(["--seeds", "40", "--workload", "cyclic", "--steps", "60"], 40),
        refused=(
            (["--jobs", "-1"], "jobs must be 1 or more, got -1"),
            (["--workload", "cycle"], "no workload 'cycle' in the paper; did you mean"),
            (["--data", "x"], "paper game takes no --data, got 'x'; leave it out"),
        ),
        settings={
            "seeds": 1,
            "seeds_of_social": 1,
            "steps": 2,
            "seconds_per_step": 300.0,
            "workloads": ["cyclic", "trend", "rwalk"],
            "rounding": "up",
            "smoothing": 0.3,
        },
    ),
    "mpc": Expected(
        quick={"seeds": 1, "steps": 2},
        words=["--seeds", "1", "--steps", "2"],
        tables={"5", "strategies", "5.3.2", "7"},
        figures=("11", "12", "13", "14a", "14b", "15", "16", "17"),
        plots=2 + 2 + 3,
        claims=16 + 3 + 2 + 3 + 1,
        compared=3 + 2 + 2 * 4,
        tasks=17 + 22,
        printed=("Tab. 5", "Tab. 6", "random walk", "Tab. 7", "spl"),
        interrupted=(["--seeds", "40", "--workload", "rwalk", "--steps", "20"], 680),
        refused=(
            (["--steps", "0"], "steps must be 1 or more, got 0"),
            (["--workload", "trend"], "there is no workload 'trend' in the paper"),
        ),
        settings={
            "seeds": 1,
            "steps": {"rwalk": 2, "day": 2},
            "seconds_per_step": 1.0,
            "workloads": ["rwalk", "day"],
            "data": "generated",
            "service_time": 0.00045,
            "scale": 0.00045,
        },
    ),
    "ppq": Expected(
        quick={"seeds": 1, "steps": 2, "workloads": ("steps", "ss-0.6", "game1")},
        words=[
            *("--seeds", "1", "--steps", "2", "--workload", "steps"),
            *("--workload", "ss-0.6", "--workload", "game1"),
        ],
        tables={"4", "5", "10", "15", "17", "18"},  # of Fig. 9 workers count from 10 s on
        figures=("9", "10a", "10b", "14", "15", "17", "18"),
        plots=4 + 2 + 2 + 3 + 1 + 3 + 3,
        claims=2 + 2 + 1 + 2 + 1,
        compared=0,
        tasks=2 + 2 + 1 + 2 + 24,
        printed=("Tab. 4", "Tab. 5", "Loads of both", "Fig. 10", "Fig. 17", "Fig. 18"),
        interrupted=(["--seeds", "40", "--workload", "rw", "--steps", "20"], 80),
        refused=(
            (["--steps", "0"], "steps must be 1 or more, got 0"),
            (["--workload", "gane1"], "no workload 'gane1' in the paper; did you mean 'game1'?"),
        ),
        settings={
            "seeds": 1,
            "steps": 2,
            "seconds_per_step": 2.5,
            "sampling": 0.25,
            "setpoint": 0.9,
            "margin": 0.2,
            "pool": 59,
            "workloads": ["steps", "ss-0.6", "game1"],
            "data": "generated",
        },
    ),
    "e2df": Expected(
        quick={"seeds": 1, "steps": 200},
        words=["--seeds", "1", "--steps", "200"],
        tables={"1", "2", "stretches"},
        figures=("4", "5", "6", "7"),
        plots=2 * 6 + 2 * 8 + 3 + 2,
        claims=1 + 2 + 5,
        compared=0,
        tasks=14,
        printed=("Tab. 1", "Tab. 2", "no free slot", "leaves open", "200 minutes"),
        interrupted=(["--seeds", "20", "--steps", "50000"], 280),
        refused=(
            (["--steps", "0"], "steps must be 1 or more, got 0"),
            (["--workload", "day"], "paper e2df takes no --workload, got 'day'; leave it out"),
            (["--data", "here"], "paper e2df takes no --data, got 'here'; leave it out"),
        ),
        settings={"seeds": 1, "steps": 200, "bound": 0.011, "seconds_per_step": 60.0},
    ),
    "alloc": Expected(
        quick={"seeds": 1},
        words=["--seeds", "1"],
        tables={"1", "2", "beyond", "3", "4"},
        figures=("7", "8"),
        plots=4,
        claims=16,
        compared=3 * 6 + 3 * 7 + 4 + 4,
        tasks=14,
        printed=("Tab. 1", "Tab. 2", "cutting-plane", "Tab. 3", "Tab. 4", "leaves open"),
        interrupted=(["--seeds", "1000"], 8 * 40 + 3 * (10 + 40)),
        refused=(
            (["--steps", "5"], "paper alloc takes no --steps, got 5; leave it out"),
            (["--workload", "day"], "paper alloc takes no --workload, got 'day'; leave it out"),
            (["--data", "here"], "paper alloc takes no --data, got 'here'; leave it out"),
        ),
        settings={"seeds": 1, "seeds_of_all_successors": 1, "depth": 7, "hops": 40},
    ),
}
each_paper = pytest.mark.parametrize("name", PAPERS)


@pytest.fixture(scope="module")
def quick() -> dict[str, Reproduction]:
    return {name: run(name, **expected.quick) for name, expected in PAPERS.items()}


@each_paper
def test_the_json_has_the_shape_that_others_script_against(
    quick: dict[str, Reproduction], name: str
) -> None:
    document, expected = (
        json.loads(json.dumps(quick[name].to_json(), allow_nan=False)),
        PAPERS[name],
    )
    assert list(document) == [
        *("paper", "title", "settings", "remarks"),
        *("claims", "tables", "notes", "figures"),
    ]
    assert expected.settings.items() <= document["settings"].items()
    assert tuple(document["figures"]) == expected.figures
    assert {entry["table"] for entry in document["tables"]} == expected.tables
    places = [
        {k: v for k, v in e.items() if k not in ("ours", "paper", "differs", "calibrated")}
        for e in document["tables"]
    ]
    assert len({json.dumps(place, sort_keys=True) for place in places}) == len(places)
    assert all(list(e["ours"]) == ["mean", "low", "high", "runs"] for e in document["tables"])
    assert all(isinstance(e["tolerance"], float) for e in document["tables"])
    assert all(isinstance(e["calibrated"], bool) for e in document["tables"])
    for claim in document["claims"]:
        assert set(claim) == {"claim", "kind", "limit", "calibrated", "found", "holds", "reason"}
        assert claim["limit"].startswith(claim["kind"])
        assert not (claim["holds"] and claim["reason"])
    assert {c["kind"] for c in document["claims"]} <= {"agrees", "at least", "at most", "order"}


@each_paper
def test_every_claim_and_every_printed_figure_is_answered(
    quick: dict[str, Reproduction], name: str
) -> None:
    done, expected = quick[name], PAPERS[name]
    assert len(done.claims) == expected.claims
    assert sum(entry.paper is not None for entry in done.entries) == expected.compared
    assert all(claim.found for claim in done.claims)
    assert "±" not in str(done.tables), "one seed says nothing about chance"


@each_paper
def test_tables_have_as_many_cells_in_each_row_as_names_above(
    quick: dict[str, Reproduction], name: str
) -> None:
    for table in quick[name].tables:
        assert {len(row) for row in table.rows} == {len(table.header)}
        assert "nan" not in " ".join(cell for row in table.rows for cell in row)


@each_paper
def test_lines_of_figures_have_a_value_for_every_place(
    quick: dict[str, Reproduction], name: str
) -> None:
    for figure in quick[name].figures:
        for chart in figure.charts:
            assert all(len(line.x) == len(line.y) > 0 for line in chart.lines), chart.title
            assert any(np.isfinite(line.y).any() for line in chart.lines), chart.title


@each_paper
def test_results_are_the_same_whatever_the_number_of_jobs(
    quick: dict[str, Reproduction], name: str
) -> None:
    assert run(name, **PAPERS[name].quick, jobs=2).to_json() == quick[name].to_json()


@each_paper
def test_progress_is_reported_from_none_to_all(name: str) -> None:
    progress: list[tuple[int, int]] = []
    one = paper(name)
    simulate(one, one.options(**PAPERS[name].quick), lambda *of: progress.append(of))
    assert progress == [(done, PAPERS[name].tasks) for done in range(PAPERS[name].tasks + 1)]


@each_paper
@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"jobs": -1}, {"steps": 0}, {"workloads": ("x",)}])
def test_options_that_cannot_be_are_refused(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=r"must be 1 or more, got|no workload 'x'|takes no --"):
        paper(name).options(**wrong)


@each_paper
def test_tables_go_to_stdout_and_a_page_and_the_data_to_the_folder(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, expected = tmp_path / "here", PAPERS[name]
    words = [name, *expected.words, "--jobs", "1", "--quiet", "--out", str(out)]
    assert command.execute(arguments(*words)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for text in (*expected.printed, "Found again?", str(out / "report.html")):
        assert text in captured.out
    assert not any(line != line.rstrip() or len(line) > 160 for line in captured.out.splitlines())
    check_page(out, figures=expected.figures, plots=expected.plots)


@each_paper
def test_json_is_one_object_and_needs_no_spark(name: str, tmp_path: Path) -> None:
    words = [name, *PAPERS[name].words, "--jobs", "1", "--quiet", "--json", "--out", "out"]
    process = start("-c", WATCHED, "reproduce", *words, cwd=tmp_path)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out) == json.loads((tmp_path / "out" / "results.json").read_text())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["aloc"], "there is no paper 'aloc' to reproduce; did you mean 'alloc'?"),
        *(
            ([name, *words], sentence)
            for name, expected in PAPERS.items()
            for words, sentence in expected.refused
        ),
    ],
)
def test_mistakes_are_reported_in_a_sentence_before_anything_is_written(
    words: list[str], sentence: str, tmp_path: Path
) -> None:
    check_mistake(words, sentence, tmp_path)


@each_paper
def test_a_signal_ends_the_workers_and_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    words, tasks = PAPERS[name].interrupted
    check_interruption([name, *words, "--jobs", "2"], f"{tasks} {command.PAPERS[name]}", tmp_path)


PUBLISHED_DATA = {
    "mpc": ("hft", "rwalk", "published", "random_walk_rates.txt"),
    "ppq": ("ppq", "rw", "generated and published", "arrivals_elastic.txt"),
}


@pytest.mark.parametrize("name", PUBLISHED_DATA)
def test_published_data_are_used_and_their_folder_is_not_written_down(name: str) -> None:
    folder, workload, used, _ = PUBLISHED_DATA[name]
    if not (PUBLISHED / folder).is_dir():
        pytest.skip("the data are not here")
    data = str(PUBLISHED / folder)
    document = run(name, seeds=1, steps=1, workloads=(workload,), data=data).to_json()
    assert document["settings"]["data"] == used
    assert data not in json.dumps(document)


@pytest.mark.parametrize("name", PUBLISHED_DATA)
def test_a_folder_without_data_is_refused(name: str, tmp_path: Path) -> None:
    _, workload, _, file = PUBLISHED_DATA[name]
    with pytest.raises(FileError, match=f"cannot read the trace .*{file}"):
        paper(name).options(workloads=(workload,), data=str(tmp_path / "no"))
