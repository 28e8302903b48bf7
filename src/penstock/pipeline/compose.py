"""The policy of a file inside its guards, and under its managers where there are any.

>>> from penstock.pipeline.file import load
>>> build_policy(load("wordcount", ["guards=[hold]"]))
Clamp(policy=Hold(policy=Threshold(max_utilisation=0.75, scale_in_factor=0.75), \
needs=('arrival_rate', 'utilisation', 'running')), \
low={'splitter': 1, 'counter': 1}, high={'splitter': 4, 'counter': 4})
"""

from dataclasses import dataclass
from datetime import datetime

from penstock.core.errors import PartError, PenstockError, SettingError, describe
from penstock.core.graph import FlowGraph
from penstock.core.plugins import is_ours
from penstock.core.regions import Infrastructure
from penstock.core.roles import Policy
from penstock.core.settings import build, choose, near, taken
from penstock.core.signals import Decision, Observation, check_decision
from penstock.guard import GUARDS, Clamp, DryRun
from penstock.pipeline import sharing
from penstock.pipeline.format.rules import with_run
from penstock.pipeline.settings import InfrastructureSettings, Part, PipelineFile
from penstock.policy import NODE_POLICIES, POLICIES
from penstock.policy.fuzzy import Fuzzy
from penstock.policy.fuzzy.splitting import SplittingControl
from penstock.policy.hierarchy import (
    MANAGERS,
    ApplicationManager,
    InfrastructureManager,
    Rule,
    TwoLevels,
)


@dataclass(slots=True)
class Checked:
    """A policy of a plug-in, whose decisions are checked before a guard makes sense of them.

    >>> Checked(lambda seen: 3, "policy acme.scaling:fast")(None)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: policy acme.scaling:fast: it must return a Decision, got 3
    """

    policy: Policy
    name: str
    modules: tuple[str, ...] = ()
    """What it may decide about; empty for anything."""

    def __call__(self, seen: Observation, /) -> Decision:
        """What the policy decides."""
        decided = self._decided(seen)
        try:
            checked = check_decision(decided)
        except TypeError as error:
            raise SettingError(f"{self.name}: {error}") from None
        for module in checked.configuration.degrees if self.modules else ():
            if module not in self.modules:
                why = f"it decides about module {module!r}, which there is not"
                raise SettingError(f"{self.name}: {why}{near(str(module), self.modules)}")
        return checked

    def _decided(self, seen: Observation) -> object:
        try:
            return self.policy(seen)
        except PenstockError:
            raise
        except SystemExit as error:
            raise PartError(f"{self.name} ended the program: {describe(error)}") from error
        except Exception as error:
            raise PartError(f"{self.name} raised {describe(error)}") from error


def build_policy(file: PipelineFile, began: datetime | None = None) -> Policy:
    """A fresh policy: the guards from the inside out, the bounds of each module, the managers.

    A dry run comes on top of even those, wherever the file lists it, or it would not be dry.
    Where Spark's own scheduler shares the executors there is nothing to guard. `began` is the
    moment at which the run begins, for guards that go by the time of day.
    """
    if sharing.uses_spark_scheduler(file):
        return _decider(file)
    policy = clamp(_guarded(file, _decider(file), began), file.graph)
    policy = _granted(file, policy)
    if file.infrastructure is not None:
        policy = _with_nodes(file, policy, file.infrastructure)
    dry = any(choose(GUARDS, part.name, of="guard") is DryRun for part in file.guards)
    return DryRun(policy) if dry else policy


def _decider(file: PipelineFile) -> Policy:
    kind = choose(POLICIES, file.policy.name, of="policy")
    shared = sharing.given(file)
    given = taken(kind, {"graph": file.graph, "slo": file.slo.latency_p95, **shared})
    settings = {**taken(kind, {"seed": file.seed}), **file.policy.settings}
    made = build(kind, settings, of=f"policy {file.policy.name}", **given)
    if is_ours(kind):
        return made
    return Checked(made, f"policy {file.policy.name}", file.graph.names())


def _guarded(file: PipelineFile, policy: Policy, began: datetime | None) -> Policy:
    for part in file.guards:
        guard = choose(GUARDS, part.name, of="guard")
        if guard is not DryRun:
            settings = with_run(guard, part.settings, file.cluster, began)
            of = f"guard {part.name}"
            made = build(guard, settings, of=of, policy=policy)
            policy = made if is_ours(guard) else Checked(made, of)
    return policy


def _granted(file: PipelineFile, policy: Policy) -> Policy:
    """The policy under the application's manager, where it has one."""
    if file.manager is None:
        return policy
    places = file.infrastructure.places if file.infrastructure else None
    return ApplicationManager(policy, _rule(file.manager), graph=file.graph, infrastructure=places)


def _with_nodes(file: PipelineFile, policy: Policy, regions: InfrastructureSettings) -> Policy:
    """The policy beside one for the nodes, which is under the infrastructure's manager."""
    nodes = _nodes(file, regions.policy, regions.places)
    manager = InfrastructureManager(nodes, _rule(regions.manager), infrastructure=regions.places)
    return TwoLevels(
        policy, manager, {region.name: region.slots for region in regions.places.regions}
    )


def _nodes(file: PipelineFile, part: Part, places: Infrastructure) -> Policy:
    kind = choose(NODE_POLICIES, part.name, of="policy of infrastructure")
    given = taken(kind, {"infrastructure": places, "slo": file.slo.latency_p95})
    of = f"policy {part.name} of infrastructure"
    made = build(kind, part.settings, of=of, **given)
    return made if is_ours(kind) else Checked(made, of)


def _rule(part: Part) -> Rule:
    kind = choose(MANAGERS, part.name, of="manager")
    return build(kind, part.settings, of=f"manager {part.name}")


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
