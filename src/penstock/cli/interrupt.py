"""Ctrl-C and SIGTERM, delivered only where stopping is safe."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Self

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """The user stops the run. Not an Exception, so that no handler on the way swallows it."""


class Interrupts:
    """Turns the first signal into `Interrupted`; those that follow cannot harm the clean-up.

    with Interrupts() as interrupts:
        ...                              # the first signal raises here
        with interrupts.deferred():
            ...                          # and here only afterwards
        interrupts.hold()
        ...                              # and here it is remembered, no more
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._held = False
        self._before: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Take the signals over, again where a library has taken them in the meantime."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            before = signal.getsignal(number)
            if number == signal.SIGHUP and before == signal.SIG_IGN:
                continue  # nohup asked for it
            self._before.setdefault(number, before)
            signal.signal(number, self._handle)

    def hold(self) -> None:
        """From here on, only remember."""
        self._held = True

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A piece of work that is done in full or not at all."""
        held, self._held = self._held, True
        try:
            yield
        finally:
            self._held = held
        self.check()

    def check(self) -> None:
        """Raise where a signal has come, even if its `Interrupted` got lost on the way."""
        if self.signal is not None and not self._held:
            raise Interrupted

    def settle(self) -> None:
        """The run has been stopped; where a library turned Ctrl-C into its own error, so be it."""
        self._held = True
        self.signal = self.signal or signal.SIGINT

    def _handle(self, number: int, _: FrameType | None) -> None:
        # Nothing is written here: the signal may have come in the middle of a write.
        if self.signal is None:
            self.signal = signal.Signals(number)
            self.check()

    def __enter__(self) -> Self:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
