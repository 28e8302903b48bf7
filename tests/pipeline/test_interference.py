"""Load from outside: what a file says of it, what a twin makes of it, and real processes that leave
nothing behind.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import nullcontext
from math import inf, nan
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.interference import Interference
from penstock.pipeline import busy
from penstock.pipeline.file import check, load
from penstock.pipeline.interference import Hog, beside, elsewhere
from tests.support.processes import PATIENCE, wait_until

moments = st.floats(min_value=0, max_value=1e4)


@st.composite
def interferences(draw: st.DrawFn) -> Interference:
    begin = draw(moments)
    until = draw(st.none() | st.floats(min_value=begin, max_value=2e4, exclude_min=True))
    slowdown = draw(st.none() | st.floats(min_value=1, max_value=50))
    processes = draw(st.integers(0, 8))
    return Interference(processes=processes, from_=begin, until=until, slowdown=slowdown)


@given(interferences(), moments)
def test_rows_are_never_faster_and_slower_only_within_the_stretch(
    given: Interference, at: float
) -> None:
    assert given.pace(at) >= 1
    if not given.from_ <= at < given.end:
        assert given.pace(at) == 1


@given(interferences(), moments, moments)
def test_the_pace_changes_at_its_edges_and_nowhere_else(
    given: Interference, one: float, other: float
) -> None:
    early, late = sorted([one, other])
    if not any(early < edge <= late for edge in given.edges()):
        assert given.pace(early) == given.pace(late)
    assert list(given.edges()) == sorted(set(given.edges()))


@given(interferences(), st.integers(1, 64))
def test_a_fair_scheduler_gives_every_process_the_same(given: Interference, cores: int) -> None:
    shared = given.among(cores)
    assert shared.slowdown == (given.slowdown or pytest.approx((cores + given.processes) / cores))
    assert shared.among(2 * cores) == shared, "what is known stays"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"processes": -1}, "processes of interference must be 0 to 256, got -1"),
        ({"processes": 257}, "processes of interference must be 0 to 256, got 257"),
        ({"from_": -1.0}, "from of interference must be 0s or more, got -1s"),
        ({"from_": nan}, "from of interference must be 0s or more and finite, got nan"),
        ({"from_": 9.0, "until": 9.0}, "until of interference must be after its from of 9 s"),
        ({"until": nan}, "until of interference must be after its from of 0 s"),
        ({"slowdown": 0.5}, "slowdown of interference must be 1 or more, got 0.5"),
        ({"slowdown": nan}, "slowdown of interference must be 1 or more and finite, got nan"),
        ({"slowdown": inf}, "slowdown of interference must be 1 or more and finite, got inf"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Interference(**{"processes": 1, **settings})  # type: ignore[arg-type]


class TestFile:
    def test_a_file_without_the_section_has_none(self) -> None:
        assert load("wordcount").interference is None
        assert "interference" not in load("wordcount").resolved

    def test_a_setting_on_the_command_line_is_enough(self) -> None:
        file = load("wordcount", ["interference.processes=2", "cluster.cores=4"])
        assert file.interference == Interference(processes=2, slowdown=1 + 2 / (2 * 4))

    def test_a_slowdown_that_is_given_wins(self) -> None:
        file = load("wordcount", ["interference={processes: 2, slowdown: 3}"])
        assert file.interference == Interference(processes=2, slowdown=3)

    def test_what_is_resolved_is_read_again_as_it_was(self, tmp_path: Path) -> None:
        file = load("wordcount", ["interference={processes: 2, from: 40s, until: 1m 40s}"])
        again = tmp_path / "again.yaml"
        again.write_text(json.dumps(file.resolved))
        assert file.interference is not None
        assert load(again).interference == file.interference
        assert file.resolved["interference"]["until"] == "100.0s"

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("interference=2", "interference must be a mapping such as {processes: 2, "),
            ("interference={}", "interference needs a value for processes"),
            ("interference.processes=two", "processes of interference must be a whole number"),
            ("interference={processes: 1, from: 40}", "from of interference needs a unit, got 40"),
            ("interference={processes: 1, form: 4s}", "no setting 'form'; did you mean 'from'?"),
            ("interferences.processes=1", "no section 'interferences'; did you mean 'interfer"),
        ],
    )
    def test_every_mistake_is_one_sentence(self, setting: str, message: str) -> None:
        [mistake] = check("wordcount", [setting]).mistakes
        assert message in str(mistake)
        assert setting in str(mistake)


def test_whoever_cannot_feel_it_says_so() -> None:
    some, none = Interference(processes=2), Interference(processes=0)
    assert elsewhere(some, "yarn") is not None
    assert elsewhere(some, None) is None
    for nothing in (none, None):
        assert elsewhere(nothing, "yarn") is None


# Real processes from here on.

SOME: Final = Interference(processes=2)
LATER: Final = Interference(processes=2, from_=3600.0)
HOUR: Final = 3600.0

on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux's /proc")


def stat(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on; nothing where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def alive(pid: int) -> bool:
    return stat(pid)[:1] not in ([], ["Z"], ["X"])


def seconds_of_work(pid: int) -> float:
    return int(stat(pid)[11]) / os.sysconf("SC_CLK_TCK")


def wait_until_gone(pids: Iterable[int]) -> None:
    wait_until(lambda: not any(map(alive, pids)))


@on_linux
def test_processes_compute_until_the_block_ends() -> None:
    with Hog(SOME, HOUR) as hog:
        assert len(hog.pids) == 2
        wait_until(lambda: min(map(seconds_of_work, hog.pids)) > 0.1)
    assert not any(map(alive, hog.pids))


@on_linux
def test_processes_rest_until_their_time_comes_and_end_with_the_block() -> None:
    with Hog(LATER, 2 * HOUR) as hog:
        wait_until(lambda: all(stat(pid)[0] == "S" for pid in hog.pids))
        assert all(map(alive, hog.pids))
    assert not any(map(alive, hog.pids))


@on_linux
def test_processes_end_with_their_stretch() -> None:
    with Hog(Interference(processes=2, until=0.2), HOUR) as hog:
        wait_until_gone(hog.pids)


@on_linux
def test_processes_give_up_on_a_run_that_does_not_end() -> None:
    with Hog(SOME, lasts=0.1) as hog:
        wait_until_gone(hog.pids)


@on_linux
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_processes_end_with_whatever_ends_the_block(error: type[BaseException]) -> None:
    hog = Hog(SOME, HOUR)
    with pytest.raises(error), hog:
        raise error
    assert hog.pids
    assert not any(map(alive, hog.pids))


def test_a_key_press_is_for_the_owner() -> None:
    with Hog(LATER, 2 * HOUR) as hog:
        assert os.getpgrp() not in {os.getpgid(pid) for pid in hog.pids}


OWNER: Final = """
from penstock.core.interference import Interference
from penstock.pipeline.interference import Hog
with Hog(Interference(processes=2, from_={begin}), 7200.0) as hog:
    print(*hog.pids, flush=True)
    input()
"""


@on_linux
@pytest.mark.parametrize("begin", [0.0, 3600.0], ids=["computing", "resting"])
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_processes_end_however_their_owner_does(begin: float, sent: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER.format(begin=begin)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(pids) == 2
        assert all(map(alive, pids))
        owner.send_signal(sent)
        assert owner.wait(PATIENCE) != 0
    wait_until_gone(pids)


CRAMPED: Final = """
import resource
from penstock.core.errors import PlantError
from penstock.core.interference import Interference
from penstock.pipeline.interference import Hog
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
hog = Hog(Interference(processes=50), 3600.0)
try:
    with hog:
        pass
except PlantError as error:
    print(*hog.pids)
    print(error)
"""


@on_linux
def test_a_machine_that_cannot_start_all_is_left_with_none() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", CRAMPED], capture_output=True, text=True, check=True
    )
    pids, error = finished.stdout.splitlines()
    assert not any(alive(int(pid)) for pid in pids.split())
    assert error == (
        "50 busy processes of interference could not be started (Too many open files); "
        "ask for fewer"
    )


def test_an_alarm_ends_what_nothing_else_does() -> None:
    far, past = str(time.monotonic() + HOUR), "0"
    command = [sys.executable, busy.__file__, far, past]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as stuck:
        assert stuck.wait(PATIENCE) == -signal.SIGALRM


@pytest.mark.parametrize("none", [Interference(processes=0), LATER])
def test_nothing_is_started_for_a_stretch_that_does_not_come(none: Interference) -> None:
    with Hog(none, lasts=60.0) as hog:
        assert hog.pids == ()


@pytest.mark.parametrize("given", [None, LATER])
def test_a_plant_is_handed_on_as_it_is(given: Interference | None) -> None:
    plant = object()
    with beside(nullcontext(plant), given, lasts=2 * HOUR) as found:
        assert found is plant


def busy_children(owners: Iterable[int]) -> list[int]:
    """Busy processes that belong to one of the owners."""
    finished = subprocess.run(
        ["ps", "-eww", "-o", "pid,ppid,args"], capture_output=True, text=True, check=True
    )
    found = [line.split() for line in finished.stdout.splitlines() if busy.__file__ in line]
    return [int(pid) for pid, parent, *_ in found if int(parent) in set(owners)]


@pytest.mark.spark
@pytest.mark.slow
@on_linux
def test_a_run_on_spark_has_busy_processes_beside_it_and_leaves_none(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ["run", "wordcount", "--out", str(out), "--quiet", "--duration", "8s"]
    settings = ["interference={processes: 1, from: 2s}", "workload={kind: constant, rate: 50/s}"]
    command = [sys.executable, "-m", "penstock", *words]
    command += [word for setting in settings for word in ("--set", setting)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
        while not (pids := busy_children([run.pid])):
            assert run.poll() is None, "it ended without any"
            time.sleep(0.1)
    assert run.returncode == 0
    assert not any(map(alive, pids))
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "Beside the executors ran 1 busy process from 2 s on" in report
