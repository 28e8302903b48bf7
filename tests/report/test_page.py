"""The report says what happened, in one page that is safe to open and to pass on."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from math import pi, sin
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from penstock.core.errors import FileError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import Configuration, Decision, Latency, ModuleReading, Observation, Tick
from penstock.record import RunFolder, RunSettings, load, summarise
from penstock.record.acts import acts
from penstock.report.page import write_report

GRAPH = FlowGraph(
    source="splitter",
    modules=(
        Module(name="splitter", service_time=0.003, max_replicas=4),
        Module(name="counter", service_time=0.0015, max_replicas=6),
        Module(name="archive", service_time=0.001, max_replicas=2),
    ),
    streams=(
        Stream(origin="splitter", target="counter", selectivity=2, probability=0.75),
        Stream(origin="splitter", target="archive", selectivity=2, probability=0.25),
    ),
)


def settings(**other: object) -> RunSettings:
    given = {
        "pipeline": "wordcount",
        "plant": "spark",
        "started": datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        "graph": GRAPH,
        "command": ("penstock", "run", "wordcount"),
        "policy": "threshold",
        "seed": 1,
        "slo_latency_p95": 2.0,
        "file": {"pipeline": "wordcount", "step": "2s", "policy": {"name": "threshold"}},
        **other,
    }
    return RunSettings(**given)  # type: ignore[arg-type]  # as a test gives them


def demo(length: int, step: float = 2.0, seed: int = 1) -> list[Tick]:
    """A made-up run with a tide, noise, gaps, a late executor and a decision now and then."""
    random = np.random.default_rng(seed)
    degrees = {"splitter": 1, "counter": 1, "archive": 1}
    running, backlog, ticks = dict(degrees), 0.0, []
    for index in range(1, length + 1):
        tide = 700 + 600 * sin(2 * pi * index / max(40, length / 3))
        rate = max(0.0, tide + random.normal(0, 40))
        capacity = 330.0 * running["splitter"]
        done = min(rate + backlog / step, capacity)
        backlog = max(0.0, backlog + (rate - done) * step)
        busy = min(1.0, rate / capacity)
        wanted = {
            "splitter": min(4, max(1, round(rate / 250))),
            "counter": min(6, max(1, round(rate / 300))),
            "archive": 1,
        }
        delay = 0.4 + backlog / max(done, 1) + 0.3 * busy**4 + random.exponential(0.05)
        gap = index % 37 == 0
        quiet = index % 53 in (0, 1)
        seen = Observation(
            at=index * step,
            step=step,
            latency=None if quiet else Latency(p50=delay, p95=1.5 * delay, p99=2.1 * delay),
            modules={
                name: ModuleReading(
                    arrival_rate=None if gap else rate * share,
                    processed_rate=None if gap else done * share,
                    backlog=None if name == "archive" else backlog * share,
                    utilisation=None if gap else min(1.0, busy * (0.6 + 0.4 * share)),
                    batch_duration=None if quiet else delay * (0.5 + 0.2 * share),
                    failed_tasks=0,
                    wanted=degrees[name],
                    requested=degrees[name],
                    running=running[name],
                )
                for name, share in (("splitter", 1.0), ("counter", 1.5), ("archive", 0.5))
            },
        )
        acts = index % 6 == 0 and wanted != degrees
        running = dict(degrees)
        asked = Configuration(degrees=wanted) if acts else None
        degrees = wanted if acts else degrees
        why = "cooling down after the last change" if index % 6 < 3 else "busy enough"
        if acts:
            why = f"{rate:.0f} rows/s, busy {busy:.0%}, 0.75 is the threshold"
        decided = Decision(
            configuration=Configuration(degrees=degrees),
            why=why,
            proposed=Configuration(degrees=wanted) if not acts and wanted != degrees else None,
        )
        ticks.append(Tick(seen=seen, decided=decided, asked=asked))
    return ticks


def a_run(path: Path, ticks: list[Tick], **other: object) -> Path:
    made = settings(**other)
    with RunFolder.create(path, made) as folder:
        for tick in ticks:
            folder.write(tick)
        folder.finish(summarise(ticks, made.slo_latency_p95, source=made.graph.source))
    return path


class Page(HTMLParser):
    """A page, checked for balance while it is read."""

    VOID: Final = {"meta", "input", "br", "path", "rect"}

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def all(self, tag: str, style: str = "") -> list[dict[str, str]]:
        wanted = set(style.split())
        return [
            attrs
            for name, attrs in self.tags
            if name == tag and wanted <= set(attrs.get("class", "").split())
        ]

    def text(self, *tags: str) -> str:
        return " ".join(data for tag, data in self.texts if tag in tags)


def read(path: Path) -> Page:
    return Page(write_report(path).read_text(encoding="utf-8"))


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
    headings = shown.text("h3", "small")
    for title in ("Rate at splitter", "Backlog", "Latency", "Utilisation", "Batch duration"):
        assert title in headings
    for name in GRAPH.names():
        assert name in headings
    for unit in ("rows/s", "rows", "%", "executors"):
        assert unit in headings


def test_the_promise_and_its_breaches_are_drawn(tmp_path: Path, shown: Page) -> None:
    assert len(shown.all("path", "limit")) == 1
    assert shown.all("rect", "band")
    assert "SLO for p95: 2 s" in shown.text("li")
    without = read(a_run(tmp_path / "run", demo(40), slo_latency_p95=None))
    assert without.all("path", "limit") == []
    assert without.all("rect", "band") == []


def test_a_gap_is_a_gap(tmp_path: Path) -> None:
    page = read(a_run(tmp_path / "run", demo(60)))  # the 37th step has no rates
    arrival = page.all("path", "line")[0]["d"]
    assert arrival.count("M") == 2
    assert arrival.count("L") == 36 - 1 + 23 - 1


def test_what_was_never_measured_is_said_and_not_drawn_as_zero(tmp_path: Path) -> None:
    silent = [
        replace(tick, seen=replace(tick.seen, latency=None, modules={"splitter": ModuleReading()}))
        for tick in demo(5)
    ]
    page = read(a_run(tmp_path / "run", silent))
    assert page.text("p").count("not measured") == len(page.all("figure"))
    assert all(path["d"] == "" for path in page.all("path", "line"))
    assert "no latency was measured" in page.text("p")


def test_executors_are_drawn_in_steps_with_every_change_marked(shown: Page) -> None:
    assert len(shown.all("g", "fill")) == len(GRAPH.modules)
    marks = len(shown.all("b", "mark out")) + len(shown.all("b", "mark in"))
    assert marks == sum(len(act.degrees) for act in acts(demo(120)))


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


EVIL: Final = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&${title}$title"


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
    assert len(page.all("script")) == 2
    assert page.all("img") == []
    assert EVIL in page.text("td")
    assert f"{EVIL} on Spark" in page.text("h1")
    assert f"Rate at splitter{EVIL}" in page.text("h3")


def test_the_data_of_the_script_are_those_of_the_lines(shown: Page) -> None:
    data = json.loads(next(text for tag, text in shown.texts if tag == "script"))
    lines = [series for plot in data["plots"] for series in plot["series"]]
    assert len(lines) == len(shown.all("path", "line")) == len(shown.all("output"))
    assert all(len(line["t"]) == len(line["v"]) for line in lines)
    assert (data["from"], data["to"]) == (0, 240)
    assert None in lines[0]["v"]


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


def test_what_the_application_came_to_is_told(tmp_path: Path, shown: Page) -> None:
    assert "Results" not in shown.text("h2")
    ticks = demo(3)
    with RunFolder.create(tmp_path / "run", settings()) as folder:
        summary = summarise(ticks, None)
        folder.finish(replace(summary, results={"top_words": ["the", "<b>"], "rows": 7}))
    page = read(tmp_path / "run")
    assert "the, <b>" in page.text("dd")
    assert "top words" in page.text("dt")
