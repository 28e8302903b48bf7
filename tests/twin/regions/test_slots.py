"""The paper's model of regions: nodes, slots and the time that rows take."""

from collections.abc import Mapping
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.regions import Infrastructure, Region
from penstock.core.signals import Configuration, Decision, Observation, RegionReading
from penstock.model import queueing
from penstock.papers.e2df.experiment import graph, places
from penstock.testing.plants import check_plant
from penstock.twin import SlotTwin, Twin
from penstock.workload import Constant

STEP = 60.0


def make_twin(rate: float = 300.0, steps: int = 50, seed: int = 1, nodes: int = 1) -> SlotTwin:
    return SlotTwin(
        graph(), places(nodes), Constant(rate), step=STEP, duration=steps * STEP, seed=seed
    )


def wish(degrees: Mapping[str, int], nodes: Mapping[str, int] | None = None) -> Decision:
    return Decision(configuration=Configuration(degrees=degrees, nodes=nodes or {}), why="a test")


def after(twin: SlotTwin, *wishes: Decision) -> Observation:
    """What is seen once these have been applied, one in a slot."""
    readings = twin.readings()
    seen = next(readings)
    for decision in wishes:
        twin.apply(decision)
        seen = next(readings)
    return seen


def region(seen: Observation, name: str) -> RegionReading:
    return seen.regions[name]


class TestResponse:
    @pytest.mark.parametrize("busy", [0.3, 0.6, 0.85])
    def test_the_formula_agrees_with_rows_that_queue_one_by_one(self, busy: float) -> None:
        service = 1 / 330
        alone = FlowGraph(source="a", modules=(Module(name="a", service_time=service),), streams=())
        means = []
        for seed in range(8):
            twin = Twin(alone, Constant(busy / service), step=0.5, duration=400.0, seed=seed)
            rows = [seen.modules["a"].backlog or 0.0 for seen in twin.readings()]
            means.append(np.mean(rows) / (busy / service))  # Little's law
        half = 4 * np.std(means, ddof=1) / np.sqrt(len(means))
        assert abs(np.mean(means) - queueing.response(busy / service, service)) < half

    def test_time_in_operators_and_on_the_way_add_up(self) -> None:
        seen = after(make_twin(rate=100.0), wish({"filter": 2}))
        one, half = queueing.response(100.0, 1 / 330), queueing.response(250.0, 1 / 330)
        assert seen.latency is not None
        expected = one + half + 2 * queueing.response(200.0, 1 / 330) + 0.003
        assert seen.latency.p50 == pytest.approx(expected, rel=1e-12)

    def test_rows_of_an_overloaded_operator_keep_no_promise(self) -> None:
        seen = after(make_twin(rate=600.0, steps=50))
        assert seen.latency is not None
        assert seen.latency.p95 == 50 * STEP
        assert seen.modules["filter"].utilisation == 1.0
        assert seen.modules["filter"].load == pytest.approx(3000 / 330)

    def test_the_slowest_way_counts(self) -> None:
        modules = [Module(name=n, service_time=0.001, region=r) for n, r in _FORK.items()]
        streams = [
            Stream(origin="a", target="b", probability=0.5),
            Stream(origin="a", target="c", probability=0.5),
        ]
        fork = FlowGraph(source="a", modules=tuple(modules), streams=tuple(streams))
        where = Infrastructure(
            regions=(Region(name="near"), Region(name="far")), delays={"near-far": 0.5}
        )
        twin = SlotTwin(fork, where, Constant(0.001), step=STEP, duration=STEP)
        [seen] = list(twin.readings())
        assert seen.latency is not None
        assert seen.latency.p50 == pytest.approx(0.502, rel=1e-3)


_FORK = {"a": "near", "b": "near", "c": "far"}


class TestNodes:
    def test_a_replica_without_a_slot_is_not_started_and_counted(self) -> None:
        seen = after(make_twin(), wish({"filter": 5}))
        assert seen.modules["filter"].running == 2
        assert region(seen, "dc2").unmet == 3
        assert region(seen, "dc1").unmet == 0

    def test_a_node_can_be_used_in_the_slot_in_which_it_is_granted(self) -> None:
        seen = after(make_twin(), wish({"filter": 4}, {"dc2": 2}))
        assert seen.modules["filter"].running == 4
        assert region(seen, "dc2").unmet == 0

    def test_only_idle_nodes_are_given_up(self) -> None:
        twin = make_twin(nodes=3)
        seen = after(twin, wish({"splitter": 2}), wish({}, {"dc1": 0}))
        there = region(seen, "dc1")
        assert there.nodes in (1, 2)
        assert there.idle == 0
        assert seen.modules["splitter"].running == 2

    def test_the_emptiest_node_loses_its_replica(self) -> None:
        for seed in range(20):
            twin = make_twin(nodes=3, seed=seed)
            seen = after(twin, wish({"splitter": 5}), wish({"splitter": 4}))
            assert region(seen, "dc1").idle in (0, 1)
            assert twin._nodes is not None
            used = sorted(twin._nodes._nodes.used[0][:3].tolist())
            assert used in ([0, 2, 2], [1, 1, 2])

    def test_regions_are_read_as_the_application_left_them(self) -> None:
        seen = after(make_twin(rate=100.0), wish({"splitter": 2}))
        assert region(seen, "dc1").free == 0
        assert region(seen, "dc1").utilisation == pytest.approx(100 / 330)
        assert seen.modules["splitter"].utilisation == pytest.approx(50 / 330)

    def test_nothing_is_known_of_load_before_the_first_slot_was_measured(self) -> None:
        seen = after(make_twin())
        assert region(seen, "dc1").utilisation is None

    @settings(max_examples=50, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.fixed_dictionaries({n: st.integers(1, 20) for n in ("splitter", "filter")}),
                st.fixed_dictionaries({r: st.integers(0, 12) for r in ("dc1", "dc2")}),
            ),
            max_size=8,
        ),
        st.integers(0, 5),
    )
    def test_no_node_hosts_more_than_it_has_slots(
        self, plan: list[tuple[dict[str, int], dict[str, int]]], seed: int
    ) -> None:
        twin = make_twin(seed=seed)
        seen = after(twin, *(wish(degrees, nodes) for degrees, nodes in plan))
        for name in ("dc1", "dc2", "dc3"):
            here = region(seen, name)
            assert here.nodes is not None
            assert here.replicas is not None
            assert here.free == 2 * here.nodes - here.replicas
            hosted = [m for m in graph().modules if m.region == name]
            assert here.replicas == sum(seen.modules[m.name].running or 0 for m in hosted)
        assert twin._nodes is not None
        nodes = twin._nodes._nodes
        assert (nodes.used <= 2 * nodes.active).all()
        assert (nodes.used >= 0).all()


class TestPlant:
    def test_it_keeps_a_plants_contract(self) -> None:
        check_plant(make_twin)

    def test_the_same_seed_brings_the_same_run(self) -> None:
        plan = [wish({"filter": n}, {"dc2": 9}) for n in (5, 3, 8, 2)]
        assert after(make_twin(seed=4), *plan) == after(make_twin(seed=4), *plan)

    def test_a_plan_for_another_region_is_refused(self) -> None:
        with pytest.raises(SettingError, match=r"there is no region 'dc9' to resize; did"):
            make_twin().apply(wish({}, {"dc9": 2}))

    def test_more_nodes_than_there_are_is_refused(self) -> None:
        with pytest.raises(SettingError, match=r"region dc1 may have 0 to 50 nodes, got 51"):
            make_twin().apply(wish({}, {"dc1": 51}))

    def test_first_replicas_must_fit(self) -> None:
        crowd = FlowGraph(
            source="a", modules=(Module(name="a", initial_replicas=3, region="dc1"),), streams=()
        )
        with pytest.raises(SettingError, match=r"has room for 2 replicas .* begin with 3; raise"):
            SlotTwin(
                crowd,
                Infrastructure(regions=(Region(name="dc1"),)),
                Constant(1.0),
                step=1,
                duration=1,
            )


class TestFormula:
    def test_half_busy_means_half_a_service_time_of_waiting(self) -> None:
        assert queueing.waiting(0.5, 1.0) == 0.5

    @pytest.mark.parametrize("rate", [1.0, 1.5, inf])
    def test_overload_never_ends(self, rate: float) -> None:
        assert queueing.response(rate, 1.0) == inf

    def test_a_negative_rate_is_refused(self) -> None:
        with pytest.raises(SettingError, match="0 or more, got -1 and 1"):
            queueing.response(-1.0, 1.0)


class TestPlaces:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"max_nodes": 0}, r"max_nodes of region r must be 1 to 10,000, got 0"),
            ({"slots": 0}, r"slots of region r must be 1 to 10,000, got 0"),
            ({"min_nodes": 3}, r"0 <= min_nodes <= initial_nodes <= max_nodes, got 3, 1, 50"),
            ({"initial_nodes": 60}, r"got 1, 60, 50"),
        ],
    )
    def test_a_region_that_could_host_nothing_is_refused(
        self, settings: dict[str, int], message: str
    ) -> None:
        with pytest.raises(SettingError, match=message):
            Region(name="r", **settings)

    @pytest.mark.parametrize(
        ("delays", "message"),
        [
            ({"dc1-dc9": 0.1}, r"there is no pair of regions 'dc1-dc9'; did you mean"),
            ({"dc1-dc2": -1.0}, r"delay dc1-dc2 must be 0s or more and finite, got -1s"),
            ({"dc1-dc2": 1.0, "dc2-dc1": 2.0}, r"the same both ways, keep one"),
        ],
    )
    def test_delays_are_between_regions_that_there_are(
        self, delays: dict[str, float], message: str
    ) -> None:
        with pytest.raises(SettingError, match=message):
            Infrastructure(regions=(Region(name="dc1"), Region(name="dc2")), delays=delays)

    def test_there_is_a_region(self) -> None:
        with pytest.raises(SettingError, match="at least one region, got none"):
            Infrastructure(regions=())

    def test_names_are_different(self) -> None:
        with pytest.raises(SettingError, match="region a is given 2 times; keep one"):
            Infrastructure(regions=(Region(name="a"), Region(name="a")))
