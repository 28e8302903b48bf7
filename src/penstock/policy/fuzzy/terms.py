"""What a load is called: words in place of numbers, each to a degree (ppq, Section 4.2, Fig. 7)."""

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from math import isfinite
from typing import Final, Literal

from penstock.core.errors import SettingError

Speed = Literal["fast", "acceptable", "slow"]
"""How fast a stage is for what comes."""
Split = Literal["moderate", "intensive"]
"""How much panes are split."""
Points = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How true it is of a number that a stage is fast, or that panes are split a lot, from 0 to 1.

    >>> {term: round(grade, 3) for term, grade in Terms().of_load(0.6).items()}
    {'fast': 0.75, 'acceptable': 0.25, 'slow': 0.0}
    >>> Terms().of_splitting(1.5)
    {'moderate': 1.0, 'intensive': 0.0}

    Points have to rise, and every number needs a word:

    >>> Terms(fast=(0.9, 0.5))
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: the points of fast must be rising numbers of 0 or more, \
got 0.9, 0.5
    """

    fast: Points = (0.5, 0.9)
    """The load up to which a stage is wholly fast, and the load from which it is not at all."""
    acceptable: Points = (0.5, 0.9, 1.3)
    """The loads between which a stage is acceptable, and in the middle the one to aim at."""
    slow: Points = (0.9, 1.3)
    """The load up to which a stage is not slow at all, and the load from which it wholly is."""
    moderate: Points = (2.0, 5.0)
    """Parts of a pane up to which it is split moderately, and from which that is not so at all."""
    intensive: Points = (2.0, 3.5)
    """Parts of a pane up to which it is not split intensively, and from which it wholly is."""

    def __post_init__(self) -> None:
        """Refuse points out of order, and numbers that no word is true of."""
        for term in fields(self):
            _check_points(term.name, getattr(self, term.name))
        _check_order("fast", self.fast[0], self.acceptable)
        _check_order("slow", -self.slow[-1], tuple(-point for point in self.acceptable))
        _check_overlap("load", "fast", self.fast[-1], "acceptable", self.acceptable[0])
        _check_overlap("load", "acceptable", self.acceptable[-1], "slow", self.slow[0])
        _check_overlap("splitting", "moderate", self.moderate[-1], "intensive", self.intensive[0])

    def around(self, setpoint: float) -> "Terms":
        """The same words for a stage that is to have another load: their points in proportion.

        >>> Terms().around(0.45).acceptable
        (0.25, 0.45, 0.65)
        """
        share = setpoint / self.acceptable[1]
        if share == 1:  # the last bit counts where a degree is halfway between two
            return self
        moved = {
            name: tuple(share * point for point in getattr(self, name))
            for name in ("fast", "acceptable", "slow")
        }
        return replace(self, **moved)

    def of_load(self, load: float) -> dict[Speed, float]:
        """How true each word for a stage's speed is of its load."""
        left, peak, right = self.acceptable
        return {
            "fast": _falling(load, *self.fast),
            "acceptable": min(_rising(load, left, peak), _falling(load, peak, right)),
            "slow": _rising(load, *self.slow),
        }

    def of_splitting(self, parts: float) -> dict[Split, float]:
        """How true each word for splitting is of so many parts of a pane."""
        return {
            "moderate": _falling(parts, *self.moderate),
            "intensive": _rising(parts, *self.intensive),
        }


def _rising(value: float, foot: float, shoulder: float) -> float:
    if value >= shoulder:
        return 1.0
    return max((value - foot) / (shoulder - foot), 0.0)


def _falling(value: float, shoulder: float, foot: float) -> float:
    if value <= shoulder:
        return 1.0
    return max((foot - value) / (foot - shoulder), 0.0)


def _check_points(term: str, points: Points) -> None:
    count = 3 if term == "acceptable" else 2
    told = ", ".join(f"{point:g}" for point in points)
    if len(points) != count:
        raise SettingError(f"{term} needs {count} points, got {told or 'none'}")
    rising = all(low < high for low, high in pairwise(points))
    if not (rising and all(isfinite(point) and point >= 0 for point in points)):
        raise SettingError(f"the points of {term} must be rising numbers of 0 or more, got {told}")


def _check_order(term: str, wholly: float, acceptable: Points) -> None:
    if wholly > acceptable[1]:
        raise SettingError(
            f"a load of {abs(acceptable[1]):g}, the middle of acceptable, must not be wholly "
            f"{term}, got {abs(wholly):g}; move the points of {term}"
        )


def _check_overlap(of: str, lower: str, end: float, upper: str, begin: float) -> None:
    if end <= begin:
        raise SettingError(
            f"{lower} must end after {upper} begins, or no rule would speak of a {of} of {end:g}, "
            f"got {end:g} and {begin:g}"
        )


PAPERS: Final = Terms()
"""The points of the published controller."""
