"""The policy that divides the budget of an allocation graph, and what can be set about it.

>>> from penstock.pipeline.located import read
>>> draft = read("policy: {name: cutting-plane, tolerance: 0.01}", name="job.yaml")
>>> read_planner(draft)
Part(name='cutting-plane', settings={'tolerance': 0.01})
"""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Final

from penstock.core.convert import MISFITS, convert, kind_of
from penstock.core.errors import SettingError
from penstock.core.settings import near
from penstock.pipeline.located import Draft
from penstock.pipeline.sections import kind
from penstock.pipeline.settings import Part
from penstock.policy.allocation import PLANNERS
from penstock.policy.allocation.network import Inflow, Network, Outflow
from penstock.policy.allocation.single_output import only_sink
from penstock.policy.allocation.trees import limbs

_ANY: Final = Network(
    budget=1.0,
    modules=("any",),
    inflows=(Inflow(name="from", target="any", consumes=1.0),),
    outflows=(Outflow(name="to", origin="any", produces=1.0),),
)
"""One that every planner can do with."""

BEST: Final = "cutting-plane"
"""Which divides where nothing else is asked for."""


def read_planner(draft: Draft) -> Part:
    """`policy`: a name, or a mapping with the name and its settings."""
    given = draft.at(("policy",))
    if given is None:
        return Part(BEST)
    if isinstance(given, str):
        given = {"name": given}
    if not isinstance(given, dict):
        draft.note(("policy",), f"policy must be written as {BEST}, got {kind(given)}")
        return Part(BEST)
    name = str(given.get("name", BEST))
    planner = _planner(draft, name)
    settings = {key: value for key, value in given.items() if key != "name"}
    if planner is None:
        return Part(name)
    read = _read_settings(draft, name, settings, planner)
    _try(draft, name, read)
    return Part(name, read)


def _try(draft: Draft, name: str, settings: Mapping[str, Any]) -> None:
    """Write down the setting that a planner refuses, whatever the network."""
    if not settings:
        return
    try:
        PLANNERS[name](_ANY, **settings)
    except SettingError as error:
        blamed = next((key for key in settings if key in str(error)), "name")
        draft.note(("policy", blamed), f"{error} (policy {name})")


def check_suits(draft: Draft, network: Network, part: Part) -> None:
    """Write down why a policy cannot divide the budget of this network, where it can tell soon."""
    checks: Mapping[str, Callable[[Network], object]] = {
        "shrink": limbs,
        "single-output": only_sink,
    }
    if part.name not in checks:
        return
    try:
        checks[part.name](network)
    except SettingError as error:
        draft.note(("policy",), str(error))


def _planner(draft: Draft, name: str) -> Callable[..., Any] | None:
    if name not in PLANNERS:
        told = f"policy {name!r} does not divide the budget of an allocation graph"
        draft.note(("policy", "name"), f"{told}{near(name, PLANNERS)}")
    return PLANNERS.get(name)


def _read_settings(
    draft: Draft, policy: str, given: Mapping[str, Any], planner: Callable[..., Any]
) -> dict[str, Any]:
    known = settings_of(planner)
    read: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            draft.note(("policy", key), f"policy {policy} has no setting {key!r}{near(key, known)}")
            continue
        try:
            read[key] = convert(known[key], value)
        except MISFITS:
            wanted = f"{key} of policy {policy} must be {kind_of(known[key])}"
            draft.note(("policy", key), f"{wanted}, got {kind(value)}")
    return read


def settings_of(planner: Callable[..., Any]) -> dict[str, type]:
    """What can be set about a planner, with its type: its keywords with a default."""
    parameters = signature(planner).parameters.values()
    return {p.name: type(p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}
