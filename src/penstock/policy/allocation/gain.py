"""What a module is worth having, by how much of it: a concave curve of straight pieces.

At a price of resource, a module of a tree tells its neighbour what it and all behind it gain from
each further unit of the neighbour's resource, up to where a source behind it is used up.

>>> rising = [(2.0, 3.0), (inf, 0.0)]
>>> falling = [(5.0, -1.0)]
>>> total([rising, falling], own=0.5, limit=4.0)
[(2.0, 2.5), (4.0, -0.5)]
>>> best(total([rising, falling], own=0.5, limit=4.0))
2.0
"""

from collections.abc import Sequence
from math import inf

Curve = list[tuple[float, float]]
"""Where each piece ends, and its slope; slopes fall, and the last end is the most there can be."""


def total(curves: Sequence[Curve], *, own: float, limit: float) -> Curve:
    """The sum of curves and of a straight line of slope `own`, up to a limit.

    Slopes are summed piece by piece and never subtracted again: what is small beside what has
    ended keeps its digits.
    """
    if all(curve[0][0] >= limit for curve in curves):
        return [(limit, own + sum(curve[0][1] for curve in curves))]
    parts = [[(limit, own)], *curves]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        odd = parts[-1:] if len(parts) % 2 else []
        parts = [_sum(one, other) for one, other in pairs] + odd
    return parts[0]


def _sum(one: Curve, other: Curve) -> Curve:
    made: Curve = []
    i = j = 0
    while i < len(one) and j < len(other):
        end, slope = min(one[i][0], other[j][0]), one[i][1] + other[j][1]
        made.append((end, slope))
        i += one[i][0] == end
        j += other[j][0] == end
    return made


def best(curve: Curve) -> float:
    """How much to take: as long as it gains."""
    most = 0.0
    for end, slope in curve:
        if slope <= 0:
            break
        most = end
    return most


def fed(curve: Curve, ratio: float) -> Curve:
    """The same for a neighbour that feeds the module `ratio` of its resource for each unit.

    The module takes less than it is fed where less is best.
    """
    gaining = [(end / ratio, slope * ratio) for end, slope in curve if slope > 0]
    if gaining and gaining[-1][0] == inf:
        return gaining
    return [*gaining, (inf, 0.0)]


def feeding(curve: Curve, ratio: float) -> Curve:
    """The same for a neighbour that needs `ratio` of the module's resource for each unit.

    The module does more than is needed where more is best, and that comes free to the neighbour.
    """
    return [(end / ratio, min(slope, 0.0) * ratio) for end, slope in curve]
