"""The types of settings, each declared once with its unit and its bounds, and their one reader.

A declaration is an annotation. `Seconds` is a float in Python and a text with its unit in a file;
`Annotated[Seconds, Bounds(above=0)]` is one that must be above zero, wherever it comes from.

>>> read(Seconds | None, "2m"), read(int | None, "3"), read(tuple[str, ...], ["a", "b"])
(120.0, 3, ('a', 'b'))
>>> read(Annotated[Seconds, Bounds(above=0)], "0s", what="step")
Traceback (most recent call last):
...
penstock.core.errors.SettingError: step must be above 0s, got 0s

Values are decoded and their errors collected by pydantic-core; this file only describes the types
to it. pydantic itself is imported where a JSON Schema is written, since it takes a tenth of a
second that an attached application should not pay.
"""

import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from math import inf
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from penstock.core.errors import SettingError
from penstock.core.units import (
    DURATION,
    FINITE_RATE,
    POSITIVE_DURATION,
    POSITIVE_RATE,
    POSITIVE_SIZE,
    RATE,
    SIZE,
    UnitError,
    parse_bytes,
    parse_duration,
    parse_rate,
)

IN_FILE: Final = "in a file"
_IN_PYTHON: Final = "in Python"
Path = tuple[str | int, ...]
"""The keys and positions that lead to a value."""
Schema = dict[str, Any]
"""A type as pydantic-core knows it."""
T = TypeVar("T", bound=type)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most that a number may be; finite unless it is `endless`.

    >>> Bounds(above=0, most=1).refusal(1.3), Bounds(least=1).refusal(0), Bounds(least=0).refusal(2)
    ('must be in (0, 1], got 1.3', 'must be 1 or more, got 0', None)
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    endless: bool = False

    def refusal(self, value: Any, unit: str = "") -> str | None:
        """Why a value is out of bounds; None where it is not."""
        if self.holds(value):
            return None
        open_ended = self._high() is None and not self.endless
        is_finite = abs(value) < inf  # also of a whole number that no float can hold
        finite = " and finite" if open_ended and not is_finite else ""
        shown = f"{value:,}" if isinstance(value, int) else f"{value:g}"
        unit_shown = unit if is_finite else ""
        return f"must be {self.words(unit)}{finite}, got {shown}{unit_shown}"

    def words(self, unit: str = "") -> str:
        """The bounds in words: `1 to 8`, `in (0, 1]`, `above 0s`, `1 or more`."""
        low, high = self.least, self.most
        if low is not None and high is not None and high > 1:
            return f"{low:,}{unit} to {high:,}{unit}"
        if self._low() is not None and self._high() is not None:
            ends = "[" if low is not None else "(", "]" if high is not None else ")"
            return f"in {ends[0]}{self._low():g}, {self._high():g}{ends[1]}"
        if self._low() is not None:
            return f"above {self.above:,}{unit}" if low is None else f"{low:,}{unit} or more"
        return f"below {self.below:,}{unit}" if high is None else f"{high:,}{unit} or less"

    def as_json_schema(self) -> Schema:
        """The bounds as a JSON Schema says them."""
        said = {
            "minimum": self.least,
            "exclusiveMinimum": self.above,
            "maximum": self.most,
            "exclusiveMaximum": self.below,
        }
        bounds = {key: value for key, value in said.items() if value is not None}
        return {**bounds, **_ENDLESS} if self.endless else bounds

    def _low(self) -> float | None:
        return self.above if self.least is None else self.least

    def _high(self) -> float | None:
        return self.below if self.most is None else self.most

    def holds(self, value: Any) -> bool:
        """Whether a number is within them."""
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
            and (self.endless or abs(value) < inf)
        )


@dataclass(frozen=True, slots=True)
class OneOf:
    """The words that a setting may be.

    >>> OneOf(("wait", "cpu", "none")).refusal("wiat")
    "must be wait, cpu or none, got 'wiat'; did you mean 'wait'?"
    """

    options: tuple[str, ...]

    def refusal(self, value: object, unit: str = "") -> str | None:  # noqa: ARG002  # as Bounds
        """Why a value is none of them; None where it is one."""
        if value in self.options:
            return None
        *others, last = self.options
        close = get_close_matches(str(value), self.options, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        return f"must be {', '.join(others)} or {last}, got {value!r}{meant}"

    def as_json_schema(self) -> Schema:
        """The words as a JSON Schema says them."""
        return {"enum": list(self.options)}


@dataclass(frozen=True, slots=True)
class Matches:
    """What a text must look like.

    >>> Matches("[a-z]+", "lower-case letters").refusal("A1")
    "must be lower-case letters, got 'A1'"
    """

    pattern: str
    words: str

    def refusal(self, value: object, unit: str = "") -> str | None:  # noqa: ARG002  # as Bounds
        """Why a text does not match; None where it does."""
        matches = re.fullmatch(self.pattern, str(value))
        return None if matches else f"must be {self.words}, got {value!r}"

    def as_json_schema(self) -> Schema:
        """The pattern as a JSON Schema says it; one that takes digits takes a number as well."""
        takes_numbers = self.refusal("10") is None
        return _text(self.pattern) | {"type": ["string", "number"] if takes_numbers else "string"}


@dataclass(frozen=True, slots=True)
class Like:
    """An example of a section, for messages about one that is missing or of the wrong shape."""

    example: str


@dataclass(frozen=True, slots=True)
class As:
    """The name of a setting, where it is not that of its field."""

    name: str


Check = Bounds | OneOf | Matches


@dataclass(frozen=True, slots=True)
class Written:
    """How the values of a type are written in files and flags, where that is not as in Python."""

    words: str
    """What is written, for messages: `a duration such as 30s`."""
    read: Callable[[Any], object]
    """Raises SettingError for what cannot be read."""
    unit: str = ""
    """What follows a number in a message: `s`."""
    as_json_schema: Callable[[Bounds], Schema] = lambda _: {}
    """What may be written within bounds, as a JSON Schema says it."""


def _text(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^({pattern})$"}


def rates(bounds: Bounds) -> Schema:
    """Texts of rates within bounds."""
    finite = FINITE_RATE if bounds.holds(0) else POSITIVE_RATE
    return _text(RATE if bounds.endless else finite)


_ENDLESS: Final[Schema] = {"type": ["number", "string"], "pattern": "^inf$"}
"""A number or the text `inf`: a pattern says nothing about numbers."""
_DURATION: Final = Written(
    "a duration such as 30s",
    parse_duration,
    "s",
    lambda bounds: _text(DURATION if bounds.holds(0) else POSITIVE_DURATION),
)
_RATE: Final = Written("a rate such as 600/s", parse_rate, "/s", rates)
_SIZE: Final = Written(
    "a size such as 512m",
    parse_bytes,
    "",
    lambda bounds: _text(rf"\s*{SIZE if bounds.holds(0) else POSITIVE_SIZE}\s*"),
)

Seconds = Annotated[float, _DURATION]
"""A duration, in a file with its unit: `300ms`, `5m`."""
PositiveSeconds = Annotated[Seconds, Bounds(above=0)]
NotNegativeSeconds = Annotated[Seconds, Bounds(least=0)]
Rate = Annotated[float, _RATE]
"""Rows a second, in a file with its unit: `600/s`, `2k/s`."""
PositiveRate = Annotated[Rate, Bounds(above=0)]
NotNegativeRate = Annotated[Rate, Bounds(least=0)]
Bytes = Annotated[float, _SIZE]
"""Memory, in a file with its unit as Spark has it: `512m`, `8g`."""
Positive = Annotated[float, Bounds(above=0)]
NotNegative = Annotated[float, Bounds(least=0)]
Share = Annotated[float, Bounds(above=0, most=1)]
"""Of a whole: above 0, at most 1."""
Fraction = Annotated[float, Bounds(least=0, most=1)]
"""Of a whole: 0 to 1."""
BelowOne = Annotated[float, Bounds(least=0, below=1)]
"""Of a whole: 0 to 1, never all of it."""
Count = Annotated[int, Bounds(least=1)]
"""One or more."""
Natural = Annotated[int, Bounds(least=0)]
"""None or more."""
SizeText = Annotated[
    str, Matches("[0-9]{1,9}[kmgtKMGT][bB]?", "a size with its unit, such as 512m or 8g")
]
"""Memory as Spark writes it, kept as a text."""
Port = Annotated[int, Bounds(least=0, most=65535)]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a value: where it is, and why, as the end of a sentence about it."""

    path: Path
    why: str


def problems_of(
    schema: Any, value: object, where: str = "on the command line"
) -> tuple[Any, tuple[Problem, ...]]:
    """The value as its type has it, or everything that is wrong with it.

    It stands `on the command line`, where everything is a text; `in a file`, where numbers are not;
    or `in Python`, where units are left out.
    """
    from pydantic_core import ValidationError

    try:
        return schema.validate_python(value, context=where), ()
    except ValidationError as error:
        return None, tuple(_problem(one) for one in error.errors(include_url=False))


def read(hint: Any, value: object, *, what: str = "it") -> Any:
    """The value as a type has it; raises SettingError with the first thing that is wrong."""
    decoded, problems = problems_of(validator(hint), value)
    for problem in problems:
        raise SettingError(sentence(what, problem), path=problem.path)
    return decoded


def stand_in(hint: Any) -> Any:
    """Some value of a type, in place of one that is wrong; None where none is at hand.

    >>> stand_in(PositiveSeconds), stand_in(Count), stand_in(tuple[str, ...])
    (1.0, 1, ())
    """
    some: tuple[object, ...] = (1, "x", "1s", "1/s", "1m", "x:1", {}, [])
    for one in some:
        value, problems = problems_of(validator(hint), one)
        if not problems:
            return value
    return None


def sentence(what: str, problem: Problem) -> str:
    """A problem as a sentence; where it lies inside a value, the path leads there.

    >>> sentence("low of guard clamp", Problem(("split",), "must be 1 or more, got 0"))
    'low of guard clamp must be 1 or more for split, got 0'
    """
    inside = f" for {'.'.join(map(str, problem.path))}" if problem.path else ""
    if problem.why.startswith(":"):
        return f"{what}{inside}{problem.why}"
    before, got, after = problem.why.partition(", got ")
    return f"{what} {before}{inside}{got}{after}"


@cache
def validator(hint: Any) -> Any:
    """What reads values of a type, made once."""
    from pydantic_core import SchemaValidator

    return SchemaValidator(describe(hint))


@cache
def record_reader(kind: Any) -> Any:
    """What reads values of a type back from a recording, made once."""
    from pydantic_core import SchemaValidator

    return SchemaValidator(recorded(kind))


def validator_of_fields(hints: Mapping[str, Any]) -> Any:
    """What reads a mapping with some of these fields."""
    from pydantic_core import SchemaValidator

    given = {
        name: {"type": "typed-dict-field", "schema": describe(hint), "required": False}
        for name, hint in hints.items()
    }
    return SchemaValidator({"type": "typed-dict", "fields": given})


def describe(hint: Any, words: str | None = None) -> Schema:
    """A type as pydantic-core knows it, with our words, or others, in its errors."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(inner[0], inner[1:], words)
    if origin in (types.UnionType, Union):
        return _union(inner)
    if origin is Mapping:
        return _mapping(inner[0], inner[1])
    if origin is tuple:
        return _series(inner)
    return _leaf(hint, words)


def kind_of(hint: Any) -> str:
    """What a type asks for, in words.

    >>> kind_of(int | Mapping[str, Seconds] | None)
    'a whole number or a duration such as 30s for each name'
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        written = _first(inner[1:], Written)
        return kind_of(inner[0]) if written is None else str(written.words)
    if origin in (types.UnionType, Union):
        return " or ".join(kind_of(kind) for kind in inner if kind is not type(None))
    if origin is Mapping:
        return f"{kind_of(inner[1])} for each name"
    if origin is tuple:
        return "a list"
    return _WORDS.get(hint) or with_article(str(getattr(hint, "__name__", hint)))


def is_duration(hint: Any) -> bool:
    """Whether a type holds seconds, or nothing.

    >>> is_duration(PositiveSeconds | None), is_duration(float)
    (True, False)
    """
    return _is_written(hint, _DURATION)


def is_rate(hint: Any) -> bool:
    """Whether a type holds rows a second, or nothing."""
    return _is_written(hint, _RATE)


def _is_written(hint: Any, written: Written) -> bool:
    inner = (_is_written(one, written) for one in get_args(hint))
    return written in getattr(hint, "__metadata__", ()) or any(inner)


def with_article(name: str) -> str:
    """The name of a type in a sentence."""
    return f"{'an' if name[:1].lower() in set('aeiou') else 'a'} {name}"


def checked(of: str) -> Callable[[T], T]:
    """Check types and bounds of a dataclass whenever one is made; goes below `@dataclass`.

    `of` names it in messages, and may name its fields: `module {self.name}`. A `__post_init__` of
    the class runs afterwards, for rules over several fields.

    >>> @dataclass
    ... @checked("guard pause")
    ... class Pause:
    ...     for_: Annotated[Seconds, Bounds(least=0)] = 5.0
    >>> Pause(for_=-1.0)
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: for of guard pause must be 0s or more, got -1s
    """

    def decorate(kind: T) -> T:
        own = getattr(kind, "__post_init__", None)

        def __post_init__(self: Any) -> None:  # noqa: N807  # it becomes that of the class
            check_fields(self, of)
            if own is not None:
                own(self)

        kind.__post_init__ = __post_init__  # type: ignore[attr-defined]  # dataclass looks for it
        return kind

    return decorate


def check_fields(part: Any, of: str) -> None:
    """Refuse a part with a field that is not what its type says."""
    kind: Any = type(part)
    reader, names = _reader_of_fields(kind)
    _, problems = problems_of(reader, {name: getattr(part, name) for name in names}, _IN_PYTHON)
    for problem in problems:
        name, *inside = problem.path
        outer = str(name).rstrip("_")
        what, why = f"{outer} of {of.format(self=part)}", Problem(tuple(inside), problem.why)
        raise SettingError(sentence(what, why), path=(outer, *inside))


@cache
def _reader_of_fields(kind: type) -> tuple[Any, tuple[str, ...]]:
    """What checks the fields that a part is made from, and the names of these."""
    hints = get_type_hints(kind, include_extras=True)
    given = {f.name: hints[f.name] for f in fields(kind) if f.init and f.name[0] != "_"}
    return validator_of_fields(given), tuple(given)


def _annotated(inner: Any, extras: tuple[Any, ...], words: str | None) -> Schema:
    written = _first(extras, Written)
    checks = [extra for extra in extras if isinstance(extra, Check)]
    if written is None and not checks:
        return describe(inner, words)
    said = {key: value for check in checks for key, value in check.as_json_schema().items()}
    if written is not None:
        said = written.as_json_schema(_first(checks, Bounds) or Bounds(endless=True))
    schema = describe(inner, words) if written is None else _written(written, inner)
    return {
        "type": "function-after",
        "function": {"type": "no-info", "function": _checker(checks, written)},
        "schema": schema | {"metadata": {}},
        "metadata": {"pydantic_js_updates": said},
    }


def _checker(checks: Iterable[Check], written: Written | None) -> Callable[[Any], Any]:
    unit = written.unit if written else ""

    def check(value: Any) -> Any:
        for why in (check.refusal(value, unit) for check in checks):
            if why is not None:
                raise _refusal(why)
        return value

    return check


def _written(written: Written, inner: Any) -> Schema:
    def read_written(value: object, as_in_python: Callable[[object], object], info: Any) -> object:
        if info.context == _IN_PYTHON:
            return as_in_python(value)
        try:
            return written.read(value)
        except SettingError as error:
            raise _refusal(_predicate(written, error)) from None

    python = describe(inner, "a number of seconds" if written.unit == "s" else None)
    return {
        "type": "function-wrap",
        "function": {"type": "with-info", "function": read_written},
        "schema": {"type": "json-or-python", "json_schema": _ANY, "python_schema": python},
    }


def _predicate(written: Written, error: SettingError) -> str:
    """What an error says, as the end of a sentence about the setting."""
    if isinstance(error, UnitError) and written.words.startswith(error.kind):
        return error.predicate
    why = str(error)
    return why.removeprefix("it ") if why.startswith("it ") else f": {why}"


def _union(kinds: tuple[Any, ...]) -> Schema:
    some = tuple(kind for kind in kinds if kind is not type(None))
    schema = describe(some[0]) if len(some) == 1 else _either(some)
    return {"type": "nullable", "schema": schema} if len(some) < len(kinds) else schema


def _either(kinds: tuple[Any, ...]) -> Schema:
    """One of several types: which, its shape says; of two of one shape, the first that fits."""
    by_shape: dict[str, list[Any]] = {}
    for kind in kinds:
        by_shape.setdefault(_shape_of(kind), []).append(kind)
    wanted = " or ".join(map(kind_of, kinds))
    choices = {shape: _first_of(some, wanted) for shape, some in by_shape.items()}
    union = {"type": "tagged-union", "discriminator": _shape, "choices": choices}
    return union | {"custom_error_type": "wanted", "custom_error_message": f"must be {wanted}"}


def _first_of(kinds: list[Any], wanted: str) -> Schema:
    if len(kinds) == 1:
        return describe(kinds[0], wanted)
    union = {"type": "union", "mode": "left_to_right", "choices": [describe(k) for k in kinds]}
    return _worded(union, wanted)


_ANY: Final[Schema] = {"type": "any"}
_PLAIN: Final = "(plain)"
_OBJECT: Final = "(object)"
_LIST: Final = "(list)"
_SHAPES: Final = frozenset({_PLAIN, _OBJECT, _LIST})
"""Mark the alternatives of a union in errors; not part of a path."""


def _shape(value: object) -> str:
    if isinstance(value, Mapping):
        return _OBJECT
    return _LIST if isinstance(value, list | tuple) else _PLAIN


def _shape_of(hint: Any) -> str:
    origin = get_origin(hint)
    if origin is Annotated:
        return _shape_of(get_args(hint)[0])
    return {Mapping: _OBJECT, tuple: _LIST}.get(origin, _PLAIN)


def _mapping(key: Any, value: Any) -> Schema:
    return {"type": "dict", "keys_schema": describe(key), "values_schema": describe(value)}


def _series(kinds: tuple[Any, ...]) -> Schema:
    items = [describe(kind) for kind in kinds if kind is not ...]
    schema: Schema = {"type": "tuple", "items_schema": items}
    return schema | {"variadic_item_index": 0} if ... in kinds else schema


def _leaf(hint: Any, words: str | None) -> Schema:
    if getattr(hint, "_is_runtime_protocol", False):  # a policy that a guard holds
        return _worded({"type": "is-instance", "cls": hint}, with_article(hint.__name__.lower()))
    if hint not in _LEAVES:
        return _ANY
    said = {"pydantic_js_updates": _SAID.get(hint, {})}
    return _worded(_LEAVES[hint], words or _WORDS[hint]) | {"metadata": said}


def _worded(schema: Schema, words: str) -> Schema:
    return {
        "type": "custom-error",
        "schema": schema,
        "custom_error_type": "wanted",
        "custom_error_message": f"must be {words}",
    }


def _before(function: Callable[..., Any], schema: Schema) -> Schema:
    said = {"type": "with-info", "function": function}
    return {"type": "function-before", "function": said, "schema": schema}


def _number(value: object, info: Any) -> object:
    """No truth value; a text on the command line only, but for `inf` in a file."""
    strict = info.context == _IN_PYTHON or (info.context == IN_FILE and value != "inf")
    if isinstance(value, bool) or (strict and isinstance(value, str)):
        raise ValueError
    return value


def _no_number(value: object, info: Any) -> object:
    if info.context == _IN_PYTHON and not isinstance(value, str):
        raise ValueError
    return value


def _true_or_false(value: object, info: Any) -> object:
    is_word = isinstance(value, str) and info.context != _IN_PYTHON
    return _TRUTH.get(str(value).lower(), value) if is_word else value


# What is read back from a recording: the types as they are, numbers finite, units left out.


def recorded(hint: Any) -> Schema:
    """A type as recordings in JSON have it: fields that are unknown are left aside."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return recorded(inner[0])
    if origin in (types.UnionType, Union):
        some = next(kind for kind in inner if kind is not type(None))
        return {"type": "nullable", "schema": recorded(some)}
    if is_dataclass(hint):
        return _recorded_object(hint)
    if origin is tuple:
        return {"type": "tuple", "items_schema": [recorded(inner[0])], "variadic_item_index": 0}
    if origin is Mapping:
        return _recorded_mapping(inner[1])
    return _RECORDED.get(hint, _ANY)


def _recorded_object(kind: Any) -> Schema:
    hints = get_type_hints(kind)
    given = [f for f in fields(kind) if f.init]
    arguments = {
        "type": "dataclass-args",
        "dataclass_name": kind.__name__,
        "fields": [_recorded_field(f, hints[f.name]) for f in given],
        "extra_behavior": "ignore",
    }
    return {
        "type": "dataclass",
        "cls": kind,
        "schema": arguments,
        "fields": [f.name for f in given],
        "post_init": hasattr(kind, "__post_init__"),
        "slots": hasattr(kind, "__slots__"),
    }


def _recorded_field(field: Field[Any], hint: Any) -> Schema:
    """An absent field has its default; so has one whose default JSON cannot say, such as inf."""
    schema = recorded(hint)
    if field.default is not MISSING:
        schema = {"type": "default", "schema": schema, "default": field.default}
    elif field.default_factory is not MISSING:
        schema = {"type": "default", "schema": schema, "default_factory": field.default_factory}
    if schema["type"] == "default" and not is_optional(hint):
        schema = _or_default(schema, field)
    return {"type": "dataclass-field", "name": field.name, "schema": schema, "kw_only": True}


def _or_default(schema: Schema, field: Field[Any]) -> Schema:
    def read_or_default(value: object, inner: Callable[[object], object]) -> object:
        return made() if value is None else inner(value)

    made: Any = field.default_factory
    if made is MISSING:
        made = lambda: field.default  # noqa: E731  # a factory as the other is

    wrap = {"type": "no-info", "function": read_or_default}
    inner = {"type": "function-wrap", "function": wrap, "schema": schema["schema"]}
    return schema | {"schema": inner}


def _recorded_mapping(hint: Any) -> Schema:
    """Where a value cannot be unknown, one that is null is left out."""
    text, value = _RECORDED[str], recorded(hint)
    if is_optional(hint):
        return {"type": "dict", "keys_schema": text, "values_schema": value}
    nullable = {"type": "nullable", "schema": value}
    said = {"type": "no-info", "function": _without_nulls}
    schema = {"type": "dict", "keys_schema": text, "values_schema": nullable}
    return {"type": "function-after", "function": said, "schema": schema}


def _without_nulls(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def is_optional(hint: Any) -> bool:
    """Whether a value of the type may be None."""
    return hint is object or type(None) in get_args(hint)


def _integral(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise ValueError


def _as_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError  # which pydantic-core takes for a mistake in the value
    return value


_TRUTH: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_WORDS: Final = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    datetime: "a date and time",
}
_LARGEST: Final = 2**63 - 1
"""Numpy holds no whole number above it."""
_LEAVES: Final[dict[Any, Schema]] = {
    bool: _before(_true_or_false, {"type": "bool", "strict": True}),
    int: _before(_number, {"type": "int", "le": _LARGEST}),
    float: _before(_number, {"type": "float"}),
    str: _before(_no_number, {"type": "str", "coerce_numbers_to_str": True}),
    datetime: {"type": "datetime", "strict": True},
}
_ANY_CASE: Final = "|".join("".join(f"[{c}{c.upper()}]" for c in word) for word in _TRUTH)
_SAID: Final[dict[Any, Schema]] = {
    bool: _text(_ANY_CASE) | {"type": ["boolean", "string"]},
    float: _ENDLESS,
    str: {"type": ["string", "number"]},
}
"""What else than in JSON may be written, as a JSON Schema says it."""


_RECORDED: Final[dict[Any, Schema]] = {
    bool: _worded({"type": "bool", "strict": True}, "true or false"),
    float: _worded({"type": "float", "strict": True, "allow_inf_nan": False}, "a finite number"),
    int: _worded(
        {
            "type": "union",
            "mode": "left_to_right",
            "choices": [
                {"type": "int", "strict": True},
                {
                    "type": "function-plain",
                    "function": {"type": "no-info", "function": _integral},
                },
            ],
        },
        "a whole number",
    ),
    str: _worded(
        {
            "type": "json-or-python",
            "json_schema": {"type": "str"},
            # a text of Python may hold what UTF-8 cannot
            "python_schema": {
                "type": "function-plain",
                "function": {"type": "no-info", "function": _as_text},
            },
        },
        "a text",
    ),
    datetime: _worded({"type": "datetime"}, _WORDS[datetime]),
}


def _problem(error: Any) -> Problem:
    """One error of pydantic's in our words."""
    path = tuple(step for step in error["loc"] if step not in _SHAPES)
    if error["type"] == "refused":
        return Problem(path, error["ctx"]["why"])
    if error["type"] == "missing":
        return Problem(path, "is missing")
    words, given = _PYDANTIC.get(error["type"], error["msg"]), error["input"]
    if (
        words.endswith("a whole number")
        and type(given) in (int, float)
        and _LARGEST < abs(given) < inf
    ):
        words = f"{words} below 2^63"
    return Problem(path, f"{words}, got {'nothing' if given is None else repr(given)}")


_PYDANTIC: Final = {
    "dict_type": "must be an object",
    "dataclass_type": "must be an object",
    "tuple_type": "must be a list",
}


def _refusal(why: str) -> Exception:
    from pydantic_core import PydanticCustomError

    return PydanticCustomError("refused", "{why}", {"why": why})


def _first(extras: Iterable[object], kind: type) -> Any:
    return next((extra for extra in extras if isinstance(extra, kind)), None)
