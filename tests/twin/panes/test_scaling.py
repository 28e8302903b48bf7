"""The twin of preference queries under more than it began with: room, workers, bursts, a hog."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from penstock.core.errors import PlantError
from penstock.core.graph import Module
from penstock.core.interference import Interference
from penstock.core.panes import Panes
from penstock.core.signals import ModuleReading, Observation
from penstock.policy.fuzzy import next_degrees
from penstock.policy.fuzzy.splitting import SplittingControl
from penstock.twin import Costs, PaneTwin
from penstock.twin.panes import state
from penstock.twin.panes.observing import PaneTotals
from penstock.twin.panes.state import PaneState
from penstock.twin.records import NO_INDEX, grown
from penstock.workload import Constant, parse
from tests.support.twins import chain
from tests.twin.panes.pane_reference import Given, Reference, decide, stamps_of, twin_of, two_stages

# Room


def with_room(twin: PaneTwin, times: Callable[[int], int]) -> PaneTwin:
    """The same twin, with other sizes of what grows when it runs short."""
    old = twin._state
    windows, free = times(len(old.windows)), old.clock[0]["results"]
    free["free"], free["spare"] = NO_INDEX, 0
    made = old._replace(
        panes=_zeros(old.panes, times(len(old.panes))),
        counts=_zeros(old.counts, times(len(old.panes))),
        results=grown(old.results[:0], times(len(old.results)), free),
        ledger=_zeros(old.ledger, 2 * times(len(old.panes))),
        windows=_zeros(old.windows, windows),
        parts=np.zeros((windows, times(old.parts.shape[1])), np.int64),
        finished=np.zeros((times(len(old.finished)), 2)),
    )
    made.panes["owner"], made.ledger["expected"] = NO_INDEX, -1
    twin._state = made
    return twin


def _zeros(old: Any, size: int) -> Any:
    return np.zeros((size, *old.shape[1:]), old.dtype)


def crowded(workers: int = 4) -> PaneTwin:
    """Many tuples wait, many panes are open, many parts are under way, many windows are not done:
    slow workers, tuples that come late, and so many workers of the window stage."""
    return twin_of(
        rate=3000.0,
        graph=two_stages(3, workers),
        windows=("300ms", "50ms"),
        costs=Costs(tuple_time=0.004, task_time=0.03, comparison=1e-6),
        splitting=SplittingControl(),
        disorder=1.0,
        slack=0.2,
    )


def outputs(twin: PaneTwin) -> tuple[list[Observation], PaneTotals, list[list[float]]]:
    """All that a run with other workers of the pane stage at every step says."""
    seen = []
    for observation in twin.readings():
        seen.append(observation)
        twin.apply(decide(1 + len(seen) % 3, len(twin._state.tasks) - len(seen)))
    totals = twin.totals()
    twin.drain()
    return seen, totals, twin.windows().tolist()


@pytest.mark.parametrize("workers", [4, 20])
def test_room_that_runs_short_changes_nothing(workers: int) -> None:
    ample = with_room(crowded(workers), lambda size: 64 * size)
    for _ in range(6):
        ample._state = state.more_tuples(ample._state)
    begun = [array.shape for array in ample._state]
    cramped = with_room(crowded(workers), lambda _: 1)
    expected = outputs(ample)
    assert [array.shape for array in ample._state] == begun
    for found in (outputs(cramped), outputs(crowded(workers))):
        assert found == expected


def test_all_that_can_run_short_did() -> None:
    cramped = with_room(crowded(), lambda _: 1)
    before = cramped._state
    outputs(cramped)
    grown = ("tuples", "panes", "counts", "results", "ledger", "windows", "parts", "finished")
    for name in grown:
        assert getattr(cramped._state, name).shape > getattr(before, name).shape, name


def small_state() -> PaneState:
    return twin_of()._state


def test_more_windows_than_the_twin_holds_end_the_run_with_a_sentence() -> None:
    full = small_state()._replace(
        windows=np.broadcast_to(small_state().windows[:1], state.MOST_WINDOWS)
    )
    with pytest.raises(PlantError, match=r"more than 131,072 windows wait after 0 s, .* more work"):
        state.more_windows(full)


def test_more_tuples_than_the_twin_holds_end_the_run_with_a_sentence() -> None:
    full = small_state()._replace(
        tuples=np.broadcast_to(small_state().tuples[:1], state.MOST_TUPLES)
    )
    with pytest.raises(PlantError, match=r"more than 134,217,728 tuples wait .* more workers"):
        state.more_tuples(full)


# Workers that come and go


def compared(twin: PaneTwin, reference: Reference, degrees: Sequence[tuple[int, int]]) -> None:
    """Both with other workers at every step; the windows of the twin are those of the paper."""
    for turn, seen in enumerate(twin.readings()):
        reference.run_until(seen.at)
        reference.resize(*degrees[turn % len(degrees)])
        twin.apply(decide(*degrees[turn % len(degrees)]))
    twin.drain()
    reference.drain()
    assert twin.totals().parts == reference.totals()["parts"]
    done, expected = sorted(twin.windows().tolist()), sorted(reference.after.windows)
    assert np.array(done) == pytest.approx(np.array(expected), abs=1e-9)


def long_open(
    rows: int, windows: str, workers: int, task_time: float = 0.002, **others: Any
) -> tuple[PaneTwin, Reference]:
    """Panes that stay open for all of five seconds, split among the workers tuple by tuple."""
    moments = np.sort(np.random.default_rng(1).random(rows)) * 5.0
    costs = Costs(tuple_time=1e-4, task_time=task_time, window_comparison=1e-7)
    graph = chain(
        Module(name="plq", initial_replicas=workers, max_replicas=workers),
        Module(name="wlq", initial_replicas=4, max_replicas=4),
    )
    twin = twin_of(
        graph=graph,
        windows=(windows, windows),
        workload=Given(moments),
        arrivals="even",
        costs=costs,
        slack=5.0,
        **others,
    )
    reference = Reference(
        moments,
        stamps_of(twin, moments),
        panes=Panes.parse(windows, windows),
        costs=costs,
        workers=(workers, 4),
        most=workers,
        slack=5.0,
    )
    twin._state.clock["threshold"] = reference.threshold = 1.0
    return twin, reference


def test_many_workers_that_leave_many_panes_hand_over_all_of_them() -> None:
    """More parts at once than there was room for: 100 panes with parts at 23 workers."""
    twin, reference = long_open(4000, "50ms", 24)
    compared(twin, reference, [(24, 4), (24, 4), (24, 4), (1, 4)])
    assert len(twin.windows()) == 100


def test_workers_that_come_back_to_an_open_pane_make_further_parts_of_it() -> None:
    """A window has more parts then than there are workers, and some are being merged."""
    twin, reference = long_open(1500, "2500ms", 4, disorder=5.0, step=0.05)
    compared(twin, reference, [(1, 4), (4, 4)])
    assert twin.totals().parts > 4 * twin.totals().panes
    assert twin.totals().merges > 0


def test_draining_takes_the_seconds_that_it_takes() -> None:
    twin = twin_of(rate=900.0, graph=two_stages(1, 3))
    list(twin.readings())
    ended = twin.drain()
    assert ended > 6.0
    totals = twin.totals()
    assert totals.busy_seconds <= totals.worker_seconds == pytest.approx(3 * ended, rel=0.01)


def test_parts_of_merges_that_end_at_a_full_window_find_room() -> None:
    """Workers of the window stage left while they merged, and no other part comes meanwhile."""
    twin, reference = long_open(1000, "5s", 2, task_time=2.5, step=0.1)
    degrees = [(1 + turn % 2, 4 if turn < 13 else 1) for turn in range(19)]
    compared(twin, reference, degrees + [(2, 1)] * 31)


# The behaviour of the paper

SETPOINT = 0.9


@cache
def bursty(
    *, split: bool = True, merging: bool = True, slowdown: float = 1.0, compared: float = 0.05e-6
) -> tuple[PaneTwin, Sequence[Observation]]:
    """A minute of the bursty stream of Fig. 12, under both levels or elasticity alone."""
    twin = twin_of(
        workload=parse("map:1000,rate=30k/s"),
        arrivals="even",
        graph=two_stages(1, 1, max_replicas=59),
        costs=Costs(
            tuple_time=30e-6, comparison=0.2e-6, window_comparison=compared, task_time=1e-4
        ),
        splitting=SplittingControl() if split else None,
        merging=merging,
        disorder=0.4,
        interference=Interference(processes=1, slowdown=slowdown),
        step=2.5,
        duration=60.0,
        seed=1,
    )
    seen = []
    for observation in twin.readings():
        seen.append(observation)
        plq, wlq = observation.modules["plq"], observation.modules["wlq"]
        if plq.load is not None and wlq.load is not None:
            running = plq.running or 1, wlq.running or 1
            factor = plq.splitting or 1.0
            twin.apply(decide(*next_degrees(plq.load, factor, wlq.load, *running, 59)))
    return twin, seen


def later(seen: Sequence[Observation], name: str, of: Callable[[ModuleReading], Any]) -> float:
    """The mean of a reading after the start, in which queues of one worker are drained."""
    return float(np.mean([of(o.modules[name]) for o in seen[10:]]))


def test_both_levels_keep_the_load_nearer_to_its_setpoint_than_elasticity_alone() -> None:
    both, alone = bursty()[1], bursty(split=False)[1]
    off = [abs(later(seen, "plq", lambda plq: plq.load) - SETPOINT) for seen in (both, alone)]
    assert off[0] < 0.5 * off[1]


def test_elasticity_alone_stays_a_bottleneck_whatever_workers_it_takes() -> None:
    """Fig. 10a: a pane without parts is the work of one worker."""
    both, alone = bursty()[1], bursty(split=False)[1]
    assert later(alone, "plq", lambda plq: plq.load) > 1.0
    workers = [later(seen, "plq", lambda plq: plq.running) for seen in (both, alone)]
    assert workers[1] > 2 * workers[0]


def test_splitting_sends_more_tuples_on_to_the_window_stage() -> None:
    """Skylines of smaller parts have a larger share of them (Fig. 11)."""
    kept = [
        twin.totals().kept / twin.totals().tuples for twin, _ in (bursty(), bursty(split=False))
    ]
    assert kept[0] > 1.1 * kept[1]


def test_merging_leaves_workers_of_the_window_stage_less_idle() -> None:
    """Fig. 13; with the paper's machine it was 45 % less."""
    runs = [bursty(merging=merging, compared=0.1e-6) for merging in (True, False)]
    busy = [later(seen, "wlq", lambda wlq: wlq.utilisation) for _, seen in runs]
    assert 1.0 - busy[0] < 0.85 * (1.0 - busy[1])
    assert runs[0][0].totals().merges > 0.2 * runs[0][0].totals().tasks
    assert runs[1][0].totals().merges == 0


def test_under_a_policy_that_removes_workers_no_window_is_lost() -> None:
    twin, seen = bursty()
    running = [o.modules["plq"].running or 0 for o in seen]
    assert any(after < before for before, after in pairwise(running))
    last = deepcopy(twin)
    last.drain()
    ends = np.sort(last.windows()[:, 0])
    assert len(ends) > 290
    assert ends == pytest.approx(np.arange(len(ends)) * 0.2 + 1.0)


# A hog


def test_interference_makes_the_controller_take_more_workers() -> None:
    """Fig. 18."""
    alone, beside = (
        sum(later(bursty(slowdown=times)[1], name, lambda m: m.running) for name in ("plq", "wlq"))
        for times in (1.0, 1.5)
    )
    assert beside > 1.2 * alone


def test_interference_all_the_time_is_work_that_takes_longer() -> None:
    graph, slow = two_stages(), Interference(processes=1, slowdown=2.0)
    beside = twin_of(graph=graph, interference=slow, costs=Costs(tuple_time=0.002, task_time=0.01))
    longer = twin_of(graph=graph, costs=Costs(tuple_time=0.004, task_time=0.02))
    assert list(beside.readings()) == list(longer.readings())


def test_interference_slows_only_its_own_stretch() -> None:
    costs = Costs(tuple_time=0.001, task_time=0.01)
    hog = Interference(processes=1, from_=2.0, until=3.0, slowdown=2.0)
    twin = twin_of(rate=500.0, interference=hog, costs=costs)
    times = [seen.modules["plq"].service_time for seen in twin.readings()]
    assert times == pytest.approx([0.001, 0.001, 0.002, 0.001, 0.001], rel=0.05)


def test_a_constant_stream_needs_no_more_room_the_longer_it_runs() -> None:
    short, long = (twin_of(workload=Constant(500.0), duration=d) for d in (20.0, 200.0))
    for twin in (short, long):
        list(twin.readings())
    assert [a.shape for a in short._state] == [a.shape for a in long._state]
