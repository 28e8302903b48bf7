"""A checked file as plain values, with which it can be recorded and read again."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import isfinite
from typing import Any

from penstock.core.schema import is_duration
from penstock.core.settings import settings_of
from penstock.pipeline.settings import InfrastructureSettings, Part, PipelineFile


def resolve(file: PipelineFile, given: Mapping[str, Any]) -> PipelineFile:
    """The file with `resolved` filled in: every default and override, units written out."""
    second = {
        "manager": file.manager and _named(file.manager),
        "infrastructure": file.infrastructure and _infrastructure(file.infrastructure),
    }
    return replace(file, resolved=_present({**_own(file, given), **_common(file), **second}))


def resolve_shared(
    file: PipelineFile, parts: Mapping[str, PipelineFile], given: Mapping[str, Mapping[str, Any]]
) -> PipelineFile:
    """The same of several pipelines, each with the names that its modules have in the file."""
    pipelines = {
        name: _present({"weight": part.weight, **_own(part, given[name])})
        for name, part in parts.items()
    }
    whole = {"pipelines": pipelines, "cores": file.cores, "executors": file.executors}
    return replace(file, resolved=_present({**whole, **_common(file)}))


def _own(file: PipelineFile, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a pipeline says for itself; what feeds it as it was written."""
    return {
        "pipeline": file.application,
        "workload": plain(given.get("workload")),
        "query": _settings(file.query),
        "source": plain(given["source"]),
        "modules": {module.name: _unnamed(module) for module in file.graph.modules},
        "streams": [_settings(stream) for stream in file.graph.streams],
        "sink": plain(given.get("sink")),
    }


def _common(file: PipelineFile) -> dict[str, Any]:
    """What holds for all pipelines of a file."""
    guards = [
        {guard.name: plain(guard.settings)} if guard.settings else guard.name
        for guard in file.guards
    ]
    return {
        "step": _seconds(file.step),
        "duration": _seconds(file.duration),
        "seed": file.seed,
        "slo": _settings(file.slo),
        "policy": _named(file.policy),
        "guards": guards,
        "cluster": _settings(file.cluster),
        "interference": _settings(file.interference),
    }


def _infrastructure(given: InfrastructureSettings) -> dict[str, Any]:
    return {
        "policy": _named(given.policy),
        "manager": _named(given.manager),
        "regions": {region.name: _unnamed(region) for region in given.places.regions},
        "delays": {pair: _seconds(delay) for pair, delay in given.places.delays.items()},
    }


def _present(sections: Mapping[str, Any]) -> dict[str, Any]:
    return {name: section for name, section in sections.items() if section is not None}


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


def _unnamed(part: Any) -> dict[str, Any]:
    """The settings of a part that has its name before the colon, without empty lists."""
    return {k: value for k, value in _settings(part).items() if k != "name" and value != []}


def _settings(part: Any) -> Any:
    """The fields of a part as they are written in a file; those without a value are left out."""
    if part is None:
        return None
    kind: type = type(part)
    return {
        outer: _seconds(value) if timed else plain(value)
        for name, outer, timed in _timed(kind)
        if (value := getattr(part, name)) is not None
    }


@cache
def _timed(kind: type) -> list[tuple[str, str, bool]]:
    """The settings of a part, what they are called in a file, and whether they hold seconds."""
    return [(s.name, s.outer, is_duration(s.hint)) for s in settings_of(kind)]


def _seconds(value: float) -> str:
    return f"{value!r}s"
