"""How far the stream is complete, when rows come out of order: K-slack (ppq, Section 3.1).

A punctuation is a time before which no more rows are accepted. It follows the newest row at the
distance K, the slack. Times and slacks are microseconds.

K-slack needs three numbers about the rows of a batch, however many they are. Spark processes a
batch in parallel tasks, so the order of its rows is unknown: a row is late only relative to earlier
batches, and the numbers do not depend on how the batch was split into tasks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import SettingError
from penstock.policy.common.pid import Pid, PidMemory


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Rows of one batch; times are microseconds since 1970.

    >>> Arrivals.of(np.array([30, 10])).also(Arrivals.of(np.array([20])))
    Arrivals(count=3, oldest=10, newest=30)
    """

    count: int = 0
    oldest: int = 0
    newest: int = 0

    @classmethod
    def of(cls, times: NDArray[np.int64]) -> "Arrivals":
        """Rows with these times."""
        if times.size == 0:
            return cls()
        return cls(times.size, int(times.min()), int(times.max()))

    def also(self, others: "Arrivals") -> "Arrivals":
        """These rows and others."""
        if not (self.count and others.count):
            return others if others.count else self
        return Arrivals(
            self.count + others.count,
            min(self.oldest, others.oldest),
            max(self.newest, others.newest),
        )


SAMPLE: Final = 100_000
"""Stream time between two corrections of the adaptive K-slack."""
LEAST_ALPHA: Final = 1e-4
"""Lower bound of the factor, which is adapted by multiplication and could not leave zero."""
PAPER_TARGET: Final = 0.05
"""The drop rate for which the paper chose its gains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KSlack:
    """Waits as long as the longest delay seen; settings and state in one value.

    A row's delay is how much older it is than the newest row of earlier batches; it comes into
    force with the next newer row (ppq, Alg. 1, line 3, row by row).

    >>> kslack = KSlack().advance(Arrivals(count=50, oldest=90, newest=130))
    >>> kslack.punctuation  # nothing of a first batch is complete: delays are unknown
    90
    >>> kslack = kslack.advance(Arrivals(count=50, oldest=110, newest=180))
    >>> kslack.slack, kslack.punctuation
    (20, 160)

    The punctuation is that of the end of a batch, and never goes back.
    """

    slack: int = 0
    """K: the initial one, then the current one. With an initial 0, the first batch completes
    nothing."""
    max_slack: int | None = None
    """K grows no further, so that a clock set back by hours does not stall the query."""
    newest: int | None = None
    """The largest time seen; None before the first row."""
    punctuation: int | None = None
    """Rows before it are late; None before the first row."""
    pending: int = 0
    """The largest delay since the newest row, which is not in force yet."""
    rows: int = 0
    dropped: int = 0
    """Those of the rows that were late."""

    def __post_init__(self) -> None:
        """Refuse a negative slack."""
        if self.slack < 0:
            raise SettingError(f"slack must be 0 or more, got {self.slack} us; choose 0 or more")
        if self.max_slack is not None and self.max_slack < self.slack:
            raise SettingError(
                f"max_slack must be at least slack, got {self.max_slack} us below {self.slack} us; "
                "raise max_slack or lower slack"
            )

    @property
    def lag(self) -> int:
        """How far the punctuation is behind the newest row."""
        if self.newest is None or self.punctuation is None:
            return 0
        return self.newest - self.punctuation

    def advance(self, arrivals: Arrivals, late: int = 0) -> "KSlack":
        """The state after a batch of rows, so many of which were late."""
        if not arrivals.count:
            return self
        state = self.counted_in(arrivals, late)
        return state.punctuated(state.slack, arrivals)

    def counted_in(self, arrivals: Arrivals, late: int) -> "KSlack":
        """With the rows of a batch counted, and the punctuation not yet advanced."""
        counted = replace(self, rows=self.rows + arrivals.count, dropped=self.dropped + int(late))
        if self.newest is None:
            return replace(counted, newest=arrivals.newest)
        delay = max(self.pending, self.newest - arrivals.oldest)
        if arrivals.newest <= self.newest:
            return replace(counted, pending=delay)
        most = delay if self.max_slack is None else min(delay, self.max_slack)
        return replace(counted, slack=max(self.slack, most), newest=arrivals.newest, pending=0)

    def punctuated(self, slack: int, arrivals: Arrivals) -> "KSlack":
        """With a punctuation at this distance from the newest row; it never moves back."""
        assert self.newest is not None  # noqa: S101  # rows have come
        reached = self.newest - slack
        if self.punctuation is None:
            return replace(self, punctuation=reached if self.slack else arrivals.oldest)
        return replace(self, punctuation=max(self.punctuation, reached))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The counts at the last correction."""

    at: int
    """Stream time: the newest row."""
    rows: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveKSlack:
    """Waits for a share of K, as short as a wanted rate of late rows allows.

    A few rows that are very late make K long for ever. Here a factor in (0, 1] shortens it while
    fewer rows than the target are dropped, and lengthens it while more are. With a target of 0 it
    is plain K-slack.

    >>> adaptive = AdaptiveKSlack(target=0.05, kslack=KSlack(slack=2_000_000))
    >>> for time in range(0, 1_000_000, 100_000):
    ...     adaptive = adaptive.advance(Arrivals(count=50, oldest=time, newest=time))
    >>> round(adaptive.alpha, 2), adaptive.slack < 200_000  # nothing was late: it waits less
    (0.07, True)
    """

    target: float = PAPER_TARGET
    """Target share of rows that are dropped, in [0, 1)."""
    kp: float = 6.0
    ki: float = 0.6
    kd: float = 0.2
    kslack: KSlack = field(default_factory=KSlack)
    """Knows K, the newest row and the counts."""
    alpha: float = 1.0
    """The share of K that is waited for."""
    memory: PidMemory = field(default_factory=PidMemory)
    sample: Sample | None = None
    """None before the first row."""

    def __post_init__(self) -> None:
        """Check the target rate and the gains."""
        if not 0 <= self.target < 1:
            raise SettingError(
                f"target drop rate must be in [0, 1), got {self.target:g}; write 5 % as 0.05"
            )
        self.pid()

    @property
    def slack(self) -> int:
        """The slack in force."""
        return int(self.alpha * self.kslack.slack)

    @property
    def newest(self) -> int | None:
        """The largest time seen; None before the first row."""
        return self.kslack.newest

    @property
    def punctuation(self) -> int | None:
        """Rows before it are late; None before the first row."""
        return self.kslack.punctuation

    @property
    def rows(self) -> int:
        """All rows counted_in of."""
        return self.kslack.rows

    @property
    def dropped(self) -> int:
        """Those of the rows that were late."""
        return self.kslack.dropped

    @property
    def lag(self) -> int:
        """How far the punctuation is behind the newest row."""
        return self.kslack.lag

    def advance(self, arrivals: Arrivals, late: int = 0) -> "AdaptiveKSlack":
        """The state after a batch of rows, so many of which were late."""
        if not arrivals.count:
            return self
        state = replace(self, kslack=self.kslack.counted_in(arrivals, late))._corrected()
        return replace(state, kslack=state.kslack.punctuated(state.slack, arrivals))

    def pid(self) -> Pid:
        """The regulator of the logarithm of alpha.

        Its bounds are uneven because the measurement is: a rate of late rows can be many times
        above the target, and cut off there it would settle above it; it cannot be as far below.
        """
        return Pid(
            setpoint=PAPER_TARGET,
            kp=self.kp,
            ki=self.ki,
            kd=self.kd,
            low=-0.3,
            high=1.0,
            reverse=True,
        )

    def _corrected(self) -> "AdaptiveKSlack":
        """With another alpha if enough of the stream has passed since the last correction."""
        now = Sample(at=self.newest or 0, rows=self.rows, dropped=self.dropped)
        if self.sample is None:
            return replace(self, sample=now)
        if now.at - self.sample.at < SAMPLE or self.target == 0:
            return self
        rate = (now.dropped - self.sample.dropped) / (now.rows - self.sample.rows)
        # Measured in targets: a rate of twice the target is as bad at 0.1 % as it is at 5 %.
        seen = min(rate / self.target * PAPER_TARGET, 1.0)
        memory, step = self.pid().step(self.memory, seen)
        alpha = min(max(self.alpha * exp(step), LEAST_ALPHA), 1.0)
        return replace(self, alpha=alpha, memory=memory, sample=now)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "AdaptiveKSlack":
        """From the values of `dataclasses.asdict`.

        >>> from dataclasses import asdict
        >>> AdaptiveKSlack.from_dict(asdict(AdaptiveKSlack(target=0.1))).target
        0.1
        """
        parts = {
            "kslack": KSlack(**values["kslack"]),
            "memory": PidMemory(**values["memory"]),
            "sample": values["sample"] and Sample(**values["sample"]),
        }
        return cls(**{**values, **parts})


def resumed(settings: KSlack | AdaptiveKSlack, known: Mapping[str, Any]) -> KSlack | AdaptiveKSlack:
    """One with these settings that continues from the saved state of another, of either kind.

    >>> from dataclasses import asdict
    >>> before = KSlack().advance(Arrivals(1, 100, 100)).advance(Arrivals(2, 70, 120))
    >>> after = resumed(AdaptiveKSlack(target=0.1, kslack=KSlack(max_slack=20)), asdict(before))
    >>> after.newest, after.slack, after.target
    (120, 20, 0.1)
    """
    state = known.get("kslack", known)
    own = settings if isinstance(settings, KSlack) else settings.kslack
    slack = max(state["slack"], own.slack)
    slack = slack if own.max_slack is None else min(slack, own.max_slack)
    plain = KSlack(**{**state, "slack": slack, "max_slack": own.max_slack})
    if isinstance(settings, KSlack):
        return plain
    if "kslack" not in known:
        return replace(settings, kslack=plain)
    before = AdaptiveKSlack.from_dict(known)
    return replace(
        settings, kslack=plain, alpha=before.alpha, memory=before.memory, sample=before.sample
    )
