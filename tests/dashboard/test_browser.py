"""The page in a real browser: what people see, and nothing that leaves this machine."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from penstock.core.graph import FlowGraph, Module
from penstock.dashboard import DashboardServer
from penstock.record import RunFolder, summarise
from tests.support.browser import checked_page, painted_pixels, real_browser
from tests.support.dashboard_runs import (
    EVERYWHERE,
    GRAPH,
    HOSTILE,
    TOKEN,
    finished,
    settings,
    tick,
    ticks,
)
from tests.support.processes import PATIENCE

pytestmark = pytest.mark.browser
expect.set_options(timeout=1000 * PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with real_browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with checked_page(browser, 1200, _is_local) as page:
        yield page


def _is_local(url: str) -> bool:
    return not url.startswith("http") or url.startswith("http://127.0.0.1:")


def ticks_shown(page: Page, count: int) -> None:
    """Wait until so many ticks are drawn."""
    patience = 1000 * PATIENCE
    expect(page.locator("html")).to_have_attribute("data-ticks", str(count), timeout=patience)


def test_a_finished_run_is_shown_whole(page: Page, tmp_path: Path) -> None:
    with DashboardServer(finished(tmp_path / "run", ticks(120))) as server:
        page.goto(server.address)
        ticks_shown(page, 120)
        expect(page.locator("h1")).to_have_text("wordcount on the twin")
        expect(page.locator("#state")).to_have_text("finished")
        expect(page.locator("#link")).to_have_text("connected")
        expect(page.locator(".tile")).to_have_count(6)
        expect(page.locator("#tiles")).to_contain_text("Latency, p95")
        expect(page.locator(".graph.lying .name")).to_have_text(["splitter", "counter"])
        titles = page.locator("figure h3").all_inner_texts()
        for title in ("Rate at splitter", "Backlog", "Latency, end to end", "Cost", "Energy"):
            assert any(found.startswith(title) for found in titles), title
        assert len(painted_pixels(page)) == len(titles)
        assert min(painted_pixels(page)) > 500
        rows = page.locator(".decisions tbody tr")
        expect(rows.first).to_contain_text("1:52")
        before = rows.count()
        page.get_by_label("Fold decisions to hold").uncheck()
        expect(page.locator(".decisions tbody tr.hold").nth(3)).to_be_visible()
        assert rows.count() > before


def test_pointing_reports_values_and_a_decision_is_marked_on_the_plots(
    page: Page, tmp_path: Path
) -> None:
    with DashboardServer(finished(tmp_path / "run", ticks(120))) as server:
        page.goto(server.address)
        ticks_shown(page, 120)
        frame = page.locator(".frame").first
        frame.hover(position={"x": 300, "y": 40})
        expect(page.locator("figure").first.locator("output").first).not_to_be_empty()
        expect(page.locator("#flow-at")).to_contain_text("at 0:")
        expect(page.locator(".said")).to_contain_text("held for 9 steps")
        frame.focus()
        before = page.locator(".cross").first.evaluate("(cross) => cross.offsetLeft")
        for _ in range(10):
            page.keyboard.press("ArrowLeft")
        page.wait_for_function(
            "(before) => document.querySelector('.cross').offsetLeft < before", arg=before
        )
        page.keyboard.press("Escape")
        expect(page.locator(".cross").first).to_be_hidden()
        expect(page.locator(".pin").first).to_be_hidden()
        page.locator(".decisions tbody tr.out").first.hover()
        expect(page.locator(".pin").first).to_be_visible()


def test_ticks_appear_while_the_run_is_written_without_loading_again(
    page: Page, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    with DashboardServer(path, waits=True) as server:
        page.goto(server.address)
        expect(page.locator("#waiting")).to_be_visible()
        page.evaluate("window.same = true")
        with RunFolder.create(path, settings()) as folder:
            for one in ticks(30):
                folder.write(one)
            ticks_shown(page, 30)
            expect(page.locator("#state")).to_have_text("live")
            folder.write(tick(30, "one more reason"))
            ticks_shown(page, 31)
            expect(page.locator(".decisions tbody tr").first).to_contain_text("one more reason")
            folder.finish(summarise(ticks(31), 2.0, source="splitter", graph=GRAPH))
        expect(page.locator("#state")).to_have_text("finished")
        assert page.evaluate("window.same") is True


def test_the_page_goes_on_after_the_server_was_restarted(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunFolder.create(path, settings()) as folder:
        with DashboardServer(path) as server:
            folder.write(tick(0))
            page.goto(server.address)
            ticks_shown(page, 1)
            page.evaluate("window.same = true")
        expect(page.locator("#link")).to_have_text("server stopped")
        folder.write(tick(1))
        with DashboardServer(path, port=server.port):
            ticks_shown(page, 2)
            expect(page.locator("#link")).to_have_text("connected")
            folder.write(tick(2))
            ticks_shown(page, 3)
        assert page.evaluate("window.same") is True


def test_a_phone_sees_one_column_that_never_scrolls_sideways(page: Page, tmp_path: Path) -> None:
    long = "a" * 90 + " " + "because " * 40
    run = [*ticks(40), tick(40, long)]
    page.set_viewport_size({"width": 360, "height": 740})
    with DashboardServer(finished(tmp_path / "run", run, pipeline="w" * 60)) as server:
        page.goto(server.address)
        ticks_shown(page, 41)
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        expect(page.locator(".graph.standing")).to_be_visible()
        expect(page.locator(".graph.lying")).to_be_hidden()


def test_what_a_reason_says_is_text_and_nothing_else(page: Page, tmp_path: Path) -> None:
    names = {"pipeline": "<img src=x onerror=alert(1)>"}
    run = finished(tmp_path / "run", [tick(0, HOSTILE)], **names)
    with DashboardServer(run) as server:
        page.goto(server.address)
        ticks_shown(page, 1)
        expect(page.locator(".decisions tbody tr")).to_contain_text(HOSTILE)
        assert page.locator(".decisions b, h1 img").count() == 0
        assert page.title().startswith("<img src=x")


def test_a_visitor_from_elsewhere_needs_the_token_once(page: Page, tmp_path: Path) -> None:
    run = finished(tmp_path / "run", ticks(3))
    with DashboardServer(run, EVERYWHERE, token=TOKEN) as server:
        here = f"http://127.0.0.1:{server.port}/"
        refused = page.goto(here)
        assert refused is not None
        assert refused.status == 401
        expect(page.locator("body")).to_contain_text("a token is needed")
        page.goto(f"{here}?token={TOKEN}")
        ticks_shown(page, 3)
        assert page.url == here
        assert page.evaluate("document.cookie") == ""
        expect(page.locator("#link")).to_have_text("connected")
        page.goto(here)
        ticks_shown(page, 3)


def test_thousands_of_ticks_are_thinned_and_gaps_stay_gaps(page: Page, tmp_path: Path) -> None:
    with DashboardServer(finished(tmp_path / "run", ticks(3000))) as server:
        page.goto(server.address)
        ticks_shown(page, 3000)
        assert min(painted_pixels(page)) > 500
        page.get_by_label("show").select_option("the last minute")
        page.locator(".frame").first.hover(position={"x": 500, "y": 40})
        expect(page.locator("#flow-at")).to_contain_text("at 49:")


def test_an_application_that_was_attached_to_shows_its_queries(page: Page, tmp_path: Path) -> None:
    reading = tick(1).seen.modules["counter"]
    application = replace(reading, running=2, wanted=3, backlog=80.0)
    seen = replace(
        tick(1).seen,
        modules={"application": application},
        queries={"parse": reading, "store": replace(reading, backlog=79.0)},
    )
    graph = FlowGraph(source="application", modules=(Module(name="application"),))
    file = {"queries": [{"name": "parse", "feeds": ["store"]}, {"name": "store", "feeds": []}]}
    run = finished(tmp_path / "run", [replace(tick(1), seen=seen)], graph=graph, file=file)
    with DashboardServer(run) as server:
        page.goto(server.address)
        ticks_shown(page, 1)
        expect(page.locator(".graph.lying .name")).to_have_text(["parse", "store"])
        expect(page.locator(".graph.lying path.way")).to_have_count(1)
        expect(page.locator(".graph.lying text.rate")).to_contain_text("rows/s")
        expect(page.locator("#tiles")).to_contain_text("80")
        expect(page.locator("figure", has_text="Backlog").locator("li")).to_have_count(3)
