"""The pace of whole graphs, against the paper's propositions and its own figures."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.model import FlowModel
from penstock.model.flow_graph import check_priced

SERVICE = FlowGraph(
    source="dispatcher",
    modules=(
        Module(name="dispatcher", service_time=0.1, max_replicas=1, price=0.00483, delay_cost=0.5),
        Module(name="denoiser-1", service_time=2.48, max_replicas=8, price=0.00483, delay_cost=0.5),
        Module(name="denoiser-2", service_time=3.66, max_replicas=8, price=0.00483, delay_cost=0.5),
        Module(name="edges", service_time=7.80, max_replicas=32, price=0.0177, delay_cost=0.5),
        Module(
            name="recogniser", service_time=14.44, max_replicas=32, price=0.0177, delay_cost=0.5
        ),
    ),
    streams=(
        Stream(origin="dispatcher", target="denoiser-1", probability=0.5),
        Stream(origin="dispatcher", target="denoiser-2", probability=0.5),
        Stream(origin="denoiser-1", target="edges"),
        Stream(origin="denoiser-2", target="edges"),
        Stream(origin="edges", target="recogniser"),
    ),
)
"""Game, Fig. 10 and Tab. III."""


examples = settings(max_examples=50)


@st.composite
def graphs(draw: st.DrawFn) -> FlowGraph:
    """Any acyclic graph with one source and up to nine modules, of any scaling."""
    size = draw(st.integers(1, 9))
    modules = tuple(draw(module(f"m{i}")) for i in range(size))
    ways: list[list[int]] = [[] for _ in range(size)]
    for target in range(1, size):
        for origin in draw(st.sets(st.integers(0, target - 1), min_size=1, max_size=3)):
            ways[origin].append(target)
    streams = []
    for origin, targets in enumerate(ways):
        weights = [draw(st.floats(0.1, 1.0)) for _ in targets]
        streams += [
            Stream(origin=f"m{origin}", target=f"m{target}", probability=weight / sum(weights))
            for target, weight in zip(targets, weights, strict=True)
        ]
    return FlowGraph(source="m0", modules=modules, streams=tuple(streams))


@st.composite
def module(draw: st.DrawFn, name: str) -> Module:
    scaling = draw(st.sampled_from(["ideal", "saturating", "minimum", "measured"]))
    return Module(
        name=name,
        service_time=draw(st.floats(0.01, 100.0)),
        max_replicas=draw(st.integers(1, 40)),
        scaling=scaling,
        best_replicas=draw(st.floats(1.0, 30.0)) if scaling in ("saturating", "minimum") else None,
        speedup=(1.0, 1.9, 2.7, 3.2) if scaling == "measured" else (),
        price=draw(st.floats(1e-3, 1.0)),
        delay_cost=draw(st.floats(1e-3, 10.0)),
    )


@st.composite
def configured(draw: st.DrawFn) -> tuple[FlowModel, dict[str, float]]:
    """A model of any graph, and any replicas for it."""
    graph, inter_arrival = draw(graphs()), draw(st.sampled_from([0.0, 0.5, 20.0]))
    replicas = {m.name: draw(st.floats(0.1, float(m.max_replicas))) for m in graph.modules}
    return FlowModel.of(graph, inter_arrival=inter_arrival), replicas


@examples
@given(configured())
def test_inter_departure_times_are_the_highest_of_all_lower_bounds(
    given: tuple[FlowModel, dict[str, float]],
) -> None:
    """Game, Prop. 4.1 word for word."""
    model, replicas = given
    seen = model.pace(replicas).inter_departure
    for i, this in model.modules.items():
        bounds = [
            m.service_time(replicas[j]) * m.reach / this.reach for j, m in model.modules.items()
        ]
        assert seen[i] == pytest.approx(max(bounds))
        assert seen[i] >= this.service_time(replicas[i]) * (1 - 1e-12)


@examples
@given(configured())
def test_a_bottleneck_sets_the_inter_departure_time_of_every_module(
    given: tuple[FlowModel, dict[str, float]],
) -> None:
    """Game, Prop. 4.2, in both directions."""
    model, replicas = given
    pace = model.pace(replicas)
    assert pace.bottleneck
    for b, m in model.modules.items():
        slows_all = all(
            pace.inter_departure[i]
            == pytest.approx(m.service_time(replicas[b]) * m.reach / this.reach, rel=1e-9)
            for i, this in model.modules.items()
        )
        assert slows_all == (b in pace.bottleneck)


@examples
@given(configured())
def test_efficiency_is_at_most_one_and_one_at_a_bottleneck_that_works(
    given: tuple[FlowModel, dict[str, float]],
) -> None:
    model, replicas = given
    pace = model.pace(replicas)
    assert all(0.0 < share <= 1.0 + 1e-12 for share in pace.efficiency.values())
    for name in pace.bottleneck:
        waits = model.modules[name].inter_arrival > 0.0
        assert waits or pace.efficiency[name] == pytest.approx(1.0)


@examples
@given(graphs(), st.floats(1.0, 10.0))
def test_fitting_replicas_waste_nothing(graph: FlowGraph, slower: float) -> None:
    """Game, Def. 4.7: with real replicas every efficiency of an E-vector is one."""
    model = FlowModel.of(graph)
    fastest = max(m.reach * m.service_time(m.most) for m in model.modules.values())
    replicas = model.fitting(fastest * slower)
    pace = model.pace(replicas)
    assert pace.efficiency == pytest.approx(dict.fromkeys(graph.names(), 1.0), rel=1e-9)
    assert pace.inter_departure["m0"] == pytest.approx(fastest * slower)
    assert all(n <= model.modules[name].most for name, n in replicas.items())


@examples
@given(graphs(), st.floats(0.01, 0.99))
def test_a_pace_that_no_degree_keeps_takes_all_that_help(graph: FlowGraph, faster: float) -> None:
    model = FlowModel.of(graph)
    fastest = max(m.reach * m.service_time(m.most) for m in model.modules.values())
    replicas = model.fitting(fastest * faster)
    assert model.pace(replicas).inter_departure["m0"] == pytest.approx(fastest)
    for name in model.pace(replicas).bottleneck:
        assert replicas[name] == model.modules[name].most
    assert model.fitting(0.0) == {name: m.most for name, m in model.modules.items()}


@examples
@given(configured(), st.floats(0.01, 50.0))
def test_slower_arrivals_never_speed_anything_up(
    given: tuple[FlowModel, dict[str, float]], inter_arrival: float
) -> None:
    model, replicas = given
    slower = model.arriving_every(model.modules[model.source].inter_arrival + inter_arrival)
    before = model.pace(replicas).inter_departure
    after = slower.pace(replicas).inter_departure
    assert all(after[name] >= before[name] for name in before)
    assert after[model.source] >= inter_arrival


@examples
@given(configured())
def test_costs_are_of_delay_and_of_replicas(
    given: tuple[FlowModel, dict[str, float]],
) -> None:
    """Game, Expr. 5 and 6."""
    model, replicas = given
    departure = model.pace(replicas).inter_departure
    for name, cost in model.costs(replicas).items():
        m = model.modules[name]
        assert cost == m.delay_cost * departure[name] + m.price * replicas[name]


@pytest.mark.parametrize(
    ("pace", "degrees", "cost"),
    [
        (0.7150, [0.14, 1.73, 2.56, 10.91, 20.20], 3.0785),
        (0.45125, [0.22, 2.75, 4.06, 17.29, 32.0], 2.4894),
    ],
    ids=["equilibrium", "social optimum"],
)
def test_the_papers_service_has_the_degrees_and_costs_worked_out_by_hand(
    pace: float, degrees: list[float], cost: float
) -> None:
    model = FlowModel.of(SERVICE)
    replicas = model.fitting(pace)
    assert list(replicas.values()) == pytest.approx(degrees, abs=0.006)
    whole = {**replicas, "dispatcher": 1.0}  # a single core, whatever it has to do
    assert sum(model.costs(whole).values()) == pytest.approx(cost, abs=2e-4)


def test_neighbours_are_those_that_a_stream_joins_either_way() -> None:
    assert FlowModel.of(SERVICE).neighbours == {
        "dispatcher": ("denoiser-1", "denoiser-2"),
        "denoiser-1": ("dispatcher", "edges"),
        "denoiser-2": ("dispatcher", "edges"),
        "edges": ("denoiser-1", "denoiser-2", "recogniser"),
        "recogniser": ("edges",),
    }


def test_a_module_without_service_time_needs_no_replica() -> None:
    free = FlowGraph(source="a", modules=(Module(name="a"),))
    assert FlowModel.of(free, inter_arrival=1.0).fitting(1.0) == {"a": 0.0}


def test_an_agent_takes_all_that_it_can_get_for_nothing() -> None:
    model = FlowModel.of(SERVICE).modules["denoiser-1"]
    assert model.ideal(0.0) == 8.0
    assert model.ideal(-1.0) == 8.0
    assert model.ideal(1.0) == pytest.approx((0.5 * 2.48) ** 0.5)


@pytest.mark.parametrize("setting", ["service_time", "price", "delay_cost"])
def test_a_game_needs_times_and_prices_and_names_the_module(setting: str) -> None:
    fine = Module(name="a", service_time=1.0, price=1.0, delay_cost=1.0)
    wrong: dict[str, Any] = {setting: 0.0}
    bad = replace(fine, name="b", **wrong)
    graph = FlowGraph(source="a", modules=(fine, bad), streams=(Stream(origin="a", target="b"),))
    with pytest.raises(SettingError, match=f"{setting} of module b must be above 0 and finite"):
        check_priced(graph, "nash")
    check_priced(FlowGraph(source="a", modules=(fine,)), "nash")
