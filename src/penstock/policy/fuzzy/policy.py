"""The controller of two stages as a policy of a running pipeline: ppq, Section 4.2."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, isnan, nan
from sys import maxsize
from typing import Annotated, Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.schema import Bounds, Count, NotNegative, Seconds, Share, checked
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.core.words import count_of, percent
from penstock.policy.common.degrees import in_force
from penstock.policy.common.sentences import change
from penstock.policy.fuzzy.splitting import SplittingControl
from penstock.policy.fuzzy.step import PAPERS, TERMS, DegreeBounds, Points, Terms, next_degrees


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A module whose executors are known."""

    name: str
    load: float
    """On the executors that run; NaN where it is in doubt."""
    degree: int
    """Executors in force: those asked for."""
    running: int
    parts: float | None = None
    """Parts that a pane was split into, where that was measured."""
    doubt: str = ""
    """Why it cannot be judged."""
    behind: float = 0.0
    """Steps that its executors would take for the rows that wait, where that is known."""

    def keeps(self, after: int) -> bool:
        """Whether it keeps pending executors rather than take a lower degree.

        >>> Stage(name="plq", load=0.6, degree=2, running=1, behind=1.5).keeps(1)
        True
        """
        return after < self.degree and self.degree > self.running and self.behind > 1

    @property
    def expected_load(self) -> float:
        """The load as it would be on the requested executors.

        Those still to come were asked for on account of the load: as many again would be twice the
        answer, and none at all would let a stage that is far behind wait for each in turn.

        >>> Stage(name="plq", load=3.0, degree=6, running=4).expected_load
        2.0
        """
        return self.load * self.running / self.degree

    def text(self, terms: Terms) -> str:
        """How fast the stage is, as text.

        >>> Stage(name="plq", load=1.31, degree=4, running=4).text(Terms())
        'plq 31 % too slow (load 1.31)'
        """
        if self.doubt:
            return self.doubt
        grades = terms.of_load(self.load)
        speed = max(grades, key=lambda term: grades[term])
        over = f"{percent(self.load - 1, '.0f')} " if 1.005 <= self.load < 2 else ""
        over = "far " if self.load >= 2 else over
        words = {"fast": "faster than needed", "slow": f"{over}too slow"}.get(speed, speed)
        more = []
        if self.parts is not None:
            more.append(f"panes in {'one part' if self.parts == 1 else f'{self.parts:.2g} parts'}")
        if missing := self.degree - self.running:
            executors = count_of(abs(missing), "executor")
            more.append(f"{executors} still to {'come' if missing > 0 else 'leave'}")
        if self.behind > 1:
            more.append("more than a step of work waiting")
        return ", ".join([f"{self.name} {words} (load {self.load:.3g})", *more])


def stage_of(
    name: str, reading: ModuleReading | None, degree: int | None, step: float
) -> Stage | str:
    """A module as a stage, or in words why it is none.

    >>> stage_of("plq", ModuleReading(load=1.2), degree=None, step=2.5)
    'executors of plq unknown'
    """
    if reading is None:
        return f"{name} was not seen"
    if degree is None or reading.running is None:
        return f"executors of {name} unknown"
    doubt, behind = _doubt(name, reading), 0.0
    if reading.backlog is not None and reading.service_time is not None and reading.running:
        behind = reading.backlog * reading.service_time / (reading.running * step)
    return Stage(
        name=name,
        load=nan if doubt else load_of(reading) or 0.0,
        degree=degree,
        running=reading.running,
        parts=None if doubt else reading.splitting,
        doubt=doubt,
        behind=behind,
    )


def _doubt(name: str, reading: ModuleReading) -> str:
    load = load_of(reading)
    if reading.running == 0:
        return f"no executor of {name} runs yet"
    if load is None:
        return f"load of {name} unknown"
    for what, value in (("load", load), ("splitting", reading.splitting)):
        if value is not None and (isnan(value) or value < 0):
            return f"{what} of {name} is {value:g}, as where no pane was completed"
    return ""


def load_of(reading: ModuleReading) -> float | None:
    """The load of a module: measured, or from its rows and their time.

    How busy it is says nothing here: executors without work are idle while panes fill up.

    >>> load_of(ModuleReading(load=1.2, utilisation=1.0))
    1.2
    >>> load_of(ModuleReading(arrival_rate=300.0, service_time=0.01, running=2, utilisation=1.0))
    1.5
    >>> load_of(ModuleReading(utilisation=0.7)) is None
    True
    """
    if reading.load is not None:
        return reading.load
    if reading.arrival_rate is not None and reading.service_time is not None and reading.running:
        return reading.arrival_rate * reading.service_time / reading.running
    return None


def degrees_for(stages: Sequence[Stage], wanted: Iterable[int], pool: int) -> list[int]:
    """What each stage is to have, none beyond what the other leaves of the pool.

    The rules share the pool between the degrees that they want. A stage in doubt keeps its own, and
    the other cannot have them.

    >>> unknown = Stage(name="plq", load=0.9, degree=10, running=10, doubt="load of plq unknown")
    >>> slow = Stage(name="wlq", load=1.4, degree=45, running=45)
    >>> degrees_for([unknown, slow], [5, 54], pool=59)
    [10, 49]
    """
    both = list(zip(stages, wanted, strict=True))
    after = [s.degree if s.doubt or s.keeps(degree) else degree for s, degree in both]
    over = max(sum(after) - pool, 0)
    return [
        max(degree - over, s.degree) if degree > s.degree else degree
        for s, degree in zip(stages, after, strict=True)
    ]


_SHORTEST: Final = 0.001
"""Seconds of a sampling period; below, looking would be all the work."""


@dataclass
@checked("policy fuzzy")
class Fuzzy:
    """Scales a pane stage and the window stage behind it together, by twelve rules of thumb.

    A stage grows or shrinks by up to half, by how far its load is from acceptable. More panes make
    more windows to update, so that the window stage grows along before it falls behind; and panes
    that have to be split a lot ask for more executors. Between two decisions, `inner` regulates how
    much panes are split.

    >>> from penstock.testing import chain, seen
    >>> policy = Fuzzy(chain(plq={}, wlq={}))
    >>> panes = {"load": 1.31, "splitting": 2.4, "running": 4}
    >>> policy(seen(plq=panes, wlq={"load": 0.92, "running": 12})).why
    'plq 31 % too slow (load 1.31), panes in 2.4 parts; wlq acceptable (load 0.92): \
plq 4 -> 6, wlq 12 -> 15'
    """

    graph: FlowGraph
    setpoint: Share = 0.9
    """The load of both stages to aim at."""
    margin: NotNegative = 0.2
    """By how much lower the load is that `inner` aims at. Without it `inner` would undo splits
    until the pane stage has just the load that the rules want to see, however many executors are
    idle, and the rules would never let one go."""
    sampling: Annotated[Seconds, Bounds(least=_SHORTEST)] = 0.25
    """Seconds between two steps of `inner`."""
    split: bool = True
    """Whether panes are split between two decisions."""
    pool: Count | None = None
    """Executors of both stages together; the sum of their max_replicas unless given."""
    fast: Points | None = None
    """Load up to which a stage is wholly faster than needed, and from which it is not at all; the
    published points, moved with `setpoint`, unless given."""
    acceptable: Points | None = None
    """Loads between which a stage is acceptable, with the load that the rules aim at in the
    middle; as `fast` unless given."""
    slow: Points | None = None
    """Load up to which a stage is not too slow at all, and from which it wholly is; as `fast`
    unless given."""
    moderate: Points = PAPERS.moderate
    """Parts of a pane up to which it is split moderately, and from which that is not so at all."""
    intensive: Points = PAPERS.intensive
    """Parts of a pane up to which it is not split intensively, and from which it wholly is."""
    _terms: Terms = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = self.graph.names()
        if len(names) != 2:
            raise SettingError(
                "policy fuzzy steers two modules in a row, one for panes and one for windows, "
                f"got {len(names)}, {', '.join(names[:10])}; choose another policy"
            )
        self._check_numbers()
        points = {name: getattr(self, name) for name in TERMS}
        given = {name: value for name, value in points.items() if value is not None}
        self._terms = replace(PAPERS.around(self.setpoint), **given)

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
        rho_plq, rho_wlq = (self.setpoint if s.doubt else s.expected_load for s in (plq, wlq))
        wanted = next_degrees(
            *(rho_plq, parts, rho_wlq, plq.degree, wlq.degree, pool),
            terms=self._terms,
            bounds=self._bounds(),
        )
        after = dict(zip((plq, wlq), degrees_for((plq, wlq), wanted, pool), strict=True))
        judged = "; ".join(stage.text(self._terms) for stage in after)
        moves = ", ".join(
            f"{s.name} {f'holds at {n}' if n == s.degree else change(s.degree, n)}"
            for s, n in after.items()
        )
        full = f"; the pool of {pool} is used up" * (sum(after.values()) >= pool)
        # the load once the change has come true, if as much work comes
        loads = {s: s.load * s.running / n for s, n in after.items() if n != s.degree}
        return Decision(
            configuration=Configuration(
                degrees={**known, **{stage.name: degree for stage, degree in after.items()}}
            ),
            why=f"{judged}: {moves}{full}",
            expects={f"load:{s.name}": load for s, load in loads.items() if isfinite(load)},
        )

    def _bounds(self) -> tuple[DegreeBounds, DegreeBounds]:
        """Of a stage that may have all of the pool that the other can do without, the pool alone
        is the bound: the rules share it by what both ask for."""
        plq, wlq = (self.graph[name] for name in self.graph.order())

        def bounds(stage: Module, other: Module) -> DegreeBounds:
            limited = stage.max_replicas < self._pool() - other.min_replicas
            return stage.min_replicas, stage.max_replicas if limited else maxsize

        return bounds(plq, wlq), bounds(wlq, plq)

    def _pool(self) -> int:
        if self.pool is not None:
            return self.pool
        return sum(module.max_replicas for module in self.graph.modules)

    def _check_numbers(self) -> None:
        if not self.margin < self.setpoint:
            raise SettingError(
                f"margin of policy fuzzy must be below its setpoint of {self.setpoint:g}, "
                f"got {self.margin:g}",
                fields=("margin", "setpoint"),
            )
        fewest = sum(module.min_replicas for module in self.graph.modules)
        if self._pool() < fewest:
            raise SettingError(
                f"pool of policy fuzzy must be {fewest} or more, the min_replicas of both stages, "
                f"got {self._pool()}",
                path=("pool",),
            )
