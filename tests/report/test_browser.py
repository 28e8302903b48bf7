"""Pages in a real browser: every figure is drawn, with axes, legends and values, from one file."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from penstock.core.words import clock, duration, percent, quantity, short_number
from penstock.record import RunFolder, summarise
from penstock.report.figures import Point, scatter_data
from penstock.report.page import write_report
from penstock.report.pages import Section, experiment_page, resource
from tests.support.browser import checked_page, painted_pixels, real_browser
from tests.support.processes import PATIENCE
from tests.support.reports import a_run, demo, settings, with_regions

pytestmark = pytest.mark.browser
expect.set_options(timeout=1000 * PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with real_browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with checked_page(browser, 1280, lambda url: url.startswith(("file:", "about:"))) as page:
        yield page


def shown(page: Page, path: Path) -> None:
    page.goto(path.as_uri())
    expect(page.locator("html")).to_have_attribute("data-drawn", str(page.locator(".plot").count()))


def experiment(tmp_path: Path, *figures: dict[str, Any]) -> Path:
    path = tmp_path / "page.html"
    section = Section(title="Figures", figures=figures)
    path.write_text(
        experiment_page(
            title="T", subtitle="", lead="", findings=(), sections=(section,), remarks=()
        )
    )
    return path


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_a_report_is_drawn_from_its_file_alone(
    page: Page, tmp_path: Path, width: int, colours: Any
) -> None:
    page.emulate_media(color_scheme=colours)
    page.set_viewport_size({"width": width, "height": 900})
    shown(page, write_report(a_run(tmp_path / "run", with_regions())))
    assert min(painted_pixels(page)) > 400
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for figure in page.locator(".plot").all():
        assert figure.locator("h3 small").inner_text()  # the unit
        assert figure.locator(".y span").count() >= 2
        assert figure.locator(".x span").count() >= 2
        assert figure.locator("figcaption li").count() >= 1
    lies = page.locator(".graph.lying").is_visible()
    assert lies == (width > 640)


def test_pointing_reports_all_values_and_the_decision(page: Page, tmp_path: Path) -> None:
    shown(page, write_report(a_run(tmp_path / "run", demo(120))))
    expect(page.locator(".said")).to_contain_text("A mark is a decision")
    page.locator(".frame").first.hover(position={"x": 500, "y": 40})
    for output in page.locator(".plot output").all():
        expect(output).not_to_be_empty()
    expect(page.locator(".said")).to_contain_text("\u00b7")
    page.locator(".frame").first.focus()
    before = page.locator(".cross").first.evaluate("(cross) => cross.offsetLeft")
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    assert page.locator(".cross").first.evaluate("(cross) => cross.offsetLeft") < before
    page.keyboard.press("Escape")
    expect(page.locator(".cross").first).to_be_hidden()


def test_what_was_never_measured_is_said(page: Page, tmp_path: Path) -> None:
    silent = [replace(one, seen=replace(one.seen, latency=None)) for one in demo(10)]
    shown(page, write_report(a_run(tmp_path / "run", silent)))
    latency = page.locator(".plot", has_text="Latency, end to end")
    expect(latency.locator(".empty")).to_be_visible()
    expect(page.locator(".plot", has_text="Backlog").locator(".empty")).to_be_hidden()


def test_candlesticks_are_described_and_a_wild_forecast_does_not_flatten_them(
    page: Page, tmp_path: Path
) -> None:
    noon = 1_800_014_400.0
    rows = [[noon, 10.0, 13.0, 9.0, 12.0], [noon + 5, 12.0, 12.5, 8.0, 11.0]]
    ahead = {"bid": 10.0, "ask": 1e6}
    chart = {"symbol": "B", "results": 9, "bars": rows, "forecast": ahead}
    none = {"symbol": "C", "results": 0, "bars": []}
    results = {"candlesticks": {"length": 5.0, "symbols": [chart, none]}}
    with RunFolder.create(tmp_path / "run", settings()) as folder:
        folder.finish(replace(summarise([], None), results=results))
    shown(page, write_report(tmp_path / "run"))
    first, second = page.locator(".candles").all()
    labels = first.locator(".y span").all_inner_texts()
    assert (labels[0], labels[-1]) == ("8", "13")
    expect(first.locator("figcaption")).to_contain_text("bid 10.0")
    expect(first.locator("figcaption")).to_contain_text("ask 1,000,000.0, off the scale")
    first.locator(".frame").hover(position={"x": 40, "y": 40})
    message = "12:00:00 open 10.0, high 13.0, low 9.0, close 12.0"
    expect(first.locator("output.bar")).to_have_text(message)
    expect(second.locator(".empty")).to_have_text("no bars")


def test_names_of_points_do_not_cover_each_other(page: Page, tmp_path: Path) -> None:
    points = [Point(name=f"policy-{n}", style="c1", x=1000.0 + 40 * n, y=0.0) for n in range(6)]
    shown(page, experiment(tmp_path, scatter_data("V", points, x="core-seconds", y="%")))
    boxes = [span.bounding_box() for span in page.locator(".point span").all()]
    for index, one in enumerate(boxes):
        for other in boxes[:index]:
            assert one is not None
            assert other is not None
            apart = (
                one["x"] + one["width"] <= other["x"] + 1
                or other["x"] + other["width"] <= one["x"] + 1
                or one["y"] + one["height"] <= other["y"] + 1
                or other["y"] + other["height"] <= one["y"] + 1
            )
            assert apart


def test_an_interval_of_shares_does_not_lead_the_axis_above_all_of_it(
    page: Page, tmp_path: Path
) -> None:
    points = [Point(name="p", style="c1", x=10.0, y=0.9, y_half=0.6)]
    load = [Point(name="q", style="c1", x=10.0, y=1.3)]
    figures = (scatter_data(title, of, x="s", y="%") for title, of in (("V", points), ("L", load)))
    shown(page, experiment(tmp_path, *figures))
    tops = [plot.locator(".y span").last.inner_text() for plot in page.locator(".plot").all()]
    assert tops == ["100", "150"]


def test_axes_have_round_numbers_and_hold_their_values(page: Page) -> None:
    page.goto("about:blank")
    scripts = resource("words.js") + resource("scales.js")
    highest = [0.0, 1e-5, 0.43, 0.99, 7.0, 930.0, 1e4, 123456.0, 3.3e9]
    made = page.evaluate(
        f"""(all) => {{ {scripts}
            return all.flatMap((high) => ["s", "%", "rows", "executors", "J"].map((unit) => {{
                const axis = axisFor(unit, high);
                return [high, unit, axis.high, axis.labels.map(([value]) => value),
                        axis.labels.map(([, text]) => text)];
            }}));
        }}""",
        highest,
    )
    for high, unit, top, values, texts in made:
        assert values[0] == 0
        assert values[-1] == top >= high * (1 - 1e-9)
        assert 2 <= len(values) <= 9
        assert len(set(texts)) == len(texts)
        assert unit != "executors" or all(value == round(value) for value in values)


def test_a_log_axis_and_a_narrow_one_hold_both_ends(page: Page) -> None:
    page.goto("about:blank")
    scripts = resource("words.js") + resource("scales.js")
    pairs = [(0.3, 41.0), (1e-4, 1e5), (151.3, 158.9), (9.5, 9.5), (0.003, 0.0031)]
    made = page.evaluate(
        f"""(pairs) => {{ {scripts}
            return pairs.flatMap(([low, high]) => [wideAxis, narrowAxis].map((axis) => {{
                const made = axis(low, high);
                return [made.share(low), made.share(high), made.labels.map(([, text]) => text)];
            }}));
        }}""",
        pairs,
    )
    for low, high, texts in made:
        assert -1e-6 <= low <= high <= 1 + 1e-6
        assert len(set(texts)) == len(texts) >= 2


NUMBERS = [0, 0.25, 3.14159, 99.96, 999.4, 999.6, 1234, 9999.7, 15300, 999_700, 1234567, 2e9]
SHARES = [0, 1e-9, 0.0004, 0.00099, 0.034, 0.5, 0.754, 0.9989, 0.9997, 1 - 1e-9, 1, 1.5]


def test_the_scripts_write_values_as_python_does(page: Page) -> None:
    page.goto("about:blank")
    given = {"numbers": NUMBERS, "shares": SHARES}
    made = page.evaluate(
        f"""({{ numbers, shares }}) => {{ {resource("words.js")}
            return [numbers.map(number), numbers.slice(0, -1).map(duration), shares.map(percent),
                    numbers.map((value) => quantity(value, "J")), numbers.map((at) => clock(at))];
        }}""",
        given,
    )
    assert made == [
        [short_number(value) for value in NUMBERS],
        [duration(value) for value in NUMBERS[:-1]],
        [percent(share, "fine") for share in SHARES],
        [quantity(value, "J") for value in NUMBERS],
        [clock(value) for value in NUMBERS],
    ]
