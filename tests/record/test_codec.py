"""Ticks and settings survive the way to JSON and back."""

import json
import re
from dataclasses import fields, replace
from datetime import UTC, datetime
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.errors import PlantError, SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.signals import (
    Configuration,
    Decision,
    Latency,
    ModuleReading,
    Observation,
    Power,
    RegionReading,
    Request,
    Tick,
)
from penstock.record import RunSettings, SloCheck, Summary, tick_from_json, tick_to_json
from penstock.record.codec import dumps
from penstock.record.running import Energy
from penstock.record.settings import settings_from_json
from penstock.record.summary import ModuleEconomy, RegionUse, RequestCount
from tests.support.paths import DOCS

numbers = st.floats(allow_nan=False, allow_infinity=False)
any_numbers = st.floats()
counts = st.integers(min_value=0, max_value=10**12)
names = st.text(max_size=8)
texts = st.text(alphabet=st.characters(codec=None), max_size=40)


def latencies(number: st.SearchStrategy[float]) -> st.SearchStrategy[Latency]:
    return st.builds(Latency, p50=number, p95=number, p99=number)


def readings(number: st.SearchStrategy[float]) -> st.SearchStrategy[ModuleReading]:
    metrics = (
        *("arrival_rate", "processed_rate", "backlog", "utilisation"),
        *("service_time", "service_cv", "batch_duration"),
    )
    whole = ("state_rows", "failed_tasks", "wanted", "requested", "running")
    return st.builds(
        ModuleReading,
        **{name: st.none() | number for name in metrics},
        **{name: st.none() | counts for name in whole},
        batch_parts=st.none() | st.dictionaries(names, number, max_size=3),
        latency=st.none() | latencies(number),
    )


by_name = st.dictionaries(names, counts, max_size=3)
configurations = st.builds(Configuration, degrees=by_name, nodes=by_name)
requests = st.builds(
    Request,
    level=names,
    manager=names,
    change=st.integers(),
    why=texts,
    granted=st.booleans(),
    answer=texts,
)


def regions(number: st.SearchStrategy[float]) -> st.SearchStrategy[RegionReading]:
    whole = ("nodes", "idle", "free", "replicas", "unmet", "wanted", "requested")
    return st.builds(
        RegionReading,
        **{name: st.none() | counts for name in whole},
        utilisation=st.none() | number,
        trouble=st.none() | texts,
    )


def ticks(number: st.SearchStrategy[float]) -> st.SearchStrategy[Tick]:
    seen = st.builds(
        Observation,
        at=numbers,
        step=numbers,
        modules=st.dictionaries(names, readings(number), max_size=3),
        latency=st.none() | latencies(number),
        regions=st.dictionaries(names, regions(number), max_size=3),
        pool=st.none() | st.integers(0, 50),
    )
    decided = st.builds(
        Decision,
        configuration=configurations,
        why=texts,
        proposed=st.none() | configurations,
        expects=st.dictionaries(names, number, max_size=3),
        requests=st.lists(requests, max_size=3).map(tuple),
    )
    return st.builds(Tick, seen=seen, decided=decided, asked=st.none() | configurations)


def a_tick(**reading: Any) -> Tick:
    return Tick(
        seen=Observation(at=1.0, step=1.0, modules={"count": ModuleReading(**reading)}),
        decided=Decision(configuration=Configuration(degrees={"count": 1}), why="enough"),
        asked=None,
    )


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def a_graph() -> FlowGraph:
    return FlowGraph(
        source="split",
        modules=(
            Module(name="split", service_time=0.003, operators=("splitter", "filter")),
            Module(name="count", max_replicas=4, buffer=500, trigger=1.0),
        ),
        streams=(Stream(origin="split", target="count", selectivity=2.0),),
    )


def a_settings(**other: Any) -> RunSettings:
    given = {
        "pipeline": "wordcount",
        "plant": "twin",
        "started": datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        "graph": a_graph(),
        **other,
    }
    return RunSettings(**given)


@settings(deadline=None)  # a busy machine is no failure
@given(ticks(numbers))
def test_a_tick_comes_back_as_it_was(tick: Tick) -> None:
    assert tick_from_json(json.loads(dumps(tick_to_json(tick)))) == tick


@settings(deadline=None)  # a busy machine is no failure
@given(ticks(any_numbers))
def test_a_line_is_strict_json_in_one_line_of_ascii_whatever_was_measured(tick: Tick) -> None:
    line = dumps(tick_to_json(tick))
    assert line.isascii()
    assert line.isprintable()
    tick_from_json(json.loads(line, parse_constant=refuse_constant))


def test_a_line_has_the_shape_that_others_script_against() -> None:
    tick = Tick(
        seen=Observation(
            at=2.0,
            step=2.0,
            modules={"count": ModuleReading(arrival_rate=5.5, batch_parts={"addBatch": 0.1})},
            latency=Latency(p50=0.1, p95=0.2, p99=0.3),
        ),
        decided=Decision(
            configuration=Configuration(degrees={"count": 2}),
            why="busy",
            proposed=Configuration(degrees={"count": 4}),
            expects={"utilisation:count": 0.5},
        ),
        asked=Configuration(degrees={"count": 2}),
    )
    kept = [field for field in fields(ModuleReading) if field.metadata.get("record", True)]
    unknown = dict.fromkeys(field.name for field in kept)
    assert tick_to_json(tick) == {
        "seen": {
            "at": 2.0,
            "step": 2.0,
            "modules": {
                "count": {**unknown, "arrival_rate": 5.5, "batch_parts": {"addBatch": 0.1}}
            },
            "latency": {"p50": 0.1, "p95": 0.2, "p99": 0.3},
            "frequency": None,
            "power": None,
            "regions": {},
            "pool": None,
            "queries": {},
        },
        "decided": {
            "configuration": {"degrees": {"count": 2}, "frequency": None, "nodes": {}},
            "why": "busy",
            "proposed": {"degrees": {"count": 4}, "frequency": None, "nodes": {}},
            "expects": {"utilisation:count": 0.5},
            "requests": [],
        },
        "asked": {"degrees": {"count": 2}, "frequency": None, "nodes": {}},
    }


@pytest.mark.parametrize(
    "kind",
    [
        *(Tick, Observation, ModuleReading, Latency, Decision, Configuration),
        *(RunSettings, FlowGraph, Stream, Summary, SloCheck, Energy, Power, ModuleEconomy),
        *(RegionReading, Request, RegionUse, RequestCount),
    ],
)
def test_the_page_about_the_folder_names_every_field(kind: Any) -> None:
    page = (DOCS / "run-folder.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", page))
    assert {field.name for field in fields(kind) if field.init} <= words


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_a_number_that_is_not_finite_is_unknown(value: float) -> None:
    back = tick_from_json(tick_to_json(a_tick(utilisation=value, backlog=3.0)))
    assert back == a_tick(utilisation=None, backlog=3.0)


def test_a_latency_that_lacks_a_quantile_is_unknown_as_a_whole() -> None:
    half = a_tick(latency=Latency(p50=1.0, p95=2.0, p99=inf))
    assert tick_from_json(tick_to_json(half)) == a_tick(latency=None)


def test_numbers_of_numpy_are_numbers() -> None:
    tick = a_tick(running=np.int64(3), utilisation=np.float32(0.5))
    assert tick_from_json(json.loads(dumps(tick_to_json(tick)))) == a_tick(
        running=3, utilisation=0.5
    )


def test_a_reading_without_a_time_is_refused() -> None:
    tick = a_tick()
    with pytest.raises(PlantError, match="finite time and step, got at=nan, step=1"):
        tick_to_json(replace(tick, seen=replace(tick.seen, at=nan)))


def test_fields_of_a_later_penstock_are_left_aside() -> None:
    line = tick_to_json(a_tick(running=3))
    line["seen"]["modules"]["count"]["temperature"] = 40
    assert tick_from_json(line) == a_tick(running=3)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("seen", "at"), "soon", "seen.at must be a finite number, got 'soon'"),
        (("seen", "at"), 10**400, "seen.at must be a finite number, got 1000"),
        (("seen", "modules"), [], r"seen.modules must be an object, got \[\]"),
        (("seen", "modules", "count", "running"), 1.5, "count.running must be a whole number"),
        (("seen", "modules", "count", "running"), True, "count.running must be a whole number"),
        (("decided", "why"), 7, "decided.why must be a text, got 7"),
        (("asked",), 3, "asked must be an object, got 3"),
        (("decided", "requests"), [{}], r"decided.requests.0.\w+ is missing"),
    ],
)
def test_a_wrong_field_is_named(path: tuple[str, ...], value: object, message: str) -> None:
    line: Any = tick_to_json(a_tick(running=1))
    place = line
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        tick_from_json(line)


def test_a_missing_field_is_named() -> None:
    line = tick_to_json(a_tick())
    del line["decided"]["why"]
    with pytest.raises(ValueError, match=r"decided\.why is missing"):
        tick_from_json(line)


def test_settings_come_back_as_they_were_endless_buffers_included() -> None:
    settings = a_settings(
        command=("penstock", "simulate", "wordcount"),
        policy="threshold",
        seed=7,
        slo_latency_p95=2.0,
        file={"step": "2s", "guards": ["hold", {"cooldown": {"out": "4s"}}], "port": None},
    )
    assert settings_from_json(json.loads(dumps(settings.to_json()))) == settings


def test_settings_never_hold_a_secret() -> None:
    settings = a_settings(
        command=("run", "--conf", "a.password=hush1", "--conf=b.secret=hush2", "--token", "hush3"),
        file={"spark": {"fs.s3a.access.key": "hush4"}, "list": [{"API_TOKEN": "hush5"}]},
    )
    text = dumps(settings.to_json())
    assert "hush" not in text
    assert text.count("(redacted)") == 5


def test_a_plant_that_there_is_not_is_refused() -> None:
    with pytest.raises(SettingError, match="plant must be one of spark, twin, replay, got 'moon'"):
        a_settings(plant="moon")
