"""Ticks made by hand, with as much in them as a score needs."""

from collections.abc import Sequence

from penstock.core.signals import Configuration, Decision, Latency, ModuleReading, Observation, Tick


def tick(
    at: float,
    *,
    running: int,
    requested: int | None = None,
    p95: float | None = 1.0,
    backlog: float | None = 0.0,
    busy: float | None = 0.5,
    asked: int | None = None,
    step: float = 2.0,
    rate: float = 10.0,
) -> Tick:
    """One step of the module `count`; `asked` is what was asked for at its end."""
    reading = ModuleReading(
        running=running,
        requested=running if requested is None else requested,
        backlog=backlog,
        utilisation=busy,
        processed_rate=rate,
    )
    latency = None if p95 is None else Latency(p50=p95 / 2, p95=p95, p99=2 * p95)
    seen = Observation(at=at, step=step, modules={"count": reading}, latency=latency)
    wanted = Configuration(degrees={"count": asked if asked is not None else running})
    decided = Decision(configuration=wanted, why="by hand")
    return Tick(seen=seen, decided=decided, asked=None if asked is None else wanted)


def ticks(running: Sequence[int], **more: float) -> list[Tick]:
    """Steps of two seconds with so many executors; changes are asked for in the step before."""
    after = [*running[1:], running[-1]]
    return [
        tick(2.0 * (i + 1), running=n, asked=m if m != n else None, **more)  # type: ignore[arg-type]
        for i, (n, m) in enumerate(zip(running, after, strict=True))
    ]
