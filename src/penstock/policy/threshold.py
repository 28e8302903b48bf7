"""Scale by how busy each module is: e2df, Section 7.1."""

from dataclasses import dataclass
from math import inf, isnan

from penstock.core.errors import SettingError
from penstock.core.signals import Configuration, Decision, ModuleReading, Observation
from penstock.policy.common.degrees import in_force, sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    module: str
    why: str
    after: int | None = None
    changes: bool = False
    expects: float = 0.0


def _held(name: str, degree: int, why: str) -> _Verdict:
    return _Verdict(module=name, after=degree, why=f"{name} holds at {degree}, {why}")


def _moved(name: str, before: int, after: int, why: str, busy: float) -> _Verdict:
    return _Verdict(
        module=name,
        after=after,
        changes=True,
        why=f"{name} {why}: {before} -> {after}",
        expects=min(busy / after, 1.0),
    )


@dataclass
class Threshold:
    """One executor more for a module that is too busy, one fewer where the rest would cope.

    Each module is decided on its own. A module waits for executors that it was promised before it
    asks for more, does without them once it can, and keeps what it has while its utilisation is
    unknown.

    >>> from penstock.testing import seen
    >>> policy = Threshold()
    >>> policy(
    ...     seen(
    ...         splitter={"utilisation": 0.82, "running": 2},
    ...         counter={"utilisation": 0.61, "running": 4},
    ...     )
    ... ).why
    'splitter 82 % busy, above 75 %: 2 -> 3; counter holds at 4, 61 % busy'
    """

    max_utilisation: float = 0.75
    """Busy share above which a module grows."""
    scale_in_factor: float = 0.75
    """A module shrinks if the rest would stay under this share of `max_utilisation`."""

    def __post_init__(self) -> None:
        """Refuse thresholds that would always or never be passed."""
        if not 0 < self.max_utilisation <= 1:
            raise SettingError(
                f"max_utilisation of policy threshold must be in (0, 1], "
                f"got {self.max_utilisation:g}"
            )
        if not 0 <= self.scale_in_factor < 1:
            raise SettingError(
                f"scale_in_factor of policy threshold must be in [0, 1), or it would scale in and "
                f"out in turn, got {self.scale_in_factor:g}"
            )

    def __call__(self, seen: Observation, /) -> Decision:
        """Judge each module, and tell those that change first."""
        known = in_force(seen)
        verdicts = [self._judge(n, module, known.get(n)) for n, module in seen.modules.items()]
        told = sorted(verdicts, key=lambda verdict: not verdict.changes)
        return Decision(
            configuration=Configuration(
                degrees={v.module: v.after for v in verdicts if v.after is not None}
            ),
            why=sentence((v.why for v in told), otherwise="no module was seen"),
            expects={f"utilisation:{v.module}": v.expects for v in verdicts if v.changes},
        )

    def _judge(self, name: str, module: ModuleReading, degree: int | None) -> _Verdict:
        if degree is None:
            return _Verdict(module=name, why=f"{name} is left alone, its executors are unknown")
        if module.running is None:
            return _held(name, degree, "running executors unknown")
        if module.utilisation is None or isnan(module.utilisation):
            return _held(name, degree, "utilisation unknown")
        verdict = self._compare(name, degree, module.utilisation, module.running)
        coming = degree - module.running
        if coming > 0 and verdict.after is not None and verdict.after >= degree:
            return _held(name, degree, f"{coming} executor{'s' * (coming > 1)} still to come")
        return verdict

    def _compare(self, name: str, degree: int, utilisation: float, running: int) -> _Verdict:
        busy = utilisation * running  # the sum of U_r in e2df, Section 7.1
        rest = busy / (degree - 1) if degree > 1 else inf
        if utilisation > self.max_utilisation:
            why = f"{_percent(utilisation)} busy, above {_percent(self.max_utilisation)}"
            return _moved(name, degree, degree + 1, why, busy)
        if rest < (limit := self.scale_in_factor * self.max_utilisation):
            why = (
                f"{_percent(utilisation)} busy, would be {_percent(rest)} on {degree - 1}, "
                f"under {_percent(limit)}"
            )
            return _moved(name, degree, degree - 1, why, busy)
        return _held(name, degree, f"{_percent(utilisation)} busy")


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
