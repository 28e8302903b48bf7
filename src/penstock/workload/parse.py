"""Workloads by name, from a text on the command line or a mapping in a file."""

from collections.abc import Mapping
from typing import Final

from penstock.core.errors import SettingError
from penstock.core.roles import Workload
from penstock.core.settings import build, choose, option_names
from penstock.workload.bursty import Markovian, SelfSimilar
from penstock.workload.regular import Constant, Daily, Step
from penstock.workload.stochastic import LognormalWalk, Poisson, RandomWalk
from penstock.workload.trace import Trace

WORKLOADS: Final[dict[str, type[Workload]]] = {
    "constant": Constant,
    "step": Step,
    "daily": Daily,
    "random-walk": RandomWalk,
    "poisson": Poisson,
    "map": Markovian,
    "self-similar": SelfSimilar,
    "lognormal-walk": LognormalWalk,
    "trace": Trace,
}

_UNNAMED: Final[dict[type[Workload], tuple[str, ...]]] = {
    Constant: ("rate",),
    Step: ("levels",),
    Daily: ("low", "high"),
    RandomWalk: ("start",),
    Poisson: ("rate",),
    Markovian: ("dispersion",),
    SelfSimilar: ("hurst",),
    LognormalWalk: ("start",),
    Trace: ("path",),
}
"""The settings that a short form gives without their names, parted by `..` where there are two."""


def parse(spec: str | Mapping[str, object]) -> Workload:
    """A workload from its short form or its mapping; the package's table shows both.

    >>> parse("constnt:300/s")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: there is no workload 'constnt'; did you mean 'constant'?
    """
    if isinstance(spec, str):
        kind, _, rest = spec.partition(":")
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
    names = _UNNAMED[part]
    values = text.split("..") if len(names) > 1 else [text]
    if len(values) != len(names):
        raise SettingError(f"write {' and '.join(names)} as 60/s..420/s, got {text!r}")
    return dict(zip(names, values, strict=True))
