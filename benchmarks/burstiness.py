"""How bursty generated workloads are, beside what was asked: dispersion and Hurst of long samples.

Beside each: the same estimate of a Poisson process of the same rate, whose index is 1 and whose
Hurst parameter is 0.5. Run with `python -m benchmarks.burstiness`.
"""

from statistics import mean

import numpy as np

from penstock.workload import parse
from penstock.workload.burstiness import dispersion, hurst

SEEDS, SLOT = range(1, 6), 0.02
DISPERSIONS, LONG = (1000, 2000, 3000, 4000), 5_200.0
HURSTS, SHORTER = (0.6, 0.7, 0.8), 2_400.0


def main() -> None:
    """Print asked and estimated, on average over seeds and the furthest of them."""
    print(f"{'workload':22}{'asked':>8}{'mean':>9}{'off by':>8}{'worst':>9}{'poisson':>9}")
    for asked in DISPERSIONS:
        found = [dispersion(counts(f"map:{asked},rate=30k/s,seed={s}", LONG)) for s in SEEDS]
        plain = dispersion(counts("poisson:30k/s", LONG))
        show(f"map:{asked}", asked, found, plain)
    for wanted in HURSTS:
        found = [
            hurst(counts(f"self-similar:{wanted},rate=30k/s,seed={s}", SHORTER)) for s in SEEDS
        ]
        plain = hurst(counts("poisson:30k/s", SHORTER))
        show(f"self-similar:{wanted}", wanted, found, plain)


def counts(workload: str, seconds: float) -> np.ndarray:
    """Rows in each slot of a sample."""
    edges = np.arange(0.0, seconds + SLOT, SLOT)
    return np.diff(parse(workload).arrivals(edges))


def show(name: str, asked: float, found: list[float], plain: float) -> None:
    """One line."""
    worst = max(found, key=lambda value: abs(value - asked))
    off = abs(mean(found) / asked - 1)
    print(f"{name:22}{asked:>8g}{mean(found):>9.4g}{off:>8.1%}{worst:>9.4g}{plain:>9.3g}")


if __name__ == "__main__":
    main()
