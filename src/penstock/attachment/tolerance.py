"""What keeps a controller from hurting the program that it runs beside.

Every failure is caught and logged once: the application keeps the executors that it has, and the
next step tries again. `Tolerance.attempt` runs what may fail; `Tolerant` is a policy that turns an
error or a decision that cannot be into a decision to hold.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final, TypeVar

from penstock.core.errors import describe
from penstock.core.roles import Policy
from penstock.core.signals import (
    Decision,
    Observation,
    check_decision,
    check_degrees,
    current,
)
from penstock.core.units import format_duration
from penstock.guard import DryRun

APPLICATION: Final = "application"
"""The one module of an application that was attached to."""
LOG: Final = logging.getLogger("penstock")
T = TypeVar("T")


@dataclass(slots=True)
class OnceLogger:
    """Logs each kind of message once."""

    messages: deque[str] = field(default_factory=lambda: deque(maxlen=100))
    """The newest ones."""
    _kinds: set[str] = field(default_factory=set)

    def info(self, message: str, *, kind: str | None = None, level: int = logging.INFO) -> None:
        """Log a message, unless one of its kind was logged before."""
        if kind is not None and kind in self._kinds:
            return
        self._kinds.update([kind] if kind else [])
        self.messages.append(message)
        LOG.log(level, message)

    def warn(self, message: str, *, kind: str | None = None) -> None:
        """Log what a user should look at."""
        self.info(message, kind=kind or message, level=logging.WARNING)


@dataclass(slots=True)
class Tolerance:
    """Runs what may fail; a failure is logged once and goes no further."""

    log: OnceLogger = field(default_factory=OnceLogger)
    ended: Callable[[], bool] = lambda: False
    """Whether the application has ended, after which failures are no news."""
    why: str = "no step has been taken yet"
    """The reason of the last decision, or the trouble since."""

    def attempt(self, trouble: str, act: Callable[[], T]) -> T | None:
        """The result of an action; None where it failed."""
        try:
            return act()
        except (Exception, SystemExit) as error:  # nothing here may take the program down
            if not self.ended():
                message = f"{trouble}: {describe(error)}"
                self.why = f"held: {message}"
                self.log.warn(message, kind=f"{trouble} {type(error).__name__}")
            return None


@dataclass(slots=True)
class Checked:
    """Passes on decisions of a user's policy, and raises where one cannot be.

    A policy is checked before any guard sees its decision: a guard would make sense of nonsense,
    and an application would shrink to its fewest executors because -3 were asked for.

    >>> from penstock.testing import seen
    >>> Checked(lambda seen: 3)(seen(application={"running": 2}))
    Traceback (most recent call last):
    ...
    TypeError: it must return a Decision, got 3
    """

    policy: Policy

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy decides, on a copy: others read what was seen after it."""
        own = replace(seen, modules=dict(seen.modules), queries=dict(seen.queries))
        return checked(self.policy(own))


def checked(decided: object) -> Decision:
    """The decision, or an error where it is none on the executors of the application.

    >>> from penstock.core.signals import Configuration
    >>> checked(Decision(configuration=Configuration(degrees={"application": 2.5}), why="half"))
    Traceback (most recent call last):
    ...
    TypeError: it must ask for a whole number of executors, got 2.5
    """
    found = check_decision(decided)
    check_degrees(found.configuration.degrees, [APPLICATION])
    return found


@dataclass(slots=True, kw_only=True)
class Tolerant:
    """A policy that holds where the one inside fails or has nothing to decide on.

    >>> from penstock.testing import seen
    >>> held = Tolerant(policy=lambda seen: 3, name="mine", log=OnceLogger())
    >>> held(seen(application={"running": 2})).why
    'application held at 2: policy mine raised TypeError: it must return a Decision, got 3'
    """

    policy: Policy
    name: str
    log: OnceLogger
    advises: Callable[[], bool] = lambda: False
    """Whether decisions are only proposed now."""
    silence: Callable[[], str | None] = lambda: None
    """Why nothing can be decided now; None where something can."""
    failures: int = 0
    """Steps in a row in which the policy failed."""
    patience: float = inf
    """Seconds after which a policy that has not answered is late."""
    timer: Callable[[], float] = time.monotonic
    _asked_at: float | None = None
    """By the timer, when the policy was asked, until it answers."""

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy decides; what is in force where it cannot."""
        silence = self.silence()
        if silence is not None:
            self.log.warn(f"executors are held: {silence}", kind=f"silence {silence[:20]}")
            return held(seen, silence)
        self._asked_at = self.timer()
        try:
            policy = DryRun(self.policy) if self.advises() else self.policy
            decided = checked(policy(seen))
        except BaseException as error:  # in this thread even an interrupt is the policy's own
            return self._failed(seen, error)
        finally:
            if (late := self.late()) is not None:
                self.log.warn(late, kind="late")
            self._asked_at = None
        self.failures = 0
        return decided

    def late(self) -> str | None:
        """That the policy takes long to answer; None where it has answered, or need not yet."""
        asked_at = self._asked_at
        took = 0.0 if asked_at is None else self.timer() - asked_at
        if took <= self.patience:
            return None
        return f"policy {self.name} takes long to answer: {format_duration(took)}"

    def _failed(self, seen: Observation, error: BaseException) -> Decision:
        self.failures += 1
        what = f"policy {self.name} raised {describe(error)}"
        self.log.warn(f"{what}; executors are held", kind=f"policy {type(error).__name__}")
        times = f", {self.failures} times in a row" if self.failures > 1 else ""
        return held(seen, f"{what}{times}")


def held(seen: Observation, why: str) -> Decision:
    """Keep what there is."""
    now = current(seen)
    number = now.degrees.get(APPLICATION)
    at = "" if number is None else f" at {number}"
    return Decision(configuration=now, why=f"{APPLICATION} held{at}: {why}")
