"""The machine beneath: its clock frequency, which can be decided, and its power.

| file | does |
|---|---|
| `machine` | what a plant uses: frequency and power of this machine, or of a modelled one |
| `cpufreq` | reads and sets the frequency through sysfs, and puts back what was there |
| `powercap` | reads the energy counters of the processors |
| `sysfs` | files of the kernel's that may be missing, forbidden or rubbish |
"""

from penstock.spark.machine.cpufreq import Cpufreq
from penstock.spark.machine.machine import Machine, Modelled, Processors, Reading
from penstock.spark.machine.powercap import Powercap

__all__ = ["Cpufreq", "Machine", "Modelled", "Powercap", "Processors", "Reading"]
