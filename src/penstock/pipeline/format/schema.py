"""The JSON Schema of pipeline files, with which editors complete and check them.

>>> schema = json_schema()
>>> schema["$defs"]["Module"]["properties"]["service_time"]["description"]
'Mean seconds that one replica takes for a row.'

Types, units, bounds and defaults come from the declarations in `model.py` and in the parts; what a
setting means is the docstring under its field. Both pydantic and the sources are read only here.
"""

import ast
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Final, get_args, get_origin

from penstock.core.errors import SettingError
from penstock.core.graph import Module
from penstock.core.regions import Region
from penstock.core.schema import Like, Matches, describe, is_duration, is_rate
from penstock.core.settings import Setting, settings_of
from penstock.core.units import written_duration
from penstock.pipeline.format.allocation import AllocationSections
from penstock.pipeline.format.model import PipelineSections, SharedSections
from penstock.pipeline.format.sections import ByKey, ByName, Names, extra, is_section

Json = dict[str, Any]

_NOTHING: Final[Mapping[str, Json]] = MappingProxyType({})
_DIALECT: Final = "http://json-schema.org/draft-07/schema#"
"""Which editors know best."""
_FROM_FILE: Final = frozenset({"graph", "slo", "infrastructure", "policy", "network"})
"""What parts take from the file and not from their settings."""
_ONLY_CORES: Final[Json] = {"required": ["cores"], "not": {"required": ["modules"]}}
"""As `is_shared` of `pipeline/sharing.py` takes it."""
_ELSEWHERE: Final[Json] = {"type": "string", "pattern": r"^[\w.]+:[\w.]+$"}
"""A part of a package, as `package.module:name`."""


def json_schema() -> Json:
    """The schema of pipeline files, of files with several pipelines and of allocation graphs."""
    made: dict[str, Json] = {}
    budget: Json = {"anyOf": [{"required": [key]} for key in ("budget", "sources", "sinks")]}
    graph = {
        "if": budget,
        "then": _part(AllocationSections, made),
        "else": _part(PipelineSections, made),
    }
    whole: Json = {
        "$schema": _DIALECT,
        "title": "Penstock pipeline file",
        "type": "object",
        "if": {"anyOf": [{"required": ["pipelines"]}, _ONLY_CORES]},
        "then": _part(SharedSections, made),
        "else": graph,
    }
    return whole | {"$defs": made}


def _part(kind: Any, made: dict[str, Json]) -> Json:
    """A reference to the settings of a part, which are written down once."""
    of_allocation = kind.__module__.endswith(".allocation")
    name = f"{'Allocation' if of_allocation else ''}{kind.__name__}"
    if name not in made:
        made[name] = {}  # before what is inside, which may refer to it
        made[name].update(_object(kind, made))
    return {"$ref": f"#/$defs/{name}"}


def _object(kind: Any, made: dict[str, Json], fixed: Mapping[str, Json] = _NOTHING) -> Json:
    given = [s for s in settings_of(kind) if s.name not in _left_out(kind)]
    texts = descriptions(kind)
    own = {s.outer: _setting(s, texts.get(s.name), made) for s in given}
    required = [*fixed, *(s.outer for s in given if s.required)]
    return {
        "type": "object" if required else ["object", "null"],  # `counter:` alone has defaults
        "description": _first_sentence(kind),
        "properties": {**fixed, **own},
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _left_out(kind: Any) -> frozenset[str]:
    """Fields that are not written among the settings of a part."""
    if kind in (Module, Region):
        return frozenset({"name"})
    declares = kind.__module__ == PipelineSections.__module__ or kind is AllocationSections
    return frozenset() if declares else _FROM_FILE


def _setting(setting: Setting, description: str | None, made: dict[str, Json]) -> Json:
    schema = dict(_type(setting.hint, made))
    if description:
        schema["description"] = description
    default = default_of(setting)
    if default is not None and "$ref" not in schema:
        schema["default"] = default
    return {"allOf": [{"$ref": schema.pop("$ref")}], **schema} if "$ref" in schema else schema


def _type(hint: Any, made: dict[str, Json]) -> Json:
    """A type with the parts that may be inside it; pydantic has the rest."""
    origin, inner = get_origin(hint), get_args(hint)
    names = extra(hint, ByName | ByKey | Names)
    if origin is Annotated and names:
        return _named(names, made)
    if origin is Annotated and extra(hint, Like):
        return _type(inner[0], made)
    if is_dataclass(hint):
        return _part(hint, made)
    optional = [kind for kind in inner if kind is not type(None)]
    if len(optional) == 1 and len(inner) == 2 and type(None) in inner:
        schema = _type(optional[0], made)
        return schema if "$ref" in schema else _or_null(schema)
    if origin is Mapping and is_section(inner[1]):
        named = {"propertyNames": _of_pydantic(inner[0])} if extra(inner[0], Matches) else {}
        return {"type": "object", "additionalProperties": _type(inner[1], made), **named}
    if origin is tuple and is_dataclass(inner[0]):
        return {"type": "array", "items": _type(inner[0], made)}
    return _of_pydantic(hint)


def _or_null(schema: Json) -> Json:
    """The same, or nothing."""
    kind = schema.get("type")
    if kind is None:
        return {"anyOf": [schema, {"type": "null"}]}
    words = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": [*([kind] if isinstance(kind, str) else kind), "null"], **words}


def _of_pydantic(hint: Any) -> Json:
    from pydantic.json_schema import GenerateJsonSchema

    schema = GenerateJsonSchema().generate(describe(hint))
    schema.pop("$schema", None)
    return schema


def _named(names: ByName | ByKey | Names, made: dict[str, Json]) -> Json:
    words: Json = {"enum": sorted(names.kinds)}
    if isinstance(names, Names):
        return {"anyOf": [words, _ELSEWHERE]}
    kinds = {name: kind for name in sorted(names.kinds) if (kind := _loaded(names.kinds, name))}
    if isinstance(names, ByKey):
        return {"type": "array", "items": _listed(kinds, words, made)}
    short = {"type": "string", "pattern": ":"}  # constant:300/s, or a part of a package
    with_settings = [
        _object(kind, made, {names.key: {"const": name}}) for name, kind in kinds.items()
    ]
    of_package = {"type": "object", "properties": {names.key: _ELSEWHERE}, "required": [names.key]}
    return {"anyOf": [words, short, *with_settings, of_package]}


def _listed(kinds: Mapping[str, Any], words: Json, made: dict[str, Json]) -> Json:
    own = {name: {"anyOf": [_object(kind, made), {"type": "null"}]} for name, kind in kinds.items()}
    with_settings = {
        "type": "object",
        "properties": own,
        "patternProperties": {_ELSEWHERE["pattern"]: {}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    return {"anyOf": [words, _ELSEWHERE, with_settings]}


def _loaded(kinds: Mapping[str, Any], name: str) -> Any:
    """The part of that name; None of a plug-in that cannot be loaded."""
    try:
        return kinds[name]
    except SettingError:
        return None


def default_of(setting: Setting) -> Any:
    """The default as it would be written in a file; None where there is none to write.

    >>> [default_of(s) for s in settings_of(Region)]
    [None, 50, 1, 1, 2]
    """
    value = setting.default
    if is_duration(setting.hint) and isinstance(value, float):
        return written_duration(value)
    if is_rate(setting.hint) and isinstance(value, float):
        return f"{value:g}/s"
    if isinstance(value, tuple):
        return list(value)
    plain = isinstance(value, str | int | bool) or (isinstance(value, float) and value == value)
    return (str(value) if value in (float("inf"),) else value) if plain else None


@cache
def descriptions(kind: Any) -> dict[str, str]:
    """What the settings of a part mean: the docstrings under its fields.

    >>> descriptions(Region)["slots"]
    'Replicas that one node can host.'
    """
    by_field: dict[str, str] = {}
    for base in reversed(getattr(kind, "__mro__", ())):
        if is_dataclass(base) and base.__module__ != "builtins":
            by_field |= dict(_under_fields(base))
    return by_field


def _under_fields(kind: Any) -> Iterable[tuple[str, str]]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):  # made at run time
        return
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    for field, text in itertools.pairwise(body):
        docstring = text.value if isinstance(text, ast.Expr) else None
        if isinstance(field, ast.AnnAssign) and isinstance(docstring, ast.Constant):
            yield ast.unparse(field.target), re.sub(r"\s+", " ", str(docstring.value)).strip()


def _first_sentence(kind: Callable[..., object]) -> str:
    paragraph = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return re.sub(r"\s+", " ", paragraph).strip()


def options(kind: Any) -> list[tuple[Setting, str]]:
    """The settings of a part that a file may hold, each with what it means."""
    texts = descriptions(kind)
    given = [s for s in settings_of(kind) if s.name not in (*_FROM_FILE, "name")]
    return [(setting, texts.get(setting.name, "")) for setting in given]
