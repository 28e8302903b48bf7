"""What the ppq paper found, and whether it was found again."""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final

from penstock.experiment.papers import ppq_printed as printed
from penstock.experiment.papers.ppq_entries import TABLES
from penstock.experiment.papers.ppq_findings import findings
from penstock.experiment.papers.ppq_means import by_stream, grows, rank_correlation
from penstock.experiment.papers.ppq_outcome import START
from penstock.experiment.reproduction import Claim, Entry

NEAR: Final = 0.05
"""How far loads may be from the setpoint."""
RANKED: Final = 0.9
"""Rank correlation from which on two orders are the same but for neighbours."""
FEWEST: Final = 4
"""Streams below which there is no order to speak of."""
_GROWING: Final = {
    "index of dispersion": ("map-1k", "map-2k", "map-3k", "map-4k"),
    "Hurst parameter": ("ss-0.6", "ss-0.7", "ss-0.8"),
}


def claims(entries: Sequence[Entry]) -> tuple[Claim, ...]:
    """Each with what we found, where it was played."""
    return (
        *_on_time(entries),
        *_loads(entries),
        *_order(entries),
        *_growing(entries),
        *findings(entries),
    )


def _on_time(entries: Sequence[Entry]) -> Iterator[Claim]:
    for query, table in TABLES.items():
        late = by_stream(entries, table, "delta")
        if late:
            worst = max(late, key=lambda stream: late[stream])
            yield Claim(
                text=f"Throughput: every stream ends within {100 * printed.LATEST:g} % of its own "
                f"time, on average over the seeds ({query}).",
                found=f"{100 * min(late.values()):.2f} to {100 * late[worst]:.2f} % ({worst}).",
                holds=late[worst] <= printed.LATEST,
            )


def _loads(entries: Sequence[Entry]) -> Iterator[Claim]:
    for quantity, stage in (("load", "pane"), ("window_load", "window")):
        after = by_stream(entries, TABLES["skyline"], quantity)
        whole = by_stream(entries, TABLES["skyline"], f"{quantity}_of_all")
        if after and whole:
            mean = fmean(after.values())
            yield Claim(
                text=f"The load of the {stage} stage is within {NEAR:g} of the setpoint of "
                f"{printed.SETPOINT:g}, on average over the streams and after {START:g} s.",
                found=f"{mean:.3f}, from {_extreme(after, -1)} to {_extreme(after, 1)}; "
                f"{fmean(whole.values()):.3f} over whole runs, which begin with one worker.",
                holds=abs(mean - printed.SETPOINT) <= NEAR,
            )


def _extreme(loads: dict[str, float], sign: int) -> str:
    stream = max(loads, key=lambda name: sign * loads[name])
    return f"{loads[stream]:.2f} ({stream})"


def _order(entries: Sequence[Entry]) -> Iterator[Claim]:
    for query, table in TABLES.items():
        plq, wlq = (by_stream(entries, table, stage, published=False) for stage in ("plq", "wlq"))
        if len(plq) < FEWEST:
            continue
        theirs = [printed.ROWS[query][s].plq + printed.ROWS[query][s].wlq for s in plq]
        alike = rank_correlation([plq[s] + wlq[s] for s in plq], theirs)
        yield Claim(
            text=f"Streams take workers in the paper's order ({query}).",
            found=f"A rank correlation of {alike:.2f} over {len(plq)} streams.",
            holds=alike >= RANKED,
        )


def _growing(entries: Sequence[Entry]) -> Iterator[Claim]:
    for query, table in TABLES.items():
        known = by_stream(entries, table, "cv", published=False)
        for parameter, streams in _GROWING.items():
            if not set(streams) <= set(known):
                continue
            told = ", ".join(f"{known[stream]:.2f} ({stream})" for stream in streams)
            yield Claim(
                text=f"The variation of throughput grows with the {parameter} ({query}).",
                found=f"{told}.",
                holds=grows([known[stream] for stream in streams]),
            )
