"""What a controller says in the log, each kind of thing once."""

import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from penstock.plant.spark.session import first_line

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
