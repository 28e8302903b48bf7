"""What to do about what was seen.

| kind | decides |
|---|---|
| `allocation` | who gets which of a fixed number of cores, by the worth of results (alloc) |
| `static` | nothing: every module keeps its degree, or the one it was given |
| `threshold` | one executor more or fewer, by how busy each module is (e2df, Section 7.1) |
| `rules` | one more above a limit of utilisation or latency, one fewer below (mpc, Section 5.4) |
| `spl` | one more while rows pile up and that helps, by what earlier steps brought (mpc, Tab. 7) |
| `latency` | the fewest executors with which the latency SLO holds for the load predicted |
| `mpc` | what the load predicted will need: replicas, clock and routing (mpc, Section 3) |
| `fuzzy` | a pane stage and its window stage together, by rules of thumb (ppq, Section 4.2) |
| `nash` | what each module would choose for itself beside the others (game, Alg. 1) |
| `incentive` | the same, with incentives that lower the cost of all (game, Alg. 2) |
| `social` | what costs all modules together the least |
| `rl` | what costs each module least by what it has learned (e2df, Section 7.2) |
| `q-learning` | the same, learned without a model: a baseline (e2df, Section 6.2.1) |
| `warm-start` | as `threshold` until what `rl` learns has settled (e2df, Section 8.4) |
| `hpa`, `keda-lag`, `dstream`, `amadeus`, `ds2`, `flink`, `dhalion` | as peers do (`peers`) |
| `fair` | nothing: Spark's own scheduler gives every pipeline the same share of the executors |
| `fifo` | nothing: Spark's own scheduler gives them to the first query |

Nodes of regions are decided about by `penstock.policy.nodes`; `penstock.policy.hierarchy` has the
managers that grant or refuse what either proposes.
"""

from typing import TYPE_CHECKING, Any, Final

from penstock.core.plugins import Registry, as_policy, load

if TYPE_CHECKING:
    from penstock.core.roles import Policy
    from penstock.policy.allocation.live import Allocate
    from penstock.policy.fuzzy import Fuzzy
    from penstock.policy.game import Incentive, Nash, Social
    from penstock.policy.latency import LatencyPolicy
    from penstock.policy.mpc import Mpc
    from penstock.policy.peers import Amadeus, Dhalion, Ds2, DStream, Flink, Hpa, KedaLag
    from penstock.policy.rl import QLearning, Rl, WarmStart
    from penstock.policy.spl import Spl
    from penstock.policy.static import Fair, Fifo, Static
    from penstock.policy.threshold import Rules, Threshold

POLICIES: "Final[Registry[type[Policy]]]" = Registry(
    "policy",
    group="penstock.policies",
    built_in={
        "allocation": "penstock.policy.allocation.live:Allocate",
        "amadeus": "penstock.policy.peers:Amadeus",
        "dhalion": "penstock.policy.peers:Dhalion",
        "ds2": "penstock.policy.peers:Ds2",
        "dstream": "penstock.policy.peers:DStream",
        "fair": "penstock.policy.static:Fair",
        "fifo": "penstock.policy.static:Fifo",
        "flink": "penstock.policy.peers:Flink",
        "fuzzy": "penstock.policy.fuzzy:Fuzzy",
        "hpa": "penstock.policy.peers:Hpa",
        "incentive": "penstock.policy.game:Incentive",
        "keda-lag": "penstock.policy.peers:KedaLag",
        "latency": "penstock.policy.latency:LatencyPolicy",
        "mpc": "penstock.policy.mpc:Mpc",
        "nash": "penstock.policy.game:Nash",
        "q-learning": "penstock.policy.rl:QLearning",
        "rl": "penstock.policy.rl:Rl",
        "rules": "penstock.policy.threshold:Rules",
        "social": "penstock.policy.game:Social",
        "spl": "penstock.policy.spl:Spl",
        "static": "penstock.policy.static:Static",
        "threshold": "penstock.policy.threshold:Threshold",
        "warm-start": "penstock.policy.rl:WarmStart",
    },
    adapt=as_policy,
)

NODE_POLICIES: "Final[Registry[type[Policy]]]" = Registry(
    "policy of infrastructure",
    group="penstock.node_policies",
    built_in={
        "static": "penstock.policy.nodes:StaticNodes",
        "simple": "penstock.policy.nodes:SimpleNodes",
        "rl": "penstock.policy.rl.nodes:LearnedNodes",
    },
    adapt=as_policy,
)
"""What decides about the nodes of regions."""

DEFAULT: Final = "latency"
"""What decides where nothing else is asked for: chosen by `benchmarks/tournament.py`."""

__all__ = [
    "DEFAULT",
    "NODE_POLICIES",
    "POLICIES",
    "Allocate",
    "Amadeus",
    "DStream",
    "Dhalion",
    "Ds2",
    "Fair",
    "Fifo",
    "Flink",
    "Fuzzy",
    "Hpa",
    "Incentive",
    "KedaLag",
    "LatencyPolicy",
    "Mpc",
    "Nash",
    "QLearning",
    "Rl",
    "Rules",
    "Social",
    "Spl",
    "Static",
    "Threshold",
    "WarmStart",
]

_CLASSES: Final = {target.partition(":")[2]: target for target in POLICIES.built_in.values()}


def __getattr__(name: str) -> Any:
    """The class of a policy, imported when it is asked for: naming one does not load all."""
    if name in _CLASSES:
        return load(_CLASSES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
