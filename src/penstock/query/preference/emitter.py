"""The emitter of the window stage: which windows are complete, and of which parts they are made.

It knows parts by their panes only and never looks into them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.panes import Panes
from penstock.query.preference.punctuation import AdaptiveKSlack, Arrivals, KSlack

Slack = KSlack | AdaptiveKSlack


@dataclass(frozen=True, slots=True)
class Part:
    """The best tuples of a part of a pane."""

    pane: int
    rows: int
    """Tuples that it was chosen from."""
    best: int
    """Tuples in it."""
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """What one step of the emitter has found out."""

    windows: Mapping[int, tuple[Part, ...]]
    """Windows that are complete now, in their order, with their parts; those with any."""
    empty: int = 0
    """Windows that are complete and hold no row."""
    late: int = 0
    """Rows whose pane was closed before they came."""
    panes: int = 0
    """Panes that rows came for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitter:
    """Panes whose windows are not all complete, and how late rows may come.

    >>> emitter = Emitter(panes=Panes(window=20, slide=10), slack=KSlack(slack=5))
    >>> part = Part(0, rows=2, best=1, payload=b"")
    >>> _, complete = emitter.step([part], Arrivals(2, oldest=3, newest=25))
    >>> {window: [part.pane for part in parts] for window, parts in complete.windows.items()}
    {-1: [0], 0: [0]}
    """

    panes: Panes
    slack: Slack
    open: Mapping[int, tuple[Part, ...]] = field(default_factory=dict)
    """By pane, its parts."""

    def step(self, parts: Sequence[Part], arrivals: Arrivals) -> tuple["Emitter", Complete]:
        """Take in what came in a batch; returns what is left, and what is complete."""
        before = self.slack.punctuation
        fresh = [p for p in parts if before is None or not self.panes.closed(p.pane, before)]
        late = sum(part.rows for part in parts) - sum(part.rows for part in fresh)
        slack = self.slack.advance(arrivals, late)
        held = dict(self.open)
        for part in fresh:
            held[part.pane] = (*held.get(part.pane, ()), part)
        windows, empty = self._complete(held, before, slack.punctuation)
        after = replace(self, slack=slack, open=self._needed(held, slack.punctuation))
        panes = len({part.pane for part in fresh})
        return after, Complete(windows=windows, empty=empty, late=late, panes=panes)

    def _complete(
        self, held: Mapping[int, tuple[Part, ...]], before: int | None, after: int | None
    ) -> tuple[dict[int, tuple[Part, ...]], int]:
        """Windows that a punctuation completes, and how many of them have no rows."""
        if after is None or (before is None and not held):
            return {}, 0
        if before is None:  # windows before the first row are none of ours
            before = self.panes.end(self.panes.windows_of(min(held))[0]) - 1
        first, last = self.panes.closed_windows(before, after)
        numbers = {number for pane in held for number in self._between(pane, first, last)}
        windows = {number: self._parts(held, number) for number in sorted(numbers)}
        return windows, last - first - len(windows)

    def _between(self, pane: int, first: int, last: int) -> range:
        """The windows of a pane from `first` up to `last`; there may be years between those."""
        windows = self.panes.windows_of(pane)
        return range(max(windows.start, first), min(windows.stop, last))

    def _parts(self, held: Mapping[int, tuple[Part, ...]], window: int) -> tuple[Part, ...]:
        panes = self.panes.panes_of(window)
        return tuple(part for pane in panes for part in held.get(pane, ()))

    def _needed(
        self, held: Mapping[int, tuple[Part, ...]], punctuation: int | None
    ) -> dict[int, tuple[Part, ...]]:
        """Without the panes that no window to come has."""
        if punctuation is None:
            return dict(held)
        first = self.panes.first_needed(punctuation)
        return {pane: parts for pane, parts in held.items() if pane >= first}
