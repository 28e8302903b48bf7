"""Several pipelines on the twin as one plant."""

from collections.abc import Mapping
from copy import deepcopy
from itertools import islice

import pytest

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.loop import control
from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Tick
from penstock.policy import Allocate, Static
from penstock.testing import check_plant
from penstock.twin import KeyedTwin, Twin
from penstock.twin.joint import JointTwin
from penstock.workload import Constant, Step

WEIGHTS = {"fraud": 5.0, "reports": 1.0}
RATES = {"fraud": 120.0, "reports": 60.0}
TIMES = {"fraud": (0.02, 0.01), "reports": (0.04, 0.04)}


def graph(name: str, *, degree: int = 2, start_up: float = 0.0) -> FlowGraph:
    """Rows are looked up and scored."""
    modules = tuple(
        Module(
            name=f"{name}.{stage}",
            service_time=seconds,
            service_cv=0.5,
            initial_replicas=degree,
            max_replicas=8,
            start_up=start_up,
        )
        for stage, seconds in zip(("look", "score"), TIMES[name], strict=True)
    )
    stream = Stream(origin=f"{name}.look", target=f"{name}.score")
    return FlowGraph(source=f"{name}.look", modules=modules, streams=(stream,))


def twin(name: str, *, step: float = 5.0, duration: float = 20.0, **more: float) -> Twin:
    return Twin(
        graph(name, start_up=more.get("start_up", 0.0)),
        Constant(RATES[name] * more.get("times", 1.0)),
        step=step,
        duration=duration,
        seed=len(name),
    )


def joint(weights: Mapping[str, float] | None = None, **more: float) -> JointTwin:
    return JointTwin({name: twin(name, **more) for name in RATES}, weights=weights)


def both() -> FlowGraph:
    fraud, reports = graph("fraud"), graph("reports")
    return FlowGraph(
        source=fraud.source,
        also=(reports.source,),
        modules=(*fraud.modules, *reports.modules),
        streams=(*fraud.streams, *reports.streams),
    )


def decision(degrees: Mapping[str, int]) -> Decision:
    return Decision(configuration=Configuration(degrees=degrees), why="a test asks for it")


def test_it_is_a_plant() -> None:
    check_plant(joint)


def test_every_part_is_what_it_would_be_alone() -> None:
    together = list(joint().readings())
    for name in RATES:
        alone = list(twin(name).readings())
        assert [(seen.at, seen.step) for seen in together] == [(s.at, s.step) for s in alone]
        for seen, own in zip(together, alone, strict=True):
            assert {n: seen.modules[n] for n in own.modules} == own.modules


def test_the_latency_is_that_of_the_pipeline_that_is_worst() -> None:
    parts = [list(twin(name).readings()) for name in RATES]
    for seen, *own in zip(joint().readings(), *parts, strict=True):
        latencies = [one.latency for one in own if one.latency is not None]
        assert seen.latency == max(latencies, key=lambda latency: latency.p95)


def test_a_decision_reaches_the_part_whose_modules_it_names() -> None:
    plant = joint()
    next(plant.readings())
    assert plant.apply(decision({"reports.score": 3})) == Configuration(
        degrees={"reports.look": 2, "reports.score": 3}
    )
    seen = next(plant.readings())
    running = {name: module.running for name, module in seen.modules.items()}
    assert running == {"fraud.look": 2, "fraud.score": 2, "reports.look": 2, "reports.score": 3}


def test_a_decision_with_a_mistake_changes_nothing() -> None:
    plant = joint()
    with pytest.raises(SettingError, match=r"did you mean 'reports.score'"):
        plant.apply(decision({"fraud.look": 5, "reports.scor": 3}))
    assert next(plant.readings()).modules["fraud.look"].running == 2


def test_a_copy_lives_on_alone() -> None:
    plant = joint()
    list(islice(plant.readings(), 2))
    fork = deepcopy(plant)
    fork.apply(decision({"fraud.look": 8}))
    assert len(list(fork.readings())) == 2
    reference = list(joint().readings())
    assert list(plant.readings()) == reference[2:]


def test_the_weighted_output_is_what_left_the_last_modules_is_worth() -> None:
    plant = joint(WEIGHTS)
    list(plant.readings())
    left = {name: part.totals()[f"{name}.score"].finished for name, part in twins(plant).items()}
    expected = sum(WEIGHTS[name] * rows for name, rows in left.items())
    assert plant.results == {"weighted_output": pytest.approx(expected)}
    by_sink = joint({"fraud.score": 5.0})
    list(by_sink.readings())
    assert by_sink.results == plant.results
    assert joint().results == {}


def twins(plant: JointTwin) -> dict[str, Twin]:
    return {name: part for name, part in plant.parts.items() if isinstance(part, Twin)}


def test_parts_of_different_kinds_go_together() -> None:
    only = Module(name="keyed.count", service_time=0.01, keys=20, max_replicas=4)
    keyed = KeyedTwin(
        FlowGraph(source=only.name, modules=(only,)), Constant(50.0), step=5.0, duration=20.0
    )
    plant = JointTwin({"keyed": keyed, "fraud": twin("fraud")})
    seen = list(plant.readings())
    assert len(seen) == 4
    assert set(seen[0].modules) == {"keyed.count", "fraud.look", "fraud.score"}
    assert seen[0].power is None  # of fraud it is unknown


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({}, "at least one pipeline, got none"),
        ({"fraud": "fraud", "other": "fraud"}, "pipelines fraud and other both have a module"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(parts: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        JointTwin({name: twin(of) for name, of in parts.items()})


def test_weights_of_unknown_names_are_refused() -> None:
    with pytest.raises(SettingError, match="there is no pipeline 'frod' to weigh; did you mean"):
        joint({"frod": 2.0})


@pytest.mark.parametrize("other", [{"step": 4.0}, {"duration": 15.0}, {"duration": 25.0}])
def test_twins_with_steps_of_their_own_are_refused(other: dict[str, float]) -> None:
    plant = JointTwin({"fraud": twin("fraud"), "reports": twin("reports", **other)})
    with pytest.raises(SettingError, match="pipelines fraud, reports are out of step"):
        list(plant.readings())


def output(policy: Policy, *, times: float = 1.0, start_up: float = 10.0) -> float:
    """What all results of five minutes are worth."""
    plant = joint(WEIGHTS, duration=300.0, times=times, start_up=start_up)
    list(control(plant, policy))
    return float(plant.results["weighted_output"])


@pytest.mark.parametrize("times", [1.0, 2.0, 4.0])
def test_dividing_by_worth_brings_a_tenth_more_than_an_even_division(times: float) -> None:
    allocated = output(Allocate(both(), cores=8, weights=WEIGHTS), times=times)
    assert allocated > 1.10 * output(Static(), times=times)


def test_it_does_no_harm_where_there_is_enough_for_all() -> None:
    allocated = output(Allocate(both(), cores=8, weights=WEIGHTS), times=0.5)
    assert allocated == pytest.approx(output(Static(), times=0.5), rel=0.01)


def test_it_comes_to_rest() -> None:
    for times in (0.5, 1.0, 2.0):
        ticks: list[Tick] = list(
            control(joint(duration=300.0, times=times), Allocate(both(), cores=8, weights=WEIGHTS))
        )
        moves = [tick.seen.at for tick in ticks if tick.asked is not None]
        assert len(moves) <= 3
        assert all(sum(tick.decided.configuration.degrees.values()) <= 8 for tick in ticks)


def test_cores_follow_the_load_and_come_back() -> None:
    """Fraud has next to nothing to do at first and at last, and more than it can in between."""
    surge = Step(((10.0, 0.0), (240.0, 100.0), (10.0, 200.0)))
    plant = JointTwin(
        {
            "fraud": Twin(graph("fraud"), surge, step=5.0, duration=400.0),
            "reports": Twin(graph("reports"), Constant(75.0), step=5.0, duration=400.0),
        }
    )
    ticks = list(control(plant, Allocate(both(), cores=8, weights=WEIGHTS)))
    fraud = [_fraud(tick) for tick in ticks]
    assert fraud[18] == 2  # just before the surge
    assert fraud[24] == 6  # soon after it began
    assert fraud[-1] == 2
    assert len([tick for tick in ticks if tick.asked is not None]) <= 8


def _fraud(tick: Tick) -> int:
    degrees = tick.decided.configuration.degrees
    return sum(degree for name, degree in degrees.items() if name.startswith("fraud."))
