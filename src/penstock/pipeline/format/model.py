"""The sections of a pipeline file, declared once: names, types, defaults and descriptions.

A section that is a part has the part's class as its type; one that goes by a name, such as
`policy`, says in which registry the name is looked up. `schema.py` writes the JSON Schema from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final

from penstock.core.errors import SettingError
from penstock.core.graph import Module, Stream
from penstock.core.interference import Interference
from penstock.core.plugins import Registry
from penstock.core.regions import Region
from penstock.core.schema import (
    Count,
    Natural,
    OneOf,
    Positive,
    PositiveSeconds,
    Seconds,
    checked,
)
from penstock.core.units import format_duration
from penstock.guard import GUARDS
from penstock.pipeline.format import allocation
from penstock.pipeline.format.flow import Source
from penstock.pipeline.format.kafka import KafkaSink
from penstock.pipeline.format.preference import PreferenceQuery
from penstock.pipeline.settings import ClusterSettings, Slo
from penstock.pipeline.shape import APPLICATIONS
from penstock.policy import DEFAULT, NODE_POLICIES, POLICIES
from penstock.policy.allocation import PLANNERS
from penstock.policy.hierarchy import MANAGERS
from penstock.workload import WORKLOADS


@dataclass(frozen=True, slots=True, eq=False)
class ByName:
    """A part that is written as its name, or as a mapping with its name and settings."""

    kinds: Mapping[str, Any]
    key: str = "name"
    """Under which the name stands."""


@dataclass(frozen=True, slots=True, eq=False)
class ByKey:
    """Parts in a list, each written as its name or as `name: {settings}`."""

    kinds: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """A name out of a registry."""

    kinds: Registry[Any]


EXECUTORS: Final = ("shared", "own")
_STEPS: Final = 30
"""Steps of a run whose duration is not given."""

Policy = Annotated[object, ByName(POLICIES)]
Workload = Annotated[object, ByName(WORKLOADS, key="kind")]
Guards = Annotated[tuple[object, ...], ByKey(GUARDS)]
Application = Annotated[str, Names(APPLICATIONS)]


@dataclass(frozen=True, kw_only=True)
class StreamSettings(Stream):
    """A stream as it is written, its ends under `from` and `to`."""


@dataclass(frozen=True, kw_only=True)
class Sink:
    """Where results go, besides being published in the run folder."""

    kafka: KafkaSink
    """A topic of [Kafka](kafka.md)."""


@dataclass(frozen=True, kw_only=True)
class InfrastructureSection:
    """The second level of control: regions and their nodes."""

    regions: Mapping[str, Region]
    """The regions by name."""
    delays: Mapping[str, Seconds] = ()  # type: ignore[assignment]  # none
    """Time that a row takes between two regions, as `dc1-dc2: 2ms`; the same both ways."""
    policy: Annotated[object, ByName(NODE_POLICIES)] = "simple"
    """What proposes nodes for each region."""
    manager: Annotated[object, ByName(MANAGERS)] = "accept"
    """What grants them."""


@dataclass(frozen=True, kw_only=True)
class PartSections:
    """What each pipeline says for itself, where several share a cluster."""

    pipeline: Application | None = None
    """The application: `wordcount`, `recognition`, `trading`, `preference` or `enrichment`; without
    it the file is a graph file, which can be simulated, not run."""
    workload: Workload | None = None
    """How many rows come, and when; else `source` has a rate, or a topic of [Kafka](kafka.md)."""
    query: PreferenceQuery | None = None
    """What `preference` is asked; no other pipeline takes one."""
    source: Source
    """The `module` where rows enter, and how fast where there is no workload."""
    modules: Mapping[str, Module]
    """Every module with its settings, by name."""
    streams: tuple[StreamSettings, ...] = ()
    """Rows from one module to another; a single module needs none."""
    sink: Sink | None = None
    """A topic that results go to as well, see [Kafka](kafka.md)."""


@dataclass(frozen=True, kw_only=True)
@checked("the pipeline")
class Timing:
    """How long, how often, and from which seed."""

    step: PositiveSeconds = 2.0
    """Time between two decisions."""
    duration: PositiveSeconds | None = None
    """How long a run lasts; thirty steps unless given."""
    seed: Natural = 1
    """Of everything that is drawn at random."""

    def __post_init__(self) -> None:
        """Refuse a run without a step in it."""
        if self.lasts < self.step:
            raise SettingError(
                f"duration of the pipeline is {format_duration(self.lasts)}, "
                f"shorter than its step of {format_duration(self.step)}",
                fields=("duration", "step"),
            )

    @property
    def lasts(self) -> float:
        """Seconds of the whole run."""
        return _STEPS * self.step if self.duration is None else self.duration


@dataclass(frozen=True, kw_only=True)
@checked("the pipelines")
class Sharing:
    """How many executors the pipelines share, and how."""

    cores: Count
    """Executors of one core that the pipelines share."""
    executors: Annotated[str, OneOf(EXECUTORS)] = "shared"
    """`own` where every module has executors of its own, `shared` where it has a share of all."""


@dataclass(frozen=True, kw_only=True)
@checked("the pipeline")
class Worth:
    """What a result is worth."""

    weight: Positive = 1.0
    """What a result of this pipeline is worth beside those of others."""


@dataclass(frozen=True, kw_only=True)
class CommonSections(Timing):
    """What holds for all pipelines of a file."""

    slo: Slo = Slo()  # noqa: RUF009  # frozen
    """What was promised: `latency_p95`, the latency that 95 % of the rows keep; nothing unless
    given."""
    policy: Policy = DEFAULT
    """What decides: a name, or `{name: ..., settings}`."""
    guards: Guards = ("hold",)
    """What limits decisions, innermost first: names, each alone or with settings, as in
    `cooldown: {out: 4s}`."""
    cluster: ClusterSettings = ClusterSettings()  # noqa: RUF009  # frozen
    """The embedded cluster; the defaults below unless given."""
    interference: Interference | None = None
    """Busy processes beside the executors, [below](#interference)."""


@dataclass(frozen=True, kw_only=True)
class PipelineSections(CommonSections, PartSections):
    """A pipeline file: what runs, what feeds it, what decides for it, and what was promised."""

    manager: Annotated[object, ByName(MANAGERS)] | None = None
    """What grants the replicas that the policy proposes; `conflicts` where there is an
    `infrastructure`, else there is none."""
    infrastructure: InfrastructureSection | None = None
    """Regions whose nodes are decided about as well, [below](#regions)."""


@dataclass(frozen=True, kw_only=True)
class SharedPart(PartSections, Worth):
    """One of several pipelines; one that names an application and no modules takes the rest from
    the built-in file."""

    source: Source | None = None  # type: ignore[assignment]  # from the built-in file
    """Where rows enter."""
    modules: Mapping[str, Module] | None = None  # type: ignore[assignment]  # as above
    """Every module with its settings, by name."""


@dataclass(frozen=True, kw_only=True)
class SharedSections(CommonSections, Sharing):
    """Several pipelines on one cluster."""

    pipelines: Mapping[str, SharedPart]
    """The pipelines by name."""


@dataclass(frozen=True, kw_only=True)
class AllocationSections:
    """A graph with a budget, which can be planned and neither run nor simulated."""

    budget: Positive = 1.0
    """Resource to divide."""
    policy: Annotated[object, ByName(PLANNERS)] = "cutting-plane"
    """What divides it."""
    sources: Mapping[str, allocation.Source]
    """Where flow comes from, by name."""
    modules: Mapping[str, allocation.Share]
    """The modules by name; they have no settings here."""
    streams: tuple[allocation.Stream, ...]
    """What a unit of resource consumes and produces at either end."""
    sinks: Mapping[str, allocation.Sink]
    """Where flow leaves, by name."""


def sections(kind: Any) -> tuple[str, ...]:
    """The names of the sections.

    >>> sections(SharedPart)
    ('weight', 'pipeline', 'workload', 'query', 'source', 'modules', 'streams', 'sink')
    """
    return tuple(f.name.rstrip("_") for f in fields(kind))
