"""See new executors in: give each a task of no consequence before a batch gives it a real one.

A new executor's first task loads classes and starts Python workers, which takes seconds, and a
batch is done only when its last task is. So that no batch waits for a newcomer, a small job is
sent to it as soon as it registers. Until it has answered it does not count as running.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from py4j.protocol import Py4JError

from penstock.spark.actuator import Actuator, Pool

_LOOK: Final = 0.1
_PATIENCE: Final = 120.0
"""Seconds to look out for executors that were asked for."""


@dataclass(slots=True)
class Welcome:
    """Looks out for newcomers while some are expected."""

    actuator: Actuator | Pool
    warm_up: Callable[[str, int], None]
    """Runs a job of so many tasks on the executors of a module; returns when it is done."""
    _greetings: dict[str, threading.Thread] = field(default_factory=dict)
    """The job that is under way for a module, or was last."""
    _greeted: set[str] = field(default_factory=set)
    """Executors that a job has been sent for."""
    _warm: set[str] = field(default_factory=set)
    """Executors that had proved themselves when we last looked."""
    _closed: threading.Event = field(default_factory=threading.Event, repr=False)
    _lookout: threading.Thread | None = None
    _give_up: float = 0.0

    def expect(self) -> None:
        """Executors have been asked for: look out for them."""
        self._give_up = time.monotonic() + _PATIENCE
        if self._lookout is None or not self._lookout.is_alive():
            self._lookout = threading.Thread(target=self._look_out, daemon=True)
            self._lookout.start()

    def close(self) -> None:
        """Look out no longer."""
        self._closed.set()
        if self._lookout is not None:
            self._lookout.join()

    def _look_out(self) -> None:
        with suppress(Py4JError, OSError):  # the session may end in the middle of a look
            while time.monotonic() < self._give_up and not self._closed.wait(_LOOK):
                if self._greet_newcomers():
                    return

    def _greet_newcomers(self) -> bool:
        """Greet whoever is new; True once nobody is expected any more."""
        executors = self.actuator.backend.executors()
        members = self.actuator.members(executors)
        warm = {executor.id for crew in members.values() for executor in crew if executor.is_warm}
        if warm - self._warm:
            self.actuator.settle(executors)  # the next batch has a part for each of them
        self._warm = warm
        for module, crew in members.items():
            self._greet(module, {e.id for e in crew if not e.is_warm}, len(crew))
        expected = self.actuator.expected()
        return all(
            len(crew) >= expected[module] and all(e.is_warm for e in crew)
            for module, crew in members.items()
        )

    def _greet(self, module: str, cold: set[str], tasks: int) -> None:
        """Send a job for newcomers at once, or a batch might give one its first task; and another
        when it has missed someone whom Spark knew but did not use."""
        under_way = self._greetings.get(module)
        missed = cold and (under_way is None or not under_way.is_alive())
        if missed or cold - self._greeted:
            self._greeted |= cold
            job = threading.Thread(target=self.warm_up, args=(module, tasks), daemon=True)
            self._greetings[module] = job
            job.start()
