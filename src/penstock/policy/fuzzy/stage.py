"""One of the two stages, as the controller sees it: how loaded it is, on how many executors."""

from dataclasses import dataclass
from math import isnan, nan

from penstock.core.signals import ModuleReading
from penstock.policy.fuzzy.terms import Terms


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
        """Whether it keeps executors that are still to come rather than take a lower degree.

        >>> Stage(name="plq", load=0.6, degree=2, running=1, behind=1.5).keeps(1)
        True
        """
        return after < self.degree and self.degree > self.running and self.behind > 1

    @property
    def reckoned(self) -> float:
        """The load as it would be on the executors that were asked for.

        Those still to come were asked for on account of the load: as many again would be twice the
        answer, and none at all would let a stage that is far behind wait for each in turn.

        >>> Stage(name="plq", load=3.0, degree=6, running=4).reckoned
        2.0
        """
        return self.load * self.running / self.degree

    def told(self, terms: Terms) -> str:
        """How fast the stage is, in words.

        >>> Stage(name="plq", load=1.31, degree=4, running=4).told(Terms())
        'plq 31 % too slow (load 1.31)'
        """
        if self.doubt:
            return self.doubt
        grades = terms.of_load(self.load)
        speed = max(grades, key=lambda term: grades[term])
        over = f"{100 * (self.load - 1):.0f} % " if 1.005 <= self.load < 2 else ""
        over = "far " if self.load >= 2 else over
        words = {"fast": "faster than needed", "slow": f"{over}too slow"}.get(speed, speed)
        panes = "" if self.parts is None else f", panes in {_parts(self.parts)}"
        waits = ", more than a step of work waiting" if self.behind > 1 else ""
        return f"{self.name} {words} (load {self.load:.3g}){panes}{self._coming()}{waits}"

    def _coming(self) -> str:
        missing = self.degree - self.running
        if not missing:
            return ""
        executors = f"{abs(missing)} executor{'s' * (abs(missing) > 1)}"
        return f", {executors} still to {'come' if missing > 0 else 'leave'}"


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
    doubt = _doubt(name, reading)
    return Stage(
        name=name,
        load=nan if doubt else load_of(reading) or 0.0,
        degree=degree,
        running=reading.running,
        parts=None if doubt else reading.splitting,
        doubt=doubt,
        behind=_behind(reading, step),
    )


def _behind(reading: ModuleReading, step: float) -> float:
    if reading.backlog is None or reading.service_time is None or not reading.running:
        return 0.0
    return reading.backlog * reading.service_time / (reading.running * step)


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


def _parts(count: float) -> str:
    return "one part" if count == 1 else f"{count:.2g} parts"
