"""The folder of a command that leaves a page and its data."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from penstock.core.errors import FileError

_LEAST_FREE: Final = 20_000_000


@contextmanager
def results_folder(path: Path, *known: str) -> Iterator[Callable[[], Any]]:
    """The folder for files of known names, taken away again unless what is yielded is called.

    One that holds anything else is refused.
    """
    from penstock.record import place
    from penstock.record.disk import check_space

    with ExitStack() as refused:
        refused.callback(place.make(path))
        with place.claim(path):
            strangers = sorted(entry.name for entry in path.iterdir() if entry.name not in known)
            if strangers:
                raise FileError(
                    f"the folder {path} holds something else ({strangers[0]}); give --out another "
                    "folder"
                )
            check_space(path, _LEAST_FREE)
            yield refused.pop_all
