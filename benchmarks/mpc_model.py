"""How near the models of a keyed operator come to the twin: mpc, Expr. 1 to 8.

Keys are measured under one configuration; then another degree, table and clock are put in force,
and what the models foresaw of them from that measurement is held against what came. Run with
`python -m benchmarks.mpc_model [operators]`.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.graph import FlowGraph, Module
from penstock.core.routing import Routing
from penstock.core.signals import Configuration, Decision, ModuleReading
from penstock.model.keyed import ReplicaLoads, effective_service_time, replica_loads
from penstock.model.queueing import corrected, waiting_time
from penstock.policy.common.rebalance import lpt
from penstock.twin import KeyedTwin
from penstock.workload import Constant
from penstock.workload.keys import shares

OPERATORS: Final = 100
KEYS: Final = 2836
ROWS: Final = 1_000_000
"""Rows of a control step; at 0.9 utilisation chance then counts for a few percent."""
BUFFER: Final = 2000
"""The model knows means; before a replica that is nearly full, a buffer of this size hides it."""
SERVICE_TIME: Final = 30e-6
FREQUENCIES: Final = (1.2, 1.4, 1.6, 1.8, 2.0)
MOST_REPLICAS: Final = 12
BY_TABLE: Final = "a queue for each replica, by the table"
OWN_QUEUES: Final = "a queue for each replica, all alike"
ONE_QUEUE: Final = "one queue, as in the paper"
ONE_QUEUE_FED_BACK: Final = "one queue, with the paper's feedback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A configuration of the operator."""

    routing: Routing
    frequency: float

    @property
    def degree(self) -> int:
        """Replicas."""
        return self.routing.replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An operator under a rate, and two settings: one to learn from and one to foresee."""

    rate: float
    service_cv: float
    service_times: dict[str, float]
    arrivals: str
    before: Setting
    after: Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Predicted by measured, less one."""

    utilisation: float
    throughput: float
    waits: dict[str, float]
    """By the form of Kingman's formula."""
    same_degree: bool


def random_case(
    random: np.random.Generator, load: float, *, arrivals: str = "poisson", balanced: bool = True
) -> Case:
    """An operator whose busiest replica is to have that load under the second setting."""
    times = dict(zip(shares(KEYS), _times(random), strict=True))
    work = {key: share * times[key] for key, share in shares(KEYS).items()}
    degree, frequency = int(random.integers(1, MOST_REPLICAS + 1)), random.choice(FREQUENCIES)
    after = Setting(
        routing=lpt(work, degree) if balanced else _any_table(random, degree),
        frequency=float(frequency),
    )
    clock = FREQUENCIES[-1] / frequency
    busiest = replica_loads(shares(KEYS), times, after.routing, default_time=0.0)
    rate = load / (busiest.ideal_service_time * clock)
    return Case(
        rate=rate,
        service_cv=(0.0, 0.5, 1.0, 1.5)[random.integers(4)],
        service_times=times,
        arrivals=arrivals,
        before=_calm(random, work, rate, degree if random.uniform() < 0.5 else None),
        after=after,
    )


def measure(case: Case, seed: int, rows: int = ROWS) -> Found:
    """Learn under one setting, foresee the other, and see."""
    seconds = rows / case.rate
    twin = KeyedTwin(
        FlowGraph(source="only", modules=(_module(case),)),
        Constant(case.rate),
        step=seconds,
        duration=4 * seconds,
        shares=shares(KEYS),
        service_times=case.service_times,
        routing=case.before.routing,
        seed=seed,
        arrivals=case.arrivals,
        frequency=case.before.frequency,
        reference=FREQUENCIES[-1],
    )
    readings = (seen.modules["only"] for seen in twin.readings())
    _, learnt = islice(readings, 2)
    twin.apply(_decided(case.after))
    _, came = readings
    return _held_against(case, learnt, came)


def _held_against(case: Case, learnt: ModuleReading, came: ModuleReading) -> Found:
    loads = _loads(learnt, case.after.routing, case.before.frequency / case.after.frequency)
    pace = 1.0 / float(effective_service_time(loads.inter_arrival, loads.ideal_service_time))
    waits = _waits(case, learnt, loads)
    return Found(
        utilisation=float(loads.utilisation.max()),
        throughput=pace / _known(came.processed_rate) - 1.0,
        waits={form: wait / _known(came.waiting_time) - 1.0 for form, wait in waits.items()},
        same_degree=case.before.degree == case.after.degree,
    )


def _waits(case: Case, learnt: ModuleReading, loads: ReplicaLoads) -> dict[str, float]:
    """What each form of the formula foresees."""
    clock = case.before.frequency / case.after.frequency
    one = _kingman(learnt, case.after.degree, clock, own_queues=False)
    learnt_from = _kingman(learnt, case.before.degree, 1.0, own_queues=False)
    return {
        BY_TABLE: _by_table(learnt, loads),
        OWN_QUEUES: _kingman(learnt, case.after.degree, clock, own_queues=True),
        ONE_QUEUE: one,
        ONE_QUEUE_FED_BACK: corrected(one, _known(learnt.waiting_time) / learnt_from),
    }


def _kingman(learnt: ModuleReading, degree: int, clock: float, *, own_queues: bool) -> float:
    return float(
        waiting_time(
            rate=_known(learnt.arrival_rate),
            service_time=_known(learnt.service_time),
            replicas=degree,
            arrival_cv=_known(learnt.arrival_cv),
            service_cv=_known(learnt.service_cv),
            frequency_ratio=clock,
            headroom=1.0,
            own_queues=own_queues,
        )
    )


def _by_table(learnt: ModuleReading, loads: ReplicaLoads) -> float:
    """The mean over rows of the wait at the replica that each goes to."""
    thinned = 1.0 + loads.probability * (_known(learnt.arrival_cv) ** 2 - 1.0)
    waits = waiting_time(
        rate=loads.rate * loads.probability,
        service_time=loads.service_time,
        replicas=1,
        arrival_cv=np.sqrt(thinned),
        service_cv=_known(learnt.service_cv),
        headroom=1.0,
    )
    return float(waits @ loads.probability)


def _loads(learnt: ModuleReading, routing: Routing, clock: float) -> ReplicaLoads:
    assert learnt.keys is not None
    return replica_loads(
        learnt.keys.rates,
        learnt.keys.service_times,
        routing,
        default_time=_known(learnt.service_time),
        frequency_ratio=clock,
    )


def _known(value: float | None) -> float:
    assert value is not None
    return value


def _module(case: Case) -> Module:
    return Module(
        name="only",
        service_time=SERVICE_TIME,
        service_cv=case.service_cv,
        keys=KEYS,
        buffer=BUFFER,
        initial_replicas=case.before.degree,
        max_replicas=2 * MOST_REPLICAS,
    )


def _decided(setting: Setting) -> Decision:
    configuration = Configuration(
        degrees={"only": setting.degree},
        routing={"only": setting.routing},
        frequency=setting.frequency,
    )
    return Decision(configuration=configuration, why="what the models foresaw")


def _times(random: np.random.Generator) -> list[float]:
    """Some keys take longer than others."""
    times: NDArray[np.float64] = SERVICE_TIME * random.lognormal(-0.045, 0.3, KEYS)
    return [float(seconds) for seconds in times]


def _any_table(random: np.random.Generator, degree: int) -> Routing:
    """By checksum, or as uneven as chance makes it."""
    if random.uniform() < 0.3:
        return Routing(replicas=degree)
    owners = (degree * random.uniform(size=KEYS) ** random.uniform(1.0, 2.0)).astype(int)
    return Routing(replicas=degree, owners=dict(zip(shares(KEYS), owners.tolist(), strict=True)))


def _calm(
    random: np.random.Generator, work: dict[str, float], rate: float, degree: int | None
) -> Setting:
    """A balanced setting at the highest clock in which no replica is overloaded."""
    least = int(rate * sum(work.values()) / 0.9) + 1
    chosen = max(degree or least + int(random.integers(0, 3)), least)
    return Setting(routing=lpt(work, chosen), frequency=FREQUENCIES[-1])


def throughput_error(seed: int) -> float:
    """Of one operator with any table, idle to overloaded."""
    random = np.random.default_rng(seed)
    case = random_case(random, random.uniform(0.3, 1.6), balanced=bool(random.integers(2)))
    return measure(case, seed).throughput


def waiting_errors(seed: int) -> Found:
    """Of one operator whose keys are balanced and whose replicas keep up."""
    random = np.random.default_rng(seed)
    return measure(random_case(random, random.uniform(0.3, 0.9)), seed)


def main(operators: int = OPERATORS) -> None:
    """Print how far off each model was."""
    with ProcessPoolExecutor() as pool:
        paces = np.abs(list(pool.map(throughput_error, range(operators))))
        found = list(pool.map(waiting_errors, range(operators)))
    print(f"{operators} operators with {KEYS} keys and up to {MOST_REPLICAS} replicas")
    print(f"throughput (Expr. 3 and 4), any table, 0.3 to 1.6 utilisation: {_told(paces)}")
    print("waiting time (Expr. 7 and 8), balanced, 0.3 to 0.9 utilisation:")
    for form in (BY_TABLE, OWN_QUEUES, ONE_QUEUE, ONE_QUEUE_FED_BACK):
        print(f"  {form:38} {_told(np.abs([case.waits[form] for case in found]))}")
    same = [case.waits[ONE_QUEUE_FED_BACK] for case in found if case.same_degree]
    print(f"  {'the same, where the degree stays':38} {_told(np.abs(same))}")


def _told(errors: NDArray[np.float64]) -> str:
    return (
        f"median {np.median(errors):6.1%}, 95 of 100 within {np.quantile(errors, 0.95):6.1%}, "
        f"worst {errors.max():6.1%}"
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
