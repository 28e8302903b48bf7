"""The policy of a file inside its guards.

>>> from penstock.pipeline.file import load
>>> build_policy(load("wordcount", ["guards=[hold]"]))
Clamp(policy=Hold(policy=Threshold(max_utilisation=0.75, scale_in_factor=0.75), \
needs=('arrival_rate', 'utilisation', 'running')), \
low={'splitter': 1, 'counter': 1}, high={'splitter': 4, 'counter': 4})
"""

from penstock.core.graph import FlowGraph
from penstock.core.roles import Policy
from penstock.core.settings import build, choose
from penstock.guard import GUARDS, Clamp, DryRun
from penstock.pipeline.checks import takes_graph
from penstock.pipeline.settings import PipelineFile
from penstock.policy import POLICIES, Fuzzy
from penstock.policy.splitting import SplittingControl


def build_policy(file: PipelineFile) -> Policy:
    """A fresh policy: the guards from the inside out, then the bounds of each module.

    A dry run comes on top of even those, wherever the file lists it, or it would not be dry.
    """
    kind = choose(POLICIES, file.policy.name, of="policy")
    whole = {"graph": file.graph} if takes_graph(kind) else {}
    of = f"policy {file.policy.name}"
    policy: Policy = build(kind, file.policy.settings, of=of, **whole)
    guards = {part.name: choose(GUARDS, part.name, of="guard") for part in file.guards}
    for part in file.guards:
        if guards[part.name] is not DryRun:
            of = f"guard {part.name}"
            policy = build(guards[part.name], part.settings, of=of, policy=policy)
    policy = clamp(policy, file.graph)
    return DryRun(policy) if DryRun in guards.values() else policy


def two_levels(file: PipelineFile) -> Fuzzy | None:
    """The file's policy where it has an inner level between two decisions; None of others.

    >>> from penstock.pipeline.file import load
    >>> two_levels(load("preference")) is None
    True
    """
    if choose(POLICIES, file.policy.name, of="policy") is not Fuzzy:
        return None
    return build(Fuzzy, file.policy.settings, of="policy fuzzy", graph=file.graph)


def inner_level(file: PipelineFile) -> SplittingControl | None:
    """What splits panes between two decisions; None where they are left as they are."""
    policy = two_levels(file)
    return None if policy is None else policy.inner


def clamp(policy: Policy, graph: FlowGraph) -> Policy:
    """A policy that keeps every module within its bounds."""
    return Clamp(
        policy,
        low={module.name: module.min_replicas for module in graph.modules},
        high={module.name: module.max_replicas for module in graph.modules},
    )
