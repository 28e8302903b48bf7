"""Nodes that are acquired, released, lost and silent, on a cluster that only writes down."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import PlantError, SettingError
from penstock.core.regions import Infrastructure, Region, check_nodes
from penstock.core.signals import ModuleReading, RegionReading
from penstock.spark.actuator import choose_to_release
from penstock.spark.cluster.embedded import Daemon
from penstock.spark.cluster.nodes import Nodes, WorkerSpec, resource_names
from penstock.spark.regions import Regions, mean_utilisation, unmet
from tests.spark.test_progress import executor
from tests.support.processes import wait_until


class Page(BaseHTTPRequestHandler):
    """Says that it is there."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"executors": []}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing about it."""


@dataclass
class Workers:
    """A cluster that starts and releases workers by writing them down."""

    well: str
    """The address of a page that answers."""
    stuck: str
    """The address of one that takes the question and says nothing."""
    offers: dict[str, WorkerSpec] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    starting: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    released: list[str] = field(default_factory=list)
    lives: dict[str, int] = field(default_factory=dict)
    """How often a worker was restarted."""
    master_answers: bool = True

    def add(self, offer: WorkerSpec, /) -> None:
        self.offers[offer.name] = offer
        self.starting.add(offer.name)

    def release(self, name: str, /) -> None:
        self.released.append(name)

    def ended(self, name: str, /) -> bool:
        return name in self.dead

    def check(self) -> None:
        """It never ends."""

    def state(self, _timeout: float = 1.0, /) -> dict[str, Any]:
        if not self.master_answers:
            return {}
        away = {*self.starting, *self.released, *self.dead}
        here = [offer for name, offer in self.offers.items() if name not in away]
        return {"workers": [self._worker(number, offer) for number, offer in enumerate(here)]}

    def settle(self) -> None:
        """Everybody who was starting has registered."""
        self.starting.clear()

    def _worker(self, number: int, offer: WorkerSpec) -> dict[str, Any]:
        slots = [f"{offer.name}/{slot}" for slot in range(1, offer.cores + 1)]
        page = self.stuck if offer.name in self.silent else self.well
        return {
            "id": f"{offer.name}-{self.lives.get(offer.name, 0)}",
            "state": "ALIVE",
            "cores": offer.cores,
            "coresused": self.used.get(offer.name, 0),
            "webuiaddress": f"{page}/{number}",
            "resources": {str(offer.resource): {"name": offer.resource, "addresses": slots}},
        }


@contextmanager
def workers() -> Iterator[Workers]:
    """A cluster without workers, whose pages are there until the block ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server, socket.socket() as stuck:
        stuck.bind(("127.0.0.1", 0))
        stuck.listen()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield Workers(
                well=f"http://127.0.0.1:{server.server_port}",
                stuck=f"http://127.0.0.1:{stuck.getsockname()[1]}",
            )
        finally:
            server.shutdown()
            thread.join()


PLACES = Infrastructure(
    regions=(Region(name="dc1", max_nodes=4), Region(name="dc2", max_nodes=4, slots=3))
)
QUIET = {"split": ModuleReading(wanted=1), "count": ModuleReading(wanted=1)}


@pytest.fixture
def cluster() -> Iterator[Workers]:
    with workers() as made:
        yield made


@pytest.fixture
def regions(cluster: Workers) -> Regions:
    """Both regions with the node that they begin with, each of which hosts an executor."""
    nodes = Nodes(cluster=cluster, infrastructure=PLACES, memory="2g")
    nodes.open()
    cluster.settle()
    cluster.used |= {"dc1-1": 1, "dc2-1": 1}
    return Regions(nodes=nodes, placement={"split": "dc1", "count": "dc2"})


def test_a_region_reports_what_it_has(regions: Regions) -> None:
    assert regions.read(QUIET)["dc2"] == RegionReading(
        nodes=1, idle=0, free=2, replicas=1, unmet=0, wanted=1, requested=1
    )


def test_an_acquired_node_counts_when_it_has_registered(regions: Regions, cluster: Workers) -> None:
    assert regions.want({"dc1": 2}) == {"dc1": 2}
    before = regions.read(QUIET)["dc1"]
    cluster.settle()
    after = regions.read(QUIET)["dc1"]
    assert (before.nodes, before.idle, before.requested, before.wanted) == (1, 0, 2, 2)
    assert (after.nodes, after.idle, after.requested, after.free) == (2, 1, 2, 3)
    assert before.trouble is None


def test_a_node_offers_its_slots_and_nothing_of_another_region(
    regions: Regions, cluster: Workers
) -> None:
    offers = [(o.cores, o.memory, o.resource) for o in cluster.offers.values()]
    assert offers == [(2, "2g", "region_dc1"), (3, "2g", "region_dc2")]
    assert regions.resources() == {"split": "region_dc1", "count": "region_dc2"}


def test_only_an_idle_node_is_released_and_a_refusal_is_reported_once(
    regions: Regions, cluster: Workers
) -> None:
    regions.want({"dc1": 3})
    cluster.settle()
    cluster.used["dc1-2"] = 2
    assert regions.want({"dc1": 1}) == {"dc1": 2}
    assert cluster.released == ["dc1-3"]
    readings = [regions.read(QUIET)["dc1"] for _ in range(2)]
    assert [reading.trouble for reading in readings] == [
        "no node was released, because none is idle",
        None,
    ]
    assert [(reading.wanted, reading.requested) for reading in readings] == [(1, 2)] * 2


def test_a_node_that_is_still_to_come_goes_first(regions: Regions, cluster: Workers) -> None:
    regions.want({"dc1": 2})
    cluster.settle()
    regions.read(QUIET)
    regions.want({"dc1": 3})
    regions.want({"dc1": 2})
    assert cluster.released == ["dc1-3"]


def test_numbers_are_never_used_again(regions: Regions, cluster: Workers) -> None:
    for _ in range(3):
        regions.want({"dc1": 2})
        regions.want({"dc1": 1})
    assert cluster.released == ["dc1-2", "dc1-3", "dc1-4"]


def test_wanting_what_is_there_does_nothing(regions: Regions, cluster: Workers) -> None:
    assert regions.want({"dc1": 1, "dc2": 1}) == {}
    assert len(cluster.offers) == 2


def test_a_region_that_is_silent_is_unknown_and_the_other_is_read(
    regions: Regions, cluster: Workers
) -> None:
    regions.read(QUIET)
    cluster.silent.add("dc1-1")
    assert regions.read(QUIET)["dc1"].answers  # a busy one may be late once
    for _ in range(2):
        readings = regions.read(QUIET)
        assert readings["dc1"] == RegionReading(
            wanted=1, requested=1, trouble="dc1-1 does not answer"
        )
        assert readings["dc2"].answers
    cluster.silent.clear()
    assert regions.read(QUIET)["dc1"].nodes == 1


def test_one_silent_node_of_two_is_reported_once_and_does_not_count(
    regions: Regions, cluster: Workers
) -> None:
    regions.want({"dc1": 2})
    cluster.settle()
    regions.read(QUIET)
    cluster.silent.add("dc1-2")
    readings = [regions.read(QUIET)["dc1"] for _ in range(3)]
    assert [reading.nodes for reading in readings] == [2, 1, 1]
    assert [reading.trouble for reading in readings] == [None, "dc1-2 does not answer", None]


def test_a_silent_node_is_not_taken_for_an_idle_one(regions: Regions, cluster: Workers) -> None:
    regions.want({"dc1": 2})
    cluster.settle()
    regions.read(QUIET)
    cluster.silent.add("dc1-2")
    regions.read(QUIET)
    assert regions.want({"dc1": 1}) == {}
    assert cluster.released == []


def test_where_the_master_is_silent_every_region_is(regions: Regions, cluster: Workers) -> None:
    regions.read(QUIET)
    cluster.master_answers = False
    assert all(reading.answers for reading in regions.read(QUIET).values())
    assert not any(reading.answers for reading in regions.read(QUIET).values())


def test_a_node_that_ended_for_good_is_lost_and_the_run_goes_on(
    regions: Regions, cluster: Workers
) -> None:
    regions.want({"dc1": 2})
    cluster.settle()
    cluster.dead.add("dc1-2")
    regions.check()
    readings = [regions.read(QUIET)["dc1"] for _ in range(2)]
    assert [reading.trouble for reading in readings] == ["dc1-2 ended for good", None]
    assert [(r.nodes, r.wanted, r.requested) for r in readings] == [(1, 2, 1)] * 2
    assert regions.want({"dc1": 2}) == {"dc1": 2}
    assert "dc1-3" in cluster.offers


def test_a_region_with_modules_that_lost_everything_ends_the_run(
    regions: Regions, cluster: Workers
) -> None:
    cluster.dead.add("dc1-1")
    with pytest.raises(PlantError, match=r"region dc1 has lost all of its nodes, dc1-1 last"):
        regions.check()


def test_a_region_without_modules_may_lose_everything(regions: Regions, cluster: Workers) -> None:
    regions.placement = {"split": "dc2", "count": "dc2"}
    cluster.dead.add("dc1-1")
    regions.check()
    assert regions.read(QUIET)["dc1"].nodes == 0


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ({"dc": 1}, "there is no region 'dc' to resize; did you mean 'dc2'?"),
        ({"dc1": 0}, "region dc1 may have 1 to 4 nodes, got 0"),
        ({"dc1": 5}, "region dc1 may have 1 to 4 nodes, got 5"),
    ],
)
def test_what_no_region_can_have_is_refused(nodes: dict[str, int], message: str) -> None:
    with pytest.raises(SettingError) as refused:
        check_nodes(nodes, PLACES.regions)
    assert str(refused.value) == message


def test_nodes_are_refused_where_there_are_no_regions() -> None:
    with pytest.raises(SettingError, match="there is no region 'dc1' to resize; it takes none"):
        check_nodes({"dc1": 1}, ())


def test_executors_beyond_the_slots_are_unmet_until_a_node_has_come(
    regions: Regions, cluster: Workers
) -> None:
    many = {**QUIET, "split": ModuleReading(wanted=3)}
    regions.want({"dc1": 2})
    assert regions.read(many)["dc1"].unmet == 1
    cluster.settle()
    assert regions.read(many)["dc1"].unmet == 0


@given(st.lists(st.integers(0, 9), max_size=5), st.integers(0, 20))
def test_every_executor_that_is_wanted_has_a_slot_or_is_unmet(
    wanted: list[int], slots: int
) -> None:
    lacking = unmet([ModuleReading(wanted=count) for count in wanted], slots)
    assert lacking == len(list(range(sum(wanted)))[slots:])


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=1))
def test_the_busy_share_of_a_region_is_within_those_of_its_modules(
    shares: list[tuple[float, int]],
) -> None:
    mean = mean_utilisation([ModuleReading(utilisation=u, running=n) for u, n in shares])
    counted = [share for share, running in shares if running]
    assert (mean is None) == (not counted)
    assert mean is None or min(counted) - 1e-9 <= mean <= max(counted) + 1e-9


@given(st.lists(st.text(min_size=1), unique=True))
def test_every_region_has_a_resource_of_its_own_that_spark_can_spell(names: list[str]) -> None:
    resources = resource_names(names).values()
    assert len(set(resources)) == len(names)
    assert all(name.isidentifier() and name.isascii() for name in resources)


def test_executors_leave_the_emptiest_node_first() -> None:
    executors = [replace(executor(str(n)), node=node) for n, node in enumerate("aabcc")]
    crowds: dict[str | None, int] = {
        "a": 2,
        "b": 2,
        "c": 3,
    }  # another module has one on b and one on c
    assert choose_to_release(executors, 4, crowds) == ["2", "1", "0", "4"]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=9), st.integers(0, 9))
def test_letting_go_one_by_one_or_at_once_is_the_same(nodes: list[str], count: int) -> None:
    executors = [replace(executor(str(n)), node=node) for n, node in enumerate(nodes)]
    at_once = choose_to_release(executors, count, {node: nodes.count(node) for node in nodes})
    left, one_by_one = list(executors), list[str]()
    while left and len(one_by_one) < count:
        here = [e.node for e in left]
        one_by_one += choose_to_release(left, 1, {node: here.count(node) for node in here})
        left = [e for e in left if e.id not in one_by_one]
    assert at_once == one_by_one


def test_a_daemon_that_is_asked_to_leave_does_so_in_its_own_way_and_for_good(
    tmp_path: Path,
) -> None:
    note = tmp_path / "note"
    work = f"trap 'echo farewell >> {note}' PWR; echo here >> {note}; while :; do sleep 0.05; done"
    kept = Daemon.start(
        ["sh", "-c", work], restarts=3, environment=os.environ, log=tmp_path / "daemon.log"
    )
    await_lines(note, 1)
    kept.decommission()
    await_lines(note, 2)
    kept.stop()
    kept.wait()
    assert note.read_text().split() == ["here", "farewell"]
    assert kept.exit_code is not None


def await_lines(note: Path, count: int) -> None:
    wait_until(lambda: note.exists() and len(note.read_text().splitlines()) >= count)


def test_a_node_that_ended_and_was_started_again_is_reported_once() -> None:
    with workers() as cluster:
        nodes = Nodes(cluster=cluster, infrastructure=PLACES, memory="1g")
        nodes.open()
        cluster.settle()
        regions = Regions(nodes=nodes, placement={})
        assert regions.read({})["dc1"].trouble is None
        cluster.lives["dc1-1"] = 1
        assert regions.read({})["dc1"].trouble == "dc1-1 ended and was restarted"
        assert regions.read({})["dc1"].trouble is None
        cluster.lives["dc1-1"] = 2
        trouble = regions.read({})["dc1"].trouble
        assert trouble == "dc1-1 ended and was restarted, 2 times in all"
