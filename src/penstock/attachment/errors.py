"""Error handling of an attachment: no error may reach the program.

Every error is caught and logged once: the application keeps its executors, and the next step tries
again. `ErrorHandler.attempt` runs what may fail; `HoldOnError` is a policy that turns an error or
an invalid decision into a decision to hold.
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
"""The only module of an attached application."""
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
        """Log a warning."""
        self.info(message, kind=kind or message, level=logging.WARNING)


@dataclass(slots=True)
class ErrorHandler:
    """Runs what may fail; an error is logged once and not raised."""

    log: OnceLogger = field(default_factory=OnceLogger)
    ended: Callable[[], bool] = lambda: False
    """Whether the application has ended, after which errors are expected."""
    why: str = "no step has been taken yet"
    """The reason of the last decision, or a later error."""

    def attempt(self, trouble: str, act: Callable[[], T]) -> T | None:
        """The result of an action; None if it failed."""
        try:
            return act()
        except (Exception, SystemExit) as error:  # nothing here may take the program down
            if not self.ended():
                message = f"{trouble}: {describe(error)}"
                self.why = f"held: {message}"
                self.log.warn(message, kind=f"{trouble} {type(error).__name__}")
            return None


@dataclass(slots=True)
class CheckedPolicy:
    """A user's policy whose decisions are checked.

    They are checked before any guard: a guard would turn -3 executors into the minimum, and the
    application would shrink to it.

    >>> from penstock.testing import seen
    >>> CheckedPolicy(lambda seen: 3)(seen(application={"running": 2}))
    Traceback (most recent call last):
    ...
    TypeError: it must return a Decision, got 3
    """

    policy: Policy

    def __call__(self, seen: Observation, /) -> Decision:
        """Decide on a copy of the observation, which is used afterwards."""
        own = replace(seen, modules=dict(seen.modules), queries=dict(seen.queries))
        return checked(self.policy(own))


def checked(decided: object) -> Decision:
    """The decision; raises if it is none about the executors of the application.

    >>> from penstock.core.signals import Configuration
    >>> checked(Decision(configuration=Configuration(degrees={"application": 2.5}), why="half"))
    Traceback (most recent call last):
    ...
    TypeError: it must ask for a whole number of executors, got 2.5
    """
    decision = check_decision(decided)
    check_degrees(decision.configuration.degrees, [APPLICATION])
    return decision


@dataclass(slots=True, kw_only=True)
class HoldOnError:
    """A policy that holds if the one inside fails or there is nothing to decide on.

    >>> from penstock.testing import seen
    >>> held = HoldOnError(policy=lambda seen: 3, name="mine", log=OnceLogger())
    >>> held(seen(application={"running": 2})).why
    'application held at 2: policy mine raised TypeError: it must return a Decision, got 3'
    """

    policy: Policy
    name: str
    log: OnceLogger
    advises: Callable[[], bool] = lambda: False
    """Whether decisions are only proposed."""
    silence: Callable[[], str | None] = lambda: None
    """Why nothing can be decided now; None if something can."""
    failures: int = 0
    """Failures of the policy in a row."""
    patience: float = inf
    """Seconds after which a policy that has not answered is late."""
    timer: Callable[[], float] = time.monotonic
    _asked_at: float | None = None
    """Time of the call while the policy has not answered."""

    def __call__(self, seen: Observation, /) -> Decision:
        """The decision of the policy, or to hold."""
        silence = self.silence()
        if silence is not None:
            self.log.warn(f"executors are held: {silence}", kind=f"silence {silence[:20]}")
            return held(seen, silence)
        self._asked_at = self.timer()
        try:
            policy = DryRun(self.policy) if self.advises() else self.policy
            decided = checked(policy(seen))
        except BaseException as error:  # in this thread even an interrupt comes from the policy
            return self._failed(seen, error)
        finally:
            if (late := self.late()) is not None:
                self.log.warn(late, kind="late")
            self._asked_at = None
        self.failures = 0
        return decided

    def late(self) -> str | None:
        """That the policy is late; None if it is not."""
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
    """A decision to keep the current executors."""
    now = current(seen)
    number = now.degrees.get(APPLICATION)
    at = "" if number is None else f" at {number}"
    return Decision(configuration=now, why=f"{APPLICATION} held{at}: {why}")
