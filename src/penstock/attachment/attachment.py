"""The controller beside a program: a thread that looks, decides, acts, and stays out of its way.

Whatever goes wrong in a step is said once and caught: the application keeps the executors that it
has, and the next step tries again.
"""

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.attachment.checked import APPLICATION, checked
from penstock.attachment.journal import Journal
from penstock.attachment.plant import AttachedPlant
from penstock.attachment.settings import Settings
from penstock.core.roles import Policy
from penstock.core.signals import Configuration, Decision, Observation, Tick, current
from penstock.guard import DryRun
from penstock.spark import mark
from penstock.spark.session import first_line

# Parts of one turn of the loop that need no plant, and whether there is any reason for another.


def held(seen: Observation, why: str) -> Decision:
    """Keep what there is."""
    now = current(seen)
    number = now.degrees.get(APPLICATION)
    at = "" if number is None else f" at {number}"
    return Decision(configuration=now, why=f"{APPLICATION} held{at}: {why}")


def proposed(last: Tick | None, *, dry: bool) -> int | None:
    """Executors that would be asked for, or were."""
    if last is None:
        return None
    decided = last.decided
    wish = (decided.proposed if dry else None) or decided.configuration
    return wish.degrees.get(APPLICATION)


def context_ended(spark: SparkSession | None) -> bool:
    """Whether the application has ended, or nothing answers for it any more."""
    try:
        context: Any = spark.sparkContext if spark is not None else None
        return context is None or context._jsc is None or bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError, AttributeError):
        return True


# What a controller says in the log, each kind of thing once.


LOG: Final = logging.getLogger("penstock")


@dataclass(slots=True)
class Voice:
    """Says each kind of thing once."""

    said: deque[str] = field(default_factory=lambda: deque(maxlen=100))
    _kinds: set[str] = field(default_factory=set)

    def say(self, sentence: str, *, kind: str | None = None, level: int = logging.INFO) -> None:
        """Put a sentence into the log, unless one of its kind was said before."""
        if kind is not None and kind in self._kinds:
            return
        self._kinds.update([kind] if kind else [])
        self.said.append(sentence)
        LOG.log(level, sentence)

    def warn(self, sentence: str, *, kind: str | None = None) -> None:
        """Say what a user should look at."""
        self.say(sentence, kind=kind or sentence, level=logging.WARNING)


def describe(error: Exception) -> str:
    """An error in a few words.

    >>> describe(ValueError("no rows"))
    'ValueError: no rows'
    """
    return f"{type(error).__name__}: {first_line(error)}"


_SLICE: Final = 0.5
"""Seconds between two tries to let go of executors that were busy."""
_TRIES: Final = 3
"""Refusals in a row after which the cluster is taken at its word; one may be a passing trouble."""


class Attachment:
    """A controller that runs beside a program until it is stopped or the application ends."""

    def __init__(
        self,
        spark: SparkSession | None,
        settings: Settings,
        *,
        mode: str,
        voice: Voice,
        plant: AttachedPlant | None = None,
        policy: Policy | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.mode = mode
        """`advise`, `apply` or `off`: what it does now, which may be less than was asked for."""
        self._ticks: deque[Tick] = deque(maxlen=settings.history_max_count)
        self._spark, self._settings, self._voice = spark, settings, voice
        self._plant, self._policy, self._journal = plant, policy, journal
        self._failures = 0
        """Steps in a row in which the policy raised."""
        self._refusals = 0
        """Tries in a row to set the executors that failed."""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._why = "no step has been taken yet" if mode != "off" else "it is switched off"

    def start(self) -> None:
        """Begin, in a thread of its own that ends with the program."""
        if self.mode == "off" or self._plant is None:
            return
        self._thread = threading.Thread(target=self._run, name="penstock", daemon=True)
        atexit.register(self.stop)
        self._thread.start()

    def stop(self) -> None:
        """Stop deciding; executors and queries stay as they are. May be called twice."""
        self._ended.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=30)
        atexit.unregister(self.stop)

    @property
    def alive(self) -> bool:
        """Whether it still looks and decides."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The newest turns of the loop, the last one last."""
        return tuple(self._ticks)

    def explain(self) -> str:
        """The reason of the last decision."""
        return self._why

    def status(self) -> dict[str, Any]:
        """How it stands: mode, executors, queries and who feeds whom, the last reason, troubles."""
        plant, journal = self._plant, self._journal
        last = next(iter(self.ticks[-1:]), None)
        reading = last.seen.modules[APPLICATION] if last else None
        return {
            "mode": self.mode,
            "asked_for": self._settings.mode,
            "alive": self.alive,
            "policy": self._settings.policy_name,
            "executors": reading.running if reading else None,
            "requested": reading.requested if reading else None,
            "proposed": proposed(last, dry=self.mode != "apply"),
            "queries": {} if plant is None else plant.queries.feeds(),
            "why": self._why,
            "policy_failures": self._failures,
            "recorded": str(journal.path) if journal and self._settings.record else None,
            "dashboard": journal.address if journal else None,
            "said": tuple(self._voice.said),
        }

    def __str__(self) -> str:
        told = self.status()
        count = len(told["queries"])
        queries = f"{count} quer{'y' if count == 1 else 'ies'}"
        state = self.mode if self.alive or self.mode == "off" else "stopped"
        return f"penstock ({state}, {told['policy']}): {queries}; {self._why}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            self._begin()
            due = time.monotonic() + self._settings.step
            while self._wait(due):
                self._guarded("a step failed, and the next tries again", self._step)
                due = max(due + self._settings.step, time.monotonic())
        finally:
            self._finish()

    def _begin(self) -> None:
        """Take the first look, and go to the number of executors to begin with."""
        plant = self._of_plant()
        self._guarded("the first look failed, and the next step tries again", plant.observe)
        first = self._settings.initial_executors
        if first is not None and self.mode == "apply":
            wish = Configuration(degrees={APPLICATION: first})
            self._act(Decision(configuration=wish, why=f"it begins with {first} executors"))

    def _wait(self, due: float) -> bool:
        """Sleep until a step is due; False where it is time to end."""
        crowded = True
        while not self._ended.is_set() and not context_ended(self._spark):
            left = due - time.monotonic()
            if left <= 0:
                return True
            if crowded and self.mode == "apply":
                crowded = bool(self._guarded("executors cannot be let go", self._of_plant().settle))
            self._ended.wait(min(left, _SLICE))
        return False

    def _step(self) -> None:
        plant = self._of_plant()
        seen = plant.observe()
        silence = plant.silence()
        if silence is None:
            decided = self._decide(seen)
        else:
            self._voice.warn(f"executors are held: {silence}", kind=f"silence {silence[:20]}")
            decided = held(seen, silence)
        asked = self._act(decided) if self.mode == "apply" and silence is None else None
        self._why = decided.why
        self._tell(Tick(seen=seen, decided=decided, asked=asked))

    def _decide(self, seen: Observation) -> Decision:
        """What the policy says; what is in force where it raises or says what cannot be."""
        policy = self._policy
        try:
            advises = self.mode != "apply"
            decided = checked(DryRun(policy)(seen) if advises else policy(seen))  # type: ignore[arg-type,misc]
        except Exception as error:  # anything may be wrong with a policy of the user's
            self._failures += 1
            told = f"policy {self._settings.policy_name} raised {describe(error)}"
            self._voice.warn(f"{told}; executors are held", kind=f"policy {type(error).__name__}")
            times = f", {self._failures} times in a row" if self._failures > 1 else ""
            return held(seen, f"{told}{times}")
        self._failures = 0
        return decided

    def _act(self, decided: Decision) -> Configuration | None:
        """Carry out a decision; where that fails again and again, advise from now on."""
        try:
            asked = self._of_plant().apply(decided)
        except Exception as error:  # whatever the cluster answers, the queries go on
            if not context_ended(self._spark):
                self._refused(describe(error))
            return None
        self._refusals = 0 if asked is not None else self._refusals
        return asked

    def _refused(self, told: str) -> None:
        self._refusals += 1
        if self._refusals < _TRIES:
            trouble = "executors could not be set, and the next step tries again"
            self._voice.warn(f"{trouble}: {told}", kind=trouble)
            return
        self.mode = "advise"
        self._voice.warn(f"it advises from now on, executors cannot be set: {told}")

    def _tell(self, tick: Tick) -> None:
        self._ticks.append(tick)
        if self._journal is not None:
            feeds = self._of_plant().queries.feeds()
            self._journal.link(feeds, acts=self.mode == "apply")
            self._journal.write(tick)

    def _guarded(self, trouble: str, act: Callable[[], Any]) -> Any:
        """Run something that may fail, and say so once."""
        try:
            return act()
        except Exception as error:  # nothing here may take the program down
            if not context_ended(self._spark):
                told = f"{trouble}: {describe(error)}"
                self._why = f"held: {told}"
                self._voice.warn(told, kind=f"{trouble} {type(error).__name__}")
            return None

    def _finish(self) -> None:
        """Leave nothing behind but what was recorded."""
        atexit.unregister(self.stop)
        if self._journal is not None:
            self._guarded("the recording has no summary", self._journal.close)
        if self._spark is not None and not context_ended(self._spark):
            with suppress(Exception):  # the JVM may have ended since
                mark.release(self._spark)

    def _of_plant(self) -> AttachedPlant:
        assert self._plant is not None, "an attachment that is off has no plant"  # noqa: S101
        return self._plant
