"""The machine beneath the executors: its CPU frequency, which can be decided, and its power.

| file | does |
|---|---|
| `machine` | what a plant uses: frequency and power of this machine, or of a modelled one |
| `sysfs` | the kernel's files: sets the frequency and restores it, reads the energy counters |
"""

from penstock.spark.machine.machine import (
    FrequencyControl,
    Machine,
    ModelledMachine,
    Processors,
    Reading,
    find_processors,
)
from penstock.spark.machine.sysfs import Cpufreq, Powercap

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
