"""Build a part from its name and parameters as people write them in files and flags.

A part is a dataclass whose fields are its settings, with types of `core/schema.py`. Of another
class, or of a function that makes the part, the parameters are the settings.

>>> from penstock.core.schema import Seconds
>>> @dataclass
... class Pause:
...     for_: Seconds = 5.0
>>> build(Pause, {"for": "2m"}, of="guard pause")
Pause(for_=120.0)
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, Final, TypeVar, get_type_hints

from penstock.core.errors import SettingError, UserError, describe
from penstock.core.schema import (
    As,
    Path,
    Problem,
    problems_of,
    sentence,
    stand_in,
    validator_of_fields,
)

T = TypeVar("T")
_MOST_COMPARED: Final = 200
"""Names that a misspelt one is compared with; with more, the many mistakes of a file take long."""
Mistake = tuple[Path, str]
"""Where it is among the settings, and a sentence about it."""


def build(part: type[T], given: Mapping[str, object], *, of: str, **fixed: object) -> T:
    """Make a part from settings; `of` names it in messages, `fixed` are values of our own."""
    values, mistakes, _ = decode(part, given, of=of, fixed=fixed)
    for path, why in mistakes:
        raise SettingError(why, path=path)
    return construct(part, values, of=of)


def read_part(
    part: type[T],
    given: Mapping[str, object],
    *,
    of: str,
    fixed: Mapping[str, object],
    where: str = "on the command line",
) -> tuple[T | None, list[Mistake]]:
    """The part that settings make, or every mistake in them with its path.

    Rules over several settings are those that a part raises when it is made. In place of a value
    that is wrong or breaks a rule it gets the default and is made again, so that no mistake hides
    another; a rule about a value that is wrong already says nothing.
    """
    values, mistakes, absent = decode(part, given, of=of, fixed=fixed, where=where)
    known = {s.outer: s for s in settings_of(part) if s.name not in fixed}
    wrong = {*absent, *misspelt(given, known), *(str(path[0]) for path, _ in mistakes if path)}
    values |= {known[outer].name: stand_in(known[outer].hint) for outer in absent}
    while True:
        try:
            made = construct(part, values, of=of)
        except UserError as error:
            path, names = _blamed(error, part, values, given)
            if not wrong.intersection(names):
                mistakes += [(path, str(one)) for one in (error, *getattr(error, "also", ()))]
            dropped = [n for n in names if n in known and known[n].name in values]
            if not dropped or known[dropped[0]].required:
                return None, mistakes
            name = known[dropped[0]].name
            values = _without(values, name, path[1:])
            wrong |= {dropped[0]} - values.keys()
        else:
            return None if mistakes else made, mistakes


def decode(
    part: Any,
    given: Mapping[str, object],
    *,
    of: str,
    fixed: Mapping[str, object],
    where: str = "on the command line",
) -> tuple[dict[str, Any], list[Mistake], list[str]]:
    """The fields of a part that its settings have right, every mistake in the others, and those
    that it cannot do without and does not have."""
    known = {s.outer: s for s in settings_of(part) if s.name not in fixed}
    spelt = {key: str(key).replace("-", "_") for key in given}
    keys = {known[plain].name: key for key, plain in spelt.items() if plain in known}
    mistakes: list[Mistake] = [
        ((key,), f"{of} has no setting {key!r}{near(plain, known)}")
        for key, plain in spelt.items()
        if plain not in known
    ]
    if len(keys) + len(mistakes) < len(given):
        twice = f"{of} is given a setting twice; leave one of {', '.join(given)} out"
        mistakes.append(((), twice))
    reader, raw = _reader(part), {name: given[key] for name, key in keys.items()}
    values, problems = problems_of(reader, raw, where)
    for problem in problems:
        name, *inside = problem.path
        raw.pop(str(name), None)
        what = f"{str(keys[str(name)]).replace('-', '_')} of {of}"
        why = sentence(what, Problem(tuple(inside), problem.why))
        mistakes.append(((keys[str(name)], *inside), why))
    hidden = misspelt(given, known)
    missing = [o for o, s in known.items() if s.required and s.name not in keys and o not in hidden]
    if missing:
        mistakes.append(((), f"{of} needs a value for {', '.join(missing)}"))
    order: list[Any] = [*given]
    mistakes.sort(key=lambda one: order.index(one[0][0]) if one[0] else len(order))
    right = problems_of(reader, raw, where)[0] if problems else values
    absent = [outer for outer, s in known.items() if s.required and s.name not in right]
    return {**right, **fixed}, mistakes, absent


def _blamed(
    error: UserError, part: type, values: Mapping[str, Any], given: Mapping[str, object]
) -> tuple[Path, list[str]]:
    """The path of the setting that a rule was broken by, and the names of all that it is about."""
    fields = error.fields if isinstance(error, SettingError) else ()
    path = error.within(given) if isinstance(error, SettingError) else ()
    path = path or _at_fault(error, part, values, given)
    return path, [*(str(step).replace("-", "_") for step in path[:1]), *fields]


def _at_fault(
    error: UserError, part: type, values: Mapping[str, Any], given: Mapping[str, object]
) -> Path:
    """The first setting without which the part does not raise an error that names none."""
    for key in given:
        plain = str(key).replace("-", "_")
        rest = {name: value for name, value in values.items() if name.rstrip("_") != plain}
        with suppress(Exception, SystemExit):  # a part of a plug-in may raise anything
            try:
                part(**rest)
            except UserError as other:
                if str(other) == str(error):
                    continue
            return (key,)
    return ()


def _without(values: Mapping[str, Any], name: str, inside: Path) -> dict[str, Any]:
    """The values without one, or without an item of it."""
    value = values[name]
    if inside and isinstance(value, Mapping) and inside[0] in value and len(value) > 1:
        return {**values, name: {k: item for k, item in value.items() if k != inside[0]}}
    return {other: kept for other, kept in values.items() if other != name}


class WrongPartError(TypeError):
    """A factory made something that is not the part that it should be."""


def construct(part: type[T], values: Mapping[str, Any], *, of: str) -> T:
    """The part of these values; what a part of others raises becomes an error of ours.

    >>> construct(int, {"base": 2}, of="policy acme:two")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: policy acme:two cannot be made: TypeError: int() missing \
string argument
    """
    try:
        return part(**values)
    except UserError:
        raise
    except WrongPartError as error:
        raise SettingError(f"{of} cannot be used: {error}") from None
    except (Exception, SystemExit) as error:
        if str(part.__module__).partition(".")[0] == __name__.partition(".")[0]:
            raise
        raise SettingError(f"{of} cannot be made: {describe(error)}") from error


def missing_settings(part: type, values: Iterable[str]) -> tuple[str, ...]:
    """The settings that a part cannot do without and that are not among the fields given."""
    given = set(values)
    return tuple(s.outer for s in settings_of(part) if s.required and s.name not in given)


def choose(kinds: Mapping[str, T], name: str, *, of: str) -> T:
    """The part of that name (`dry_run` is `dry-run`), or an error that lists what there is.

    >>> choose({"static": object}, "sttic", of="policy")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: there is no policy 'sttic'; did you mean 'static'?
    """
    for spelling in (str(name), str(name).replace("_", "-")):
        if spelling in kinds:
            return kinds[spelling]
    raise SettingError(f"there is no {of} {name!r}{near(str(name), kinds)}")


def near(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the closest known one, or all of them."""
    names = sorted(known)
    if len(names) > _MOST_COMPARED:
        return f"; there are {', '.join(names[:10])} and {len(names) - 10} more"
    for close in get_close_matches(word, names, n=1):
        return f"; did you mean {close!r}?"
    return f"; there are {', '.join(names)}" if names else "; it takes none"


def misspelt(given: Iterable[str], known: Iterable[str]) -> set[str]:
    """The known words that unknown ones were probably meant for.

    >>> misspelt(["prie", "region"], ["price", "region"])
    {'price'}
    """
    names, words = sorted(known), {str(word).replace("-", "_") for word in given}
    unknown = words.difference(names)
    return {close for word in unknown for close in get_close_matches(word, names, n=1)} - words


def option_names(part: type) -> tuple[str, ...]:
    """The settings that a part takes, as they are written."""
    return tuple(setting.outer for setting in settings_of(part))


@dataclass(frozen=True, slots=True)
class Setting:
    """What a part takes under a name."""

    name: str
    hint: Any
    default: Any = MISSING
    """MISSING where it has to be given."""
    outer: str = field(init=False)
    """Its name in files: `in` and `for` are words of Python's."""

    def __post_init__(self) -> None:
        named = (e.name for e in getattr(self.hint, "__metadata__", ()) if isinstance(e, As))
        object.__setattr__(self, "outer", next(named, self.name.rstrip("_")))

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is MISSING


def settings_of(part: Any) -> tuple[Setting, ...]:
    """What a part takes."""
    return _settings_of_class(part) if isinstance(part, type) else _parameters(part)


def _reader(part: Any) -> Any:
    return _reader_of_class(part) if isinstance(part, type) else _reader_of(part)


@cache  # a file may have ten thousand modules
def _reader_of_class(part: type) -> Any:
    return _reader_of(part)


def _reader_of(part: Any) -> Any:
    return validator_of_fields({s.name: s.hint for s in settings_of(part)})


@cache
def _settings_of_class(part: type) -> tuple[Setting, ...]:
    if not hasattr(part, "__dataclass_fields__"):
        return _parameters(part)
    hints = get_type_hints(part, include_extras=True)
    return tuple(
        Setting(f.name, hints[f.name], _default(f))
        for f in fields(part)
        if f.init and not f.name.startswith("_")
    )


def _parameters(part: Callable[..., object]) -> tuple[Setting, ...]:
    return tuple(
        Setting(p.name, p.annotation, MISSING if p.default is Parameter.empty else p.default)
        for p in _signature(part).parameters.values()
        if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        and not p.name.startswith("_")
    )


def _signature(part: Callable[..., object]) -> Signature:
    try:
        return signature(part, eval_str=True)
    except NameError:  # an annotation that is imported for type checkers only
        return signature(part)
    except (TypeError, ValueError):  # written in C
        return Signature()


def _default(f: Field[Any]) -> Any:
    made = f.default_factory
    return f.default if made is MISSING else made()


def taken(part: type, given: Mapping[str, object]) -> dict[str, object]:
    """Of what is given, that for which a part has a field.

    >>> @dataclass
    ... class Pause:
    ...     for_: float = 5.0
    >>> taken(Pause, {"for": 2.0, "graph": None})
    {'for': 2.0}
    """
    return {name: value for name, value in given.items() if name in option_names(part)}
