"""A real browser: the one that is installed, none is downloaded."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, sync_playwright

MISSING: Final = "no chromium or google-chrome on PATH; `make browser` installs one"
_FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def executable() -> str | None:
    """Chromium or Chrome, where there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


@contextmanager
def opened() -> Iterator[Browser]:
    """A browser just started, headless, with a profile of its own."""
    path = executable()
    if path is None:
        sys.exit(MISSING)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=list(_FLAGS), headless=True)
        try:
            yield browser
        finally:
            browser.close()
