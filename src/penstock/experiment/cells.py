"""A figure as it stands in a table: our mean, half of its interval, and the paper's in brackets."""

from collections.abc import Callable

from penstock.experiment.reproduction import Entry

Words = Callable[[float], str]
"""How a figure is written."""


def small(half: float) -> str:
    """One digit of what is small, and no fraction of what is not.

    >>> small(0.00042), small(0.31), small(1.94), small(63.5), small(0.0)
    ('0.0004', '0.3', '2', '64', '0')
    """
    return f"{half:,.0f}" if half >= 1 else f"{float(f'{half:.1g}'):f}".rstrip("0").rstrip(".")


def cell(entry: Entry | None, words: Words, *, half: Words = small) -> str:
    """A figure, half of its interval, and the paper's; nothing where there is no figure.

    >>> from penstock.experiment.interval import interval
    >>> entry = Entry(where={}, ours=interval([850.0, 860.0]), paper=792.0, tolerance=0.05)
    >>> cell(entry, lambda value: f"{value:.1f}")
    '855.0 ±64 (792)*'

    Words that change the unit write half of the interval, too:

    >>> def percent(share):
    ...     return f"{100 * share:.2f}"
    >>> entry = Entry(where={}, ours=interval([0.014, 0.012]), paper=0.02, tolerance=0.1)
    >>> cell(entry, percent, half=percent)
    '1.30 ±1.27 (2)*'
    """
    if entry is None:
        return ""
    shown = words(entry.ours.mean)
    shown += "" if entry.ours.half_width is None else f" ±{half(entry.ours.half_width)}"
    shown += "" if entry.paper is None else f" ({_short(words(entry.paper))})"
    return shown + "*" * entry.differs


def _short(words: str) -> str:
    """Without noughts that say nothing.

    >>> _short("0.870"), _short("418.0"), _short("1,790")
    ('0.87', '418', '1,790')
    """
    return words.rstrip("0").rstrip(".") if "." in words else words
