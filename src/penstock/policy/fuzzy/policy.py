"""The controller of two stages as a policy of a running pipeline: ppq, Section 4.2."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from sys import maxsize
from typing import Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.settings import seconds
from penstock.core.signals import Configuration, Decision, Observation
from penstock.policy.degrees import in_force
from penstock.policy.fuzzy.plan import plans
from penstock.policy.fuzzy.stage import Stage, stage_of
from penstock.policy.fuzzy.step import Bounds, next_degrees
from penstock.policy.fuzzy.terms import PAPERS, Points, Terms
from penstock.policy.splitting import SplittingControl

_SHORTEST: Final = 0.001
"""Seconds of a sampling period; below, looking would be all the work."""


@dataclass
class Fuzzy:
    """Scales a pane stage and the window stage behind it together, by twelve rules of thumb.

    A stage grows or shrinks by up to half, by how far its load is from acceptable. More panes make
    more windows to update, so that the window stage grows along before it falls behind; and panes
    that have to be split a lot ask for more executors. Between two decisions, `inner` regulates how
    much panes are split.

    >>> from penstock.core.graph import Module, Stream
    >>> from penstock.testing import seen
    >>> stages = (Module(name="plq"), Module(name="wlq"))
    >>> joint = (Stream(origin="plq", target="wlq"),)
    >>> policy = Fuzzy(FlowGraph(source="plq", modules=stages, streams=joint))
    >>> policy(
    ...     seen(
    ...         plq={"load": 1.31, "splitting": 2.4, "running": 4},
    ...         wlq={"load": 0.92, "running": 12},
    ...     )
    ... ).why
    'plq 31 % too slow (load 1.31), panes in 2.4 parts; wlq acceptable (load 0.92): \
plq 4 -> 6, wlq 12 -> 15'
    """

    graph: FlowGraph
    setpoint: float = 0.9
    """The load of both stages to aim at."""
    margin: float = 0.2
    """By how much lower the load is that `inner` aims at. Without it `inner` would undo splits
    until the pane stage has just the load that the rules want to see, however many executors are
    idle, and the rules would never let one go."""
    sampling: float = seconds(0.25)
    """Seconds between two steps of `inner`."""
    split: bool = True
    """Whether panes are split between two decisions."""
    pool: int | None = None
    """Executors of both stages together; the sum of their max_replicas unless given."""
    fast: Points | None = None
    """Points of the words for loads, see `Terms`; the published ones, moved with `setpoint`."""
    acceptable: Points | None = None
    slow: Points | None = None
    moderate: Points = PAPERS.moderate
    """And for splitting."""
    intensive: Points = PAPERS.intensive
    _terms: Terms = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what these rules cannot steer, or would steer astray."""
        names = self.graph.names()
        if len(names) != 2:
            raise SettingError(
                "policy fuzzy steers two modules in a row, one for panes and one for windows, "
                f"got {len(names)}, {', '.join(names[:10])}; choose another policy"
            )
        self._check_numbers()
        usual = PAPERS.around(self.setpoint)
        self._terms = Terms(
            fast=usual.fast if self.fast is None else self.fast,
            acceptable=usual.acceptable if self.acceptable is None else self.acceptable,
            slow=usual.slow if self.slow is None else self.slow,
            moderate=self.moderate,
            intensive=self.intensive,
        )

    @property
    def inner(self) -> SplittingControl | None:
        """What regulates how much panes are split, or None where they are left whole."""
        if not self.split:
            return None
        return SplittingControl(setpoint=self.setpoint - self.margin, period=self.sampling)

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge both stages together; one whose load is unknown holds, and the other is judged as
        if it were acceptable."""
        known = in_force(seen)
        plq, wlq = (
            stage_of(name, seen.modules.get(name), known.get(name), seen.step)
            for name in self.graph.order()
        )
        if isinstance(plq, Stage) and isinstance(wlq, Stage):
            return self._decide(plq, wlq, known)
        doubts = "; ".join(doubt for doubt in (plq, wlq) if isinstance(doubt, str))
        kept = ", ".join(f"{name} holds at {degree}" for name, degree in known.items())
        return Decision(
            configuration=Configuration(degrees=known), why=f"{doubts}: {kept or 'nothing to hold'}"
        )

    def _decide(self, plq: Stage, wlq: Stage, known: Mapping[str, int]) -> Decision:
        pool = self._pool()
        parts = 1.0 if plq.parts is None else plq.parts
        loads = [self.setpoint if stage.doubt else stage.reckoned for stage in (plq, wlq)]
        wanted = next_degrees(
            *(loads[0], parts, loads[1], plq.degree, wlq.degree, pool),
            terms=self._terms,
            bounds=self._bounds(),
        )
        made = plans((plq, wlq), wanted, pool)
        judged = f"{plq.told(self._terms)}; {wlq.told(self._terms)}"
        full = f"; the pool of {pool} is used up" * (sum(p.after for p in made) >= pool)
        return Decision(
            configuration=Configuration(degrees={**known, **{p.stage.name: p.after for p in made}}),
            why=f"{judged}: {', '.join(p.told for p in made)}{full}",
            expects={
                f"load:{p.stage.name}": p.expects for p in made if p.changes and isfinite(p.expects)
            },
        )

    def _bounds(self) -> tuple[Bounds, Bounds]:
        """Of a stage that may have all of the pool that the other can do without, the pool alone
        is the bound: the rules share it by what both ask for."""
        plq, wlq = (self.graph[name] for name in self.graph.order())
        return self._bounds_of(plq, beside=wlq), self._bounds_of(wlq, beside=plq)

    def _bounds_of(self, module: Module, *, beside: Module) -> Bounds:
        least, most = module.min_replicas, module.max_replicas
        return least, most if most < self._pool() - beside.min_replicas else maxsize

    def _pool(self) -> int:
        if self.pool is not None:
            return self.pool
        return sum(module.max_replicas for module in self.graph.modules)

    def _check_numbers(self) -> None:
        if not 0 < self.setpoint <= 1:
            raise SettingError(f"setpoint of policy fuzzy must be in (0, 1], got {self.setpoint:g}")
        if not 0 <= self.margin < self.setpoint:
            raise SettingError(
                f"margin of policy fuzzy must be 0 up to its setpoint of {self.setpoint:g}, "
                f"got {self.margin:g}"
            )
        if not (isfinite(self.sampling) and self.sampling >= _SHORTEST):
            raise SettingError(
                f"sampling of policy fuzzy must be {1e3 * _SHORTEST:g}ms or more and finite, "
                f"got {self.sampling:g}s"
            )
        fewest = sum(module.min_replicas for module in self.graph.modules)
        if self._pool() < fewest:
            raise SettingError(
                f"pool of policy fuzzy must be {fewest} or more, the min_replicas of both stages, "
                f"got {self._pool()}"
            )
