"""Values as text: numbers, shares, quantities, durations, moments, counts and lists.

One function writes each kind of value, in policies' reasons, terminals and pages alike.

>>> percent(0.754), count_of(3, "row"), duration(90), clock(75), quantity(12_400, "J")
('75.4 %', '3 rows', '1.5 min', '1:15', '12.4 kJ')
"""

from collections.abc import Sequence
from typing import Final

from penstock.core.units import format_duration as duration
from penstock.core.units import format_size as size

__all__ = (
    "UNKNOWN",
    "clock",
    "count_of",
    "duration",
    "joined",
    "listed",
    "number",
    "percent",
    "plural",
    "quantity",
    "short_number",
    "size",
)

UNKNOWN: Final = "unknown"
_PREFIXES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"))
_HUGE: Final = 1e4
"""Shares from which digits after the first two say nothing."""


def number(value: float, *, whole_from: float = 100.0) -> str:
    """A number with three digits, from some size on in whole ones.

    >>> number(0.25), number(1234.5), number(410.4, whole_from=1000)
    ('0.25', '1,234', '410')
    """
    return f"{value:,.0f}" if abs(value) >= whole_from else f"{value:.3g}"


def short_number(value: float) -> str:
    """A number for a page: three or four digits, thousands and millions by their letter.

    >>> short_number(1234567), short_number(15300), short_number(1234), short_number(3.14159)
    ('1.23 M', '15.3 k', '1,234', '3.14')
    """
    if abs(value) >= 999_500:
        return f"{value / 1e6:,.3g} M" if abs(value) < 999.5e6 else f"{value / 1e9:,.3g} G"
    if abs(value) >= 9_999.5:
        return f"{value / 1e3:.3g} k"
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def percent(share: float, form: str = ".3g") -> str:
    """A share of one in percent, in a format of Python or in one of two of ours.

    >>> percent(0.754), percent(0.784, ".0f"), percent(-0.123, "+.0f"), percent(2e4, ".0f")
    ('75.4 %', '78 %', '-12 %', '2e+06 %')

    `fine` and `whole` never round to nothing or to all of it:

    >>> percent(0.0004, "fine"), percent(0.034, "fine"), percent(1 - 1e-9, "fine")
    ('0.04 %', '3.4 %', '>99.99 %')
    >>> percent(0.756, "whole"), percent(0.998, "whole"), percent(0.002, "whole")
    ('76 %', '>99 %', '<1 %')
    """
    if form == "fine":
        return _fine(100 * share)
    if form == "whole":
        return _careful(100 * share, 0)
    return f"{100 * share:{'.2g' if form == '.0f' and share >= _HUGE else form}} %"


def _fine(hundredths: float) -> str:
    close = 0 < hundredths < 0.1 or 99.9 < hundredths < 100
    return _careful(hundredths, 2 if close else 1)


def _careful(hundredths: float, decimals: int) -> str:
    least: float = 10.0**-decimals
    if 0 < hundredths < least / 2:
        return f"<{least:g} %"
    if 100 - least / 2 <= hundredths < 100:
        return f">{100 - least:g} %"
    rounded = f"{hundredths:.{decimals}f}"
    return f"{rounded.rstrip('0').rstrip('.') if decimals else rounded} %"


def quantity(value: float, unit: str) -> str:
    """A quantity with the prefix that a reader would choose.

    >>> quantity(12_400, "J"), quantity(41.3, "W"), quantity(0.0085, "J"), quantity(0, "J")
    ('12.4 kJ', '41.3 W', '8.5 mJ', '0 J')
    """
    rounded = abs(float(f"{value:.3g}"))  # so that 999.9 is 1 k
    least, prefix = next(((s, p) for s, p in _PREFIXES if rounded >= s), (1.0, ""))
    return f"{value / least:.3g} {prefix}{unit}"


def clock(at: float, step: float = 1.0) -> str:
    """A moment of a run, as fine as the steps between moments need.

    >>> clock(75), clock(3675), clock(7200, 3600), clock(1.5, 0.5)
    ('1:15', '1:01:15', '2:00', '1.5')
    """
    if step < 1:
        return f"{at:g}"
    seconds = round(at)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    if step >= 3600:
        return f"{hours}:{minutes:02}"
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


def count_of(count: float, noun: str) -> str:
    """A count with its noun.

    >>> count_of(1, "executor"), count_of(12000.4, "row"), count_of(2, "busy process")
    ('1 executor', '12,000 rows', '2 busy processes')
    """
    return f"{count:,.0f} {plural(round(count), noun)}"


def plural(count: float, noun: str) -> str:
    """The noun in the number that goes with a count.

    >>> plural(1, "node"), plural(0, "node"), plural(3, "pass")
    ('node', 'nodes', 'passes')
    """
    return noun if count == 1 else f"{noun}{'es' if noun.endswith('s') else 's'}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """All words as a reader expects them.

    >>> joined(["a"]), joined(["a", "b", "c"]), joined(["a", "b"], "or"), joined([])
    ('a', 'a, b and c', 'a or b', '')
    """
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def listed(words: Sequence[str], most: int = 6) -> str:
    """Words with commas, the first few of many.

    >>> listed(["a", "b"]), listed(list("abcdefgh"))
    ('a, b', 'a, b, c, d, e, f and 2 more')
    """
    if len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most} more"
