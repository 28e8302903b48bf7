"""The second level of a file: its regions, who proposes nodes for them and who grants these.

>>> from penstock.pipeline.file import load
>>> found = load("wordcount-regions").infrastructure
>>> found.places.names(), found.policy.name, found.manager.name
(('dc1', 'dc2', 'dc3'), 'simple', 'accept')

Modules must be in its regions:

>>> from penstock.core.located import read
>>> text = "modules: {a: {region: dc7}}\\ninfrastructure: {regions: {dc1: {slots: 4}}}\\n"
>>> draft = read(text, name="job.yaml")
>>> read_places(draft, None).names()
('dc1',)
>>> print(draft.mistakes[0])
job.yaml, line 1: module a is in region 'dc7'; there is dc1
"""

from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module
from penstock.core.located import Draft, Path
from penstock.core.regions import Infrastructure, Region
from penstock.core.schema import Seconds, read
from penstock.core.settings import near
from penstock.pipeline.format.flow import NAME
from penstock.pipeline.format.policies import read_named, read_settings, with_saved
from penstock.pipeline.format.sections import assemble, check_keys, kind, mapping
from penstock.pipeline.settings import InfrastructureSettings, Part, Slo
from penstock.policy import NODE_POLICIES
from penstock.policy.hierarchy import MANAGERS

_REGIONS: Final[Path] = ("infrastructure", "regions")
_DELAYS: Final[Path] = ("infrastructure", "delays")


def read_places(draft: Draft, graph: FlowGraph | None) -> Infrastructure | None:
    """`regions` and `delays` of `infrastructure`; None where something is wrong with them."""
    given = mapping(draft, _REGIONS, of="regions of infrastructure", like="{dc1: {max_nodes: 4}}")
    if draft.at(_REGIONS) in (None, {}):
        draft.note(
            _REGIONS,
            "infrastructure has no regions; write infrastructure: {regions: {dc1: {max_nodes: 4}}} "
            "into the file, and give every module its region",
        )
        return None
    if not given:
        return None
    _check_modules(draft, tuple(given))
    regions = [_read_region(draft, name) for name in given]
    if None in regions:
        return None
    places = _connect(draft, tuple(region for region in regions if region))
    if places is not None and graph is not None:
        _check_room(draft, graph, places)
    return places


def refuse_regions(draft: Draft) -> None:
    """Note each module that is in a region, in a file that has none."""
    for name, region in _modules(draft):
        if region is not None:
            draft.note(
                ("modules", name, "region"),
                f"module {name} is in region {region!r} and the file has no infrastructure; "
                f"add infrastructure: {{regions: {{{region}: {{}}}}}} or leave region out",
            )


def _read_region(draft: Draft, name: str) -> Region | None:
    path = (*_REGIONS, name)
    given = mapping(draft, path, of=f"region {name}", like="{max_nodes: 4}")
    if draft.at(path) not in (None, given):
        return None
    if not NAME.fullmatch(name):
        draft.note(
            path,
            f"a region's name is a letter, then letters, digits, - and _, got {name!r}",
        )
    if "min_nodes" in given:
        given = {"initial_nodes": given["min_nodes"], **given}
    if "name" in given:
        draft.note((*path, "name"), f"region {name} has its name before the colon; leave name out")
    known = {key: value for key, value in given.items() if key != "name"}
    return assemble(draft, path, known, Region, of=f"region {name}", name=name)


def _connect(draft: Draft, regions: tuple[Region, ...]) -> Infrastructure | None:
    """The regions with their delays; each delay is checked, so that all mistakes are noted."""
    like = "{dc1-dc2: 2ms}"
    given = mapping(draft, _DELAYS, of="delays of infrastructure", like=like)
    before = len(draft.mistakes)
    delays: dict[str, float] = {}
    for pair, text in given.items():
        try:
            delays[pair] = read(Seconds, text, what=f"delay {pair}")
            Infrastructure(regions=regions, delays={pair: delays[pair]})
        except SettingError as error:
            draft.note((*_DELAYS, pair), str(error))
    if len(draft.mistakes) > before:
        return None
    try:
        return Infrastructure(regions=regions, delays=delays)
    except SettingError as error:  # two that contradict each other
        draft.note((*_DELAYS, max(delays, key=str(error).find)), str(error))
        return None


def _modules(draft: Draft) -> Iterator[tuple[str, str | None]]:
    """Each module's name and region as written, even of modules that have a mistake elsewhere."""
    given = draft.at(("modules",))
    for name in given if isinstance(given, dict) else ():
        region = draft.at(("modules", name, "region"))
        if not isinstance(region, dict | list | bool):  # reported where modules are read
            yield name, None if region is None else str(region)


def _check_modules(draft: Draft, regions: tuple[str, ...]) -> None:
    there = f"there {'is' if len(regions) == 1 else 'are'} {', '.join(regions)}"
    for name, region in _modules(draft):
        if region is None:
            draft.note(("modules", name), f"module {name} needs a region; {there}")
        elif region not in regions:
            path = ("modules", name, "region")
            draft.note(path, f"module {name} is in region {region!r}; {there}")


def _check_room(draft: Draft, graph: FlowGraph, places: Infrastructure) -> None:
    """Refuse a region whose first nodes cannot host the first replicas of its modules."""
    for name, modules in _by_region(graph).items():
        if name not in places.names():
            continue  # reported at the module
        region, first = places[name], sum(module.initial_replicas for module in modules)
        room = region.initial_nodes * region.slots
        if first > room:
            who = ", ".join(module.name for module in modules)
            draft.note(
                (*_REGIONS, name),
                f"region {name} begins with room for {room} and {who} with {first} replicas; "
                "raise its initial_nodes or slots, or lower initial_replicas",
            )


def _by_region(graph: FlowGraph) -> Mapping[str, list[Module]]:
    by_region: dict[str, list[Module]] = {}
    for module in graph.modules:
        if module.region is not None:
            by_region.setdefault(module.region, []).append(module)
    return by_region


_PATH: Final[Path] = ("infrastructure",)
_LIKE: Final = "{regions: {dc1: {max_nodes: 4}}}"
_SECTIONS: Final = ("policy", "manager", "regions", "delays")
_SOME_PLACES: Final = Infrastructure(regions=(Region(name="any"),))
"""Some that every policy can do with, so that mistakes in settings show beside those of regions."""


def read_manager(draft: Draft) -> Part | None:
    """`manager`: what grants replicas; without one all are granted, unless there are regions."""
    given, regions = draft.at(("manager",)), draft.at(_PATH)
    if given is None and regions is None:
        return None
    return _manager(draft, ("manager",), of="manager", default="conflicts")


def read_infrastructure(
    draft: Draft, graph: FlowGraph | None, slo: Slo | None, folder: FilePath
) -> InfrastructureSettings | None:
    """`infrastructure`, and whether every module is in one of its regions."""
    given = draft.at(_PATH)
    if given is None:
        refuse_regions(draft)
        return None
    if not isinstance(given, dict):
        draft.note(_PATH, f"infrastructure must be a mapping such as {_LIKE}, got {kind(given)}")
        return None
    check_keys(draft, _PATH, given, _SECTIONS, of="infrastructure")
    places = read_places(draft, graph)
    manager = _manager(draft, (*_PATH, "manager"), of="manager of infrastructure", default="accept")
    policy = _read_policy(draft, places, slo, folder)
    if places is None:
        return None
    return InfrastructureSettings(places=places, policy=policy, manager=manager)


def _manager(draft: Draft, path: Path, *, of: str, default: str) -> Part:
    part, rule = read_named(draft, path, MANAGERS, of=of, default=default)
    if rule is not None:
        assemble(draft, path, part.settings, rule, of=_called(of, part))
    return part


def _read_policy(
    draft: Draft, places: Infrastructure | None, slo: Slo | None, folder: FilePath
) -> Part:
    path: Path = (*_PATH, "policy")
    of = "policy of infrastructure"
    part, policy = read_named(draft, path, NODE_POLICIES, of=of, default="simple")
    if policy is None:
        return part
    part = with_saved(draft, path, part, folder)
    given = {
        "infrastructure": places or _SOME_PLACES,
        "slo": slo.latency_p95 if slo else None,
    }
    read_settings(draft, path, part, policy, of=_called(of, part), given=given)
    _check_names(draft, path, part, places)
    return part


def _check_names(draft: Draft, path: Path, part: Part, places: Infrastructure | None) -> None:
    """Refuse nodes for a region that there is not."""
    nodes, known = part.settings.get("nodes"), places.names() if places else ()
    for name in nodes if known and isinstance(nodes, dict) else ():
        if name not in known:
            draft.note((*path, "nodes", name), f"there is no region {name!r}{near(name, known)}")


def _called(of: str, part: Part) -> str:
    """How messages call a part: `policy rl of infrastructure`."""
    first, *rest = of.split(" ", 1)
    return " ".join([first, part.name, *rest])
