"""What was run: enough to read a recording without the machine it was made on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from penstock import __version__
from penstock.core.errors import SettingError
from penstock.core.graph import FlowGraph
from penstock.record.codec import plain, reader
from penstock.record.secrets import redact, redact_words

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
        """Whether decisions were told and not carried out."""
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
    settings: RunSettings = reader(RunSettings)(data)
    return settings


def run_path(pipeline: str, at: datetime, *, root: Path = Path("runs")) -> Path:
    """The folder of a run that was given no other.

    >>> run_path("wordcount", datetime(2026, 3, 1, 9, 30)).as_posix()
    'runs/wordcount-20260301-093000'
    """
    name = re.sub(r"[^\w.-]+", "-", pipeline).strip("-.") or "run"
    return root / f"{name}-{at:%Y%m%d-%H%M%S}"
