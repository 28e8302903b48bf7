"""What repeats: an amount more or less at each place of a period, or a factor."""

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LEAST_FACTOR: Final = 0.1
"""At a place with a smaller factor a value says little of the level: its noise, divided by the
factor, would be most of what is learnt."""


class Season(Protocol):
    """How the level and the term of a place make a value."""

    neutral: float
    """The term of a place that is like the level."""

    def join(self, levels: Floats, terms: Floats, /) -> Floats:
        """The values of levels at places with these terms."""
        ...

    def level(self, value: float, term: float, expected: float, /) -> float:
        """The level that a value at a place of this term speaks for; if of none, the expected."""
        ...

    def term(self, value: float, level: float, known: float, period: int, /) -> float:
        """The term that a value speaks for where the level was due; if of none, the known."""
        ...


class Additive:
    """So much more or less at each place, however high the level.

    >>> Additive().join(np.array([300.0, 600.0]), np.array([50.0, 50.0])).tolist()
    [350.0, 650.0]
    """

    neutral = 0.0

    def join(self, levels: Floats, terms: Floats, /) -> Floats:
        """The sums."""
        return levels + terms

    def level(self, value: float, term: float, _expected: float, /) -> float:
        """What a value is without the term."""
        return value - term

    def term(self, value: float, level: float, _known: float, _period: int, /) -> float:
        """What a value has more than the level."""
        return value - level


class Multiplicative:
    """So many times the level at each place: the swing grows with the level.

    >>> Multiplicative().join(np.array([300.0, 600.0]), np.array([1.5, 1.5])).tolist()
    [450.0, 900.0]
    """

    neutral = 1.0

    def join(self, levels: Floats, terms: Floats, /) -> Floats:
        """The products."""
        return levels * terms

    def level(self, value: float, term: float, expected: float, /) -> float:
        """What a value is of its factor; a place that is always near zero tells nothing."""
        return value / term if term >= _LEAST_FACTOR else expected

    def term(self, value: float, level: float, known: float, period: int, /) -> float:
        """How many times the level a value is.

        The factors of a period average one and none is negative, so none exceeds the period.
        """
        return min(max(value / level, 0.0), float(period)) if level > 0 else known


SEASONS: Final[dict[str, Season]] = {"additive": Additive(), "multiplicative": Multiplicative()}
