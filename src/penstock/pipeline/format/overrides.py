"""Settings of the command line, laid over those of a file before they are checked.

>>> draft = read("policy: threshold\\nguards: [hold]\\n", name="job.yaml")
>>> override(draft, "policy.high=0.8")
>>> override(draft, "guards.hold.for=10s")
>>> draft.value
{'policy': {'name': 'threshold', 'high': 0.8}, 'guards': [{'hold': {'for': '10s'}}]}
>>> draft.place(("policy", "high")).text
'job.yaml with policy.high=0.8'
"""

from dataclasses import dataclass
from typing import Any, Final, cast

from penstock.core.errors import FileError, SettingError
from penstock.core.located import Draft, Mistake, Path, Place, read
from penstock.record.settings import redact_words

SHORT: Final = {"policy": "name", "manager": "name", "workload": "kind"}
"""Sections that can be a single word, and the key that this word stands for."""

OPAQUE: Final = "cluster.conf."
"""What follows this is one key."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as it was given: `key.path=value`, or `list+=item`."""

    text: str
    label: str
    """Its name in messages."""
    literal: bool = False
    """Whether the value is a text as it stands, rather than YAML."""

    @classmethod
    def of_file(cls, text: str, name: str) -> "Setting":
        """One for a key of the file of that name."""
        return cls(text, f"{name} with {_readable(text)}")

    @classmethod
    def of_spark(cls, text: str) -> "Setting":
        """One of Spark's own.

        >>> Setting.of_spark("spark.ssl.keyPassword=hush").label
        '--conf spark.ssl.keyPassword=(redacted)'
        """
        if not all(part.strip() for part in text.partition("=")[:2]):
            raise SettingError(
                f"--conf is written as name=value, such as spark.executor.memory=2g, got {text!r}"
            )
        return cls(OPAQUE + text, f"--conf {_readable(text)}", literal=True)

    @property
    def place(self) -> Place:
        """Where its value stands: on no line of any file."""
        return Place(0, self.label)


def override(draft: Draft, given: str | Setting) -> None:
    """Apply one setting; a text is one for the file. One that cannot be applied is a mistake."""
    setting = given if isinstance(given, Setting) else Setting.of_file(given, draft.name)
    try:
        _apply(draft, setting)
    except SettingError as error:
        draft.mistakes.append(Mistake(setting.place, str(error)))


def _apply(draft: Draft, setting: Setting) -> None:
    keys, equals, text = setting.text.partition("=")
    adds = keys.endswith("+") and not setting.literal
    path = _path(keys.removesuffix("+") if adds else keys)
    if not equals or not all(path):
        raise SettingError(
            f"a setting is written as key=value, such as step=5s or cluster.workers=3, "
            f"got {setting.text!r}"
        )
    place = setting.place
    value = text if setting.literal else _value(text, place)
    if adds:
        path = _end_of(draft, path)
    _put(draft, path, value, place)


def _readable(setting: str) -> str:
    """A setting without the password that may be in it: messages end up in logs."""
    return redact_words([setting])[0]


def _path(keys: str) -> Path:
    """The keys of a setting; what Spark calls its own settings is one key, dots and all.

    >>> _path("cluster.conf.spark.executor.memory")
    ('cluster', 'conf', 'spark.executor.memory')
    """
    if keys.startswith(OPAQUE):
        return (*OPAQUE.strip(".").split("."), keys.removeprefix(OPAQUE).strip())
    return tuple(key.strip() for key in keys.split("."))


def _end_of(draft: Draft, path: Path) -> Path:
    """Where the next item of a list goes."""
    items = draft.at(path)
    if not isinstance(items, list):
        raise SettingError(f"{'.'.join(map(str, path))} is not a list to add to")
    items.append(None)
    return (*path, str(len(items) - 1))


def _value(text: str, place: Place) -> Any:
    try:
        return read(text, name=place.text).value
    except FileError:
        raise SettingError(f"the value {text!r} is not YAML; put it into quotes") from None


def _put(draft: Draft, path: Path, value: Any, place: Place) -> None:
    if draft.value is None:
        draft.value = {}
    inside, here, left = draft.value, cast(Path, ()), path
    while True:
        key, *rest = _own_keys(inside, left)
        here, left = (*here, key), tuple(rest)
        if not left:
            break
        inside = _enter(inside, key)
    inside[key] = value
    _forget(draft, here)
    draft.places[here] = place


def _own_keys(inside: Any, path: Path) -> Path:
    """The path as a container knows it: an item of a list goes by its position or its name."""
    key = path[0]
    if isinstance(inside, dict):
        return path
    if not isinstance(inside, list):
        raise SettingError(f"there is nothing inside {inside!r} to set")
    for position, item in enumerate(inside):
        if str(position) == key:
            return (position, *path[1:])
        if item == key or (isinstance(item, dict) and list(item) == [key]):
            return (position, *path)
    raise SettingError(f"the list has no item {key}; it has {len(inside)}, from 0")


def _enter(inside: Any, key: str | int) -> Any:
    """The container under a key, made where the file has a single word or nothing."""
    value = inside.get(key) if isinstance(inside, dict) else inside[key]
    if isinstance(inside, list) and isinstance(value, str):
        value = {value: {}}
    elif isinstance(value, str) and key in SHORT:
        value = {SHORT[str(key)]: value}
    elif value is None:
        value = {}
    if not isinstance(value, dict | list):
        raise SettingError(f"{key} is {value!r}, which has no settings of its own")
    inside[key] = value
    return value


def _forget(draft: Draft, path: Path) -> None:
    """Drop the places of what is replaced, so that a mistake inside names the new one."""
    for old in [known for known in draft.places if known[: len(path)] == path]:
        del draft.places[old]
