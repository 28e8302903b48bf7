"""Parts by name: built in, offered by an installed package, or written as `package.module:name`.

>>> policies = Registry(
...     "policy",
...     group="penstock.policies",
...     built_in={"static": "penstock.policy.static:Static"},
...     adapt=as_policy,
... )
>>> policies["static"]
<class 'penstock.policy.static.Static'>
>>> policies["nowhere.scaling:Fast"]
Traceback (most recent call last):
...
penstock.core.errors.SettingError: policy 'nowhere.scaling:Fast' cannot be loaded: there is no \
module 'nowhere'; install it, or add its folder to PYTHONPATH

A package offers parts as entry points of the registry's group. Nothing is imported before it is
asked for, and entry points are read only for a name that is not built in, or to list names.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from penstock.core.errors import SettingError, describe
from penstock.core.extras import is_module
from penstock.core.schema import with_article
from penstock.core.settings import WrongPartError, near, option_names

if TYPE_CHECKING:
    from penstock.core.signals import Decision, Observation

T = TypeVar("T")

FILLED_IN: Final = frozenset({"graph", "slo", "seed", "infrastructure", "cores", "weights"})
"""Parameters of policies that are taken from the pipeline file and not from their settings."""

_IMPORT_STRING: Final = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_OWN_PACKAGE: Final = __name__.partition(".")[0]
_log: Final = logging.getLogger(__name__)


class Registry(Mapping[str, T]):
    """A read-only mapping from name to part, whose parts are imported when they are asked for."""

    def __init__(
        self,
        of: str,
        *,
        group: str,
        built_in: Mapping[str, str],
        adapt: Callable[[Any], Any] = lambda part: part,
    ) -> None:
        """Parts that messages call `of`; `adapt` checks what a plug-in brings, by a TypeError."""
        self.of = of
        self.group = group
        self.built_in = dict(built_in)
        """Import strings by name."""
        self._adapt = adapt

    def __getitem__(self, name: str) -> T:
        """The part of that name; a plug-in that cannot be loaded is a SettingError."""
        if name in self.built_in:
            return cast(T, load(self.built_in[name]))
        if self._is_import_string(name):
            return self._plug_in(name, name)
        return self._plug_in(name, self._offered()[name])

    def __contains__(self, name: object) -> bool:
        """Whether this names a part; it need not be one that can be loaded."""
        if not isinstance(name, str):
            return False
        return name in self.built_in or self._is_import_string(name) or name in self._offered()

    def __iter__(self) -> Iterator[str]:
        """The names that are built in, then those that installed packages offer."""
        return iter([*self.built_in, *self._offered()])

    def __len__(self) -> int:
        """Number of names."""
        return len(self.built_in) + len(self._offered())

    def split(self, text: str) -> tuple[str, str]:
        """The name that a text begins with, and what follows the colon after it.

        >>> loads = Registry("workload", group="penstock.workloads", built_in={"daily": "a:B"})
        >>> loads.split("daily:60/s..420/s"), loads.split("acme.loads:Spiky:10/s")
        (('daily', '60/s..420/s'), ('acme.loads:Spiky', '10/s'))
        """
        first, _, rest = text.partition(":")
        named = _IMPORT_STRING.match(text)
        if named is None or text[named.end() : named.end() + 1] not in ("", ":"):
            return first, rest
        if not self._is_import_string(named[0]) or first in self._offered():
            return first, rest
        if "." not in first and not is_module(first):
            return first, rest
        return named[0], text[named.end() + 1 :]

    def _is_import_string(self, name: str) -> bool:
        match = _IMPORT_STRING.fullmatch(name)
        return match is not None and match[1] not in self.built_in

    def _offered(self) -> dict[str, str]:
        """The import strings of entry points by name, without those that are built in."""
        points = _entry_points(self.group)
        for name in points.keys() & self.built_in.keys():
            _warn_shadowed(self.of, name, points[name])
        return {name: value for name, value in points.items() if name not in self.built_in}

    def _plug_in(self, name: str, target: str) -> T:
        if "," in target:
            raise SettingError(
                f"{self.of} {name!r} is offered by several packages; write one of "
                f"{target.replace(',', ' or ')}"
            )
        try:
            return cast(T, self._adapt(load(target)))
        except SettingError as error:
            raise SettingError(f"{self.of} {name!r} cannot be loaded: {error}") from error.__cause__
        except TypeError as error:
            raise SettingError(f"{self.of} {name!r} cannot be used: {error}") from None


def load(target: str) -> Any:
    """What an import string names.

    >>> load("math:pi")
    3.141592653589793
    >>> load("math:pie")
    Traceback (most recent call last):
    ...
    penstock.core.errors.SettingError: module 'math' has no 'pie'; did you mean 'pi'?
    """
    module, _, attribute = target.partition(":")
    if not attribute:
        raise SettingError(f"{module!r} is a module; write {module}:NAME for something in it")
    value: Any = import_named(module)
    for name in attribute.split("."):
        value = _taken(value, name, module, attribute)
    return value


def import_named(module: str) -> ModuleType:
    """The module of that name; one that cannot be imported is a SettingError."""
    try:
        return import_module(module)
    except (Exception, SystemExit) as error:
        if _is_own(module) and not isinstance(error, ModuleNotFoundError):
            raise
        raise SettingError(_why(module, error)) from error


def _taken(owner: Any, name: str, module: str, attribute: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        known = [word for word in dir(owner) if not word.startswith("_")]
        raise SettingError(f"module {module!r} has no {attribute!r}{near(name, known)}") from None
    except (Exception, SystemExit) as error:
        if _is_own(module):
            raise
        raise SettingError(
            f"taking {attribute!r} from module {module!r} raises {describe(error)}; correct the "
            "module"
        ) from error


def is_ours(part: object) -> bool:
    """Whether a part comes with Penstock."""
    part = part.part if isinstance(part, _Maker) else part
    return _is_own(str(getattr(part, "__module__", "")))


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == _OWN_PACKAGE


def folder_of(part: object) -> Path | None:
    """The folder or the file of the package that a part comes from; None where there is none.

    >>> folder_of(Registry).name
    'penstock'
    """
    top = str(getattr(part, "__module__", None) or type(part).__module__).partition(".")[0]
    with suppress(ImportError, ValueError):
        spec = find_spec(top)
        if spec is not None and spec.origin is not None and spec.has_location:
            file = Path(spec.origin)
            return file.parent if spec.submodule_search_locations else file
    return None


def _why(module: str, error: BaseException) -> str:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is not None and f"{module}.".startswith(f"{missing}."):
        return f"there is no module {missing!r}; install it, or add its folder to PYTHONPATH"
    if missing is not None:
        return f"module {module!r} needs module {missing!r}; install that too"
    return f"importing {module!r} raises {describe(error)}; correct the module"


def _entry_points(group: str) -> dict[str, str]:
    import sys

    return _read_entry_points(group, tuple(sys.path))


@cache  # packages do not come and go while a process runs; where it looks for them may change
def _read_entry_points(group: str, _: tuple[str, ...]) -> dict[str, str]:
    """Import strings by name; those of a name that several packages offer, with commas."""
    from importlib.metadata import entry_points  # seldom needed, and slow to load

    targets: dict[str, list[str]] = {}
    for point in entry_points(group=group):
        target = point.value.partition("[")[0].replace(" ", "")  # extras may follow
        targets.setdefault(point.name, []).append(target)
    return {name: ",".join(dict.fromkeys(values)) for name, values in targets.items()}


@cache
def _warn_shadowed(of: str, name: str, target: str) -> None:
    """Warn once for each name."""
    _log.warning("%s %s is built in; write %s for that of the plug-in", of, name, target)


def having(*methods: str) -> Callable[[Any], Any]:
    """A check that a plug-in is a class with these methods, or a function that makes such a part.

    >>> having("rate")(int)
    Traceback (most recent call last):
    ...
    TypeError: class int has no method rate
    """

    def check(part: Any) -> Any:
        if not callable(part):
            raise TypeError(f"it must be a class or a function, got {part!r}")
        if not isinstance(part, type):
            return _checked(part, methods)
        for name in methods:
            if not any(name in vars(base) for base in part.__mro__):
                raise TypeError(f"class {part.__name__} has no method {name}")
        return part

    return check


def _checked(factory: Callable[..., Any], methods: tuple[str, ...]) -> Callable[..., Any]:
    """The factory, which refuses to make something without these methods."""

    @wraps(factory)
    def make(**settings: object) -> Any:
        made = factory(**settings)
        for name in methods:
            if not callable(getattr(made, name, None)):
                lacks = "is not callable" if name == "__call__" else f"has no method {name}"
                raise WrongPartError(f"it makes {with_article(type(made).__name__)}, which {lacks}")
        return made

    return make


def as_guard(part: Any) -> Any:
    """A guard holds the policy that it is given as `policy`."""
    part = having("__call__")(part)
    if "policy" not in option_names(part):
        raise TypeError("a guard takes the policy that it holds as its first field, policy")
    return part


def as_policy(part: Any) -> Any:
    """Something that makes a policy: a class, a factory, or a function that decides itself.

    A function or object decides itself if it takes one value, the observation; further parameters
    of it that have defaults are settings. A factory takes nothing but settings, and what a pipeline
    file fills in, such as `graph`.
    """
    checked = having("__call__")(part)
    if isinstance(part, type) or not _decides(part):
        return checked
    return _Maker(part)


def _decides(part: Callable[..., Any]) -> bool:
    try:
        parameters = signature(part).parameters.values()
    except (TypeError, ValueError):  # written in C
        return True
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in kinds and p.default is Parameter.empty]
    if len(needed) != 1 or needed[0].name in FILLED_IN:
        return False
    annotation = needed[0].annotation
    return annotation in (Parameter.empty, Any) or "Observation" in str(annotation)


def _import_string(function: Callable[..., Any]) -> str:
    module, name = (getattr(function, key, None) for key in ("__module__", "__qualname__"))
    return f"{module}:{name}" if module and name else repr(function)  # such as a partial


@dataclass(frozen=True)
class PolicyFunction:
    """A function from Observation to Decision as a policy, with what settings it was given.

    >>> PolicyFunction(round)
    PolicyFunction(builtins:round)
    """

    function: "Callable[..., Decision]"
    settings: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, seen: "Observation", /) -> "Decision":
        """What the function decides."""
        return self.function(seen, **self.settings)

    def __repr__(self) -> str:
        """The function by its import string, and its settings."""
        arguments = [
            _import_string(self.function),
            *(f"{key}={value!r}" for key, value in self.settings.items()),
        ]
        return f"PolicyFunction({', '.join(arguments)})"


@dataclass(frozen=True, eq=False)
class _Maker:
    """Makes policies of a function or an object that decides itself."""

    part: Any

    @property
    def __signature__(self) -> Signature:
        """The settings: all parameters but the observation."""
        with suppress(TypeError, ValueError, NameError):
            own = signature(self.part, eval_str=True)
            return own.replace(parameters=list(own.parameters.values())[1:])
        return Signature()

    def __call__(self, **settings: object) -> Any:
        """A new policy; an object is copied, so that two policies share no memory."""
        if hasattr(self.part, "__qualname__"):
            return PolicyFunction(self.part, settings)
        return PolicyFunction(self.part.__call__, settings) if settings else deepcopy(self.part)
