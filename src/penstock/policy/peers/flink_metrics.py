"""What Flink's autoscaler evaluates over its metric window, from what queries on Spark tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite

from penstock.core.graph import FlowGraph
from penstock.core.signals import ModuleReading, Observation
from penstock.policy.peers.deciding import known
from penstock.policy.peers.flow import Flow
from penstock.policy.peers.timing import EXACT, Window

_LAGS = 30.0
"""Seconds of rows waiting from which what a module gets through is all that it can."""
_TOO_HIGH = 1.15
"""How far the rate by busy time may be above the rate seen while catching up."""
_FEWEST = 2
"""Readings from which the rate seen while catching up is believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """The metrics of one module. Rates are rows a second."""

    rate: float
    """Rows that will come (TARGET_DATA_RATE)."""
    catch_up: float
    """Rows on top of these until the backlog is gone (CATCH_UP_DATA_RATE)."""
    true_rate: float
    """Rows that its executors could take in (TRUE_PROCESSING_RATE); endless where none came."""


@dataclass
class Metrics:
    """Readings since the last change, at most a window of them."""

    graph: FlowGraph | None
    window: float
    catch_up: float
    """Seconds in which a backlog is to be worked off; 0 leaves it to itself."""
    _since: float | None = field(default=None, init=False, repr=False)
    _flow: Flow = field(init=False, repr=False)
    _busy: dict[str, Window] = field(default_factory=dict, init=False, repr=False)
    _catching: dict[str, Window] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Nothing has been measured yet."""
        self.forget()

    def forget(self) -> None:
        """Begin anew: what was measured was of another configuration."""
        self._since, self._flow = None, Flow(self.graph, self.window)
        self._busy, self._catching = {}, {}

    def left(self, at: float) -> float:
        """Seconds until the window is full."""
        return 0.0 if self._since is None else max(self._since + self.window - at, 0.0)

    def take_in(self, seen: Observation) -> None:
        """Learn from an observation; what is unknown teaches nothing."""
        if self._since is None:
            self._since = seen.at - seen.step
        self._flow.take_in(seen)
        for name, reading in seen.modules.items():
            busy, rate = known(reading.utilisation), known(reading.processed_rate)
            if busy is not None:
                self._busy.setdefault(name, Window(self.window)).add(seen.at, busy)
            if rate and (known(reading.backlog) or 0.0) > _LAGS * rate + EXACT:
                self._catching.setdefault(name, Window(self.window)).add(seen.at, rate)

    def evaluate(self, seen: Observation) -> dict[str, Evaluated | str]:
        """By module: its metrics, or what is missing of them."""
        inflow = self._flow.inflow()
        behind = self._flow.spread({n: self._behind(m) for n, m in seen.modules.items()})
        found: dict[str, Evaluated | str] = {}
        for name, reading in seen.modules.items():
            found[name] = self._one(name, reading, inflow[name], behind[name])
        return found

    def lagging(self, seen: Observation, threshold: float) -> bool:
        """Whether a source has rows waiting for longer than the threshold."""
        sources = self.graph.sources if self.graph is not None else tuple(seen.modules)
        return any(self._lags(seen.modules, name, threshold) for name in sources)

    def _lags(self, modules: Mapping[str, ModuleReading], name: str, threshold: float) -> bool:
        waiting = known(modules.get(name, ModuleReading()).backlog)
        through = self._flow.through.get(name)
        if not waiting or through is None:
            return False
        return waiting > threshold * through.mean()

    def _one(
        self, name: str, reading: ModuleReading, rate: float, behind: float
    ) -> Evaluated | str:
        if not isfinite(rate):
            return "rows that come to its source are unknown"
        if known(reading.utilisation) is None:
            return "utilisation unknown"
        if not isfinite(behind):
            return "its backlog, or that of a module before it, is unknown"
        if name not in self._flow.through:
            return "rows that it gets through are unknown"
        return Evaluated(rate=rate, catch_up=behind, true_rate=self._true_rate(name))

    def _true_rate(self, name: str) -> float:
        """Rows by busy time, or those seen while catching up where these are far fewer."""
        through, busy = self._flow.through[name].mean(), self._busy[name].mean()
        by_time = through / busy if through and busy else inf
        seen = self._catching.get(name, ())
        if (
            not isinstance(seen, Window)
            or len(seen) < _FEWEST
            or by_time <= _TOO_HIGH * seen.mean()
        ):
            return by_time
        return seen.mean()

    def _behind(self, reading: ModuleReading) -> float:
        if not self.catch_up:
            return 0.0
        waiting = known(reading.backlog)
        return float("nan") if waiting is None else waiting / self.catch_up
