"""Flow graphs: what rows can cross, and which module is to blame where they cannot."""

import pickle
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, GraphError, Module, Stream


def graph(*streams: tuple[str, str], **more: Any) -> FlowGraph:
    ends = dict.fromkeys(end for stream in streams for end in stream)
    settings = {
        "source": "a",
        "modules": tuple(Module(name=name) for name in ends or ["a"]),
        "streams": tuple(Stream(origin=origin, target=target) for origin, target in streams),
    }
    return FlowGraph(**{**settings, **more})


def half(origin: str, target: str, selectivity: float = 1.0) -> Stream:
    return Stream(origin=origin, target=target, probability=0.5, selectivity=selectivity)


def test_a_row_visits_each_module_by_its_probability_and_selectivity() -> None:
    diamond = graph(
        ("a", "b"),
        ("a", "c"),
        ("b", "d"),
        ("c", "d"),
        streams=(
            half("a", "b", selectivity=2.0),
            half("a", "c", selectivity=2.0),
            Stream(origin="b", target="d"),
            Stream(origin="c", target="d", selectivity=3.0),
        ),
    )
    assert diamond.visits() == {"a": 1.0, "b": 1.0, "c": 1.0, "d": 4.0}
    assert diamond.sinks() == ("d",)
    assert diamond.order()[0] == "a"
    assert diamond.order()[-1] == "d"


@given(
    st.permutations(["a", "b", "c", "d"]), st.lists(st.floats(0.1, 10.0), min_size=3, max_size=3)
)
def test_visits_of_a_chain_do_not_depend_on_the_order_of_the_file(
    names: list[str], selectivities: list[float]
) -> None:
    streams = tuple(
        Stream(origin=origin, target=target, selectivity=selectivity)
        for origin, target, selectivity in zip("abc", "bcd", selectivities, strict=True)
    )
    chain = FlowGraph(
        source="a", modules=tuple(Module(name=name) for name in names), streams=streams
    )
    product = selectivities[0] * selectivities[1] * selectivities[2]
    assert chain.order() == ("a", "b", "c", "d")
    assert chain.visits()["d"] == pytest.approx(product)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: graph(("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")),
            "the streams form a cycle: b -> c -> d -> b; remove one of them",
        ),
        (lambda: graph(("a", "a")), "the streams form a cycle: a -> a"),
        (lambda: graph(source="x"), "there is no module 'x'; there are a"),
        (
            lambda: graph(streams=(Stream(origin="a", target="z"),)),
            "there is no module 'z'; there are a",
        ),
        (
            lambda: graph(modules=(Module(name="a"), Module(name="a"))),
            "module a is defined twice",
        ),
        (
            lambda: graph(modules=(Module(name="a"), Module(name="b"))),
            "no row can reach module b from a",
        ),
        (
            lambda: graph(("a", "b"), streams=(half("a", "b"),)),
            "the probabilities of the streams from a must sum to 1, got 0.5",
        ),
        (
            lambda: graph(
                ("a", "b"), streams=(Stream(origin="a", target="b", probability=float("nan")),)
            ),
            "probability of stream a -> b must be in \\(0, 1\\], got nan",
        ),
        (
            lambda: graph(("a", "b"), streams=(Stream(origin="a", target="b", selectivity=0.0),)),
            "selectivity of stream a -> b must be above 0, got 0",
        ),
        (
            lambda: graph(("a", "c"), ("b", "c")),
            "no row can reach module b from a: no stream leads to b, and a graph has one source",
        ),
        (
            lambda: graph(("a", "b"), source="b"),
            "source b is fed by module a; name as source the one module that no stream leads to",
        ),
        (
            lambda: graph(("a", "b"), streams=(half("a", "b"), half("a", "b"))),
            "stream a -> b is given 2 times; keep one, with the probabilities added up",
        ),
        (
            lambda: graph(
                ("a", "b"),
                ("b", "c"),
                streams=(
                    Stream(origin="a", target="b", selectivity=1e200),
                    Stream(origin="b", target="c", selectivity=1e200),
                ),
            ),
            "module c sees inf rows for each row of a; bring the probabilities and selectivities",
        ),
    ],
)
def test_a_graph_that_no_row_could_cross_names_the_module(build: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"service_time": -1.0}, "service_time of module counter must be 0s or more, got -1s"),
        ({"service_cv": float("nan")}, "service_cv of module counter must be 0 to 100"),
        ({"trigger": -1.0}, "trigger of module counter must be 0s or more"),
        ({"min_replicas": 0}, "min_replicas of module counter must be 1 or more, got 0"),
        ({"initial_replicas": 30}, "got 1, 30, 20"),
        ({"max_replicas": 0}, "max_replicas of module counter must be 1 or more, got 0"),
        ({"work": "sleep"}, "work of module counter must be wait, cpu or none, got 'sleep'"),
        ({"buffer": 0.0}, "buffer of module counter must be 1 or more, got 0"),
        ({"buffer": float("nan")}, "buffer of module counter must be 1 or more"),
        ({"price": -0.1}, "price of module counter must be 0 to 1,000,000,000, got -0.1"),
        ({"delay_cost": float("nan")}, "delay_cost of module counter must be 0 to"),
        (
            {"scaling": "log"},
            "scaling of module counter must be ideal, .*, got 'log'",
        ),
        ({"scaling": "minimum"}, "scaling minimum of module counter needs best_replicas; add it"),
        ({"best_replicas": 3.0}, "best_replicas of module counter .* is ideal; leave it out"),
        (
            {"scaling": "saturating", "best_replicas": 0.5},
            "best_replicas of module counter must be 1 or more, got 0.5",
        ),
        (
            {"scaling": "saturating", "best_replicas": float("inf")},
            "best_replicas of module counter must be 1 or more and finite, got inf",
        ),
        ({"scaling": "measured"}, "scaling measured of module counter needs speedup; add it"),
        ({"speedup": (1.0,)}, "speedup of module counter .* is ideal; leave it out"),
        (
            {"scaling": "measured", "speedup": (2.0, 3.0)},
            "speedup of module counter must begin with 1 .* got .2.0, 3.0.",
        ),
        (
            {"scaling": "measured", "speedup": (1.0, 1.1, 3.0)},
            "speedup of module counter must save less time with every replica",
        ),
    ],
)
def test_a_module_that_cannot_be_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Module(name="counter", **settings)


def test_a_module_is_found_by_name() -> None:
    assert graph(("a", "b"))["b"].name == "b"


def test_an_error_knows_the_stream_or_the_module_to_blame() -> None:
    with pytest.raises(GraphError) as cycle:
        graph(("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"))
    assert (cycle.value.module, cycle.value.stream) == ("b", ("d", "b"))
    with pytest.raises(GraphError) as island:
        graph(("a", "b"), ("c", "b"))
    assert (island.value.module, island.value.stream) == ("c", None)


def test_of_thousands_of_modules_an_error_lists_a_few() -> None:
    many = tuple(Module(name=f"m{i}") for i in range(1000))
    with pytest.raises(SettingError, match=r"there are m0, m1, .* m106 and 990 more$"):
        FlowGraph(source="x", modules=many)


@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_a_cycle_is_reported_along_its_streams_and_long_ones_in_short(
    size: int, random: Random
) -> None:
    around = [(f"m{i}", f"m{(i + 1) % size}") for i in range(size)]
    streams = [("a", "m0"), *around]
    random.shuffle(streams)
    with pytest.raises(GraphError) as cycle:
        graph(*streams)
    assert cycle.value.stream in around
    shown = str(cycle.value).partition(": ")[2].partition(";")[0].split(" -> ")
    assert shown[0] == shown[-1]
    assert len(shown) == (size + 1 if size + 1 <= 10 else 5)
    assert all(pair in around for pair in pairwise(shown) if "more" not in "".join(pair))


def test_a_graph_survives_copies_and_changes() -> None:
    diamond = graph(("a", "b"), ("b", "c"))
    for copy in (deepcopy(diamond), pickle.loads(pickle.dumps(diamond))):  # noqa: S301  # our own
        assert copy == diamond
        assert copy.visits() == diamond.visits()
        assert hash(copy) == hash(diamond)
    shorter = replace(diamond, modules=diamond.modules[:2], streams=diamond.streams[:1])
    assert shorter.order() == ("a", "b")
    assert shorter.sinks() == ("b",)


@st.composite
def forests(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """So many modules, and streams that only lead onwards."""
    size = draw(st.integers(1, 12))
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    return size, draw(
        st.lists(pairs.filter(lambda p: p[0] < p[1]), unique=True)
    ) if size > 1 else []


@given(forests(), st.randoms(use_true_random=False))
def test_a_graph_is_sound_just_where_every_module_but_the_first_is_fed(
    given: tuple[int, list[tuple[int, int]]], random: Random
) -> None:
    size, pairs = given
    outputs = Counter(origin for origin, _ in pairs)
    modules = [Module(name=f"m{i}") for i in range(size)]
    streams = [Stream(origin=f"m{a}", target=f"m{b}", probability=1 / outputs[a]) for a, b in pairs]
    random.shuffle(modules)
    random.shuffle(streams)
    unfed = set(range(1, size)) - {target for _, target in pairs}
    if unfed:
        with pytest.raises(GraphError) as error:
            FlowGraph(source="m0", modules=tuple(modules), streams=tuple(streams))
        assert error.value.module in {f"m{i}" for i in unfed}
        return
    sound = FlowGraph(source="m0", modules=tuple(modules), streams=tuple(streams))
    places = {name: place for place, name in enumerate(sound.order())}
    assert all(places[s.origin] < places[s.target] for s in streams)
    # every row that enters leaves through one of the sinks
    visits = sound.visits()
    assert sum(visits[name] for name in sound.sinks()) == pytest.approx(1.0)
    assert all(visits[name] > 0 for name in sound.names())
