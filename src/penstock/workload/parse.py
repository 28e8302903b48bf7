"""Workloads by name, from a text on the command line or a mapping in a file."""

from collections.abc import Mapping
from typing import Final

from penstock.core.errors import SettingError
from penstock.core.plugins import Registry, having
from penstock.core.roles import Workload
from penstock.core.settings import build, choose, missing_settings, option_names

WORKLOADS: Final[Registry[type[Workload]]] = Registry(
    "workload",
    group="penstock.workloads",
    built_in={
        "constant": "penstock.workload.regular:Constant",
        "step": "penstock.workload.regular:Step",
        "daily": "penstock.workload.regular:Daily",
        "random-walk": "penstock.workload.stochastic:RandomWalk",
        "poisson": "penstock.workload.stochastic:Poisson",
        "map": "penstock.workload.bursty:Markovian",
        "self-similar": "penstock.workload.bursty:SelfSimilar",
        "lognormal-walk": "penstock.workload.stochastic:LognormalWalk",
        "trace": "penstock.workload.trace:Trace",
    },
    adapt=having("rate", "arrivals", "times"),
)


def parse(spec: str | Mapping[str, object]) -> Workload:
    """A workload from its short form or its mapping; the package's table shows both.

    >>> parse("constnt:300/s")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: there is no workload 'constnt'; did you mean 'constant'?
    """
    if isinstance(spec, str):
        kind, rest = WORKLOADS.split(spec)
        part = choose(WORKLOADS, kind.strip(), of="workload")
        return build(part, _short(part, rest), of=f"workload {kind}")
    if not isinstance(spec, Mapping) or not isinstance(spec.get("kind"), str):
        raise SettingError(f"write a workload as constant:300/s or {{kind: ...}}, got {spec!r}")
    kind = str(spec["kind"])
    part = choose(WORKLOADS, kind, of="workload")
    return build(part, {k: v for k, v in spec.items() if k != "kind"}, of=f"workload {kind}")


def _short(part: type[Workload], rest: str) -> dict[str, object]:
    pieces = rest.split(",") if rest.strip() else []
    # a path may hold an equals sign: in the first place only a known name makes a setting
    named = [
        "=" in piece and (place > 0 or piece.partition("=")[0].strip() in option_names(part))
        for place, piece in enumerate(pieces)
    ]
    main = ",".join(piece for piece, has_name in zip(pieces, named, strict=True) if not has_name)
    settings: dict[str, object] = _unnamed(part, main.strip()) if main.strip() else {}
    for piece in (piece for piece, has_name in zip(pieces, named, strict=True) if has_name):
        name, _, value = piece.partition("=")
        settings[name.strip()] = value.strip()
    return settings


def _unnamed(part: type[Workload], text: str) -> dict[str, object]:
    # what it cannot do without goes unnamed, parted by `..` where there are two
    names = missing_settings(part, ()) or option_names(part)[:1]
    values = text.split("..") if len(names) > 1 else [text]
    if len(values) != len(names):
        raise SettingError(f"write {' and '.join(names)} as 60/s..420/s, got {text!r}")
    return dict(zip(names, values, strict=True))
