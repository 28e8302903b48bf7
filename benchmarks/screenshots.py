"""The pictures of docs/dashboard.md, from a run on the twin: `python -m benchmarks.screenshots`.

Word count for two hours under a daily load that peaks every 40 minutes, scaled by `mpc`, which
foresees the rate; the promised latency is 10 s.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from benchmarks.browser import opened
from penstock.dashboard import DashboardServer

RUN = (
    *("simulate", "wordcount", "--policy", "mpc", "--duration", "2h", "--step", "10s"),
    *("--workload", "daily:60/s..520/s,period=40m", "--set", "modules.splitter.price=0.01"),
    *("--set", "modules.counter.price=0.01", "--seed", "3", "--quiet"),
)
PICTURES = (
    ("dashboard", {"width": 1280, "height": 1500}, "light"),
    ("dashboard-dark", {"width": 1280, "height": 1500}, "dark"),
    ("dashboard-phone", {"width": 360, "height": 1500}, "light"),
)


def main(folder: Path) -> None:
    """Simulate, and take every picture."""
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        subprocess.run([sys.executable, "-m", "penstock", *RUN, "--out", str(run)], check=True)
        with DashboardServer(run) as server, opened() as browser:
            for name, size, scheme in PICTURES:
                picture(browser, server.address, size, scheme, folder / f"{name}.png")


def picture(browser: Browser, address: str, size: dict[str, int], scheme: str, path: Path) -> None:
    """One of them, pointing into the middle of the first plot."""
    context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]  # plain words
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ticks]")
    frame = page.locator(".frame").first
    box = frame.bounding_box()
    assert box is not None
    frame.hover(position={"x": 0.55 * box["width"], "y": 0.4 * box["height"]})
    page.wait_for_function("document.querySelector('output').textContent !== ''")
    page.screenshot(path=path)
    context.close()
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(__file__).parent.parent / "docs" / "img")
