"""What is said of the ppq paper's findings, from figures that were made up."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from penstock.experiment.interval import Interval
from penstock.experiment.results import Claim, Entry
from penstock.papers.ppq import published, runs
from penstock.papers.ppq.claims import claims
from penstock.papers.ppq.entries import milliseconds, rank_correlation
from penstock.papers.ppq.tables import (
    reasons_9,
    reasons_10,
    reasons_11,
    reasons_12,
    reasons_of_loads,
    reasons_of_summary,
    tables,
)


def entry(mean: float, **where: str) -> Entry:
    return Entry(where=where, ours=Interval(mean, None, 1), paper=None, tolerance=0.1)


def rows(quantity: str, values: dict[str, float], source: str = "generated") -> list[Entry]:
    """Of Tab. 4."""
    return [
        entry(mean, table="4", workload=stream, source=source, quantity=quantity)
        for stream, mean in values.items()
    ]


def said(entries: Iterable[Entry], words: str) -> Claim:
    [found] = [claim for claim in claims(list(entries)) if words in claim.text]
    return found


def test_nothing_is_claimed_of_what_was_not_played() -> None:
    assert claims([]) == ()


@pytest.mark.parametrize(("late", "holds"), [(0.031, True), (0.032, False)])
def test_every_stream_has_to_be_on_time(late: float, holds: bool) -> None:
    claim = said(rows("delta", {"rw": 0.002, "map-4k": late}), "Throughput")
    assert claim.holds == holds
    assert "map-4k" in claim.found


@pytest.mark.parametrize(
    ("other", "holds"), [(0.90, True), (0.98, True), (1.02, False), (0.6, False)]
)
def test_loads_are_averaged_over_streams(other: float, holds: bool) -> None:
    after = rows("load", {"rw": 0.9}) + rows("load", {"rw": other}, "published")
    whole = rows("load_of_all", {"rw": 2.0})
    claim = said(after + whole, "load of the pane stage is within")
    assert claim.holds == holds
    assert "2.000 over whole runs" in claim.found
    assert ("published" in claim.found) == (other != 0.9)


def test_the_order_of_streams_is_the_papers_or_is_not() -> None:
    paper = {name: row.plq + row.wlq for name, row in published.ROWS["skyline"].items()}
    none = dict.fromkeys(paper, 0.0)
    same = rows("plq", none) + rows("wlq", paper)
    assert said(same, "the paper's order").holds
    other = rows("plq", none) + rows("wlq", {name: -total for name, total in paper.items()})
    assert not said(other, "the paper's order").holds
    assert rank_correlation([3.0, 1.0, 2.0], [30.0, 10.0, 20.0]) == 1.0


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ((0.8, 0.9, 1.3, 1.8), True),
        ((1.0, 1.3, 1.29, 1.4), True),
        ((1.0, 1.3, 1.2, 1.4), False),
        ((1.16, 1.16, 1.17, 1.2), False),
    ],
)
def test_variation_has_to_grow_plainly_and_never_to_fall(
    values: tuple[float, ...], holds: bool
) -> None:
    streams = ("map-1k", "map-2k", "map-3k", "map-4k")
    found = rows("cv", dict(zip(streams, values, strict=True)))
    assert said(found, "index of dispersion").holds == holds
    assert not any("index" in claim.text for claim in claims(found[:3]))


@pytest.mark.parametrize(("workers", "holds"), [(4.9, True), (5.1, False)])
def test_workers_of_a_phase_are_within_one_of_the_papers(workers: float, holds: bool) -> None:
    phases = {**published.WORKERS_OF_PHASES, "50K": workers}
    found = [entry(w, table="9", phase=p, quantity="plq") for p, w in phases.items()]
    assert said(found, "Fig. 9").holds == holds


@pytest.mark.parametrize(
    ("alone", "both", "few", "holds"),
    [
        (1.8, 0.85, 7.0, True),
        (1.2, 0.85, 7.0, False),
        (1.8, 1.1, 7.0, False),
        (1.8, 0.8, 60, False),
    ],
)
def test_two_levels_do_what_elasticity_alone_cannot(
    alone: float, both: float, few: float, holds: bool
) -> None:
    found = [
        entry(value, table="10", workload="map-1k", levels=levels, quantity=quantity)
        for levels, quantity, value in (
            ("elasticity only", "load", alone),
            ("elasticity only", "settled", 60.0),
            ("two levels", "load", both),
            ("two levels", "settled", few),
        )
    ]
    assert said(found, "Fig. 10, map-1k").holds == holds


def split(workers: int, way: str, **values: float) -> list[Entry]:
    place = {"table": "11", "workers": str(workers), "split": way}
    return [entry(value, **place, quantity=quantity) for quantity, value in values.items()]


@pytest.mark.parametrize(("work", "holds"), [(6.0, True), (5.3, False), (6.9, False)])
def test_seven_workers_are_enough_and_six_are_not(work: float, holds: bool) -> None:
    found = [e for n in runs.WORKERS for e in split(n, "even", load=work / n)]
    assert said(found, "7 workers").holds == holds


@pytest.mark.parametrize(
    ("parts", "kept", "holds"), [(5.2, 0.45, True), (8.0, 0.45, False), (5.2, 0.53, False)]
)
def test_the_pid_splits_less_and_keeps_less(parts: float, kept: float, holds: bool) -> None:
    found = split(8, "pid", splitting=parts, kept=kept) + split(8, "even", kept=0.53)
    assert said(found, "no further than it takes").holds == holds


@pytest.mark.parametrize(("share", "holds"), [(0.285, True), (0.3, False)])
def test_shares_that_go_on_are_those_of_theory(share: float, holds: bool) -> None:
    kept = {**published.KEPT, 1: share}
    found = [e for parts, value in kept.items() for e in split(parts, "even", kept=value)]
    assert said(found, "as theory says").holds == holds


@pytest.mark.parametrize(("less", "holds"), [(0.3, True), (0.29, False)])
def test_merges_have_to_spare_30_percent_of_the_idle_time(less: float, holds: bool) -> None:
    found = [entry(less, table="12", tasks="both", quantity="less idle")]
    found += [entry(0.5, table="12", tasks="with merges", quantity="merges")]
    assert said(found, "Merges").holds == holds


@pytest.mark.parametrize(("seldom", "holds"), [(0.4, True), (0.1, False)])
def test_more_periods_have_to_help_in_every_interval(seldom: float, holds: bool) -> None:
    distance = {runs.SAMPLINGS[0]: 0.2, runs.SAMPLINGS[-1]: 0.3}
    found = [
        entry(
            seldom if (interval, sampling) == (5.0, runs.SAMPLINGS[-1]) else off,
            table="17",
            interval=f"{interval:g}s",
            sampling=milliseconds(sampling),
            quantity="distance",
        )
        for interval in runs.INTERVALS
        for sampling, off in distance.items()
    ]
    assert said(found, "Fig. 17, left").holds == holds


@pytest.mark.parametrize(("slope", "holds"), [(0.1, True), (0.0, False), (-0.05, False)])
def test_longer_intervals_have_to_vary_more(slope: float, holds: bool) -> None:
    found = [
        entry(
            1.0 + slope * interval,
            table="17",
            interval=f"{interval:g}s",
            sampling=milliseconds(sampling),
            quantity="cv",
        )
        for interval in runs.INTERVALS
        for sampling in runs.SAMPLINGS
    ]
    assert said(found, "Fig. 17, right").holds == holds


@pytest.mark.parametrize(
    ("most", "slowest", "holds"), [(40.0, 4.9, True), (20.0, 4.9, False), (40.0, 4.0, False)]
)
def test_load_from_outside_takes_workers_and_no_throughput(
    most: float, slowest: float, holds: bool
) -> None:
    found = []
    for place, slowdown in enumerate(runs.SLOWDOWNS):
        share = place / (len(runs.SLOWDOWNS) - 1)
        where = {"table": "18", "slowdown": f"{slowdown:g}"}
        found.append(entry(20.0 + share * (most - 20.0), **where, quantity="workers"))
        found.append(entry(4.95 + share * (slowest - 4.95), **where, quantity="results"))
    assert said(found, "Fig. 18").holds == holds


@pytest.mark.parametrize(
    ("many", "lazy", "holds"), [(14.0, 0.4, True), (4.0, 0.4, False), (14.0, 0.9, False)]
)
def test_a_stage_runs_away_if_it_has_more_workers_that_do_less(
    many: float, lazy: float, holds: bool
) -> None:
    found = [
        entry(value, table="margin", margin=margin, quantity=quantity)
        for margin, quantity, value in (
            ("0", "plq", many),
            ("0", "busy", lazy),
            ("0.2", "plq", 3.3),
            ("0.2", "busy", 0.83),
        )
    ]
    assert said(found, "run away").holds == holds


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ({"table": "4", "workload": "game1", "quantity": "plq"}, "Pane workers of game1"),
        ({"table": "4", "workload": "map-1k", "quantity": "plq"}, "Pane workers: ours"),
        ({"table": "4", "workload": "rw", "quantity": "cv"}, "CV: the paper's"),
        ({"table": "4", "workload": "rw", "quantity": "delta"}, "Where a stream ends late"),
        ({"table": "4", "workload": "game1", "quantity": "load_of_all"}, "Game1, whole run"),
        ({"table": "5", "workload": "rw", "quantity": "wlq"}, "Other rows"),
        ({"table": "9", "quantity": "plq"}, "Half a worker more"),
        ({"table": "10", "quantity": "load"}, "Without splits the few panes"),
        ({"table": "11", "quantity": "splitting"}, "The PID's parts depend"),
        ({"table": "12", "quantity": "merges"}, "Merges: we have not found out"),
    ],
)
def test_a_figure_that_is_off_has_a_reason_and_one_that_is_not_has_none(
    place: dict[str, str], told: str
) -> None:
    off = replace(entry(2.0, **place), paper=1.0)
    assert told in reasons(off)
    assert told not in reasons(replace(off, tolerance=9.0))


def reasons(found: Entry) -> str:
    kinds = (reasons_9, reasons_10, reasons_11, reasons_12, reasons_of_loads)
    told = [sentence for kind in kinds for sentence in kind([found])]
    told += [s for query in runs.QUERIES for s in reasons_of_summary([found], query)]
    return " ".join(told)


def test_intervals_stand_in_the_unit_of_their_figure() -> None:
    where = {"table": "4", "workload": "rw", "source": "published", "quantity": "delta"}
    late = Entry(where=where, ours=Interval(0.0142, 0.0038, 3), paper=0.0139, tolerance=0.25)
    [table, *_] = tables([late])
    assert table.rows == (("rw, published", "", "", "", "1.42 ±0.38 (1.39)", ""),)
