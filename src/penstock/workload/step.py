"""Rates that change at given moments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from penstock.core.errors import SettingError
from penstock.core.units import parse_duration, parse_rate
from penstock.workload.checks import not_negative
from penstock.workload.curve import Curve, Curved

Level = tuple[float, float]
"""Rows a second, and the second from which they hold."""


def read_levels(given: object) -> tuple[Level, ...]:
    """Levels as people write them: a text, a list of texts, or a mapping from moment to rate.

    >>> read_levels("100/s, 400/s@30s")
    ((100.0, 0.0), (400.0, 30.0))
    >>> read_levels({"0s": "100/s", "30s": "400/s"})
    ((100.0, 0.0), (400.0, 30.0))
    """
    if isinstance(given, Mapping):
        return tuple((parse_rate(level), parse_duration(at)) for at, level in given.items())
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, Sequence):
        raise SettingError(f"levels are written as 100/s, 400/s@30s, got {given!r}")
    return tuple(_read_level(level) for level in given)


@dataclass(frozen=True, slots=True)
class Step(Curved):
    """One level after another, each from its moment on.

    >>> import numpy as np
    >>> step = Step(levels=((100.0, 0.0), (400.0, 30.0)))
    >>> step.rate(np.array([0.0, 29.9, 30.0])).tolist()
    [100.0, 100.0, 400.0]
    """

    levels: tuple[Level, ...] = field(metadata={"read": read_levels})

    def __post_init__(self) -> None:
        """Refuse levels that do not follow one another."""
        for level, at in self.levels:
            not_negative(level, "each level of workload step")
            not_negative(at, "each moment of workload step")
        moments = [at for _, at in self.levels]
        if not moments or moments[0] != 0:
            raise SettingError(
                "the first level of workload step must hold from 0 s on; write 100/s,400/s@30s"
            )
        for before, after in pairwise(moments):
            if not after > before:
                raise SettingError(
                    f"the moments of workload step must increase, got {before:g} s, {after:g} s"
                )

    def curve(self, *, until: float = 0.0, rows: float = 0.0) -> Curve:  # noqa: ARG002  # endless
        """A segment for each level."""
        rates, starts = zip(*self.levels, strict=True)
        return Curve.through(starts=starts, rates=rates)


def _read_level(given: object) -> Level:
    if not isinstance(given, str):
        return parse_rate(given), 0.0
    level, _, at = given.partition("@")
    return parse_rate(level), parse_duration(at) if at else 0.0
