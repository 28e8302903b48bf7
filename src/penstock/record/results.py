"""What an application came to, in words for a terminal and for a page.

>>> told({"river": 12, "mill": 7})
'river 12, mill 7'
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.record.summary import Summary

LONGEST: Final = 300
"""Characters of a result from which it is no longer something to read in passing."""


def results(summary: Summary) -> Iterator[tuple[str, object, str]]:
    """Each result by its name, as it is and in words, but for rows left by the drain."""
    for name, value in _parted(summary.results):
        if name == "rows_waiting" and summary.left is not None:
            continue  # said beside the backlog, which it explains
        known = name == "rows_refused" and summary.refused is not None
        words = refusals(summary.refused or {}) if known else told(value)
        yield name.replace("_", " "), value, words or "none"


def _parted(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The results, of several pipelines one by one."""
    for name, value in given.items():
        if name == "pipelines" and isinstance(value, Mapping):
            yield from value.items()
        else:
            yield name, value


def refusals(refused: Mapping[str, Mapping[str, int]]) -> str:
    """Rows that were refused, by module and reason.

    >>> refusals({"trader": {"late": 2, "malformed": 1300, "empty": 0}, "counter": {"late": 0}})
    '1,302 by trader: 1,300 malformed, 2 late'
    >>> refusals({})
    'none'
    """
    counts = {name: +Counter(reasons) for name, reasons in refused.items()}
    parts = (f"{of.total():,} by {name}: {_reasons(of)}" for name, of in counts.items() if of)
    return "; ".join(parts) or "none"


def _reasons(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())


def told(value: Any) -> str:
    """Any value that JSON knows, in a line.

    >>> told([{"symbol": "B", "heard": True}, 1234567, 0.123456, None])
    'symbol B, heard yes, 1,234,567, 0.123, unknown'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {told(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(told(item) for item in value)
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _number(value) if isinstance(value, int | float) else str(value)


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
