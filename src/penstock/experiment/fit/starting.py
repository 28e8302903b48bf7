"""How long executors take from being asked for until they take tasks.

A step sees that an executor has come, not when: in the middle of the step, on average.
"""

from collections.abc import Sequence

from penstock.core.graph import Module
from penstock.core.signals import Tick, current
from penstock.experiment.fit.estimate import Estimate, kept, middle


def start_up(ticks: Sequence[Tick], module: Module) -> Estimate:
    """Of one module, the median over the executors that came while the run lasted."""
    name, setting, file = module.name, "start_up", module.start_up
    delays = waits(ticks, name)
    if not delays:
        return kept(name, setting, file, "no executor was asked for and came")
    how = "from request to running, median over executors"
    value = middle(delays)
    return Estimate(of=name, setting=setting, value=value, file=file, samples=len(delays), how=how)


def waits(ticks: Sequence[Tick], name: str) -> list[float]:
    """Seconds that each executor took; one that was given up before it came is left out.

    Those that were asked for first come first, and those asked for last are given up first.
    """
    waiting: list[float] = []
    found: list[float] = []
    asked: int | None = None
    running: int | None = None
    for tick in ticks:
        seen = tick.seen.modules.get(name)
        now = seen.running if seen else None
        if now is not None:
            came = max(now - running, 0) if running is not None else 0
            moment = tick.seen.at - tick.seen.step / 2
            found += [max(moment - at, 0.0) for at in waiting[:came]]
            del waiting[:came]
            running = now
        before = asked if asked is not None else current(tick.seen).degrees.get(name)
        asked = tick.asked.degrees.get(name, before) if tick.asked else before
        if asked is not None and before is not None:
            waiting += [tick.seen.at] * max(asked - before, 0)
            del waiting[max(len(waiting) - max(before - asked, 0), 0) :]
    return found
