"""What is run for each figure and table of the ppq paper; what two of them ask for runs once."""

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.experiment.papers.ppq_printed import STATIC, STREAMS
from penstock.experiment.papers.ppq_query import MARGIN, Setup
from penstock.experiment.papers.ppq_runs import Play
from penstock.experiment.papers.ppq_streams import FILES

QUERIES: Final = ("skyline", "top-delta")
BURSTY: Final = ("map-1k", "ss-0.6")
"""Streams of Fig. 10."""
WORKERS: Final = tuple(range(1, 13))
"""Of Fig. 11."""
INTERVALS: Final = (1.25, 2.5, 5.0, 10.0)
"""Seconds between decisions in Fig. 17,"""
SAMPLINGS: Final = (0.05, 0.125, 0.25, 0.625, 1.25)
"""and of the sampling periods."""
SLOWDOWNS: Final = (1.0, 1.25, 1.5, 1.75, 2.0)
"""Of Fig. 18."""
MARGINS: Final = (0.0, 0.1, MARGIN, 0.3)
"""By how much lower the inner level may aim: beyond the paper."""
_FAST: Final = 80e3
"""Tuples a second of Fig. 10 and 11, in"""
_BRIEF: Final = 60.0
"""so many seconds."""
_PANES: Final = 100_000
"""Microseconds of a pane in Fig. 9 to 11."""
_ALL: Final = 61
"""Workers, with which the pane stage can have the paper's 60."""


def artificial() -> Play:
    """Fig. 9."""
    return Play(workload="steps", setup=Setup(slide=_PANES, windows=False, plq=3))


def bursty(workload: str, *, levels: int) -> Play:
    """Fig. 10: elasticity only, or both levels."""
    usual = Setup(slide=_PANES, windows=False, pool=_ALL)
    alone = Setup(slide=_PANES, windows=False, pool=_ALL, margin=None)
    setup = usual if levels == 2 else alone
    return Play(workload=workload, setup=setup, rate=_FAST, seconds=_BRIEF)


def split(workers: int, *, even: bool) -> Play:
    """Fig. 11: so many workers all the time; panes are split evenly, or as the PID has it."""
    setup = Setup(slide=_PANES, windows=False, outer=False, margin=0.0, even=even, plq=workers)
    return Play(workload="map-1k", setup=setup, rate=_FAST, seconds=_BRIEF)


def merging(*, on: bool) -> Play:
    """Fig. 12 and 13."""
    return Play(workload="map-1k", setup=Setup(merging=on))


def summary(workload: str, query: str, *, published: bool) -> Play:
    """A row of Tab. 4 or 5."""
    return Play(workload=workload, setup=Setup(query=query), published=published)


def fixed(*, published: bool) -> Play:
    """Fig. 15: the workers that are enough for Game1, all the time."""
    plq, wlq = STATIC
    return Play(workload="game1", setup=Setup(outer=False, plq=plq, wlq=wlq), published=published)


def sensitivity(interval: float, sampling: float, *, published: bool) -> Play:
    """Fig. 17."""
    setup = Setup(step=interval, sampling=sampling)
    return Play(workload="game1", setup=setup, published=published)


def beside(slowdown: float, *, published: bool) -> Play:
    """Fig. 18."""
    return Play(workload="game1", setup=Setup(slowdown=slowdown), published=published)


def aimed(margin: float) -> Play:
    """Beyond the paper: both levels, the inner one aiming so much lower."""
    return Play(workload="map-4k", setup=Setup(margin=margin))


def plays(workloads: Sequence[str], *, published: bool) -> list[Play]:
    """All that these workloads take part in, each once.

    >>> [play.setup.query for play in plays(("rw",), published=False)]
    ['skyline', 'top-delta']
    """
    return [p for p in dict.fromkeys(_all(published=published)) if p.workload in workloads]


def _all(*, published: bool) -> Iterator[Play]:
    """Those that take longest come first."""
    for query in QUERIES:
        for workload in STREAMS:
            yield summary(workload, query, published=False)
            if published and workload in FILES:
                yield summary(workload, query, published=True)
    yield from (merging(on=on) for on in (True, False))
    yield artificial()
    yield from (bursty(workload, levels=levels) for workload in BURSTY for levels in (1, 2))
    yield from (split(workers, even=even) for workers in WORKERS for even in (True, False))
    yield fixed(published=published)
    for interval in INTERVALS:
        yield from (sensitivity(interval, s, published=published) for s in SAMPLINGS)
    yield from (beside(slowdown, published=published) for slowdown in SLOWDOWNS)
    yield from (aimed(margin) for margin in MARGINS)
