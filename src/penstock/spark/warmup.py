"""Warm up new executors: run a small job on each before a batch gives it its first real task.

A new executor's first task loads classes and starts Python workers, which takes seconds, and a
batch is done only when its last task is. So that no batch waits for it, a small job is
sent to it as soon as it registers. Until it has answered it does not count as running.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from py4j.protocol import Py4JError

from penstock.spark.actuator import Actuator, ExecutorPool

_LOOK: Final = 0.1
_PATIENCE: Final = 120.0
"""Seconds to look for executors that were requested."""


@dataclass(slots=True)
class ExecutorWarmup:
    """Runs a small job on new executors while some are expected."""

    actuator: Actuator | ExecutorPool
    warm_up: Callable[[str, int], None]
    """Runs a job of so many tasks on the executors of a module; returns when it is done."""
    _jobs: dict[str, threading.Thread] = field(default_factory=dict)
    """The job that is under way for a module, or was last."""
    _sent: set[str] = field(default_factory=set)
    """Executors that a job has been sent for."""
    _warm: set[str] = field(default_factory=set)
    """Executors that were warm at the last look."""
    _closed: threading.Event = field(default_factory=threading.Event, repr=False)
    _thread: threading.Thread | None = None
    _give_up: float = 0.0

    def expect(self) -> None:
        """Executors have been requested: look for them."""
        self._give_up = time.monotonic() + _PATIENCE
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with suppress(Py4JError, OSError):  # the session may end in the middle of a look
            while time.monotonic() < self._give_up and not self._closed.wait(_LOOK):
                if self._warm_new():
                    return

    def _warm_new(self) -> bool:
        """Warm up new executors; True once no more are expected."""
        executors = self.actuator.backend.executors()
        members = self.actuator.members(executors)
        warm = {executor.id for there in members.values() for executor in there if executor.is_warm}
        if warm - self._warm:
            self.actuator.reconcile(executors)  # the next batch has a part for each of them
        self._warm = warm
        for module, there in members.items():
            self._send(module, {e.id for e in there if not e.is_warm}, len(there))
        expected = self.actuator.expected()
        return all(
            len(there) >= expected[module] and all(e.is_warm for e in there)
            for module, there in members.items()
        )

    def _send(self, module: str, cold: set[str], tasks: int) -> None:
        """Send a job for new executors at once, or a batch might give one its first task; and
        another when it has missed one that Spark knew but did not use."""
        under_way = self._jobs.get(module)
        missed = cold and (under_way is None or not under_way.is_alive())
        if missed or cold - self._sent:
            self._sent |= cold
            job = threading.Thread(target=self._run_job, args=(module, tasks), daemon=True)
            self._jobs[module] = job
            job.start()

    def _run_job(self, module: str, tasks: int) -> None:
        with suppress(Py4JError, OSError):  # the session may end in the middle of a job
            self.warm_up(module, tasks)
