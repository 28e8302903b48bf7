"""Our default policy against each peer's rule, on four kinds of load.

Daily, random-walk, bursty and, where the published data are, a recorded load, all on the twin of a
word count whose rows take five times as long, so that runs of ten minutes have few enough of them.
Every policy has the same rows. Run with `python -m benchmarks.tournament [seeds]`.
"""

import sys
from time import perf_counter
from typing import Final

from tests.support.paths import PUBLISHED

from penstock.cli.doctor import usable_cores
from penstock.experiment.compare import (
    PEERS,
    Load,
    TournamentResult,
    Verdict,
    advise,
    dominance,
    play,
)
from penstock.pipeline.file import load
from penstock.policy import DEFAULT, POLICIES
from penstock.workload import parse

OTHERS: Final[tuple[str, ...]] = ("threshold", "mpc")
SETTINGS: Final = {
    "flink": "flink:metrics_window=60s,stabilization_interval=30s,scale_down_interval=2m,"
    "catch_up_duration=2m,restart_time=10s",
}
"""Flink's own windows are longer than a run: it would never act."""
SEEDS: Final = 10
TRIES: Final = 12
"""Plans that the clairvoyant may try: it is a reference here, not the point."""
RECORDED: Final = PUBLISHED / "hft" / "random_walk_rates.txt"
SCALE: Final = 0.0005
"""297,000 quotes/s of the recording, on average, become 149."""
FILE: Final = (
    "duration=10m",
    "modules.splitter.service_time=15ms",
    "modules.counter.service_time=7.5ms",
    "modules.splitter.max_replicas=12",
    "modules.counter.max_replicas=12",
    "modules.splitter.initial_replicas=4",  # about what the mean load needs: nobody begins behind
    "modules.counter.initial_replicas=4",
)
LOADS: Final = {
    "daily": "daily:20/s..300/s,period=5m,noise=0.05",
    "random-walk": "random-walk:150/s,step=12/s,low=20/s,high=320/s,slot=2s",
    "bursty": "map:2000,rate=120/s",
}


def main(seeds: int) -> None:
    """Play, and print the verdict on every pair."""
    peers = [name for name in PEERS if name in POLICIES]
    missing = [name for name in PEERS if name not in POLICIES]
    if missing:
        print(f"not there: {', '.join(missing)}")
    file = load("wordcount", FILE)
    others = (name for name in OTHERS if name != DEFAULT)
    entrants = ",".join([DEFAULT, *others, *(SETTINGS.get(name, name) for name in peers)])
    began = perf_counter()
    played = play(file, entrants, loads(), seeds, jobs=usable_cores(), tries=TRIES)
    print(f"{len(played.rounds)} rounds of {len(played.names)} in {perf_counter() - began:.0f} s")
    show(played)


def loads() -> list[Load]:
    """The loads; the recorded one is the same for every seed."""
    found = [Load(name=name, workload=parse(text)) for name, text in LOADS.items()]
    if not RECORDED.exists():
        print(f"no recorded load: {RECORDED} is not there")
        return found
    text = f"trace:{RECORDED},scale={SCALE},repeat=true"
    return [*found, Load(name="recorded", workload=parse(text))]


def show(played: TournamentResult) -> None:
    """Violations and core-seconds of everybody, then the verdicts."""
    for where in (*played.loads, None):
        print(f"\n{where or 'all loads'}")
        for name in played.names:
            print(f"  {name:<12} {told(played, name, where)}")
        for entrant in played.entrants:
            if entrant.name != DEFAULT:
                print(f"  {line(dominance(played, DEFAULT, entrant.name, where))}")
    print("\n" + "\n".join(advise(played).why))


def told(played: TournamentResult, name: str, where: str | None) -> str:
    """The two measures that count."""
    if (error := played.error(name, where)) is not None:
        return f"raised {error}"
    broken = played.score(name, "violations", where)
    cores = played.score(name, "core_seconds", where)
    if broken is None or cores is None:
        return "not measured"
    return (
        f"violations {100 * broken.mean:6.2f} ±{100 * (broken.half_width or 0):.2f} %, "
        f"core-seconds {cores.mean:7,.0f} ±{cores.half_width or 0:,.0f}"
    )


def line(verdict: Verdict) -> str:
    """One verdict."""
    return f"{verdict.ours} {verdict.verdict.upper()} against {verdict.theirs}: {verdict.why}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
