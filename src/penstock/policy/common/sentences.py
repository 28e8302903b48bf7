"""Reasons as sentences: how policies and guards word rows, changes and forecasts.

Shares, counts and durations are written by `penstock.core.words`; clauses are joined by "; ".
"""


def rows(number: float, *, whole_from: float = 100.0, separator: str = ",") -> str:
    """Rows, or rows a second, with as many digits as are read; from some number on in whole ones.

    >>> rows(0.25), rows(1973.2), rows(1.23e12), rows(1973.2, separator="")
    ('0.25', '1,973', '1.2e+12', '1973')
    """
    if abs(number) >= 1e9:
        return f"{number:.2g}"
    if abs(number) < whole_from:
        return f"{number:.3g}"
    return f"{number:,.0f}".replace(",", separator)


def change(before: int | None, after: int) -> str:
    """A step from one degree to another.

    >>> change(3, 4), change(4, 4)
    ('3 -> 4', '4 stay')
    """
    return f"{after} stay" if before == after else f"{before} -> {after}"


def forecast(rate: float, now: float, behind: float = 0.0) -> str:
    """The forecast load, the load now and the backlog to work off, as rates.

    >>> forecast(2310.4, 2150.0)
    '2,310 rows/s forecast (2,150 now)'
    >>> forecast(100.0, 100.0, behind=50e3)
    '100 rows/s forecast (100 now) plus 50,000 rows/s of backlog'
    """
    late = f" plus {rows(behind)} rows/s of backlog" if behind else ""
    return f"{rows(rate)} rows/s forecast ({rows(now)} now){late}"
