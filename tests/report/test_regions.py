"""The page shows nodes, what found no room, who did not answer, and what was asked and refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.core.signals import RegionReading, Request, Tick
from penstock.record import RunFolder, summarise
from penstock.report.decisions import requests, rows
from penstock.report.figures import stretches
from penstock.report.page import write_report
from penstock.report.words import silences
from tests.support.reports import REGIONS, Page, a_run, demo, read, settings, with_regions


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return read(shown(tmp_path_factory.mktemp("regions"), with_regions()))


def shown(path: Path, ticks: list[Tick]) -> Path:
    made = settings()
    with RunFolder.create(path / "run", made) as folder:
        for one in ticks:
            folder.write(one)
        folder.finish(summarise(ticks, 2.0, source="splitter", graph=made.graph))
    return path / "run"


def drawn(page: Page, style: str) -> int:
    return sum(attributes.get("class") == style for _, attributes in page.tags)


def silent(*steps: int, length: int = 10, words: str | None = None) -> list[Tick]:
    """A run in which dc1 does not answer in some steps, counted from 0; each takes 2 s."""
    return [
        replace(
            tick,
            seen=replace(
                tick.seen,
                regions={
                    "dc1": RegionReading(trouble=words) if n in steps else RegionReading(nodes=1)
                },
            ),
        )
        for n, tick in enumerate(demo(length))
    ]


def test_a_run_without_regions_shows_none(tmp_path: Path) -> None:
    plain = read(a_run(tmp_path / "run", demo(5)))
    assert "Nodes" not in plain.text("h2", "dt", "p")
    assert "Requests" not in plain.text("h2")


def test_every_region_has_a_plot_of_its_nodes(page: Page) -> None:
    assert "Nodes" in page.text("h2")
    for name in (*REGIONS, "Utilisation by region"):
        assert name in page.titles
    for word in ("wanted", "running", "idle", "no answer"):
        assert word in page.legends


def test_steps_that_lacked_room_are_marked_and_the_mark_is_explained(page: Page) -> None:
    assert page.marks("unmet") == 5  # steps 7, 48, 89, 130 and 171
    assert "replicas that found no node with room" in page.text("p")


def test_a_run_that_lacked_nothing_explains_no_such_mark(tmp_path: Path) -> None:
    other = read(shown(tmp_path, silent()))
    assert "found no node" not in other.text("p")


def test_tiles_and_the_paragraph_tell_of_nodes_and_requests(page: Page) -> None:
    assert "Nodes, mean" in page.text("dt")
    assert "5 replicas found no room (dc3)" in page.text("p")
    assert "7 of " in page.text("p")


def test_decisions_about_nodes_are_no_holds(page: Page) -> None:
    found = rows(with_regions(3, silent=range(0)))
    assert found[0].what[:2] == ("dc1 1 \u2192 2 nodes", "dc2 1 \u2192 2 nodes")
    assert found[0].kind == "out"
    assert "dc1 1 \u2192 2 nodes" in page.text("span")


def test_a_silence_is_reported_from_when_until_when_and_why(page: Page) -> None:
    words = "dc2 did not answer from 2:00 to 2:40 (its manager is unreachable)."
    assert words in page.text("p")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((), []),
        ((0,), ["dc1 did not answer from 0:00 to 0:02."]),
        ((8, 9), ["dc1 did not answer from 0:16 on."]),
        ((1, 2, 5), ["dc1 did not answer from 0:02 to 0:06 and from 0:10 to 0:12."]),
        (tuple(range(10)), ["dc1 did not answer in any step."]),
        (
            (0, 2, 4, 6, 8),
            [
                "dc1 did not answer from 0:00 to 0:02, from 0:04 to 0:06, from 0:08 to 0:10 "
                "and 2 more times."
            ],
        ),
    ],
)
def test_silences_are_reported_whenever_they_come(
    steps: tuple[int, ...], message: list[str]
) -> None:
    assert list(silences(silent(*steps))) == message


def test_neighbours_are_one_stretch() -> None:
    ticks = demo(6)
    inside = [True, True, False, True, False, True]
    assert stretches(ticks, inside) == ((0.0, 4.0), (6.0, 8.0), (10.0, 12.0))


# Requests


def asking(count: int) -> list[Tick]:
    """A request a step, every fourth refused."""
    return [
        replace(
            tick,
            decided=replace(
                tick.decided,
                requests=(
                    Request(
                        level="infrastructure",
                        manager="dc1",
                        change=1,
                        why=f"reason {n}",
                        granted=bool(n % 4),
                        answer="a <budget> & more",
                    ),
                ),
            ),
        )
        for n, tick in enumerate(demo(count))
    ]


def test_requests_are_listed_with_their_answers(page: Page) -> None:
    assert "Requests" in page.text("h2")
    assert "counter +1 replica" in page.text("td")
    assert "refused: splitter in the same region asked for more too" in page.text("td")
    assert drawn(page, "refused") == 7  # of every 29 steps one


def test_only_the_newest_requests_are_listed_and_all_are_counted() -> None:
    section = requests(asking(20), most=5)
    assert section["opening"] == "20 in all, 5 of them refused. The last 5:"
    assert [row["why"] for row in section["rows"]] == [f"reason {n}" for n in range(15, 20)]


def test_a_few_requests_are_all_listed() -> None:
    assert requests(asking(3))["opening"] == "3 in all, 1 of them refused."
    assert requests(demo(3))["rows"] == []


def test_an_answer_cannot_break_the_page(tmp_path: Path) -> None:
    written = write_report(a_run(tmp_path / "run", asking(1))).read_text()
    assert "a &lt;budget&gt; &amp; more" in written
