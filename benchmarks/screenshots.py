"""The pictures of docs/dashboard.md, from a run on the twin: `python -m benchmarks.screenshots`.

Word count for two hours under a daily load that peaks every 40 minutes, scaled by `mpc`, which
foresees the rate; the promised latency is 10 s.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, ViewportSize

from benchmarks.browser import opened
from penstock.dashboard import DashboardServer

RUN = (
    *("simulate", "wordcount", "--policy", "mpc", "--duration", "2h", "--step", "10s"),
    *("--workload", "daily:60/s..520/s,period=40m", "--set", "modules.splitter.price=0.01"),
    *("--set", "modules.counter.price=0.01", "--seed", "3", "--quiet"),
)
PICTURES: tuple[tuple[str, ViewportSize, Literal["light", "dark"], str], ...] = (
    ("dashboard", {"width": 1160, "height": 1060}, "light", "header"),
    ("dashboard-dark", {"width": 1180, "height": 1180}, "dark", "figure >> nth=3"),
    ("dashboard-decisions", {"width": 1180, "height": 560}, "light", "#decisions"),
    ("dashboard-phone", {"width": 360, "height": 1400}, "light", "header"),
)
"""Name, size, colours, and what stands on top."""


def main(folder: Path) -> None:
    """Simulate, and take every picture."""
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        subprocess.run([sys.executable, "-m", "penstock", *RUN, "--out", str(run)], check=True)
        with DashboardServer(run) as server, opened() as browser:
            for name, size, scheme, top in PICTURES:
                context = browser.new_context(viewport=size, color_scheme=scheme)
                page = context.new_page()
                page.goto(server.address)
                picture(page, top, folder / f"{name}.png")
                context.close()


def picture(page: Page, top: str, path: Path) -> None:
    """One of them, pointing into the first plot in view."""
    page.wait_for_selector("html[data-ticks]")
    page.locator(top).evaluate("(top) => window.scrollTo(0, top.offsetTop - 70)")
    if top != "#decisions":
        box = page.locator("figure .frame").nth(0 if top == "header" else 3).bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 0.55 * box["width"], box["y"] + 0.4 * box["height"])
        page.wait_for_function("document.querySelector('output').textContent !== ''")
    page.screenshot(path=path)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(__file__).parent.parent / "docs" / "img")
