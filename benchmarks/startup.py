"""How long Penstock takes to start, beside Python alone and beside numpy.

Each line is a fresh Python, repeated in turn with the others so that all of them meet the same load
of the machine. CPU time is that of the process and its children, which a busy machine changes less
than the wall clock. What `attach` imports is measured with pyspark, and beyond pyspark, which a
driver has imported before it attaches.
"""

import subprocess
import sys
import time
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Final

REPEATS: Final = 9
PYSPARK: Final = (
    "import pyspark.sql.streaming.query, pyspark.resource, pyspark.errors, py4j.protocol"
)
PROGRAMS: Final = {
    "python -c pass": "pass",
    "import numpy": "import numpy",
    "import penstock": "import penstock",
    "penstock --help": "from penstock.cli import main; main(['--help'])",
    "import pyspark": PYSPARK,
    "what attach imports": f"{PYSPARK}\nimport penstock.attachment",
    "what simulate imports": "import penstock.cli.session, penstock.pipeline.twins",
}


def main() -> None:
    """Print the medians of all repeats, and what attach adds to pyspark."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in PROGRAMS}
    for name in PROGRAMS:
        timed(PROGRAMS[name])  # compiles what has not been
    for _ in range(REPEATS):
        for name, code in PROGRAMS.items():
            found[name].append(timed(code))
    cpu = {name: median(c for c, _ in times) for name, times in found.items()}
    wall = {name: median(w for _, w in times) for name, times in found.items()}
    print(f"{'':24}{'CPU':>8}{'wall':>9}{'/ python':>10}{'/ numpy':>9}   median of {REPEATS}")
    for name in PROGRAMS:
        bare, numpy = cpu[name] / cpu["python -c pass"], cpu[name] / cpu["import numpy"]
        print(f"{name:24}{cpu[name]:7.3f}s{wall[name]:8.3f}s{bare:9.1f}x{numpy:8.1f}x")
    added = cpu["what attach imports"] - cpu["import pyspark"]
    waited = wall["what attach imports"] - wall["import pyspark"]
    print(f"{'attach, beyond pyspark':24}{added:7.3f}s{waited:8.3f}s")


def timed(code: str) -> tuple[float, float]:
    """CPU and wall seconds of a Python that runs the code and ends."""
    before, began = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    ended, after = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return used, ended - began


if __name__ == "__main__":
    main()
