"""What the reproduction of the mpc paper is made of: workloads, operator and runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.core.errors import FileError, SettingError
from penstock.core.signals import ModuleReading, Observation
from penstock.papers.mpc.experiment import (
    COMPARED,
    KEYS_FILE,
    NAME,
    PEAK,
    QUEUE,
    QUOTES,
    VARIANTS,
    WALK_FILE,
    Case,
    Course,
    Tally,
    Triggers,
    Variant,
    at_splitter,
    efforts,
    enough,
    examine,
    first,
    play,
    quotes,
    score,
    shares,
    watts,
)
from penstock.twin.keys.state import ENTRY
from tests.support.papers import paper
from tests.support.paths import PUBLISHED

HFT = PUBLISHED / "hft"
needs_published = pytest.mark.skipif(not HFT.is_dir(), reason="the data are not here")
SEEDS = range(1, 21)


def test_walks_are_like_the_published_one() -> None:
    for seed in SEEDS:
        walk = quotes("rwalk", seed)
        assert walk[0] == 300e3
        assert 135e3 <= walk.min() < walk.max() <= 458e3
        assert walk.mean() == pytest.approx(297e3, rel=0.05)
        assert walk.std() == pytest.approx(73e3, rel=0.15)


@needs_published
def test_the_published_walk_would_have_been_drawn() -> None:
    walk = quotes("rwalk", 1, str(HFT))
    assert (len(walk), walk[0], walk.min(), walk.max()) == (180, 300e3, 135_494, 457_831)
    assert np.diff(walk).std() == pytest.approx(16.5e3, rel=0.01)
    assert np.array_equal(walk, quotes("rwalk", 2, str(HFT)))


@needs_published
def test_published_frequencies_are_read() -> None:
    found = shares(str(HFT))
    assert len(found) == len(shares()) == 2836
    assert max(found.values()) == pytest.approx(0.0287, abs=1e-4)
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-3)


def test_the_day_is_high_at_both_ends_and_more_variable_than_the_walk() -> None:
    days = np.array([quotes("day", seed) for seed in SEEDS])
    mean = days.mean(axis=0)
    assert mean[:10].mean() > 2.5 * mean[100:150].mean()
    assert mean[-5:].mean() > 2.0 * mean[100:150].mean()
    walks = np.array([quotes("rwalk", seed) for seed in SEEDS])
    assert spread(days) > 1.5 * spread(walks)


def spread(rates: np.ndarray) -> float:
    return float(np.abs(np.diff(np.log(rates), axis=1)).mean())


def test_seeds_differ_and_repeat() -> None:
    for workload in ("rwalk", "day"):
        assert np.array_equal(quotes(workload, 3), quotes(workload, 3))
        assert not np.array_equal(quotes(workload, 3), quotes(workload, 4))


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "cannot read the trace .*random_walk_rates.txt: No such file"),
        ({WALK_FILE: "0 5\n"}, "cannot read .*key_frequencies.txt: No such file"),
        ({WALK_FILE: "0 5\n", KEYS_FILE: "two\n"}, "it is no list of frequencies"),
        ({WALK_FILE: "0 5\n", KEYS_FILE: "2 1\n0 0.5\n"}, "announces 2 frequencies, and 1 follow"),
    ],
)
def test_data_that_cannot_be_used_are_refused(
    files: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match=sentence):
        paper("mpc").options(data=str(tmp_path))


def test_a_workload_that_there_is_not_is_refused() -> None:
    with pytest.raises(SettingError, match="no workload 'trend' in the paper"):
        quotes("trend", 1)


def test_one_quote_in_25_is_a_row() -> None:
    triggers = Triggers((100e3, 50e3))
    assert triggers.arrivals(np.array([1.0, 2.0, 9.0])).tolist() == [4000, 6000, 6000]


def test_replicas_are_as_many_as_in_section_5_2_2() -> None:
    assert (enough(300e3), enough(400e3), enough(9e9)) == (6, 8, 12)


def test_watts_fall_with_replicas_and_with_the_clock() -> None:
    assert watts(12, 2.0) == pytest.approx(68.25)
    assert watts(11, 2.0) < watts(12, 2.0)
    assert watts(12, 1.9) < watts(12, 2.0)


def test_runs_begin_where_the_strategy_would_be() -> None:
    assert first(PEAK, "rwalk", 300e3).replicas == 12
    for variant in (*VARIANTS, *COMPARED):
        start = first(variant, "rwalk", 300e3)
        assert 300e3 / QUOTES * 0.45e-3 * 2.0 / start.clock < start.replicas
        assert (start.clock < 2.0) == variant.strategy.endswith("-power")


def test_every_row_is_counted_in_the_second_of_its_arrival() -> None:
    case = Case(workload="day", seed=1, variant=COMPARED[3], seconds=6)
    by_control_steps, by_seconds = (
        play(c) for c in (case, replace(case, variant=Variant(strategy="static"), seconds=6))
    )
    assert len(by_control_steps.replicas) == 2
    assert np.array_equal(by_control_steps.came, by_seconds.came)
    assert by_seconds.came.sum() == pytest.approx(quotes("day", 1)[:6].sum() / QUOTES, rel=0.02)


def test_a_tally_leaves_out_what_comes_after_the_end() -> None:
    tally = Tally(2)
    rows = np.zeros(3, ENTRY)
    rows["arrived"], rows["done"] = [0.5, 0.9, 1.9], [0.7, 1.1, 2.5]
    tally.observe(rows)
    assert (tally.came.tolist(), tally.done.tolist()) == ([2, 1], [1, 1])
    assert tally.latency.tolist() == pytest.approx([0.2, 0.2])


def test_spl_sees_the_share_of_rows_that_find_a_full_queue() -> None:
    reading = ModuleReading(arrival_rate=100.0, processed_rate=90.0)
    seen = Observation(at=4.0, step=4.0, modules={NAME: reading})
    rows = np.zeros(10, ENTRY)
    rows["begun"][:4] = 2 * QUEUE * 0.45e-3
    splitter = at_splitter(seen, rows).modules[NAME]
    assert splitter.processed_rate == 90.0
    assert splitter.arrival_rate is not None
    assert 1.0 - splitter.processed_rate / splitter.arrival_rate == pytest.approx(0.4)
    assert at_splitter(seen, rows[:0]) == seen
    rows["begun"] = 9.0
    assert at_splitter(seen, rows).modules[NAME].arrival_rate == pytest.approx(900.0)


def test_a_score_counts_misses_of_latency_where_that_is_the_quality() -> None:
    ones = np.ones(4)
    course = Course(
        replicas=ones,
        clocks=ones,
        watts=ones,
        came=ones,
        done=ones,
        latency=np.array([0.001, 0.003, np.nan, 0.002]),
    )
    assert score(course, late=0.002)["violations"] == 2
    assert score(course, late=None)["violations"] == 0


def test_steps_are_handed_back_only_where_they_are_shown() -> None:
    case = Case(workload="rwalk", seed=1, variant=VARIANTS[0], seconds=1)
    assert list(examine(case).details) == [("rwalk", "th-node nosw")]
    for other in (replace(case, seed=2), replace(case, variant=VARIANTS[1])):
        assert not examine(other).details


def test_decisions_are_timed_by_the_clock_that_is_given() -> None:
    ticks = iter(range(1000))
    for _, values in efforts([300e3, 310e3], clock=lambda: float(next(ticks))):
        assert (values["seconds"], values["agreed"]) == (1.0, 1.0)
