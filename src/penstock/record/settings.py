"""What was run: enough to read a recording without the machine it was made on.

Keep passwords and the like out of what is written down, and everything else readable.

A secret is known by its name: `spark.ssl.keyPassword`, `fs.azure.account.key.NAME`, `API_KEY`.

>>> redact({"spark.authenticate.secret": "s3", "spark.sql.shuffle.partitions": 4})
{'spark.authenticate.secret': '(redacted)', 'spark.sql.shuffle.partitions': 4}
>>> redact("postgresql://ann:hunter2@db/rows?ssl=true&token=abc")
'postgresql://ann:(redacted)@db/rows?ssl=true&token=(redacted)'
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import yaml

from penstock import __version__
from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.record.codec import plain, reader

HIDDEN: Final = "(redacted)"

_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""The words of a name, however it is put together: `my.password`, `myPassword`, `MY_PASSWORD`."""
_KINDS: Final = (
    *("access", "account", "api", "auth", "encryption"),
    *("keystore", "master", "private", "secret", "shared", "signing"),
)
_ENDINGS: Final = (
    *("secret", "secrets", "password", "passwords", "passwd", "passphrase"),
    *("token", "tokens", "credential", "credentials"),
    *(f"{kind}key" for kind in _KINDS),
)
_WORDS: Final = frozenset({"jaas", "sas", "pwd", "pass", "sig", "signature", "authorization"})

_LOGIN: Final = re.compile(r"(://[^/\s:@]*:)[^/\s]*@")
_HEADER: Final = re.compile(r"\b((?:Bearer|Basic)\s+)[^\s\"',;]+")
_ASSIGNED: Final = re.compile(r"""([\w.-]*\w)(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,;&}\]"']+)""")


def names_secret(name: str) -> bool:
    """Whether the value of that name is a secret.

    >>> names_secret("fs.s3a.accessKey"), names_secret("partitioning.key"), names_secret("compass")
    (True, False, False)
    """
    words = [word.lower() for word in _PARTS.findall(name)]
    joined = (first + second for first, second in pairwise(words))  # api.key as apikey
    return not _WORDS.isdisjoint(words) or any(
        word.endswith(_ENDINGS) for word in (*words, *joined)
    )


def redact(value: object) -> Any:
    """A copy in what JSON knows, without secrets in it, by the names of keys and within texts."""
    if isinstance(value, Mapping):
        return {str(key): _redact_item(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return _redact_text(value) if isinstance(value, str) else plain(value)


def redact_words(words: Sequence[str]) -> list[str]:
    """A command line without the values that follow the name of a secret.

    >>> redact_words(["run", "--conf", "my.password=1234", "--token", "abc"])
    ['run', '--conf', 'my.password=(redacted)', '--token', '(redacted)']
    """
    return [
        HIDDEN if _is_secret_flag(before) else _redact_word(word)
        for before, word in zip(("", *words), words, strict=False)
    ]


def _redact_item(key: str, value: object) -> Any:
    nested = isinstance(value, Mapping)  # a module may well be called token
    return HIDDEN if names_secret(key) and not nested else redact(value)


def _is_secret_flag(word: str) -> bool:
    return word.startswith("-") and "=" not in word and names_secret(word)


def _redact_word(word: str) -> str:
    """A word of the command line; of `--set a=b` the value is all that follows the first `=`."""
    name, equals, value = word.partition("=")
    if not equals:
        return _redact_text(word)
    if names_secret(name):
        return f"{name}={HIDDEN}"
    if name.startswith("-"):  # --conf=name=value
        return f"{name}={_redact_word(value)}"
    return f"{name}={_redact_setting(value)}"


def _redact_setting(text: str) -> str:
    """A value as people write it after `--set`: YAML, as it was unless it holds a secret."""
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return _redact_text(text)
    if not isinstance(value, dict | list):
        return _redact_text(text)
    hidden = redact(value)
    return text if hidden == plain(value) else json.dumps(hidden)


def _redact_text(text: str) -> str:
    """A text without passwords in addresses, headers and values of secrets."""
    text = _HEADER.sub(rf"\1{HIDDEN}", _LOGIN.sub(rf"\1{HIDDEN}@", text))
    return _ASSIGNED.sub(_hide_value, text)


def _hide_value(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}{HIDDEN}" if names_secret(match[1]) else match[0]


FORMAT: Final = 1
"""Version of the run folder; a change that breaks a reader of `docs/run-folder.md` raises it."""

_PLANTS: Final = ("spark", "twin", "replay")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What `settings.json` of a run folder says."""

    pipeline: str
    plant: str
    """`spark`, `twin` or `replay`."""
    started: datetime
    graph: FlowGraph
    command: tuple[str, ...] = ()
    """The words of the command line."""
    policy: str | None = None
    seed: int | None = None
    slo_latency_p95: float | None = None
    """Seconds that the 95th percentile of the latency may reach; None where none was promised."""
    file: Mapping[str, object] = field(default_factory=dict)
    """The pipeline file as resolved, defaults filled in."""
    penstock: str = __version__

    def __post_init__(self) -> None:
        """Refuse a plant that there is not."""
        if self.plant not in _PLANTS:
            raise SettingError(f"plant must be one of {', '.join(_PLANTS)}, got {self.plant!r}")

    @property
    def dry(self) -> bool:
        """Whether decisions were recorded and not carried out."""
        guards = self.file.get("guards")
        return isinstance(guards, list | tuple) and "dry-run" in guards

    def to_json(self) -> dict[str, Any]:
        """As written to the run folder, passwords and the like left out."""
        hidden = {"command": redact_words(self.command), "file": redact(self.file)}
        return {"format": FORMAT, **plain(self), **hidden}


def settings_from_json(data: Mapping[str, Any]) -> RunSettings:
    """The settings that `to_json` wrote; raises ValueError with the field that is wrong."""
    version = data.get("format")
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"format must be a whole number from 1, got {version!r}")
    if version > FORMAT:
        raise ValueError(
            f"it was written by penstock {data.get('penstock', '?')} in format {version}, and "
            f"penstock {__version__} reads up to format {FORMAT}; upgrade penstock"
        )
    return reader(RunSettings)(data)


def run_path(pipeline: str, at: datetime, *, root: Path = Path("runs")) -> Path:
    """The folder of a run that was given no other.

    >>> run_path("wordcount", datetime(2026, 3, 1, 9, 30)).as_posix()
    'runs/wordcount-20260301-093000'
    """
    name = re.sub(r"[^\w.-]+", "-", pipeline).strip("-.") or "run"
    return root / f"{name}-{at:%Y%m%d-%H%M%S}"
