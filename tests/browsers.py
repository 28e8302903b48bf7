"""A real browser for tests and benchmarks: the one that is installed, none is downloaded."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def executable() -> str | None:
    """Chromium or Chrome, where there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def needed() -> str:
    """The browser; without one tests are skipped, but where a machine checks them they fail."""
    path = executable()
    if path is not None:
        return path
    told = "no chromium or google-chrome on PATH; `make browser` installs one"
    if os.environ.get("CI"):
        pytest.fail(told)
    pytest.skip(told)


@contextmanager
def opened(path: str) -> Iterator[Browser]:
    """A browser with a profile of its own, headless."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=list(FLAGS), headless=True)
        try:
            yield browser
        finally:
            browser.close()
