"""The controller in a program: a thread that runs the loop, and the interface for users."""

import atexit
import threading
from collections import deque
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.attachment.errors import APPLICATION, ErrorHandler, HoldOnError
from penstock.attachment.journal import Journal
from penstock.attachment.plant import AttachedPlant
from penstock.attachment.settings import Settings
from penstock.core.loop import control
from penstock.core.signals import Tick
from penstock.core.units import format_duration
from penstock.spark import lock

_STOP_WAIT: Final = 30.0
_EXIT_WAIT: Final = 5.0
"""Seconds to wait for the current step."""


def context_ended(spark: SparkSession | None) -> bool:
    """Whether the application has ended, or does not answer."""
    try:
        context: Any = spark.sparkContext if spark is not None else None
        return context is None or context._jsc is None or bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError, AttributeError):
        return True


def proposed(last: Tick | None, *, dry: bool) -> int | None:
    """Executors that were proposed or requested."""
    if last is None:
        return None
    decided = last.decided
    wish = (decided.proposed if dry else None) or decided.configuration
    return wish.degrees.get(APPLICATION)


class Attachment:
    """A controller that runs in a program until it is stopped or the application ends."""

    def __init__(
        self,
        spark: SparkSession | None,
        settings: Settings,
        errors: ErrorHandler,
        *,
        plant: AttachedPlant | None = None,
        policy: HoldOnError | None = None,
        journal: Journal | None = None,
    ) -> None:
        """It is off without a plant and a policy."""
        self._ticks: deque[Tick] = deque(maxlen=settings.history_max_count)
        self._spark, self._settings, self._errors = spark, settings, errors
        self._plant, self._policy, self._journal = plant, policy, journal
        self._thread: threading.Thread | None = None
        if plant is None:
            errors.why = "it is switched off"

    def start(self) -> None:
        """Start a thread, which ends with the program."""
        if self.mode == "off":
            return
        self._thread = threading.Thread(target=self._run, name="penstock", daemon=True)
        atexit.register(self._leave)
        self._thread.start()

    def stop(self) -> None:
        """Stop deciding; executors and queries stay as they are. May be called twice."""
        self._end(_STOP_WAIT)

    @property
    def mode(self) -> str:
        """`advise`, `apply` or `off`: the current mode, which may be less than the setting."""
        if self._plant is None:
            return "off"
        return "apply" if self._plant.acts else "advise"

    @property
    def alive(self) -> bool:
        """Whether it still observes and decides."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The newest ticks of the loop, oldest first."""
        return tuple(self._ticks)

    def explain(self) -> str:
        """The reason of the last decision, or that the policy is late."""
        late = self._policy.late() if self._policy is not None else None
        return self._errors.why if late is None else f"held: {late}"

    def status(self) -> dict[str, Any]:
        """Mode, executors, queries and which they feed, the last reason, warnings."""
        plant, journal = self._plant, self._journal
        last = next(iter(self.ticks[-1:]), None)
        # a policy may have modified the observation
        reading = last.seen.modules.get(APPLICATION) if last else None
        return {
            "mode": self.mode,
            "asked_for": self._settings.mode,
            "alive": self.alive,
            "policy": self._settings.policy_name,
            "executors": reading.running if reading else None,
            "requested": reading.requested if reading else None,
            "proposed": proposed(last, dry=self.mode != "apply"),
            "queries": {} if plant is None else plant.queries.feeds(),
            "why": self.explain(),
            "policy_failures": self._policy.failures if self._policy else 0,
            "recorded": str(journal.path) if journal and self._settings.record else None,
            "dashboard": journal.address if journal else None,
            "said": tuple(self._errors.log.messages),
        }

    def __str__(self) -> str:
        status = self.status()
        count = len(status["queries"])
        queries = f"{count} quer{'y' if count == 1 else 'ies'}"
        state = self.mode if self.alive or self.mode == "off" else "stopped"
        return f"penstock ({state}, {status['policy']}): {queries}; {status['why']}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _leave(self) -> None:
        """Stop at the end of the program, which must not wait for a policy that hangs."""
        self._end(_EXIT_WAIT)

    def _end(self, wait: float) -> None:
        if self._plant is not None:
            self._plant.stopped.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=wait)
            if thread.is_alive():
                what = f"the current step has not ended within {format_duration(wait)}"
                self._errors.log.warn(f"{what}; it is abandoned")
        atexit.unregister(self._leave)

    def _run(self) -> None:
        try:
            self._errors.attempt("it has ended", self._control)
        finally:
            self._finish()

    def _control(self) -> None:
        assert self._plant is not None, "an attachment that is off does not run"  # noqa: S101
        assert self._policy is not None, "a plant comes with a policy"  # noqa: S101
        for tick in control(self._plant, self._policy):
            trouble = "a step failed, and the next tries again"
            self._errors.attempt(trouble, partial(self._record, tick))

    def _record(self, tick: Tick) -> None:
        self._errors.why = tick.decided.why
        self._ticks.append(tick)
        if self._journal is not None and self._plant is not None:
            self._journal.link(self._plant.queries.feeds(), acts=self._plant.acts)
            self._journal.write(tick)

    def _finish(self) -> None:
        """Close the recording and release the lock."""
        atexit.unregister(self._leave)
        if self._journal is not None:
            self._errors.attempt("the recording has no summary", self._journal.close)
        if self._spark is not None and not context_ended(self._spark):
            with suppress(Exception):  # the JVM may have ended since
                lock.release(self._spark)
