"""A file played on the twin: by its own policy, or by decisions that were made elsewhere."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.loop import control
from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation, Tick, current
from penstock.pipeline.compose import build_policy
from penstock.pipeline.settings import PipelineFile
from penstock.plant.twin import Twin
from penstock.workload import drawn


@dataclass(frozen=True, slots=True)
class AsRecorded:
    """Asks for the degrees that were asked for in a recording, at the same moments.

    >>> from penstock.testing import seen
    >>> policy = AsRecorded(((4.0, {"count": 2}), (9.0, {"count": 3})))
    >>> policy(seen(at=8.0, count={"running": 1})).configuration.degrees
    {'count': 2}
    """

    asked: tuple[tuple[float, dict[str, int]], ...]
    """Moments, and the degrees asked for then."""
    _moments: tuple[float, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Keep the moments apart, to be searched."""
        object.__setattr__(self, "_moments", tuple(at for at, _ in self.asked))

    @classmethod
    def of(cls, ticks: Iterable[Tick]) -> "AsRecorded":
        """What a recording asked for, the degrees that it began with first."""
        ticks = tuple(ticks)
        begun = (0.0, dict(current(ticks[0].seen).degrees))
        asked = [(tick.seen.at, dict(tick.asked.degrees)) for tick in ticks if tick.asked]
        return cls((begun, *asked))

    def __call__(self, seen: Observation, /) -> Decision:
        """The degrees in force in the recording at that moment."""
        place = bisect_right(self._moments, seen.at + 1e-6) - 1
        at, degrees = self.asked[max(place, 0)]
        why = f"as recorded at {at:g} s"
        return Decision(configuration=Configuration(degrees=degrees), why=why)


def play(
    file: PipelineFile, policy: Policy | None = None, *, seed: int | None = None
) -> list[Tick]:
    """Every turn of the file on the twin."""
    seeded = file if seed is None else replace(file, seed=seed)
    twin = Twin(
        file.graph,
        file.workload,
        step=file.step,
        duration=file.duration,
        seed=seeded.seed,
        arrivals="even" if drawn(file.workload) else "poisson",
    )
    return list(control(twin, build_policy(seeded) if policy is None else policy))


def plays(file: PipelineFile, policy: Policy | None, seeds: Sequence[int]) -> list[list[Tick]]:
    """The same with each of these seeds."""
    return [play(file, policy, seed=seed) for seed in seeds]
