"""What all tests share."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every machine: a change that fails is the change's fault. To look further:
# pytest --hypothesis-profile=exploring
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None, max_examples=1000)
settings.load_profile("repeatable")

# A shell without job control starts what it puts into the background with Ctrl-C ignored, and every
# process below inherits that: what these tests start must see the signals that they send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "job.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
