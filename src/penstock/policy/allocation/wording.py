"""Why cores are divided as they are, in one sentence that a tired operator can read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from penstock.policy.allocation.bounds import whole_up

_MOST_NAMED: Final = 4
_NOTABLE: Final = 0.005
"""Share of the weighted output under which a difference is not told."""

_NEXT_TO_NOTHING: Final = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one pipeline gets.

    >>> Share(pipeline="fraud", weight=5.0, cores=4, needs=4, load=3.2).told
    'gets the 4 cores it needs'
    >>> Share(pipeline="fraud", weight=5.0, cores=4, needs=9, load=8.2).told
    'gets 4 of the 9 cores it needs'
    >>> Share(pipeline="fraud", weight=5.0, cores=6, needs=6, load=5.1, short=("look", 2, 4)).told
    'gets 6 cores, and look has 2 of the 4 it needs'
    """

    pipeline: str
    weight: float
    """The most that a row at one of its sinks is worth."""
    cores: int
    needs: int
    """Whole cores with which none of its modules would fall behind."""
    load: float
    """Cores' worth of work."""
    short: tuple[str, int, int] | None = None
    """A module that has fewer than it needs, what it has and what it needs."""

    @property
    def told(self) -> str:
        """In words."""
        if self.cores < self.needs:
            return f"gets {self.cores} of the {_cores(self.needs)} it needs"
        if not self.load:
            return f"has no rows and keeps {_cores(self.cores)}"
        if self.short is not None:
            module, has, needs = self.short
            return f"gets {_cores(self.cores)}, and {module} has {has} of the {needs} it needs"
        if self.cores == self.needs:
            return f"gets the {_cores(self.needs)} it needs"
        return f"gets {_cores(self.cores)} and needs {self.needs}"


def shares(
    owner: Mapping[str, str],
    worth: Mapping[str, float],
    division: Mapping[str, int],
    loads: Mapping[str, float],
    low: Mapping[str, int],
) -> tuple[Share, ...]:
    """What each pipeline gets, those that are worth most first."""
    made = []
    for pipeline in dict.fromkeys(owner.values()):
        modules = [name for name, other in owner.items() if other == pipeline]
        needs = {name: max(whole_up(loads[name]), low[name]) for name in modules}
        short = [(name, division[name], n) for name, n in needs.items() if division[name] < n]
        made.append(
            Share(
                pipeline=pipeline,
                weight=max(worth[name] for name in modules if name in worth),
                cores=sum(division[name] for name in modules),
                needs=sum(needs.values()),
                load=sum(loads[name] for name in modules),
                short=max(short, key=lambda one: one[2] - one[1], default=None),
            )
        )
    return tuple(sorted(made, key=lambda share: -share.weight))


def divided(made: tuple[Share, ...], *, more: float) -> str:
    """Who gets what, and how much more that brings than an even division.

    >>> fraud = Share(pipeline="fraud", weight=5.0, cores=4, needs=4, load=3.2)
    >>> reports = Share(pipeline="reports", weight=1.0, cores=4, needs=9, load=8.5)
    >>> divided((fraud, reports), more=0.62)
    'fraud, worth 5 a row, gets the 4 cores it needs; reports, worth 1, gets 4 of the 9 cores it \
needs; about 62 % more weighted output than an even division'
    """
    clauses = [_clause(share, made, first=i == 0) for i, share in enumerate(made[:_MOST_NAMED])]
    if len(made) > _MOST_NAMED:
        left = len(made) - _MOST_NAMED
        clauses.append(f"and {left} more pipeline{'s' * (left != 1)}")
    if more >= _NOTABLE:
        clauses.append(f"about {_percent(more)} more weighted output than an even division")
    return "; ".join(clauses)


def kept(*, more: float, gain: float) -> str:
    """Why a division is left as it is.

    >>> kept(more=0.012, gain=0.02)
    'held, another division would bring 1.2 % more weighted output and a move must bring 2 %'
    >>> kept(more=0.0, gain=0.02)
    'held, no other division would bring more weighted output'
    """
    if more < _NEXT_TO_NOTHING:
        return "held, no other division would bring more weighted output"
    would = f"another division would bring {_percent(more)} more weighted output"
    return f"held, {would} and a move must bring {_percent(gain)}"


def _clause(share: Share, made: tuple[Share, ...], *, first: bool) -> str:
    if len(made) == 1:
        return f"the pipeline {share.told}"
    if len({other.weight for other in made}) == 1:
        return f"{share.pipeline} {share.told}"
    return f"{share.pipeline}, worth {share.weight:g}{' a row' * first}, {share.told}"


def _cores(number: int) -> str:
    return f"{number} core{'s' * (number != 1)}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"
