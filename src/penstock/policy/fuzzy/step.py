"""One step of the controller: from what was measured of both stages to their next degrees."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from math import floor, isfinite, isnan
from typing import Final, Literal, NamedTuple

from penstock.core.errors import SettingError

# What a load is called: words in place of numbers, each to a degree (ppq, Section 4.2, Fig. 7).


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
        for term in TERMS:
            _check_points(term, getattr(self, term))
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
    text = ", ".join(f"{point:g}" for point in points)
    if len(points) != count:
        raise SettingError(f"{term} needs {count} points, got {text or 'none'}")
    rising = all(low < high for low, high in pairwise(points))
    if not (rising and all(isfinite(point) and point >= 0 for point in points)):
        raise SettingError(f"the points of {term} must be rising numbers of 0 or more, got {text}")


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


TERMS: Final = tuple(field.name for field in fields(Terms))
PAPERS: Final = Terms()
"""The points of the published controller."""


# What follows from the speed of both stages: a zero-order Takagi-Sugeno controller.


DECREASE: Final = 0.5
SLIGHT_DECREASE: Final = 0.75
UNCHANGED: Final = 1.0
SLIGHT_INCREASE: Final = 1.25
INCREASE: Final = 1.5  # ppq, Tab. 1


class Rule(NamedTuple):
    """If the stages are so, multiply their degrees by that."""

    plq: Speed
    splitting: Split | None
    """None where the rule holds however panes are split."""
    wlq: Speed
    plq_factor: float
    wlq_factor: float


RULES: Final = (  # ppq, Tab. 2
    Rule("fast", None, "fast", DECREASE, DECREASE),
    Rule("fast", None, "acceptable", DECREASE, UNCHANGED),
    Rule("fast", None, "slow", DECREASE, INCREASE),
    Rule("acceptable", "moderate", "fast", UNCHANGED, DECREASE),
    Rule("acceptable", "moderate", "acceptable", UNCHANGED, UNCHANGED),
    Rule("acceptable", "moderate", "slow", UNCHANGED, INCREASE),
    Rule("acceptable", "intensive", "fast", SLIGHT_INCREASE, DECREASE),
    Rule("acceptable", "intensive", "acceptable", SLIGHT_INCREASE, UNCHANGED),
    Rule("acceptable", "intensive", "slow", UNCHANGED, INCREASE),
    Rule("slow", None, "fast", INCREASE, SLIGHT_DECREASE),
    Rule("slow", None, "acceptable", INCREASE, SLIGHT_INCREASE),
    Rule("slow", None, "slow", SLIGHT_INCREASE, INCREASE),
)


def factors(
    rho_plq: float, splitting: float, rho_wlq: float, terms: Terms = PAPERS
) -> tuple[float, float]:
    """What to multiply the degrees of the pane stage and of the window stage by.

    >>> factors(1.5, 1.0, 0.3)  # rule 10: more for panes, and a little less for windows
    (1.5, 0.75)
    """
    plq, wlq = terms.of_load(rho_plq), terms.of_load(rho_wlq)
    split = terms.of_splitting(splitting)
    strengths = [
        min(plq[rule.plq], split[rule.splitting] if rule.splitting else 1.0, wlq[rule.wlq])
        for rule in RULES
    ]
    return (
        _average(zip((rule.plq_factor for rule in RULES), strengths, strict=True)),
        _average(zip((rule.wlq_factor for rule in RULES), strengths, strict=True)),
    )


def _average(outputs: Iterable[tuple[float, float]]) -> float:
    """The mean of distinct outputs, each weighted by the strongest rule that asks for it."""
    strengths: dict[float, float] = {}
    for factor, strength in outputs:
        strengths[factor] = max(strengths.get(factor, 0.0), strength)
    weighted = sum(factor * strength for factor, strength in strengths.items())
    return weighted / sum(strengths.values())


POOL: Final = 59
"""Workers that the paper's machine has for both stages."""
DegreeBounds = tuple[int, int]
"""The fewest workers of a stage, and the most."""
_STAYS: Final = {1: (0.0, 1.25), 2: (0.563, 1.25), 3: (0.793, 1.17)}
"""Factors from the first up to the second, at which so few workers stay as many: rounding alone
would let them go back and forth."""


def next_degrees(
    rho_plq: float,
    splitting: float,
    rho_wlq: float,
    plq: int,
    wlq: int,
    pool: int = POOL,
    *,
    terms: Terms = PAPERS,
    bounds: tuple[DegreeBounds, DegreeBounds] | None = None,
) -> tuple[int, int]:
    """The next degrees of the pane stage and of the window stage.

    `rho_plq` and `rho_wlq` are the loads of the stages: work that came by the work that could have
    been done. `splitting` is the mean number of parts of a pane. `plq` and `wlq` are the workers of
    the stages, of which there are `pool` in all, and of each stage at least and at most as many as
    its `bounds` say.

    >>> next_degrees(0.9, 1.0, 0.9, plq=4, wlq=12)  # both as they should be
    (4, 12)
    >>> next_degrees(0.9, 4.0, 1.5, plq=4, wlq=12)  # a slow window stage comes first
    (4, 18)
    >>> next_degrees(0.9, 1.0, 2.8, plq=2, wlq=57)  # the pool is used up
    (1, 58)

    A number that is not known, as where no pane was completed, leaves both as they are:

    >>> next_degrees(float("nan"), 1.0, 1.5, plq=4, wlq=12)
    (4, 12)
    """
    _check(rho_plq, splitting, rho_wlq, plq, wlq, pool)
    if isnan(rho_plq) or isnan(splitting) or isnan(rho_wlq):
        return int(plq), int(wlq)
    for_plq, for_wlq = factors(rho_plq, splitting, rho_wlq, terms)
    wanted = [_next(plq, for_plq), _next(wlq, for_wlq)]
    if bounds is not None:  # before they share: what a stage cannot have is for the other
        both = zip(wanted, bounds, strict=True)
        wanted = [min(max(degree, least), most) for degree, (least, most) in both]
    return _share(wanted[0], wanted[1], pool)


def _next(degree: int, factor: float) -> int:
    low, below = _STAYS.get(degree, (1.0, 1.0))
    if low <= factor < below:
        return int(degree)
    return 2 if degree == 1 else max(_half_up(degree * factor), 1)


def _share(plq: int, wlq: int, pool: int) -> tuple[int, int]:
    """Both in proportion, where they ask for more than there are."""
    total = plq + wlq
    if total <= pool:
        return plq, wlq
    plq, wlq = max(_half_up(plq * pool / total), 1), max(_half_up(wlq * pool / total), 1)
    if plq + wlq <= pool:
        return plq, wlq
    return (plq - 1, wlq) if plq > 1 else (plq, wlq - 1)  # both were rounded up


def _half_up(value: float) -> int:
    return floor(value + 0.5)


def _check(rho_plq: float, splitting: float, rho_wlq: float, plq: int, wlq: int, pool: int) -> None:
    measured = {"rho_plq": rho_plq, "splitting": splitting, "rho_wlq": rho_wlq}
    for name, value in measured.items():
        if value < 0:
            raise SettingError(f"{name} must be 0 or more, got {value:g}")
    for name, workers in {"plq": plq, "wlq": wlq}.items():
        if workers < 1:
            raise SettingError(f"{name} must be 1 worker or more, got {workers}")
    if pool < 2:
        raise SettingError(f"pool must be 2 workers or more, one for each stage, got {pool}")
