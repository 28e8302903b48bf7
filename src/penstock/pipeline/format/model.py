"""The sections of a pipeline file, declared once: names, types, defaults and descriptions.

A section that is a part has the part's class as its type; one that goes by a name, such as
`policy`, says in which registry the name is looked up. `sections.py` reads files by it, `schema.py`
writes the JSON Schema from it; what must hold between sections is in `rules.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Final

from penstock.core.errors import SettingError
from penstock.core.graph import Module, Stream
from penstock.core.interference import Interference
from penstock.core.regions import Region
from penstock.core.schema import (
    Count,
    Like,
    Natural,
    NotNegativeSeconds,
    OneOf,
    Positive,
    PositiveSeconds,
    checked,
)
from penstock.core.units import format_duration
from penstock.guard import GUARDS
from penstock.pipeline.format.kafka import KafkaSink
from penstock.pipeline.format.preference import PreferenceQuery
from penstock.pipeline.format.sections import ByKey, ByName, Name, Names, Sections
from penstock.pipeline.settings import ClusterSettings, Slo, Source
from penstock.pipeline.shape import APPLICATIONS
from penstock.policy import DEFAULT, NODE_POLICIES, POLICIES
from penstock.policy.hierarchy import MANAGERS
from penstock.workload import WORKLOADS

EXECUTORS: Final = ("shared", "own")
STEPS: Final = 30
"""Steps of a run whose duration is not given."""

Policy = Annotated[object, ByName(POLICIES, f"{DEFAULT} or {{name: {DEFAULT}}}")]
Workload = Annotated[
    object,
    ByName(WORKLOADS, "{kind: constant, rate: 100/s} or constant:100/s", key="kind", short=True),
]
Guards = Annotated[tuple[object, ...], ByKey(GUARDS, "[hold, cooldown: {out: 4s, in: 8s}]")]
Application = Annotated[str, Names(APPLICATIONS)]
_KAFKA: Final = "{servers: localhost:9092, topic: lines}"
_MODULE: Final = "{service_time: 3ms}"
_REGION: Final = "{max_nodes: 4}"


@dataclass(frozen=True, kw_only=True)
class Sink(Sections):
    """Where results go, besides being published in the run folder."""

    kafka: Annotated[KafkaSink, Like(_KAFKA)]
    """A topic of [Kafka](kafka.md)."""


@dataclass(frozen=True, kw_only=True)
class InfrastructureSection(Sections):
    """The second level of control: regions and their nodes."""

    regions: Annotated[Mapping[Name, Annotated[Region, Like(_REGION)]], Like(f"{{dc1: {_REGION}}}")]
    """The regions by name."""
    delays: Mapping[str, NotNegativeSeconds] = field(default_factory=dict)
    """Time that a row takes between two regions, as `dc1-dc2: 2ms`; the same both ways."""
    policy: Annotated[object, ByName(NODE_POLICIES, "simple or {name: simple}")] = "simple"
    """What proposes nodes for each region."""
    manager: Annotated[object, ByName(MANAGERS, "accept or {name: accept}")] = "accept"
    """What grants them."""


_SOURCE = Annotated[Source, Like("{module: splitter}")]
_MODULES = Annotated[
    Mapping[Name, Annotated[Module, Like(_MODULE)]], Like(f"{{splitter: {_MODULE}}}")
]


@dataclass(frozen=True, kw_only=True)
class PartSections(Sections):
    """What each pipeline says for itself, where several share a cluster."""

    pipeline: Application | None = None
    """The application: `wordcount`, `recognition`, `trading`, `preference` or `enrichment`; without
    it the file is a graph file, which can be simulated, not run."""
    workload: Workload | None = None
    """How many rows come, and when; else `source` has a rate, or a topic of [Kafka](kafka.md)."""
    query: Annotated[PreferenceQuery, Like("{kind: skyline, window: 1s, slide: 200ms}")] | None = (
        None
    )
    """What `preference` is asked; no other pipeline takes one."""
    source: _SOURCE
    """The `module` where rows enter, and how fast where there is no workload."""
    modules: _MODULES
    """Every module with its settings, by name."""
    streams: Annotated[tuple[Stream, ...], Like("[{from: splitter, to: counter}]")] = ()
    """Rows from one module to another; a single module needs none."""
    sink: Annotated[Sink, Like(f"{{kafka: {_KAFKA}}}")] | None = None
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
        return STEPS * self.step if self.duration is None else self.duration


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
class CommonSections(Timing, Sections):
    """What holds for all pipelines of a file."""

    slo: Annotated[Slo, Like("{latency_p95: 5s}")] = Slo()  # noqa: RUF009  # frozen
    """What was promised: `latency_p95`, the latency that 95 % of the rows keep; nothing unless
    given."""
    policy: Policy = DEFAULT
    """What decides: a name, or `{name: ..., settings}`."""
    guards: Guards = ("hold",)
    """What limits decisions, innermost first: names, each alone or with settings, as in
    `cooldown: {out: 4s}`."""
    cluster: Annotated[ClusterSettings, Like("{workers: 2, cores: 8}")] = ClusterSettings()  # noqa: RUF009  # frozen
    """The embedded cluster; the defaults below unless given."""
    interference: Annotated[Interference, Like("{processes: 2, from: 40s, until: 100s}")] | None = (
        None
    )
    """Busy processes beside the executors, [below](#interference)."""


@dataclass(frozen=True, kw_only=True)
class PipelineSections(CommonSections, PartSections):
    """A pipeline file: what runs, what feeds it, what decides for it, and what was promised."""

    manager: Annotated[object, ByName(MANAGERS, "conflicts or {name: conflicts}")] | None = None
    """What grants the replicas that the policy proposes; `conflicts` where there is an
    `infrastructure`, else there is none."""
    infrastructure: (
        Annotated[InfrastructureSection, Like(f"{{regions: {{dc1: {_REGION}}}}}")] | None
    ) = None
    """Regions whose nodes are decided about as well, [below](#regions)."""


@dataclass(frozen=True, kw_only=True)
class SharedPart(PartSections, Worth):
    """One of several pipelines; one that names an application and no modules takes the rest from
    the built-in file."""

    source: _SOURCE | None = None  # type: ignore[assignment]  # from the built-in file
    """Where rows enter."""
    modules: _MODULES | None = None  # type: ignore[assignment]  # as above
    """Every module with its settings, by name."""


@dataclass(frozen=True, kw_only=True)
class SharedSections(CommonSections, Sharing):
    """Several pipelines on one cluster."""

    policy: Policy = "allocation"
    """What divides the cores: a name, or `{name: ..., settings}`."""
    pipelines: Annotated[
        Mapping[Name, Annotated[SharedPart, Like("{pipeline: enrichment, weight: 5}")]],
        Like("{fraud: {pipeline: enrichment, weight: 5}, reports: {pipeline: enrichment}}"),
    ]
    """The pipelines by name."""


def sections(kind: Any) -> tuple[str, ...]:
    """The names of the sections.

    >>> sections(SharedPart)
    ('weight', 'pipeline', 'workload', 'query', 'source', 'modules', 'streams', 'sink')
    """
    return tuple(f.name.rstrip("_") for f in fields(kind))
