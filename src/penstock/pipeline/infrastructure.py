"""The second level of a file: its regions, who proposes nodes for them and who grants these.

>>> from penstock.pipeline.file import load
>>> found = load("wordcount-regions").infrastructure
>>> found.places.names(), found.policy.name, found.manager.name
(('dc1', 'dc2', 'dc3'), 'simple', 'accept')
"""

from pathlib import Path as FilePath
from typing import Final

from penstock.core.graph import FlowGraph
from penstock.core.regions import Infrastructure, Region
from penstock.core.settings import near
from penstock.pipeline.located import Draft, Path
from penstock.pipeline.places import read_places, refuse_regions
from penstock.pipeline.policies import read_named, read_settings, with_saved
from penstock.pipeline.sections import assemble, check_keys, kind
from penstock.pipeline.settings import InfrastructureSettings, Part, Slo
from penstock.policy.hierarchy import MANAGERS
from penstock.policy.regions import REGION_POLICIES

_PATH: Final[Path] = ("infrastructure",)
_LIKE: Final = "{regions: {dc1: {max_nodes: 4}}}"
_SECTIONS: Final = ("policy", "manager", "regions", "delays")
_SOME_PLACES: Final = Infrastructure(regions=(Region(name="any"),))
"""Some that every policy can do with, so that mistakes in settings show beside those of regions."""


def read_manager(draft: Draft) -> Part | None:
    """`manager`: what grants replicas; without one nobody has to, unless there are regions."""
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
    part, policy = read_named(draft, path, REGION_POLICIES, of=of, default="simple")
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
