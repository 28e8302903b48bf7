"""Flow graphs: what rows can cross, and which module is to blame where they cannot."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream


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
    ("build", "told"),
    [
        (lambda: graph(("a", "b"), ("b", "c"), ("c", "b")), "the streams form a cycle: .*b"),
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
            r"probabilities of module a must be in \(0, 1\]",
        ),
        (
            lambda: graph(("a", "b"), streams=(Stream(origin="a", target="b", selectivity=0.0),)),
            "selectivity of the streams from a must be above 0",
        ),
    ],
)
def test_a_graph_that_no_row_could_cross_names_the_module(build: Any, told: str) -> None:
    with pytest.raises(SettingError, match=told):
        build()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"service_time": -1.0}, "service_time of module counter must not be negative, got -1"),
        ({"service_cv": float("nan")}, "service_cv of module counter must not be negative"),
        ({"trigger": -1.0}, "trigger of module counter must not be negative"),
        ({"min_replicas": 0}, "module counter needs 1 <= min_replicas <= initial_replicas"),
        ({"initial_replicas": 30}, "got 1, 30, 20"),
        ({"max_replicas": 0}, "got 1, 1, 0"),
        ({"work": "sleep"}, "work of module counter must be wait, cpu or none, got 'sleep'"),
        ({"buffer": 0.0}, "buffer of module counter must hold a row, got 0"),
        ({"buffer": float("nan")}, "buffer of module counter must hold a row"),
    ],
)
def test_a_module_that_cannot_be_is_named(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        Module(name="counter", **settings)


def test_a_module_is_found_by_name() -> None:
    assert graph(("a", "b"))["b"].name == "b"
