"""The dashboard in a real browser: how soon the page is there, and whether it keeps up.

An hour of word count on the twin at steps of 1 s is loaded, each time in a browser just started and
then again in the same one, from the start of the navigation until every plot has been drawn. Then
ticks are appended to a run folder at 1,000 a second for 10 s, as fast as no pipeline would, while
the page counts those that it has drawn.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

from benchmarks.browser import opened
from penstock.core.loop import control
from penstock.core.signals import Tick
from penstock.pipeline.compose import build_policy
from penstock.pipeline.file import PipelineFile, load
from penstock.record import RunFolder, RunSettings, summarise, tick_to_json
from penstock.twin import Twin

REPEATS, STREAMS, RATE, SECONDS = 7, 3, 1000, 10.0


def main() -> None:
    """Print both figures, with all repeats."""
    file = load("wordcount", ["step=1s", "duration=1h", "workload=daily:60/s..480/s,period=20m"])
    ticks = simulated(file)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        with RunFolder.create(run, settings(file)) as written:
            for tick in ticks:
                written.write(tick)
            written.finish(summarise(ticks, None, graph=file.graph))
        loads(run, len(ticks))
        for _ in range(STREAMS):
            streams(Path(folder) / "live", file, ticks)


def simulated(file: PipelineFile) -> list[Tick]:
    """An hour on the twin."""
    twin = Twin(file.graph, file.workload, step=file.step, duration=file.duration, seed=1)
    return list(control(twin, build_policy(file)))


def settings(file: PipelineFile) -> RunSettings:
    """Those of a run of the file."""
    return RunSettings(
        pipeline=file.name,
        plant="twin",
        started=datetime(2026, 3, 1, tzinfo=UTC),
        graph=file.graph,
        policy=file.policy.name,
        slo_latency_p95=file.slo.latency_p95,
    )


def loads(run: Path, count: int) -> None:
    """Milliseconds from navigation to every plot drawn."""
    cold, warm = [], []
    with served(run) as (_, address):
        for _ in range(REPEATS):
            with opened() as browser:
                cold.append(load_page(browser, address, count))
                warm.append(load_page(browser, address, count))
    print(f"page load with {count:,} ticks, ms from navigation to all plots drawn")
    for name, found in (("browser just started", cold), ("browser in use", warm)):
        told = " ".join(f"{ms:.0f}" for ms in sorted(found))
        print(f"  {name:22} median {median(found):.0f}   all: {told}")


def load_page(browser: Browser, address: str, count: int) -> float:
    """One load, in a profile without a cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(f"html[data-ticks='{count}']")
    taken: float = page.evaluate("performance.getEntriesByName('drawn')[0].startTime")
    context.close()
    return taken


def streams(run: Path, file: PipelineFile, ticks: list[Tick]) -> None:
    """How far the page is behind while ticks come at RATE, and what the server takes for it."""
    shutil.rmtree(run, ignore_errors=True)
    lines = [_line(ticks[n % len(ticks)], n) for n in range(int(RATE * SECONDS))]
    with RunFolder.create(run, settings(file)), served(run) as (pid, address), opened() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        spent = cpu(pid)
        behind = [written - shown(page) for written in paced(run / "ticks.jsonl", lines)]
        share = (cpu(pid) - spent) / SECONDS
        began = time.monotonic()
        page.wait_for_selector(f"html[data-ticks='{len(lines)}']", timeout=60_000)
        late = time.monotonic() - began
    print(
        f"{RATE:,} ticks/s for {SECONDS:.0f} s: behind by {median(behind[: len(behind) // 2]):.0f} "
        f"ticks in the first half and {median(behind[len(behind) // 2 :]):.0f} in the second "
        f"(medians), {max(behind)} at most; all {len(lines):,} shown {late:.2f} s after the last; "
        f"server {100 * share:.0f} % of a core"
    )


def _line(tick: Tick, place: int) -> bytes:
    seen = replace(tick.seen, at=(place + 1) / RATE, step=1 / RATE)
    return (json.dumps(tick_to_json(replace(tick, seen=seen))) + "\n").encode()


def paced(path: Path, lines: list[bytes]) -> Iterator[int]:
    """Append lines at RATE; yields how many there are, twice a second."""
    began, written, asked = time.monotonic(), 0, 0.5
    with path.open("ab", buffering=0) as file:
        while written < len(lines):
            now = time.monotonic() - began
            due = min(len(lines), int(RATE * now))
            file.write(b"".join(lines[written:due]))
            written = due
            if now >= asked:
                asked += 0.5
                yield written
            time.sleep(0.005)


def shown(page: Page) -> int:
    """Ticks that the page has drawn."""
    return int(page.evaluate("document.documentElement.dataset.ticks") or 0)


def cpu(pid: int) -> float:
    """Seconds of processor that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(run: Path) -> Iterator[tuple[int, str]]:
    """A server of its own process, its id and address."""
    words = [sys.executable, "-m", "penstock", "serve", str(run), "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.pid, process.stdout.readline().partition(" at ")[2].partition(",")[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


if __name__ == "__main__":
    main()
