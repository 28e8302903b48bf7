"""Run every benchmark, or those named: `python -m benchmarks twin exactly_once`."""

import subprocess
import sys

ALL = (
    *(
        "twin",
        "twin_speed",
        "pane_twin",
        "burstiness",
        "back_pressure",
        "game_decision",
        "mpc_optimiser",
        "mpc_model",
    ),
    *("learning_update", "allocation", "closed_loop"),
    *("trading_kernel", "trading_pipeline", "migration"),
    *("preference_kernel", "preference_pipeline", "preference_memory", "two_levels"),
    *("decision_latency", "controller_cost", "exactly_once", "module_scaling", "shared_cluster"),
    *("tournament", "dashboard", "fitted_twin", "twin_on_spark", "startup"),
)


def main(names: list[str]) -> None:
    """Run benchmarks one after the other."""
    for name in names or ALL:
        print(f"\n== {name.replace('_', ' ')} ==", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
