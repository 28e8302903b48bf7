"""Who takes part and on which loads: policies by name and settings, and the three that always do.

>>> [entrant.name for entrant in read("threshold:max_utilisation=0.8,scale_in_factor=0.5,static")]
['threshold:max_utilisation=0.8,scale_in_factor=0.5', 'static']
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import yaml

from penstock.core.errors import SettingError
from penstock.core.roles import Workload
from penstock.core.settings import choose
from penstock.core.units import format_duration
from penstock.pipeline.compose import build_policy
from penstock.pipeline.settings import Part, PipelineFile
from penstock.policy import DEFAULT, POLICIES
from penstock.workload import with_seed

PEERS: Final = ("hpa", "keda-lag", "dstream", "amadeus", "ds2", "flink", "dhalion")
"""Rules of other autoscalers, which bring their own stabilisation."""
OURS: Final = (DEFAULT, "threshold", "mpc")
"""Policies of ours that need nothing but the graph."""
STATIC_PEAK: Final = "static-peak"
STATIC_MEAN: Final = "static-mean"
CLAIRVOYANT: Final = "clairvoyant"
REFERENCES: Final = (STATIC_PEAK, STATIC_MEAN, CLAIRVOYANT)
GUARDING: Final = ("own", "all", "none")
"""Which policies the guards of the file hold: all but peers, all, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A policy that takes part."""

    name: str
    """As the tables call it."""
    part: Part
    kind: str
    """`own` for the file's policy, `peer`, `policy` for others, or `reference`."""

    def file(self, file: PipelineFile, guards: str) -> PipelineFile:
        """The pipeline with this policy, inside what guards it is due."""
        guarded = _guards(self, file, guards)
        policy = {"name": self.part.name, **self.part.settings}
        resolved = {
            **file.resolved,
            "policy": policy,
            "guards": [{part.name: dict(part.settings)} for part in guarded],
        }
        return replace(file, policy=self.part, guards=guarded, resolved=resolved)


def _guards(entrant: Entrant, file: PipelineFile, guards: str) -> tuple[Part, ...]:
    """A dry run is left out: on the twin everything is one."""
    if entrant.kind == "reference" or guards == "none":
        return ()
    wet = tuple(part for part in file.guards if part.name.replace("_", "-") != "dry-run")
    if entrant.kind != "peer" or guards == "all":
        return wet
    return tuple(part for part in wet if part.name == "hold") or (Part("hold"),)


def read(text: str, file: PipelineFile | None = None) -> tuple[Entrant, ...]:
    """Policies from names parted by commas; `name:setting=value,setting=value` has settings."""
    written: list[str] = []
    for piece in (piece.strip() for piece in text.split(",")):
        if not piece:
            raise SettingError(f"policies must be names parted by commas, got {text!r}")
        goes_on = "=" in piece and ":" not in piece.partition("=")[0]
        if goes_on and written:
            written[-1] += ("," if POLICIES.split(written[-1])[1] else ":") + piece
        else:
            written.append(piece)
    return tuple(_entrant(one, file) for one in dict.fromkeys(written))


def _entrant(text: str, file: PipelineFile | None) -> Entrant:
    name, rest = POLICIES.split(text)
    name = name.strip() if ":" in name else name.strip().replace("_", "-")
    if name in REFERENCES:
        raise SettingError(f"{name} always takes part; leave it out of the policies")
    choose(POLICIES, name, of="policy")
    if not rest and file is not None and name == file.policy.name:
        return own(file)
    kind = "peer" if name in PEERS else "policy"
    return Entrant(name=text, part=Part(name, _settings(rest, text)), kind=kind)


def _settings(rest: str, text: str) -> dict[str, object]:
    settings: dict[str, object] = {}
    for piece in rest.split(",") if rest else ():
        key, equals, value = piece.partition("=")
        if not equals:
            raise SettingError(f"write settings of a policy as name:key=value, got {text!r}")
        settings[key.strip()] = _value(value, text)
    return settings


def _value(value: str, text: str) -> object:
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        raise SettingError(
            f"cannot read {value!r} of policy {text}; write a number, a word or a duration"
        ) from None


def own(file: PipelineFile) -> Entrant:
    """The file's own policy, with its settings."""
    kind = "peer" if file.policy.name in PEERS else "own"
    return Entrant(name=file.policy.name, part=file.policy, kind=kind)


def defaults(file: PipelineFile) -> tuple[Entrant, ...]:
    """The file's own policy first, then peers and ours, as far as there are any and they fit."""
    first = own(file)
    others = [name for name in (*OURS, *PEERS) if name in POLICIES and name != first.part.name]
    named = (first, *(_entrant(name, None) for name in others))
    return tuple(entrant for entrant in named if entrant is first or _fits(entrant, file))


def _fits(entrant: Entrant, file: PipelineFile) -> bool:
    try:
        build_policy(entrant.file(file, "own"))
    except SettingError:
        return False
    return True


def check(entrants: Sequence[Entrant], file: PipelineFile, guards: str) -> None:
    """Refuse settings that a policy cannot have, before anything is played."""
    if not entrants:
        raise SettingError("there is no policy to compare; name some, such as threshold,mpc")
    names = [entrant.name for entrant in entrants]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"policy {name} is given twice; leave one out")
    for entrant in entrants:
        build_policy(entrant.file(file, guards))


# What the policies are played against: workloads by name, with rows of their own for each seed.


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A workload as the tables call it.

    >>> from penstock.workload import parse
    >>> load = Load(name="a day", workload=parse("daily:60/s..300/s"))
    >>> load.drawn_with(7).seed
    7
    """

    name: str
    workload: Workload
    fixed: bool = False
    """Whether its chance is the same for every seed, because somebody chose it."""

    def drawn_with(self, seed: int) -> Any:
        """The workload with the chance of a seed, where it has any."""
        return self.workload if self.fixed else with_seed(self.workload, seed)


def check_rows(load: Load, seed: int, duration: float) -> None:
    """Refuse a load that nothing could be learned from."""
    rows = float(load.drawn_with(seed).arrivals(np.array([duration]))[0])
    if rows < 1:
        raise SettingError(
            f"workload {load.name} has no rows in the {format_duration(duration)} of a run; give "
            "another one, or a longer --duration"
        )
