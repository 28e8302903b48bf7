"""The report says what happened, in one page that is safe to open and to pass on."""

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.core.errors import FileError
from penstock.core.graph import FlowGraph
from penstock.core.signals import Configuration, Decision, ModuleReading, Tick
from penstock.record import RunFolder, load, summarise
from penstock.record.acts import acts
from penstock.report.page import write_report
from tests.support.reports import EVIL, GRAPH, Page, a_run, demo, read, settings


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return read(a_run(tmp_path_factory.mktemp("demo") / "run", demo(120)))


def test_the_report_stands_beside_the_run(tmp_path: Path) -> None:
    path = write_report(a_run(tmp_path / "run", demo(3)))
    assert path == tmp_path / "run" / "report.html"
    assert load(tmp_path / "run").incomplete is None


@pytest.mark.parametrize("length", [0, 1, 2, 40])
def test_a_run_of_any_length_has_a_report(tmp_path: Path, length: int) -> None:
    page = read(a_run(tmp_path / "run", demo(length)))
    assert "wordcount on Spark" in page.text("h1")
    assert ("ended before its first control step" in page.text("p")) == (length == 0)
    assert len(page.all("figure")) == (0 if length == 0 else 3 + 3 + 2)


def test_an_hour_of_seconds_fits_a_small_page(tmp_path: Path) -> None:
    path = write_report(a_run(tmp_path / "run", demo(3600, step=1.0)))
    assert path.stat().st_size < 1_000_000
    Page(path.read_text(encoding="utf-8"))


def test_nothing_is_loaded_from_anywhere(shown: Page) -> None:
    for _, attrs in shown.tags:
        assert not {"src", "href", "srcset", "action", "data"} & attrs.keys()
    style = shown.text("style")
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in style + shown.text("script")
    [policy] = [m["content"] for m in shown.all("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'")


def test_every_quantity_has_a_plot_with_its_unit(shown: Page) -> None:
    headings = " ".join(shown.titles)
    units = {data["unit"] for data in shown.figures}
    for title in ("Rate at splitter", "Backlog", "Latency", "Utilisation", "Batch duration"):
        assert title in headings
    for name in GRAPH.names():
        assert name in headings
    assert units == {"rows/s", "rows", "s", "%", "executors"}


def test_the_promise_and_its_breaches_are_drawn(tmp_path: Path, shown: Page) -> None:
    [latency] = [data for data in shown.figures if data["limit"]]
    assert latency["limit"] == {"value": 2.0, "words": "SLO for p95: 2 s"}
    assert latency["bands"]
    without = read(a_run(tmp_path / "run", demo(40), slo_latency_p95=None))
    assert not any(data["limit"] or data["bands"] for data in without.figures)


def test_a_gap_is_a_gap(tmp_path: Path) -> None:
    page = read(a_run(tmp_path / "run", demo(60)))  # the 37th step has no rates
    arrival = page.figures[0]["series"][0]["y"]
    assert [index for index, value in enumerate(arrival) if value is None] == [36]


def test_what_was_never_measured_is_said_and_not_drawn_as_zero(tmp_path: Path) -> None:
    silent = [
        replace(tick, seen=replace(tick.seen, latency=None, modules={"splitter": ModuleReading()}))
        for tick in demo(5)
    ]
    page = read(a_run(tmp_path / "run", silent))
    values = {y for data in page.figures for line in data["series"] for y in line["y"]}
    assert values <= {None}
    assert "no latency was measured" in page.text("p")


def test_executors_are_drawn_in_steps_with_every_change_marked(shown: Page) -> None:
    filled = [line for data in shown.figures for line in data["series"] if "fill" in line["style"]]
    assert len(filled) == len(GRAPH.modules)
    assert all(line["stepped"] for line in filled)
    assert shown.marks("out") + shown.marks("in") == sum(
        len(act.degrees) for act in acts(demo(120))
    )


def test_every_change_has_a_row_that_says_why(shown: Page) -> None:
    made = [tick for tick in demo(120) if tick.asked]
    rows = [row for row in shown.all("tr") if "data-at" in row and row["class"] != "hold"]
    assert [float(row["data-at"]) for row in rows] == [tick.seen.at for tick in made]
    assert all(tick.decided.why in shown.text("td") for tick in made)
    assert "splitter 1 \u2192 4" in shown.text("span")


def test_holds_share_a_row_and_wait_to_be_asked_for(tmp_path: Path, shown: Page) -> None:
    assert "held for 5 steps" in shown.text("span")
    assert "checked" not in shown.all("input")[0]
    only_holds = [replace(tick, asked=None) for tick in demo(30)]
    page = read(a_run(tmp_path / "run", only_holds))
    assert len([row for row in page.all("tr") if "data-at" in row]) == 1
    assert "checked" in page.all("input")[0]


def test_a_run_of_nothing_but_changes_keeps_its_table_short(tmp_path: Path) -> None:
    restless = [
        replace(tick, asked=Configuration(degrees={"splitter": 1 + index % 2}))
        for index, tick in enumerate(demo(700))
    ]
    page = read(a_run(tmp_path / "run", restless))
    assert len([row for row in page.all("tr") if "data-at" in row]) == 600
    assert "more rows are in ticks.jsonl" in page.text("p")


def test_no_text_of_a_run_can_become_part_of_the_page(tmp_path: Path) -> None:
    names = {name: f"{name}{EVIL}" for name in GRAPH.names()}
    evil = FlowGraph(
        source=names["splitter"],
        modules=tuple(replace(module, name=names[module.name]) for module in GRAPH.modules),
        streams=tuple(
            replace(stream, origin=names[stream.origin], target=names[stream.target])
            for stream in GRAPH.streams
        ),
    )
    ticks = [
        Tick(
            seen=replace(
                tick.seen, modules={names[name]: m for name, m in tick.seen.modules.items()}
            ),
            decided=Decision(configuration=Configuration(degrees={}), why=EVIL),
            asked=Configuration(degrees={names["counter"]: 1 + index % 3}),
        )
        for index, tick in enumerate(demo(20))
    ]
    page = read(
        a_run(
            tmp_path / "run",
            ticks,
            graph=evil,
            pipeline=EVIL,
            policy=EVIL,
            command=(EVIL,),
            file={EVIL: EVIL},
        )
    )
    assert len(page.all("script")) == 1 + 1 + len(page.all("figure"))  # flow, figures, and ours
    assert page.all("img") == []
    assert EVIL in page.text("td")
    assert f"{EVIL} on Spark" in page.text("h1")
    assert f"Rate at splitter{EVIL}" in page.titles


def test_figures_share_the_time_of_the_run(shown: Page) -> None:
    lines = [line for data in shown.figures for line in data["series"]]
    assert all(len(line["x"]) == len(line["y"]) for line in lines)
    assert {(data["x"]["from"], data["x"]["to"]) for data in shown.figures} == {(0, 240)}
    assert {data["group"] for data in shown.figures} == {"run"}


def test_without_scripts_a_sentence_says_why_figures_are_missing(shown: Page) -> None:
    assert "noscript" in [tag for tag, _ in shown.tags]
    assert "Allow scripts to see them" in shown.text("p")


def test_a_run_that_did_not_finish_says_so(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", settings()) as folder:
        for tick in demo(10):
            folder.write(tick)
    page = read(tmp_path / "run")
    assert "This is not all of it: the run did not finish." in page.text("p")
    assert "Latency, p95" in page.text("dt")


def test_the_settings_close_the_page(shown: Page) -> None:
    assert "penstock run wordcount" in shown.text("dd")
    assert '"name": "threshold"' in shown.text("pre")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is not a run: it has no settings"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_the_application_came_to_is_reported(tmp_path: Path, shown: Page) -> None:
    assert "Results" not in shown.text("h2")
    ticks = demo(3)
    with RunFolder.create(tmp_path / "run", settings()) as folder:
        summary = summarise(ticks, None)
        folder.finish(replace(summary, results={"top_words": ["the", "<b>"], "rows": 7}))
    page = read(tmp_path / "run")
    assert "the, <b>" in page.text("dd")
    assert "top words" in page.text("dt")
