"""K-slack by batches of rows: what it knows row by row, however a batch is cut into tasks."""

import json
from dataclasses import asdict, astuple, dataclass, replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.core.panes import Panes
from penstock.query.preference.punctuation import AdaptiveKSlack, Arrivals, KSlack

MILLISECOND, SECOND = 1_000, 1_000_000
FAR = 2**63
TIMES = st.lists(st.integers(-60, 60) | st.integers(-FAR, FAR - 1), max_size=25)
NEAR = st.lists(st.integers(-4, 4) | st.integers(-60, 60), max_size=40)
PANES = Panes.parse("1 second", "200 milliseconds")
Slack = KSlack | AdaptiveKSlack


def run_of(times: list[int]) -> Arrivals:
    return Arrivals.of(np.array(times, np.int64))


@dataclass
class RowByRow:
    """Line 3 of the paper's Alg. 1, where a row's delay is recorded when it arrives."""

    slack: int = 0
    max_slack: float = inf
    newest: float = -inf
    punctuation: float = -inf
    pending: int = 0

    def take(self, time: int) -> None:
        if time > self.newest:
            self.newest = time
            self.slack = int(min(max(self.slack, self.pending), self.max_slack))
            self.pending = 0
            self.punctuation = max(self.punctuation, self.newest - self.slack)
        else:
            self.pending = max(self.pending, int(self.newest) - time)


@given(TIMES, TIMES)
def test_it_does_not_matter_how_a_batch_was_cut(one: list[int], two: list[int]) -> None:
    whole = run_of(one + two)
    assert run_of(one).also(run_of(two)) == whole == run_of(two).also(run_of(one))


@given(TIMES)
def test_no_rows_change_nothing(times: list[int]) -> None:
    run = run_of(times)
    assert Arrivals().also(run) == run == run.also(Arrivals())
    kslack = KSlack(slack=3).advance(run)
    assert kslack.advance(Arrivals()) == kslack
    adaptive = AdaptiveKSlack().advance(run)
    assert adaptive.advance(Arrivals()) == adaptive


@given(TIMES)
def test_rows_come_back_from_whole_numbers_of_64_bits(times: list[int]) -> None:
    plain = astuple(run_of(times))
    assert all(type(value) is int and -FAR <= value < FAR for value in plain)
    assert Arrivals(*np.array(plain, np.int64).tolist()) == run_of(times)


@given(st.lists(NEAR), st.integers(1, 20), st.none() | st.integers(20, 90))
def test_knows_what_the_paper_knows_of_batches_in_order(
    batches: list[list[int]], slack: int, max_slack: int | None
) -> None:
    """As if the rows of each batch had come from the oldest to the newest."""
    kslack = KSlack(slack=slack, max_slack=max_slack)
    paper = RowByRow(slack, inf if max_slack is None else max_slack)
    reached = -inf
    for batch in batches:
        for time in sorted(batch):
            paper.take(time)
        kslack = kslack.advance(run_of(batch))
        assert (kslack.slack, kslack.pending) == (paper.slack, paper.pending)
        if not batch and kslack.newest is None:
            continue
        reached = max(reached, paper.newest - paper.slack)
        assert kslack.newest == paper.newest
        assert kslack.punctuation == reached
    assert kslack.rows == sum(map(len, batches))


@given(st.lists(st.integers(-60, 60), min_size=1))
def test_a_first_batch_completes_nothing_unless_a_slack_was_given(times: list[int]) -> None:
    assert KSlack().advance(run_of(times)).punctuation == min(times)
    assert AdaptiveKSlack().advance(run_of(times)).punctuation == min(times)
    assert KSlack(slack=7).advance(run_of(times)).punctuation == max(times) - 7


@given(NEAR)
def test_runs_of_one_row_make_the_paper_s_punctuations(times: list[int]) -> None:
    kslack, paper = KSlack(), RowByRow()
    for time in times:
        paper.take(time)
        kslack = kslack.advance(run_of([time]))
        assert kslack.punctuation == paper.punctuation


@given(st.lists(TIMES), st.floats(0, 0.9))
def test_punctuations_never_go_back_nor_ahead_of_the_stream(
    runs: list[list[int]], target: float
) -> None:
    both: list[Slack] = [KSlack(), AdaptiveKSlack(target=target)]
    for slack in both:
        before = None
        for times in runs:
            slack = slack.advance(run_of(times), late=len(times) // 2)
            if slack.punctuation is None or slack.newest is None:
                continue
            assert before is None or slack.punctuation >= before
            assert slack.punctuation <= slack.newest
            before = slack.punctuation


def test_a_clock_that_falls_back_by_hours_does_not_hold_up_the_query() -> None:
    hour = 3600 * SECOND
    batches = [[2 * hour], [5], [2 * hour + 2]]
    for slack, lag in ((KSlack(), 2 * hour - 5), (KSlack(max_slack=SECOND), SECOND)):
        for times in batches:
            slack = slack.advance(run_of(times))
        assert slack.slack == lag


@pytest.mark.parametrize("times", [[], [5], [5, -40, 9, 300_000, 7]])
def test_settings_and_state_come_back_from_json(times: list[int]) -> None:
    kslack = KSlack(slack=2, max_slack=50).advance(run_of(times), late=len(times))
    assert KSlack(**json.loads(json.dumps(asdict(kslack)))) == kslack
    adaptive = AdaptiveKSlack(target=0.1, kp=1.0, kslack=KSlack(max_slack=50))
    for shift in (0, 200_000, 333_333):
        adaptive = adaptive.advance(run_of([time + shift for time in times]), late=shift % 2)
    assert AdaptiveKSlack.from_dict(json.loads(json.dumps(asdict(adaptive)))) == adaptive


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"slack": -5}, "slack must be 0 or more, got -5 us"),
        ({"slack": 9, "max_slack": 5}, "max_slack must be at least slack, got 5 us below 9 us; r"),
    ],
)
def test_refuses_a_slack_that_cannot_be(settings: dict[str, int], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        KSlack(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": 1.0}, r"target drop rate must be in \[0, 1\), got 1; write 5 % as 0.05"),
        ({"target": -0.1}, "got -0.1"),
        ({"target": nan}, "got nan"),
        ({"kp": inf}, "kp of a PID must be a finite number, got inf"),
        ({"ki": nan}, "ki of a PID must be a finite number, got nan"),
        ({"kd": -1.0}, "kd of a PID must be 0 or more, got -1"),
    ],
)
def test_refuses_a_target_or_gains_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        AdaptiveKSlack(**settings)


# Streams of rows that are late at random, in runs as batches cut them.

RATE, LENGTH = 5000, 200


def uniform(rng: np.random.Generator, rows: int) -> NDArray[np.float64]:
    return rng.uniform(0, 400 * MILLISECOND, rows)


def exponential(rng: np.random.Generator, rows: int) -> NDArray[np.float64]:
    return rng.exponential(100 * MILLISECOND, rows)


def heavy_tail(rng: np.random.Generator, rows: int) -> NDArray[np.float64]:
    """As on the soccer field: most rows a little late, a few by seconds, one by 30 s."""
    often = rng.exponential(12 * MILLISECOND, rows)
    rarely = rng.pareto(1.3, rows) * 100 * MILLISECOND * (rng.random(rows) < 0.01)
    delays = np.minimum(often + rarely, 30 * SECOND)
    delays[rows // 10] = 30 * SECOND
    return delays


DELAYS = {"uniform": uniform, "exponential": exponential, "heavy tail": heavy_tail}


def stream(kind: str, chunk: float, seed: int = 1) -> list[NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    arrived = np.sort(rng.integers(0, LENGTH * SECOND, LENGTH * RATE))
    times = (arrived - DELAYS[kind](rng, arrived.size)).astype(np.int64)
    return np.split(times, np.searchsorted(arrived, np.arange(chunk, LENGTH, chunk) * SECOND))


@dataclass(frozen=True)
class Outcome:
    rate: float
    lag: float
    """Mean, seconds."""


def play(slack: Slack, runs: list[NDArray[np.int64]]) -> Outcome:
    """What becomes of a stream after its first third: drop rate and lag."""
    settled, lags = slack, []
    for number, times in enumerate(runs):
        closed = slack.punctuation
        late = 0 if closed is None else int(((PANES.of(times) + 1) * PANES.length <= closed).sum())
        slack = slack.advance(Arrivals.of(times), late)
        if 3 * number < len(runs):
            settled = slack
        else:
            lags.append(slack.lag)
    rows, dropped = slack.rows - settled.rows, slack.dropped - settled.dropped
    return Outcome(rate=dropped / rows, lag=float(np.mean(lags)) / SECOND)


def test_the_heavy_tail_is_that_of_the_soccer_field() -> None:
    delays = heavy_tail(np.random.default_rng(1), LENGTH * RATE)
    times = np.concatenate(stream("heavy tail", 1.0))
    assert delays.mean() == pytest.approx(15 * MILLISECOND, rel=0.2)
    assert delays.max() == 30 * SECOND
    assert (times < np.maximum.accumulate(times)).mean() == pytest.approx(0.85, abs=0.05)


@pytest.mark.parametrize(
    ("kind", "chunk", "target"),
    [
        ("uniform", 0.1, 0.05),
        ("uniform", 0.1, 0.01),
        ("uniform", 0.25, 0.05),
        ("uniform", 0.7, 0.01),
        ("uniform", 1.0, 0.01),
        ("exponential", 0.1, 0.05),
        ("exponential", 0.3, 0.05),
        ("exponential", 1.0, 0.005),
        ("heavy tail", 0.1, 0.001),
        ("heavy tail", 0.3, 0.001),
        ("heavy tail", 1.0, 0.0005),
    ],
)
def test_drops_as_many_rows_as_it_may(kind: str, chunk: float, target: float) -> None:
    found = play(AdaptiveKSlack(target=target), stream(kind, chunk))
    assert found.rate == pytest.approx(target, rel=0.1)


@pytest.mark.parametrize("kind", DELAYS)
@pytest.mark.parametrize("chunk", [0.1, 1.0])
def test_never_waits_where_no_more_rows_could_be_dropped(kind: str, chunk: float) -> None:
    found = play(AdaptiveKSlack(target=0.6), stream(kind, chunk))
    assert found.rate < 0.6
    assert found.lag < 0.01


@pytest.mark.parametrize("chunk", [0.1, 0.3, 1.0])
def test_a_few_rows_that_are_very_late_do_not_delay_all_others(chunk: float) -> None:
    runs = stream("heavy tail", chunk)
    plain, strict, paper = (
        play(slack, runs)
        for slack in (KSlack(), AdaptiveKSlack(target=0.001), AdaptiveKSlack(target=0.05))
    )
    assert plain.lag > 29
    assert strict.lag < plain.lag / 20
    assert paper.lag < plain.lag / 1000
    assert paper.rate < 0.05


@pytest.mark.parametrize("kind", DELAYS)
def test_a_target_of_none_is_plain_k_slack(kind: str) -> None:
    runs = stream(kind, 1.0)
    assert play(AdaptiveKSlack(target=0.0), runs) == play(KSlack(), runs)


def test_finds_back_to_the_target_when_delays_grow() -> None:
    calm, rough = stream("exponential", 0.1), stream("uniform", 0.1)
    shifted = [times + LENGTH * SECOND for times in rough]
    slack: Slack = AdaptiveKSlack(target=0.6)
    for times in calm:
        slack = slack.advance(Arrivals.of(times))
    assert slack.lag < 10 * MILLISECOND
    assert isinstance(slack, AdaptiveKSlack)
    strict = replace(slack, target=0.05)
    assert play(strict, shifted).rate == pytest.approx(0.05, rel=0.1)


def test_waits_for_no_more_than_k_and_never_forgets_to_wait() -> None:
    adaptive = AdaptiveKSlack(kslack=KSlack(slack=SECOND))
    for step in range(1000):
        adaptive = adaptive.advance(run_of([step * SECOND]), late=step // 500)
        assert 0 < adaptive.slack <= SECOND
    assert adaptive.slack == SECOND


def test_corrects_itself_at_most_once_in_a_tenth_of_a_second_of_the_stream() -> None:
    adaptive, alphas = AdaptiveKSlack(kslack=KSlack(slack=SECOND)), []
    for time in range(0, SECOND, 10 * MILLISECOND):
        adaptive = adaptive.advance(run_of([time]))
        alphas.append(adaptive.alpha)
    assert len(set(alphas)) == 1 + 9
