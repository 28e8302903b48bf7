"""A page of results that others may read at any moment."""

import json
from pathlib import Path
from typing import Any


def publish(page: Any, file: Path) -> None:
    """Write plain values as JSON, in the place of what was there before; never half of it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "results" / "page.json"
    >>> publish({"words": 3}, file)
    >>> json.loads(file.read_text())
    {'words': 3}
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}")
    draft.write_text(json.dumps(page, indent=1))
    draft.replace(file)
