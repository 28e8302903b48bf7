"""What a run came to beside its plots: what modules cost, and what the application tells."""

from collections.abc import Iterable, Mapping
from html import escape

from penstock.record.codec import dumps, plain
from penstock.record.results import LONGEST, results
from penstock.record.summary import Summary
from penstock.report.candles import NAME, Sticks
from penstock.report.scales import number
from penstock.report.words import UNKNOWN


def economy(summary: Summary) -> str:
    """What each module brought and what it cost; no section where nothing has a price."""
    if all(module.cost is None for module in summary.modules.values()):
        return ""
    told = {
        name: f"{_told(module.throughput)} rows/s, efficiency {_told(module.efficiency)}, "
        f"cost {_told(module.cost)}"
        for name, module in summary.modules.items()
    }
    told["all modules"] = f"cost {_told(summary.cost)}"
    return f'<section class="facts"><h2>Modules</h2>{facts(told)}</section>'


def outcome(summary: Summary, drawn: Iterable[Sticks]) -> str:
    """What the application itself came to, but for what is drawn; no section without anything."""
    shown = {
        name: _fold(value) if len(words) > LONGEST else escape(words)
        for name, value, words in results(summary)
        if not (drawn and name == NAME)
    }
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{told}</dd>" for name, told in shown.items())
    return f'<section class="facts"><h2>Results</h2><dl>{rows}</dl></section>' if rows else ""


def facts(told: Mapping[str, str]) -> str:
    """Names with what is to be said of them; nothing is left out but what is empty."""
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in told.items() if v)
    return f"<dl>{rows}</dl>"


def folded(title: str, data: object) -> str:
    """Data that only some want to see."""
    text = escape(dumps(data, indent=2))
    return f"<details><summary>{escape(title)}</summary><pre>{text}</pre></details>"


def _fold(value: object) -> str:
    return folded("Show", plain(value))


def _told(value: float | None) -> str:
    return UNKNOWN if value is None else number(value)
