"""What decides: the policy of a file, read with all its mistakes.

A policy takes some things from the file rather than from its settings, wherever it has a field or a
parameter for them: `graph`, `infrastructure`, and `slo`, the latency that 95 % of the rows were
promised to keep; and `seed`, unless that is among its settings.
"""

from collections.abc import Mapping
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any, Final

from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph, Module, Stream
from penstock.core.located import Draft, Path
from penstock.core.settings import taken
from penstock.core.units import parse_duration
from penstock.model.flow_graph import unpriced
from penstock.pipeline.format.checks import check_names
from penstock.pipeline.format.model import Timing
from penstock.pipeline.format.sections import assemble, beside, chosen, kind
from penstock.pipeline.settings import Part, Slo
from penstock.policy import DEFAULT, POLICIES
from penstock.policy.fuzzy import Fuzzy
from penstock.policy.fuzzy.splitting import check_period

_SOME_GRAPH: Final = FlowGraph(
    source="any",
    modules=tuple(
        Module(name=name, service_time=1.0, price=1.0, delay_cost=1.0) for name in ("any", "other")
    ),
    streams=(Stream(origin="any", target="other"),),
)
"""One that every policy can do with, so that mistakes in settings show beside those of a graph."""


def read_policy(
    draft: Draft,
    graph: FlowGraph | None,
    slo: Slo | None,
    folder: FilePath,
    seed: int,
    shared: Mapping[str, object] = MappingProxyType({}),
) -> Part:
    """`policy`: a name, or a mapping with the name and its settings.

    `shared` is what several pipelines have in common.
    """
    path: Path = ("policy",)
    part, policy = read_named(draft, path, POLICIES, of="policy", default=DEFAULT)
    if policy is None:
        return part
    priced = getattr(policy, "needs_prices", False)
    if priced:
        _check_priced(draft, graph, part.name)
    known = _SOME_GRAPH if priced or graph is None else graph
    part = with_saved(draft, path, part, folder)
    given = {"graph": known, "slo": slo.latency_p95 if slo else None, **shared}
    seeded = Part(part.name, {**taken(policy, {"seed": seed}), **part.settings})
    made = read_settings(draft, path, seeded, policy, of=f"policy {part.name}", given=given)
    _check_sampling(draft, made)
    check_names(draft, path, part.settings, graph.names() if graph else ())
    return part


def read_named(
    draft: Draft, path: Path, kinds: Mapping[str, type[Any]], *, of: str, default: str
) -> tuple[Part, type[Any] | None]:
    """A part that is written as its name, or as a mapping with its name and settings.

    Beside it its class, where there is one to check the settings by; the default stands in for a
    part that is not there or cannot be.
    """
    given = draft.at(path)
    if given is None:
        return Part(default), None
    if isinstance(given, str):
        given = {"name": given}
    if not isinstance(given, dict):
        like = f"{default} or {{name: {default}}}"
        draft.note(path, f"{of} must be written as {like}, got {kind(given)}")
        return Part(default), None
    name = given.get("name")
    chosen_class = chosen(draft, (*path, "name"), kinds, name, of=of)
    if chosen_class is None:
        return Part(default), None
    settings = {key: value for key, value in given.items() if key != "name"}
    return Part(str(name), settings), chosen_class


def read_settings(
    draft: Draft,
    path: Path,
    part: Part,
    kinds: type[Any],
    *,
    of: str,
    given: Mapping[str, object],
) -> Any:
    """What the settings of a part make of it, `given` being what it may take from the file.

    Saved tables must fit the rest of the file, which cannot be checked while that has mistakes.
    """
    settings = part.settings
    if draft.mistakes:
        settings = {key: value for key, value in settings.items() if key != "load"}
    return assemble(draft, path, settings, kinds, of=of, **taken(kinds, given))


def with_saved(draft: Draft, path: Path, part: Part, folder: FilePath) -> Part:
    """The part with the whole path of the tables that it begins with, where it names some."""
    given = part.settings.get("load")
    if not isinstance(given, str):
        return part
    saved = beside(draft, (*path, "load"), folder) / given
    return Part(part.name, {**part.settings, "load": str(saved)})


def _check_sampling(draft: Draft, policy: object) -> None:
    """Refuse an inner level that is slower than the outer one."""
    if not isinstance(policy, Fuzzy) or policy.inner is None:
        return
    given = draft.at(("step",))
    try:
        step = Timing().step if given is None else parse_duration(given)
    except SettingError:
        return  # reported where the step is read
    try:
        check_period(policy.inner.period, step)
    except SettingError as error:
        draft.note(("policy", "sampling"), str(error))


def _check_priced(draft: Draft, graph: FlowGraph | None, policy: str) -> None:
    for module, setting, why in unpriced(graph, policy) if graph else ():
        draft.note(("modules", module, setting), why)
