"""Pages in a real browser, for the tests of reports and of the dashboard."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from benchmarks.browser import MISSING, executable, opened
from playwright.sync_api import Browser, Page


@contextmanager
def real_browser() -> Iterator[Browser]:
    """A browser; without one tests are skipped, where CI is set they fail."""
    if executable() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(MISSING)
    with opened() as browser:
        yield browser


@contextmanager
def checked_page(browser: Browser, width: int, allowed: Callable[[str], bool]) -> Iterator[Page]:
    """A page in which no script fails, and that asks for nothing but allowed addresses."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    requested: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requested.append(request.url))
    yield page
    context.close()
    assert errors == []
    assert [url for url in requested if not allowed(url)] == []


def painted_pixels(page: Page) -> list[int]:
    """How many pixels of each figure are not empty."""
    counts: list[int] = page.evaluate(
        """() => [...document.querySelectorAll("canvas")].map((canvas) => {
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
            return data.filter((_, index) => index % 4 === 3 && data[index] > 0).length;
        })"""
    )
    return counts
