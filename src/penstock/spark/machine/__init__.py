"""The machine beneath the executors: its CPU frequency, which can be decided, and its power.

| file | does |
|---|---|
| `machine` | what a plant uses: frequency and power of this machine, or of a modelled one |
| `cpufreq` | reads and sets the frequency through sysfs, and restores it |
| `powercap` | reads the energy counters of the processors |
| `sysfs` | kernel files that may be missing, forbidden or malformed |
"""

from penstock.spark.machine.cpufreq import Cpufreq
from penstock.spark.machine.machine import (
    FrequencyControl,
    Machine,
    ModelledMachine,
    Processors,
    Reading,
    find_processors,
)
from penstock.spark.machine.powercap import Powercap

__all__ = [
    "Cpufreq",
    "FrequencyControl",
    "Machine",
    "ModelledMachine",
    "Powercap",
    "Processors",
    "Reading",
    "find_processors",
]
