"""A checked file as plain values, with which it can be recorded and read again."""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from math import isfinite
from typing import Any, get_type_hints

from penstock.core.graph import Module, Stream
from penstock.core.schema import is_duration
from penstock.pipeline.settings import InfrastructureSettings, Part, PipelineFile


def resolve(file: PipelineFile, given: Mapping[str, Any]) -> PipelineFile:
    """The file with `resolved` filled in: every default and override, units written out."""
    resolved = _named_application(file) | {
        **_timing(file),
        **_feeds(given),
        **({} if file.query is None else {"query": _settings(file.query)}),
        "slo": _settings(file.slo),
        "policy": _named(file.policy),
        "guards": [_guard(part) for part in file.guards],
        **({} if file.manager is None else {"manager": _named(file.manager)}),
        **_infrastructure(file.infrastructure),
        "cluster": _settings(file.cluster),
        **({} if file.interference is None else {"interference": _settings(file.interference)}),
        **_flow(file, given),
    }
    return replace(file, resolved=resolved)


def resolve_shared(
    file: PipelineFile, parts: Mapping[str, PipelineFile], given: Mapping[str, Mapping[str, Any]]
) -> PipelineFile:
    """The same of several pipelines, each with the names that its modules have in the file."""
    resolved = {
        "pipelines": {name: _part(part, given[name]) for name, part in parts.items()},
        "cores": file.cores,
        "executors": file.executors,
        **_timing(file),
        "slo": _settings(file.slo),
        "policy": _named(file.policy),
        "guards": [_guard(part) for part in file.guards],
        "cluster": _settings(file.cluster),
        **({} if file.interference is None else {"interference": _settings(file.interference)}),
    }
    return replace(file, resolved=resolved)


def _part(part: PipelineFile, given: Mapping[str, Any]) -> dict[str, Any]:
    return _named_application(part) | {
        "weight": part.weight,
        **_feeds(given),
        **({} if part.query is None else {"query": _settings(part.query)}),
        **_flow(part, given),
    }


def _named_application(file: PipelineFile) -> dict[str, Any]:
    return {"pipeline": file.application} if file.application else {}


def _timing(file: PipelineFile) -> dict[str, Any]:
    return {
        "step": _seconds(file.step),
        "duration": _seconds(file.duration),
        "seed": file.seed,
    }


def _feeds(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"workload": plain(given["workload"])} if given.get("workload") is not None else {}


def _flow(file: PipelineFile, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "source": plain(given["source"]),
        "modules": {module.name: _module(module) for module in file.graph.modules},
        "streams": [_stream(stream) for stream in file.graph.streams],
        **({} if given.get("sink") is None else {"sink": plain(given["sink"])}),
    }


def plain(value: Any) -> Any:
    """A value as JSON can hold it: what is not finite becomes a text, a tuple a list.

    >>> plain({"buffer": float("inf"), "operators": ("split", "filter")})
    {'buffer': 'inf', 'operators': ['split', 'filter']}
    """
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _named(part: Part) -> dict[str, Any]:
    return {"name": part.name, **plain(part.settings)}


def _infrastructure(given: InfrastructureSettings | None) -> dict[str, Any]:
    if given is None:
        return {}
    places = given.places
    section = {
        "policy": _named(given.policy),
        "manager": _named(given.manager),
        "regions": {region.name: _unnamed(region) for region in places.regions},
        "delays": {pair: _seconds(delay) for pair, delay in places.delays.items()},
    }
    return {"infrastructure": section}


def _guard(part: Part) -> Any:
    return {part.name: plain(part.settings)} if part.settings else part.name


def _module(module: Module) -> dict[str, Any]:
    return {name: value for name, value in _unnamed(module).items() if value != []}


def _unnamed(part: Any) -> dict[str, Any]:
    """The settings of a part that has its name before the colon."""
    return {name: value for name, value in _settings(part).items() if name != "name"}


def _stream(stream: Stream) -> dict[str, Any]:
    settings = _settings(stream)
    return {"from": settings.pop("origin"), "to": settings.pop("target"), **settings}


def _settings(part: Any) -> dict[str, Any]:
    """The fields of a part as they are written in a file; those without a value are left out."""
    kind: type = type(part)
    values = {name: getattr(part, name) for name in _timed(kind)}
    return {
        name.rstrip("_"): _seconds(value) if _timed(kind)[name] else plain(value)
        for name, value in values.items()
        if value is not None
    }


@cache
def _timed(kind: type) -> dict[str, bool]:
    """Which fields there are, and whether they hold seconds."""
    hints = get_type_hints(kind, include_extras=True)
    return {f.name: is_duration(hints[f.name]) for f in fields(kind)}


def _seconds(value: float) -> str:
    return f"{value!r}s"
