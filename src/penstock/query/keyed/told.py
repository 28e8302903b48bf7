"""What a replica tells the driver of a step."""

import json
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(slots=True)
class Told:
    """What a task tells the driver."""

    replica: int
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By key: how many rows were accepted, the piece that holds them, whether it is the whole
    state; with -1 for accepted the piece holds rows that wait."""
    files: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    """By key, rows worked on, refused ones included."""
    service: float = 0.0
    """Seconds that work took."""
    took: float = 0.0
    """Seconds of the whole task, from the first row on."""
    waited: float = 0.0
    """Seconds that all rows waited, from their moment of creation until work on them began."""
    refused: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """As a text, to be read by `Told(**json.loads(text))`."""
        return json.dumps({f.name: getattr(self, f.name) for f in fields(self)})
