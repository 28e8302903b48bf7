"""What every conformance check is made of."""

import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

T = TypeVar("T")

Check = Callable[[T], None]
"""Raises an AssertionError that says what is wrong."""


def require(condition: bool, message: str) -> None:
    """Fail with a message unless the condition holds, under `python -O` too."""
    if not condition:
        raise AssertionError(message)


def failures(checks: Sequence[Check[T]], subject: T) -> dict[str, str]:
    """The checks that fail, by name, and what each one says.

    >>> def is_even(number: int) -> None:
    ...     require(number % 2 == 0, f"{number} is odd")
    >>> failures([is_even], 3)
    {'is_even': '3 is odd'}
    """
    messages = {}
    for check in checks:
        try:
            check(subject)
        except Exception as error:  # a part that raises does not conform either
            text = str(error) if isinstance(error, AssertionError) else repr(error)
            messages[getattr(check, "__name__", repr(check))] = text
    return messages


def run_all(checks: Sequence[Check[T]], subject: T) -> None:
    """Run every check, and fail with all that is wrong."""
    messages = failures(checks, subject)
    require(not messages, "\n".join(f"{name}: {message}" for name, message in messages.items()))


@contextmanager
def global_random_state_untouched() -> Iterator[None]:
    """Fail if what is done inside draws from a random state that all share."""
    before = _chance()
    yield
    require(_chance() == before, "it draws from global random state; give it a Generator instead")


def _chance() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))
