"""What a subtree can make of resource: the most worthwhile piece first.

A module that tells only what its best leaves come to, as in Theorem 3, keeps from its parent the
leaves that are worth having once the way to them is paid for (`shrink` has an example). So it tells
all of it: what its resource and that of modules below brings, in pieces of falling worth.

>>> good = curve(10.0, [])
>>> fair = curve(4.0, [])
>>> curve(0.0, [Branch(flow=1.0, pieces=good), Branch(flow=1.0, pieces=fair)])
(Piece(resource=2.0, worth=5.0, hops=1), Piece(resource=1.0, worth=4.0, hops=1))
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Piece(NamedTuple):
    """Some resource that is best spent together."""

    resource: float
    worth: float
    """What a unit of it brings."""
    hops: int
    """To the furthest module that gets some."""


Curve = tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A child, as its parent sees it."""

    flow: float
    """That a unit of the parent's resource sends there."""
    pieces: Curve
    """That a unit of flow allows."""


def curve(worth: float, branches: Iterable[Branch]) -> Curve:
    """What a unit of a module's resource brings at its own sinks, and more below.

    The first piece holds the module itself with all that is worth more than the piece without it.
    """
    below = sorted(
        (
            Piece(branch.flow * piece.resource, piece.worth, piece.hops + 1)
            for branch in branches
            for piece in branch.pieces
        ),
        key=lambda piece: -piece.worth,
    )
    resource, value, hops, taken = 1.0, worth, 0, 0
    for piece in below:
        if piece.worth * resource <= value:
            break
        resource += piece.resource
        value += piece.worth * piece.resource
        hops = max(hops, piece.hops)
        taken += 1
    return (Piece(resource, value / resource, hops), *below[taken:])


def fed(pieces: Curve, consumes: float) -> Curve:
    """The same for a unit of flow, of a module that consumes so much."""
    return tuple(piece._replace(resource=piece.resource / consumes) for piece in pieces)
